#!/usr/bin/env python3
"""What PyTorch reaches on the first GPU: bf16 matmul at 8192 and at the shape that our search found, and a device copy.

gpu_reference.py SEARCH.json OUT.json; exit 3 where there is no PyTorch with CUDA.
"""

import json
import statistics
import sys

try:
    import torch
except ImportError:
    print("no PyTorch here")
    sys.exit(3)
if not torch.cuda.is_available():
    print("PyTorch sees no GPU")
    sys.exit(3)


def seconds(work, repetitions, samples=30, warm_up=2.0):
    """Median seconds of one repetition, by CUDA events, behind a warm-up of that many seconds."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    spent, out = 0.0, []
    while spent < warm_up or len(out) < samples:
        begin.record()
        for _ in range(repetitions):
            work()
        end.record()
        torch.cuda.synchronize()
        took = begin.elapsed_time(end) / 1e3
        spent += took
        if spent >= warm_up:
            out.append(took / repetitions)
    return statistics.median(out)


def matmul(m, n, k):
    """The better of the two layouts that PyTorch users have: A·B and A·Bᵀ (a linear layer)."""
    a = torch.rand(m, k, device="cuda", dtype=torch.bfloat16) * 2 - 1
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    b = torch.rand(k, n, device="cuda", dtype=torch.bfloat16) * 2 - 1
    b_t = b.t().contiguous().t()
    rates = {}
    for name, right in (("A·B", b), ("A·Bᵀ", b_t)):
        repetitions = max(1, int(0.02 / (2 * m * n * k / 500e12)))
        rates[name] = 2 * m * n * k / seconds(lambda r=right: torch.mm(a, r, out=out), repetitions)
    return rates


found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "matmul": {}}
shapes = {"8192": (8192, 8192, 8192)}
try:
    with open(sys.argv[1], encoding="utf-8") as file:
        facts = json.load(file)["records"][0]["facts"]
    shapes["search"] = tuple(int(facts[key]) for key in "mnk")
except (OSError, KeyError, IndexError, ValueError) as error:
    print(f"no searched shape: {error}")
for name, shape in shapes.items():
    found["matmul"][name] = {"shape": shape, "flops_per_second": matmul(*shape)}
source = torch.empty(2 << 30, dtype=torch.uint8, device="cuda").random_()
target = torch.empty_like(source)
found["copy_bytes_per_second"] = 2 * source.numel() / seconds(lambda: target.copy_(source), 20)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(found, file, indent=2)
print(json.dumps(found, indent=2))
