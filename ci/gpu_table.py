#!/usr/bin/env python3
"""A table of what ci/gpu-check.sh measured, and every step that did not end as it should.

gpu_table.py OUT; exit 1 if a step ended otherwise.
"""

import json
import sys
from pathlib import Path

OUT = Path(sys.argv[1])


def load(name):
    """The document of that step, or none."""
    try:
        return json.loads((OUT / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def rows(document):
    """One row per metric of every record."""
    for record in document["records"]:
        params = record["params"]
        point = " ".join(str(params[k]) for k in ("op", "memory", "engine", "dtype", "phase", "size") if k in params)
        if record["outcome"] != "measured":
            yield point, record["outcome"], "", "", record.get("reason", "")
            continue
        for metric in record["metrics"]:
            summary, entity = metric["summary"], record["entities"][metric["entity"]]
            share = f"{summary['median'] / metric['ceiling']['value']:.3f}" if "ceiling" in metric else ""
            spread = f"{summary['p05']:.5g} … {summary['p95']:.5g}"
            name = entity["id"] + (f" → {entity['peer']}" if "peer" in entity else "")
            yield point, f"{metric['name']} {name}", f"{summary['median']:.5g}", spread, share
        for check in record["checks"]:
            if not check["passed"]:
                yield point, f"check {check['name']} FAILED", "", "", check.get("detail", "")
        for note in record["notes"]:
            yield point, "note", "", "", note


def median(document, metric, **params):
    """The median of the first such metric at that point, or none."""
    for record in (document or {"records": []})["records"]:
        if all(record["params"].get(k) == v for k, v in params.items()):
            for m in record["metrics"]:
                if m["name"] == metric:
                    return m["summary"]["median"]
    return None


def compare():
    """Ours over the reference, where both are there."""
    reference = load("reference")
    if not reference:
        yield "no PyTorch reference in this run"
        return
    yield f"against PyTorch {reference['torch']} on {reference['gpu']}:"
    pairs = [("copy", median(load("memory"), "bytes_per_second", op="copy"), reference["copy_bytes_per_second"])]
    for name, step in (("8192", "gemm-bf16"), ("search", "gemm-search")):
        if name in reference["matmul"]:
            best = max(reference["matmul"][name]["flops_per_second"].values())
            pairs.append((f"bf16 {name}", median(load(step), "flops_per_second"), best))
    for name, ours, theirs in pairs:
        yield f"  {name}: {ours:.5g} / {theirs:.5g} = {ours / theirs:.3f}" if ours else f"  {name}: not measured"


def main():
    failed = False
    steps = [line.split("\t") for line in (OUT / "steps.tsv").read_text(encoding="utf-8").splitlines()]
    for name, wanted, code, seconds in steps:
        right = code in wanted.split(",")
        failed |= not right
        print(f"{'ok ' if right else 'BAD'} {name:16} exit {code:>3} (wanted {wanted})  {seconds} s")
        document = load(name)
        if document and "records" in document:
            for point, metric, value, spread, more in rows(document):
                if name == "health" and metric != "note":
                    continue  # 30 states of every GPU: they are in health.json
                print(f"      {point:36} {metric:28} {value:>12}  {spread:26} {more}")
    print("\n".join(compare()))
    return 1 if failed else 0


sys.exit(main())
