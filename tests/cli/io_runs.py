"""Runs of clusterbench io and what they leave, for the tests of it."""
import json
import os
import subprocess
from pathlib import Path

BIN = os.environ["CLUSTERBENCH_BIN"]


def io(*args, json_file=None, expect=0, before=(), **kwargs):
    """`before`: a command that is given the program and its arguments, and starts it."""
    command = [*before, BIN, "io", "--no-color", *map(str, args)]
    if json_file:
        command += ["--json", str(json_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **kwargs)
    assert done.returncode == expect, done.stderr + done.stdout
    return done


def records(*args, tmp, **kwargs):
    out = tmp / "result.json"
    io(*args, json_file=out, **kwargs)
    return json.loads(out.read_text())["records"]


def metric(record, name):
    return next(m for m in record["metrics"] if m["name"] == name)


def left(directory):
    return sorted(p.name for p in Path(directory).glob("clusterbench-io-*"))
