#!/usr/bin/env python3
"""A table of what ci/gpu-check.sh measured: what was asked for and whether it was reached, every step, every number.

Exit 1 if a step ended otherwise than it should or something asked for was not reached or not measured.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path


def arguments():
    """What was given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of ci/gpu-check.sh")
    return parser.parse_args()


OUT = arguments().out


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
            name = entity["id"] + (f" → {entity['peer']}" if "peer" in entity else "")
            yield point, f"{metric['name']} {name}", f"{summary['median']:.5g}", spread(summary), share
        for check in record["checks"]:
            if not check["passed"]:
                yield point, f"check {check['name']} FAILED", "", "", check.get("detail", "")
        for note in record["notes"]:
            yield point, "note", "", "", note


def spread(summary):
    """From the fifth to the 95th percentile."""
    return f"{summary['p05']:.5g} … {summary['p95']:.5g}"


def summary_of(step, metric, **params):
    """The summary of the first such metric at that point, or none."""
    for record in (load(step) or {"records": []})["records"]:
        if all(record["params"].get(k) == v for k, v in params.items()):
            for m in record["metrics"]:
                if m["name"] == metric:
                    return m["summary"]
    return None


def nvbandwidth_copy():
    """Bytes per second of device memory by nvbandwidth's local copy, which counts each byte once; or none."""
    try:
        text = (OUT / "nvbandwidth.log").read_text(encoding="utf-8")
        cases = json.loads(text[text.index("{"):])["nvbandwidth"]["testcases"]
        case = next(c for c in cases if c["name"] == "device_local_copy")
        return 2e9 * max(float(x) for row in case["bandwidth_matrix"] for x in row if x != "N/A")
    except (OSError, ValueError, KeyError, StopIteration):
        return None


def ratio(ours, theirs):
    """Ours over theirs with the spread of both, or none where one is missing."""
    if not ours or not theirs:
        return None
    return ours["median"] / theirs["median"], f"{ours['median']:.5g} ({spread(ours)}) / {theirs['median']:.5g} ({spread(theirs)})"


def share(summary):
    """A share that a record has itself."""
    return (summary["median"], f"({spread(summary)})") if summary else None


def tokens_of_pytorch():
    """Tokens per second of PyTorch's training step, or none."""
    try:
        rates = json.loads((OUT / "reference-train.log").read_text(encoding="utf-8").splitlines()[-1])
        twentieths = statistics.quantiles(rates, n=20, method="inclusive")
        return {"p05": twentieths[0], "median": statistics.median(rates), "p95": twentieths[-1]}
    except (OSError, ValueError, IndexError, statistics.StatisticsError):
        return None


def share_of_ceiling(step, metric):
    """The first such metric's share of its ceiling, or none."""
    for record in (load(step) or {"records": []})["records"]:
        for m in record["metrics"]:
            if m["name"] == metric and "ceiling" in m:
                return m["summary"]["median"] / m["ceiling"]["value"], ""
    return None


def losses_apart(steps):
    """How far the losses of two steps are apart at most, as a share of the first's, or none."""
    both = [(load(step) or {"records": []})["records"] for step in steps]
    courses = [[m["samples"] for r in records for m in r["metrics"] if m["name"] == "loss_nats"] for records in both]
    if not all(courses) or len(courses[0][0]) != len(courses[1][0]):
        return None
    return max(abs(a - b) / b for a, b in zip(courses[1][0], courses[0][0])), f"of {len(courses[0][0])} steps"


def same_tokens():
    """1 if both devices generated the same tokens for each batch, or none where one did not."""
    digests = [[r["facts"].get("tokens_digest") for r in (load(f"infer-{device}") or {"records": []})["records"]]
               for device in ("cpu", "gpu")]
    if not all(digests) or None in digests[0] + digests[1]:
        return None
    return int(digests[0] == digests[1]), f"{len(digests[0])} batches"


def found_in(step, name):
    """1 if that check failed because of what was planted, with what it said."""
    for record in (load(step) or {"records": []})["records"]:
        for check in record["checks"]:
            if check["name"] == name and not check["passed"]:
                return 1, check.get("detail", "")
    return None


def metered_watts(step):
    """The summary of nvidia-smi's power beside that step, of the seconds under load, or none."""
    try:
        lines = [line.split() for line in (OUT / f"{step}.dmon").read_text(encoding="utf-8").splitlines()]
        place = next(words for words in lines if "pwr" in words).index("pwr") - 1  # the head begins with "#"
        watts = [float(words[place]) for words in lines if words and words[0].isdigit() and words[place].isdigit()]
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    loaded = [w for w in watts if w >= 0.5 * max(watts)]
    if len(loaded) < 5:
        return None
    twentieths = statistics.quantiles(loaded, n=20, method="inclusive")
    return {"p05": twentieths[0], "median": statistics.median(loaded), "p95": twentieths[-1]}


def looks():
    """How often a second the telemetry looked at the power under the burn, on the GPU at which it looked least."""
    document = load("burn") or {"records": []}
    rates = [(len(s["at"]) - 1) / (s["at"][-1] - s["at"][0]) for r in document["records"] for s in r["telemetry"]["series"]
             if s["name"] == "watts" and len(s["at"]) > 1]
    return (min(rates), "") if rates else None


def watched(step, words):
    """1 if watch said so beside the load, 0 if it said something else, none if it could not see the units."""
    try:
        text = (OUT / f"{step}.log").read_text(encoding="utf-8")
    except OSError:
        return None
    said = [line.strip() for line in text.splitlines() if "bound by" in line]
    return (int(any(words in line for line in said)), said[0]) if said else None


