#!/usr/bin/python3
"""The predicted beside the measured training step: shapes in turn, several rounds, line by line.

  predict_train.py --binary build/release/bin/clusterbench --rounds 5 --threads 2

Prints predicted over measured of each part and of the step: the median of the rounds with the least and the largest.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

from compare_train import SHAPES

FIELDS = ("hidden", "layers", "heads", "kv-heads", "head-dim", "feed-forward", "vocabulary", "sequence", "micro-batch")
PARTS = {"step": ("predicted_step_seconds", "step_seconds"),
         "products": ("predicted_matmul_seconds", "matmul_seconds"),
         "attention": ("predicted_attention_seconds", "attention_seconds"),
         "rows": ("predicted_elementwise_seconds", "elementwise_seconds"),
         "optimizer": ("predicted_optimizer_seconds", "optimizer_seconds")}


def measured(options, shape):
    """{part: (predicted, measured)} in seconds, of one run."""
    words = [options.binary, "train", "--model", "tiny", "--threads", options.threads, "--library", options.library,
             "--micro-batches", 1, "--steps", options.steps, "--twin-every", 0, "--hash-every", 0]
    for name, value in zip(FIELDS, shape):
        words += [f"--{name}", value]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "t.json")
        subprocess.run([*map(str, words), "--json", out], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=1800)
        with open(out, encoding="utf-8") as file:
            record, = json.load(file)["records"]
    # A step is a sum, and so is its prediction: of what varies the mean adds up.
    mean = {m["name"]: statistics.fmean(m["samples"]) for m in record["metrics"]}
    return {part: (mean[p], mean[m]) for part, (p, m) in PARTS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--library", default="onednn")
    parser.add_argument("--shapes", default="narrow,middle,wide")
    options = parser.parse_args()
    names = options.shapes.split(",")
    runs = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            runs[name].append(measured(options, SHAPES[name]))
    for name, all_rounds in runs.items():
        for part in PARTS:
            ratios = [one[part][0] / one[part][1] for one in all_rounds]
            took = statistics.median(one[part][1] for one in all_rounds)
            print(f"{name:10} {part:10} measured {took * 1e3:8.2f} ms, predicted {statistics.median(ratios):.2f} of it "
                  f"({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
