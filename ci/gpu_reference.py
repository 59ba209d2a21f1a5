#!/usr/bin/env python3
"""What PyTorch reaches on the first GPU: bf16 matmul at the given shapes, and a device copy.

Exit 3 where there is no PyTorch with CUDA.
"""

import argparse
import json
import statistics
import sys


def arguments():
    """What was given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("shapes", nargs="*", metavar="NAME:M,N,K", help="of a matmul")
    return parser.parse_args()


ASKED = arguments()  # before PyTorch: --help needs none

try:
    import torch
except ImportError:
    print("no PyTorch here")
    sys.exit(3)
if not torch.cuda.is_available():
    print("PyTorch sees no GPU")
    sys.exit(3)


def rates(amount, work, repetitions, samples=30, warm_up=2.0):
    """Amount per second: p05, median and p95 of samples by CUDA events, behind a warm-up of that many seconds."""
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
            out.append(amount * repetitions / took)
    twentieths = statistics.quantiles(out, n=20)
    return {"p05": twentieths[0], "median": statistics.median(out), "p95": twentieths[-1]}


def matmul(m, n, k):
    """The better of the two layouts that PyTorch users have: A·B and A·Bᵀ (a linear layer)."""
    a = torch.rand(m, k, device="cuda", dtype=torch.bfloat16) * 2 - 1
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    b = torch.rand(k, n, device="cuda", dtype=torch.bfloat16) * 2 - 1
    flops = 2 * m * n * k
    repetitions = max(1, int(0.02 / (flops / 500e12)))
    found = [rates(flops, lambda r=right: torch.mm(a, r, out=out), repetitions) for right in (b, b.t().contiguous().t())]
    return max(found, key=lambda r: r["median"])


def main():
    """Measures and writes."""
    found = {"by": f"PyTorch {torch.__version__}", "gpu": torch.cuda.get_device_name(), "matmul": {}}
    for text in ASKED.shapes:
        name, shape = text.split(":")
        found["matmul"][name] = matmul(*(int(edge) for edge in shape.split(",")))
    source = torch.empty(2 << 30, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    found["copy"] = rates(2 * source.numel(), lambda: target.copy_(source), 20)
    with open(ASKED.out, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=2)
    print(json.dumps(found, indent=2))


main()
