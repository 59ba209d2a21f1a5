"""A stand-in for mpirun that runs one rank and then plays a fault of the node in chosen attempts.

`install(directory, plan)` puts it into a directory; `plan` maps "JOB:ATTEMPT" to what happens:
  wrong    a check of the record fails, as if the node had computed wrong data once
  errored  a part fails: a record without numbers, exit code 4
  skipped  a part was not there: a record without numbers, exit code 3
  killed   as wrong, but the process is killed after it has written its document
  slow     every sample is half of what was measured
  vanished as slow, but the process is killed before it has written a document
The plan is a file beside it, so that a resumed run can have another one.
"""

import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys

CODES = {"wrong": 1, "errored": 4, "skipped": 3}


def install(directory, plan):
    directory = pathlib.Path(directory)
    directory.mkdir(exist_ok=True)
    script = directory / "mpirun"
    script.write_text(f"#!/usr/bin/python3\nimport sys\nsys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                      f"import stand_in_mpirun\nsys.exit(stand_in_mpirun.main({str(directory)!r}, sys.argv[1:]))\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (directory / "plan.json").write_text(json.dumps(plan))
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def planted(directory, out):
    """The jobs of the campaign in whose documents a fault was planted."""
    ledger = pathlib.Path(directory) / "planted"
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    return {line.split(" ", 1)[0] for line in lines if line.split(" ", 1)[1] == str(out)}


def halve(record):
    for metric in record["metrics"]:
        metric["samples"] = [x / 2 for x in metric["samples"]]
        metric["summary"] = {k: v if k == "n" else [x / 2 for x in v] if isinstance(v, list) else v / 2
                             for k, v in metric["summary"].items()}


def spoil(document, how):
    record = document["records"][0]
    if how == "slow":
        halve(record)
        return
    if how in ("wrong", "killed"):
        record["checks"].append({"name": "data", "passed": False, "entity": 0, "detail": "planted fault"})
    else:
        bare = {**record, "outcome": how, "reason": "planted fault", "metrics": [], "checks": [],
                "telemetry": {"series": [], "deltas": []}}
        if how == "errored":
            bare["where"] = "gpu3"
        document["records"].append(bare)


def main(directory, arguments):
    program = arguments[arguments.index(os.environ["CLUSTERBENCH_BIN"]):]
    done = subprocess.run(program)
    target = pathlib.Path(program[program.index("--json") + 1])
    job, attempt = re.fullmatch(r"(.*)\.json\.(\d+)\.partial", target.name).groups()
    how = json.loads((pathlib.Path(directory) / "plan.json").read_text()).get(f"{job}:{attempt}")
    if how is None or not target.exists():
        return done.returncode
    if how == "vanished":
        target.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    document = json.loads(target.read_text())
    spoil(document, how)
    fresh = target.with_name(target.name + ".x")
    fresh.write_text(json.dumps(document))
    fresh.rename(target)
    with open(pathlib.Path(directory) / "planted", "a", encoding="utf-8") as ledger:
        ledger.write(f"{job} {target.parent.parent}\n")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return CODES.get(how, 0)
