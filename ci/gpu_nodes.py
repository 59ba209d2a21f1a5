#!/usr/bin/python3
"""Every node profile on stand-in GPUs, healthy and with each fault: ci/gpu_nodes.py BUILD [PRODUCT…] [--fault TEXT]

Runs `clusterbench run` with the shipped profiles h20, h200-sxm and b200 (sizes scaled down, limits as shipped) on eight stand-in GPUs:
once healthy, which must be accepted with nothing open, and once with each planted fault on GPU 3, which must be found and must name
GPU 3 and no other part. Prints a line for each run; exit 1 if one is not as it must be. About fifteen seconds a run on two cores
that are free; on a busy machine the verdict on a slow GPU is left open, as it is on a real node.
"""
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/cli"))
from gpu_node import FAULTS, PRODUCTS, failing, of_gpu, open_points, run_node  # noqa: E402


def healthy(build, place, product):
    code, report, _ = run_node(build, SOURCE, place, product)
    bad, left = failing(report), open_points(report)
    good = code == 0 and not bad and not left
    return good, "accepted" if good else f"exit {code}, failing {bad}, open {left}"


def faulty(build, place, product, name):
    kind, word, criterion = FAULTS[name]
    code, report, _ = run_node(build, SOURCE, place, product, **{kind: word})
    bad = failing(report)
    found = any(of_gpu(one, 3) for one in bad.get(criterion, ()))
    others = {c: sorted(one for one in names if not of_gpu(one, 3)) for c, names in bad.items()}
    others = {c: names for c, names in others.items() if names}
    severe = code == 1
    told = f"{criterion} names GPU 3; also {', '.join(sorted(set(bad) - {criterion})) or 'nothing'}"
    if found and not others:
        return True, told + ("" if severe else " (a warning: accepted)")
    return False, f"exit {code}, failing {bad}, others {others}"


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    only = arguments[arguments.index("--fault") + 1] if "--fault" in arguments else ""
    names = [a for a in arguments[1:] if a in PRODUCTS] or list(PRODUCTS)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for product in names:
            runs = [("healthy", lambda place, product=product: healthy(arguments[0], place, product))] if not only else []
            runs += [(name, lambda place, product=product, name=name: faulty(arguments[0], place, product, name))
                     for name in FAULTS if only in name]
            for name, once in runs:
                begun = time.monotonic()
                good, told = once(Path(scratch) / f"{product}-{name}".replace(" ", "-"))
                wrong += not good
                print(f"{'ok   ' if good else 'WRONG'} {product:9} {name:30} {time.monotonic() - begun:5.1f} s  {told}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
