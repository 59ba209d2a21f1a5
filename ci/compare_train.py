#!/usr/bin/python3
"""One training step in PyTorch and in clusterbench: the same shapes, threads and optimizer, in turn.

  compare_train.py --binary build/release/bin/clusterbench --python VENV/bin/python --rounds 5
  compare_train.py --device gpu --shapes slice-8b-4096   bf16 products, fp32 weights: autocast there, --dtype bf16 here

VENV has torch. Each goes first in every other round. Prints the median tokens per second of each round, and at the end two ratios: of the
medians of the rounds, with the least and the largest ratio within a round; and of the fastest step of each side, which others that use the
machine disturbed the least.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# name: hidden, layers, heads, kv heads, head dim, feed-forward, vocabulary, sequence, sequences
SHAPES = {
    "narrow": (256, 4, 4, 2, 64, 704, 4096, 256, 4),
    "middle": (512, 4, 8, 4, 64, 1408, 8192, 256, 4),
    "wide": (1024, 2, 16, 4, 64, 2816, 16384, 512, 2),
    "slice-8b": (4096, 1, 32, 8, 128, 14336, 32000, 256, 1),
    "slice-8b-4096": (4096, 4, 32, 8, 128, 14336, 128256, 4096, 1),
}


def in_torch(shape, threads, steps, warm, device):
    """Tokens per second of each step after the warm-up. Runs where torch is."""
    import torch
    import torch.nn.functional as F
    h, layers, heads, kv, d, f, vocabulary, s, b = shape
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    gpu = device == "gpu"
    torch.set_default_device("cuda" if gpu else "cpu")

    def matrix(rows, columns):
        return torch.nn.Parameter(torch.randn(rows, columns) * 0.02)

    embedding, head, last = matrix(vocabulary, h), matrix(vocabulary, h), torch.nn.Parameter(torch.ones(h))
    stack = [{"n1": torch.nn.Parameter(torch.ones(h)), "n2": torch.nn.Parameter(torch.ones(h)),
              "qkv": matrix((heads + 2 * kv) * d, h), "out": matrix(h, heads * d),
              "gate_up": matrix(2 * f, h), "down": matrix(h, f)} for _ in range(layers)]
    parameters = [embedding, head, last] + [p for one in stack for p in one.values()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    angles = torch.outer(torch.arange(s).float(), 500000.0 ** (-torch.arange(0, d, 2).float() / d))
    cosines, sines = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]

    def turned(x):
        low, high = x[..., :d // 2], x[..., d // 2:]
        return torch.cat([low * cosines - high * sines, high * cosines + low * sines], -1)

    def layer(x, w):
        y = F.linear(F.rms_norm(x, (h,), w["n1"], 1e-5), w["qkv"]).view(b, s, heads + 2 * kv, d)
        q, k, v = turned(y[:, :, :heads]), turned(y[:, :, heads:heads + kv]), y[:, :, heads + kv:]
        a = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                                           enable_gqa=True)
        x = x + F.linear(a.transpose(1, 2).reshape(b, s, heads * d), w["out"])
        gate, up = F.linear(F.rms_norm(x, (h,), w["n2"], 1e-5), w["gate_up"]).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, w["down"])

    def step():
        tokens = torch.randint(0, vocabulary, (b, s + 1))
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=gpu):
            x = F.embedding(tokens[:, :-1], embedding)
            for w in stack:
                x = layer(x, w)
            logits = F.linear(F.rms_norm(x, (h,), last, 1e-5), head)
            loss = F.cross_entropy(logits.view(b * s, vocabulary), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    rates = []
    for i in range(warm + steps):
        start = time.perf_counter()
        step()
        if i >= warm:
            rates.append(b * s / (time.perf_counter() - start))
    return rates


def torch_rates(python, name, threads, steps, warm, device):
    done = subprocess.run([python, __file__, "--in-torch", name, "--threads", str(threads), "--steps", str(steps),
                           "--warm", str(warm), "--device", device], check=True, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    return json.loads(done.stdout)


def where(device, threads, library):
    """Options of both that say on what to compute."""
    if device == "gpu":
        return ["--device", "gpu", "--dtype", "bf16"]
    return ["--threads", str(threads), "--library", library]


def own_rates(binary, name, steps, warm, options):
    h, layers, heads, kv, d, f, vocabulary, s, b = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "t.json")
        subprocess.run([binary, "train", "--hidden", str(h), "--layers", str(layers), "--heads", str(heads),
                        "--kv-heads", str(kv), "--head-dim", str(d), "--feed-forward", str(f), "--vocabulary",
                        str(vocabulary), "--sequence", str(s), "--micro-batch", str(b), "--steps", str(steps + warm),
                        "--warm-up-steps", str(warm), "--twin-every", "0", *options, "--json", out], check=True, capture_output=True)
        with open(out, encoding="utf-8") as file:
            record, = json.load(file)["records"]
    metric, = [m for m in record["metrics"] if m["name"] == "tokens_per_second"]
    return metric["samples"]


def compare(args, name):
    sides = {"clusterbench": lambda: own_rates(args.binary, name, args.steps, args.warm, where(args.device, args.threads, args.library)),
             "PyTorch": lambda: torch_rates(args.python, name, args.threads, args.steps, args.warm, args.device)}
    rounds = {side: [] for side in sides}  # tokens per second of each step
    for number in range(args.rounds):
        for side in list(sides)[::1 if number % 2 == 0 else -1]:
            rounds[side].append(sides[side]())
        print(f"{name}: " + ", ".join(f"{side} {statistics.median(rounds[side][-1]):.0f}" for side in sides) + " tokens/s", flush=True)
    ours, theirs = ([statistics.median(steps) for steps in rounds[side]] for side in sides)
    ratios = [a / b for a, b in zip(ours, theirs)]
    fastest = [max(rate for steps in rounds[side] for rate in steps) for side in sides]
    on = "one GPU" if args.device == "gpu" else f"{args.threads} threads"
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"{name}: {ratio:.3f} x PyTorch, {on} (rounds {min(ratios):.3f} to {max(ratios):.3f}); fastest steps {fastest[0]:.0f} and "
          f"{fastest[1]:.0f} tokens/s, {fastest[0] / fastest[1]:.3f} x", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/clusterbench")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--library", default="auto")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--shapes", default="narrow,middle,wide,slice-8b")
    parser.add_argument("--in-torch", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.in_torch:
        print(json.dumps(in_torch(SHAPES[args.in_torch], args.threads, args.steps, args.warm, args.device)))
        return 0
    return 0 if min(compare(args, name) for name in args.shapes.split(",")) >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
