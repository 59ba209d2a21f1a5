#!/usr/bin/python3
"""Every GPU node profile on stand-in GPUs, healthy and with each fault: ci/gpu_nodes.py BUILD [PRODUCT…] [--fault TEXT]

Runs `clusterbench run` with the shipped profiles of a node (sizes scaled down, limits as shipped) on eight stand-in GPUs: once healthy,
which must be accepted with nothing open, and then with the planted faults. Each must be found by its criterion on its GPU, and no
other part, and nothing that the fault does not do, may fail. Several faults share a run, one on each of the GPUs 1 to 7; with --fault
each that has TEXT in its name gets a run of its own, on GPU 3. Prints a line for each run and a sum for each product; exit 1 if one
is not as it must be. About ten seconds of one core a run; on a busy machine the verdict on a slow GPU is left open, as it is on a
real node, and the run is repeated twice at most.
"""
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/cli"))
from gpu_node import FAULTS, NO_PCI, PRODUCTS, batches_of, failing, faults_of, not_found, open_points, planted, run_node, unexplained  # noqa: E402

TRIES = 3


def healthy(build, place, product):
    # A busy machine lets too few steps of a short burn end to say whether its rate holds.
    code, report, _ = run_node(build, SOURCE, place, product)
    bad, left = failing(report), open_points(report)
    good = code == 0 and not bad and not left
    passed = sum(c["state"] == "pass" for c in report["criteria"])
    return good, f"accepted, {passed} criteria pass" if good else f"exit {code}, failing {bad}, open {left}"


def faulty(build, place, product, faults):
    code, report, _ = run_node(build, SOURCE, place, product, **planted(product, faults))
    missing, others = not_found(report, faults), unexplained(report, faults)
    told = "; ".join(f"{FAULTS[name][2]} names GPU {gpu}" for gpu, name in faults.items() if name not in missing)
    if missing or others:
        return False, f"exit {code}, not found {missing}, failing besides {others}, open {open_points(report)}; {told}"
    return True, told + ("" if code == 1 else " (a warning: accepted)")


def once_more(run, place):
    for attempt in range(TRIES):
        good, told = run(place / str(attempt))
        if good:
            break
    return good, told + (f" (try {attempt + 1})" if attempt else "")


def runs_of(build, product, only):
    """[(name, how many faults, what runs it)]"""
    names = [name for name in faults_of(SOURCE / "profiles", product) if only in name]
    if only:
        return [(name, 1, lambda place, name=name: faulty(build, place, product, {3: name})) for name in names]
    runs = [("healthy", 0, lambda place: healthy(build, place, product))]
    return runs + [(f"{len(faults)} faults", len(faults), lambda place, faults=faults: faulty(build, place, product, faults))
                   for faults in batches_of(names)]


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    only = arguments[arguments.index("--fault") + 1] if "--fault" in arguments else ""
    wrong = 0
    print(f"left out: {', '.join(NO_PCI)} (stand-ins are no PCI devices), burn.sustained (the burn is too short)")
    with tempfile.TemporaryDirectory() as scratch:
        for product in [a for a in arguments[1:] if a in PRODUCTS] or list(PRODUCTS):
            found = planted_there = 0
            for name, count, run in runs_of(arguments[0], product, only):
                begun = time.monotonic()
                good, told = once_more(run, Path(scratch) / f"{product}-{planted_there}-{count}")
                wrong += not good
                planted_there += count
                found += count if good else 0
                print(f"{'ok   ' if good else 'WRONG'} {product:12} {name:10} {time.monotonic() - begun:5.1f} s  {told}", flush=True)
            print(f"sum   {product:12} {found} of {planted_there} planted faults found and named, no other part", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
