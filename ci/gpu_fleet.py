#!/usr/bin/python3
"""GPU profiles of several nodes on stand-in GPUs and hosts: ci/gpu_fleet.py BUILD [PROFILE…] [--shared] [--fault TEXT]

Runs `clusterbench run` with shipped profiles over hosts that are network namespaces (needs root and Open MPI), each with eight stand-in
GPUs, a rank for each: two hosts for a pair, six trays of four GPUs for NVL72, three hosts for all others. Once healthy, which must be accepted with
nothing open, then with the planted faults: those that do not hide each other in one run, each on a GPU of its own, on all hosts; the
others alone, on the second host; with --fault each that has TEXT in its name, alone; with --shared only the runs of several. Each must be
found by its criterion on its host or GPU, and nothing besides may fail. Prints a line for each run and a sum for each profile; exit 1 if one is not as it must be. A busy machine may leave a verdict open
or a collective late: a run is repeated twice at most. About a minute of two cores a run.
"""
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/cli"))
from fleet_faults import FAULTS, OF_A_JOB, batches_of  # noqa: E402
from gpu_fleet import BUS, faults_of, gpus_of, hosts_of, run_fleet, wrong_of  # noqa: E402
from gpu_node import failing, open_points  # noqa: E402
from netns_lab import NetnsLab, why_not  # noqa: E402

TRIES = 3
PROFILES = [f"{product}-{several}" for product in BUS for several in ("pair", "cluster")] + ["nccl-nodes", "nccl-cluster", "nccl-matrix", "nccl-matrix-sharp", "nccl-matrix-nvl72", "gds", "end-to-end-gpu"]


def ports_of(profile):
    """RDMA ports of a host: a profile of the matrix asks for them."""
    return 8 if profile.startswith("nccl-matrix") else 0


def healthy(build, place, lab, profile):
    code, report, text = run_fleet(build, SOURCE, place, lab, profile, ports=ports_of(profile))
    bad, left = failing(report), open_points(report)
    good = code == 0 and not bad and not left
    passed = sum(c["state"] == "pass" for c in report["criteria"])
    return good, f"accepted, {passed} criteria pass" if good else f"exit {code}, failing {bad}, open {left}\n{text[-2000:] if code > 3 else ''}"


def faulty(build, place, lab, profile, faults):
    code, report, _ = run_fleet(build, SOURCE, place, lab, profile, faults, ports_of(profile))
    missing, others = wrong_of(report, faults, lab.hosts)
    bad = failing(report)
    told = "; ".join(f"{name}: {told_of(bad, name, lab.hosts[host])}" for (host, _), name in faults.items() if name not in missing)
    if missing or others:
        return False, f"exit {code}, not found {missing}, failing besides {others}, open {open_points(report)}; {told}"
    return True, told


def told_of(bad, name, host):
    """How the fault was named."""
    if name in OF_A_JOB:
        words = '" or "'.join(FAULTS[name][1].split("|"))
        return f'{host} is not measured: "{words}"'
    return f"{FAULTS[name][1]} names {', '.join(sorted(bad[FAULTS[name][1]]))}"


def tried(build, scratch, profile, faults):
    """(as it must be, what happened)"""
    for attempt in range(TRIES):
        with NetnsLab(hosts_of(profile)) as lab:
            place = scratch / str(attempt)
            good, told = faulty(build, place, lab, profile, faults) if faults else healthy(build, place, lab, profile)
        if good:
            break
    return good, told + (f" (try {attempt + 1})" if attempt else "")


def runs_of(profile, only, shared):
    """The faults of each run."""
    names = [name for name in faults_of(SOURCE / "profiles", profile) if only in name]
    if only:
        return [{(1, 0 if name in OF_A_JOB else 3): name} for name in names]
    batches = batches_of(names, hosts_of(profile), gpus_of(profile))
    return [faults for faults in batches if len(faults) > 1] if shared else [{}, *batches]


def all_of(build, scratch, profile, only, shared):
    """Runs that were not as they must be."""
    wrong = found = planted = 0
    for number, faults in enumerate(runs_of(profile, only, shared)):
        begun = time.monotonic()
        good, told = tried(build, scratch / f"{profile}-{number}", profile, faults)
        wrong += not good
        found += good * len(faults)
        planted += len(faults)
        print(f"{'ok   ' if good else 'WRONG'} {profile:18} {time.monotonic() - begun:5.1f} s  {told}", flush=True)
    print(f"sum   {profile:18} {found} of {planted} planted faults found and named", flush=True)
    return wrong


def asked(words):
    """(profiles, part of a fault's name, whether only several at a time); ends with 2 where there is no such thing."""
    only, shared = "", "--shared" in words
    words = [w for w in words if w != "--shared"]
    if "--fault" in words:
        at = words.index("--fault")
        only, words = " ".join(words[at + 1:at + 2]), words[:at] + words[at + 2:]
        if not only:
            refuse("--fault: needs a part of a fault's name")
    if strange := [w for w in words if w not in PROFILES]:
        refuse(f"{strange[0]}: no profile of several nodes ({' '.join(PROFILES)})")
    profiles = words or PROFILES
    if only and not any(only in name for p in profiles for name in faults_of(SOURCE / "profiles", p)):
        refuse(f"--fault {only}: no fault of {' '.join(profiles)} has this in its name")
    return profiles, only, shared


def refuse(what):
    print(f"gpu_fleet.py: {what}", file=sys.stderr)
    sys.exit(2)


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    profiles, only, shared = asked(arguments[1:])
    if reason := why_not():
        print(reason)
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        wrong = sum(all_of(arguments[0], Path(scratch), profile, only, shared) for profile in profiles)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
