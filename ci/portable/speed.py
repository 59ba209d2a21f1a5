#!/usr/bin/python3
"""Compares the speed of two builds: speed.py NATIVE PORTABLE [ROUNDS].

Figures are those of profiles/host-quick.json: the steps with their parameters, of each the metric that its criteria judge at every
size, of burn its rate; of each the mean over the samples without the 5 % at either end (decision 0148). Each round measures each step
with both, one right after the other, in turns of who begins. A line a figure: the median of the ratios of a round, portable over native
(above 1 is faster), with its 95 % interval by order, and the ratio of the best. Exit 1 where a median is not shown to be at least 0.98: its
interval reaches below it (more rounds decide), or all of it lies there.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "tools"))
from medians import interval, mean_of_the_middle  # noqa: E402

LEAST = 0.98
ROUNDS = 6  # at least: of fewer no two figures hold the median in 95 of 100 cases
PROFILE = Path(__file__).resolve().parents[2] / "profiles/host-quick.json"
MPI = ["mpirun", "--oversubscribe", "-np"]
UNJUDGED = {"burn": "flops_per_second"}  # its criterion asks for a check, and names no metric


def steps_with_figures():
    """{id: (step, metric)} for each step that has a figure."""
    profile = json.loads(PROFILE.read_text())
    judged = {c["step"]: c["metric"] for c in profile["criteria"] if "metric" in c}
    metrics = [(step, judged.get(step["id"], UNJUDGED.get(step["case"]))) for step in profile["steps"]]
    return {step["id"]: (step, metric) for step, metric in metrics if metric}


def words_of(step, duration, place):
    """The step's case and options, as `run` gives them."""
    params = dict(step["params"])
    if duration:
        params["duration"] = duration
    if step["case"] == "io":
        params["dir"] = place
    words = [step["case"]]
    for name, value in params.items():
        words += [f"--{name}", ",".join(value) if isinstance(value, list) else str(value)]
    return words


def label(step, record, records):
    return step["id"] if len(records) == 1 else f"{step['id']} {record['params']['size']} B"


def figure(record, name):
    """The mean over the middle of the samples; a time is turned round, so that more is better."""
    metric = next(m for m in record["metrics"] if m["name"] == name)
    value = mean_of_the_middle(metric)
    return 1 / value if metric["better"] == "lower" else value


def measured(program, step, metric, options, place):
    """The figures of one run, by their labels."""
    out = Path(place) / "result.json"
    out.unlink(missing_ok=True)
    launcher = [*MPI, str(step["ranks_per_host"])] if "ranks_per_host" in step else []
    command = [*launcher, program, *words_of(step, options.duration, place), "--quiet", "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    records = json.loads(out.read_text())["records"]
    return {label(step, record, records): figure(record, metric) for record in records}


def judged(name, native, portable):
    """Prints the line of a figure; whether its median is shown to be high enough."""
    ratios = [p / n for p, n in zip(portable, native)]
    low, high = interval(ratios)
    why = ""
    if len(ratios) < ROUNDS:
        why = f" not decided: fewer than {ROUNDS} rounds"
    elif high < LEAST:
        why = f" FAILED: below {LEAST}"
    elif low < LEAST:
        why = f" not decided: the interval reaches below {LEAST}"
    print(f"{name:26} {statistics.median(ratios):.3f} [{low:.3f} … {high:.3f}], best {max(portable) / max(native):.3f}{why}", flush=True)
    return not why


def compared(step, metric, options, place):
    """Whether every figure of the step is shown to be high enough."""
    programs = {"native": options.native, "portable": options.portable}
    got = {"native": [], "portable": []}
    for i in range(options.rounds):
        for side in sorted(got, reverse=i % 2 == 1):
            got[side].append(measured(programs[side], step, metric, options, place))
    return all([judged(name, *([figures[name] for figures in got[side]] for side in ("native", "portable"))) for name in got["native"][0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("native")
    parser.add_argument("portable")
    parser.add_argument("rounds", nargs="?", type=int, default=30, help="30 where not given")
    parser.add_argument("--step", action="append", choices=list(steps_with_figures()), help="only this one; may be given several times")
    parser.add_argument("--duration", metavar="TIME", help="of each step, instead of the profile's own")
    parser.add_argument("--dir", help="where the io steps measure, in a folder of its own; the temporary directory where not given")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"{options.rounds} rounds: at least one is needed")
    with tempfile.TemporaryDirectory(dir=options.dir) as place:
        good = [compared(step, metric, options, place) for name, (step, metric) in steps_with_figures().items()
                if not options.step or name in options.step]
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"{options.rounds} rounds, load of the machine at the end {load}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
