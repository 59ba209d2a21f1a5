"""A stand-in for mpirun over the stand-in launcher: it plays hosts, and alters what chosen attempts measured.

`plan.json` beside it has
  scale  {"JOB:ATTEMPT" or "JOB:ATTEMPT/HOST": factor of every sample}
  names  {host: what it calls itself}
"""

import json
import os
import pathlib
import re
import stat
import subprocess
import sys

TOOL = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "stand_in_launcher"


class Lab:
    """A directory with the launcher, its rules, and the environment that finds it."""

    def __init__(self, directory, plan=None, rules=()):
        self.root = pathlib.Path(directory)
        (self.root / "bin").mkdir(parents=True)
        (self.root / "state").mkdir()
        script = self.root / "bin/mpirun"
        script.write_text(f"#!/usr/bin/python3\nimport sys\nsys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                          f"import altering_launcher\nsys.exit(altering_launcher.main({str(self.root)!r}, sys.argv[1:]))\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        (self.root / "plan.json").write_text(json.dumps(plan or {}))
        self.rules(*rules)
        self.environment = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "CLUSTERBENCH_TEST_CASES": "1",
                            "STAND_IN_SCRIPT": str(self.root / "script"), "STAND_IN_STATE": str(self.root / "state"),
                            "STAND_IN_BINARY": os.environ["CLUSTERBENCH_BIN"]}

    def rules(self, *lines):
        (self.root / "script").write_text("".join(line + "\n" for line in lines))


def scaled(metric, factor):
    summary = {k: v if k == "n" else [x * factor for x in v] if isinstance(v, list) else v * factor
               for k, v in metric["summary"].items()}
    return {**metric, "samples": [x * factor for x in metric["samples"]], "summary": summary}


def alter(document, plan, attempt):
    scale, names = plan.get("scale", {}), plan.get("names", {})
    for record in document["records"]:
        for i, metric in enumerate(record["metrics"]):
            host = record["entities"][metric["entity"]]["host"]
            factor = scale.get(f"{attempt}/{host}", scale.get(attempt, 1))
            if factor != 1:
                record["metrics"][i] = scaled(metric, factor)
        for entity in record["entities"]:
            entity["host"] = names.get(entity["host"], entity["host"])
    document["run"]["hosts"] = [names.get(h, h) for h in document["run"]["hosts"]]
    for host in document.get("hosts", []):
        host["host"] = names.get(host["host"], host["host"])


def main(directory, arguments):
    code = subprocess.run([TOOL, *arguments]).returncode
    if "--json" not in arguments or "roll-call" in arguments:
        return code
    target = pathlib.Path(arguments[arguments.index("--json") + 1])
    found = re.fullmatch(r"(.*)\.json\.(\d+)\.partial", target.name)
    if not target.exists() or not found:
        return code
    document = json.loads(target.read_text())
    alter(document, json.loads((pathlib.Path(directory) / "plan.json").read_text()), f"{found[1]}:{found[2]}")
    target.write_text(json.dumps(document))
    return code
