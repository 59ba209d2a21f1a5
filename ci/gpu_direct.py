#!/usr/bin/python3
"""Profiles of GPUDirect RDMA over soft-RoCE and stand-in GPUs: ci/gpu_direct.py BUILD [PROFILE…] [--healthy] [--fault TEXT]

Boots the emulated machine of the tests (tests/labs/vm) once a run, and measures four hosts there with `clusterbench run` and a shipped profile
whose limit of a rate is scaled with the ports' rate (tests/labs/vm/gpu_direct.py): once healthy, which must be accepted with
nothing open, then with planted faults, a run for those that do not hide each other; with --fault the runs of those that have TEXT in their name. A fault must be found by its criterion and name
its end, or the report must say of its host why it is not measured, and name no sound host there; nothing besides may fail. Prints a line for each run and a sum for each
profile; exit 1 if one is not as it must be. One to three minutes of two cores a run; a run is repeated once if it is not as it must be.
"""
import json
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/labs/vm"))
from gpu_direct import MODULES, RUNS, planted, script_of, wrong_of  # noqa: E402
from gpu_node import failing, open_points  # noqa: E402
from vm_lab import VmLab  # noqa: E402

PROFILES = ("gpu-direct-200g", "gpu-direct-400g")
TRIES = 2


def told_of(name, fault, bad):
    return f"{name}: {fault.criterion} names {', '.join(sorted(bad[fault.criterion]))}" if fault.criterion else f"{name}: {fault.culprit}, \"{fault.says}\""


def measured(lab, build, profile, names):
    """(as it must be, what happened)"""
    faults = {name: planted(name, profile) for name in names}
    left = lab.run(script_of(build, SOURCE / "profiles", profile, faults.values()), timeout=560, name=profile)
    if not (left.directory / "report.json").exists():
        return False, f"no report: {left.directory}: {left.stderr[-500:]}"
    report, code = json.loads((left.directory / "report.json").read_text()), int((left.directory / "code").read_text())
    bad, remain = failing(report), open_points(report)
    wrong = wrong_of(report, faults)
    if not faults and (code or remain):
        wrong.append("not accepted")
    if wrong:
        return False, f"{'; '.join(names)}: {'; '.join(wrong)}; exit {code}, open {remain}; {left.directory}"
    if not faults:
        return True, f"accepted, {len(report['criteria'])} criteria pass"
    return True, "; ".join(told_of(name, fault, bad) for name, fault in faults.items())


def all_of(lab, build, profile, runs):
    """Runs that were not as they must be."""
    wrong = found = 0
    for names in runs:
        begun = time.monotonic()
        for attempt in range(TRIES):
            good, told = measured(lab, build, profile, names)
            if good:
                break
        wrong += not good
        found += good * len(names)
        print(f"{'ok   ' if good else 'WRONG'} {profile} {time.monotonic() - begun:5.1f} s  {told}{f' (try {attempt + 1})' if attempt else ''}", flush=True)
    print(f"sum   {profile} {found} of {sum(map(len, runs))} planted faults found and named", flush=True)
    return wrong


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    build, words = arguments[0], arguments[1:]
    runs = [(), *RUNS]
    if "--healthy" in words:
        words.remove("--healthy")
        runs = [()]
    if "--fault" in words:
        at = words.index("--fault")
        text, words = " ".join(words[at + 1:at + 2]), words[:at] + words[at + 2:]
        runs = [names for names in RUNS if text and any(text in name for name in names)]
    if not runs or any(word not in PROFILES for word in words):
        print(f"gpu_direct.py: profiles are {' '.join(PROFILES)}; --fault needs a part of a fault's name", file=sys.stderr)
        return 2
    lab = VmLab(Path(build).resolve() / "vm-lab", modules=MODULES)
    if reason := lab.missing():
        print(reason)
        return 77
    return 1 if sum(all_of(lab, build, profile, runs) for profile in words or PROFILES) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