def false_alarms():
    """Failed checks of the burn."""
    document = load("burn")
    if not document:
        return None
    failed = [c.get("detail") or c["name"] for r in document["records"] for c in r["checks"] if not c["passed"]]
    measured = all(r["outcome"] == "measured" for r in document["records"])
    return (len(failed), "; ".join(failed) or "none") if measured else None


def demands():
    """What was asked for, what was seen (value and more, or none), least or most, the limit."""
    reference = load("reference") or {"by": "no reference", "matmul": {}}
    searched = load("reference-search") or {"matmul": {}}
    by = reference["by"]
    copies = [c for c in (reference.get("copy"), ) if c]
    if (nv := nvbandwidth_copy()) is not None:
        copies.append({"median": nv, "p05": nv, "p95": nv})
    best_copy = max(copies, key=lambda c: c["median"], default=None)
    bf16, best = summary_of("gemm-bf16", "flops_per_second"), summary_of("gemm-search", "flops_per_second")
    yield f"bf16 8192 over {by}", ratio(bf16, reference["matmul"].get("8192")), "≥", 1.00
    yield f"bf16 at its best shape over {by}", ratio(best, searched["matmul"].get("search")), "≥", 0.98
    also = " and nvbandwidth" if nv is not None else ", nvbandwidth is not here"
    yield f"device copy over {by}{also}", ratio(summary_of("memory", "bytes_per_second", op="copy"), best_copy), "≥", 0.98
    yield "triad, share of spec", share(summary_of("memory", "share_of_spec", op="triad")), "≥", 0.90
    yield f"training step of an 8B slice, tokens per second over {by}", ratio(
        summary_of("train-8b", "tokens_per_second"), tokens_of_pytorch()), "≥", 1.00
    yield "training in fp8 over bf16, tokens per second", ratio(
        summary_of("train-8b-fp8", "tokens_per_second"), summary_of("train-8b", "tokens_per_second")), "≥", 1.00
    yield "training in fp8: losses of bf16", losses_apart(("train-8b", "train-8b-fp8")), "≤", 0.02
    yield "training: losses of the processor", losses_apart(("train-cpu", "train-gpu")), "≤", 1e-3
    yield "inference: tokens of the processor", same_tokens(), "≥", 1
    yield "inference 8B, batch 1: share of the memory bound", share(summary_of("infer-8b", "share_of_memory_bound", batch=1)), "≥", 0.75
    yield "lu: share of gemm", share(summary_of("lu", "share_of_gemm")), "≥", 0.80
    yield "cg: share of what is read", share_of_ceiling("cg", "bytes_per_second"), "≥", 0.70
    yield "training: bit flip found", found_in("fault-train", "twin"), "≥", 1
    yield "inference: NaN found", found_in("fault-infer", "finite"), "≥", 1
    for phase in ("bf16", "fp64"):
        yield f"burn {phase}, share of the power limit", share(summary_of("burn", "share_of_power_limit", phase=phase)), "≥", 0.97
    # Comparing every result to the last bit takes some of the power that both are limited by.
    yield "burn bf16 over gemm bf16", ratio(summary_of("burn", "flops_per_second", phase="bf16"), bf16), "≥", 0.90
    if (OUT / "gpu-burn.dmon").exists():
        yield "power of the burn's products over gpu-burn's", ratio(
            summary_of("burn", "watts", phase="bf16"), metered_watts("gpu-burn")), "≥", 0.98
    yield "looks at the power a second", looks(), "≥", 18
    yield "watch: bound by the tensor cores", watched("watch-bf16", "bound by the tensor cores"), "≥", 1
    yield "watch: bound by memory", watched("watch-hbm", "bound by memory"), "≥", 1
    yield "bit flip found and located", found_in("fault-bitflip", "result"), "≥", 1
    yield "NaN found", found_in("fault-nan", "finite"), "≥", 1
    yield "SM named", found_in("fault-sm", "sm"), "≥", 1
    yield "memory error found", found_in("fault-march", "memory"), "≥", 1
    yield "hang is a failure", found_in("fault-hang", "hang"), "≥", 1
    yield "false alarms of the burn", false_alarms(), "≤", 0


def print_demands():
    """True if all were reached."""
    good = True
    for what, seen, sign, limit in demands():
        reached = seen is not None and (seen[0] >= limit if sign == "≥" else seen[0] <= limit)
        good &= reached
        value = f"{seen[0]:.3f}  {seen[1]}" if seen else "not measured"
        print(f"{'met   ' if reached else 'NOT MET' if seen else 'OPEN  '} {what} ({sign} {limit}): {value}")
    return good


def print_steps():
    """True if every step ended as it should."""
    good = True
    steps = [line.split("\t") for line in (OUT / "steps.tsv").read_text(encoding="utf-8").splitlines()]
    for name, wanted, code, seconds in steps:
        right = code in wanted.split(",")
        good &= right
        print(f"{'ok ' if right else 'BAD'} {name:16} exit {code:>3} (wanted {wanted})  {seconds} s")
        document = load(name)
        if document and "records" in document:
            for point, metric, value, between, more in rows(document):
                if name == "health" and metric != "note":
                    continue  # 30 states of every GPU: they are in health.json
                print(f"      {point:36} {metric:28} {value:>12}  {between:26} {more}")
    return good


def main():
    """The table on stdout."""
    reached = print_demands()
    print()
    ended = print_steps()
    return 0 if reached and ended else 1


sys.exit(main())
