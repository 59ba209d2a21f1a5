"""Profiles of the scripted case `fake`, and what the tests of run and gate do with them."""

import json
import os
import pathlib
import subprocess

BINARY = os.environ["CLUSTERBENCH_BIN"]
SOURCE = {"kind": "practice", "ref": "test", "date": "2026-11"}


def step(identity, **more):
    out = {"id": identity, "case": "fake", "deadline": "20s", "params": {"value": 2}}
    out.update(more)
    return out


def criterion(identity, step_id, **rule):
    return {"id": identity, "step": step_id, "domain": "host", "why": "test", "source": SOURCE, **rule}


def at_least(identity, step_id, limit, **more):
    return criterion(identity, step_id, metric="bytes_per_second", min=limit, **more)


def informative_unless_judged(steps, criteria):
    """A step of a valid profile is judged, or says why it is not."""
    judged = {c.get("step") for c in criteria}
    return [s if s["id"] in judged else {**s, "informative": True, "why": "test"} for s in steps]


def profile(steps, criteria, name="test"):
    return {
        "schema": "clusterbench.profile/1",
        "name": name,
        "title": {"en": "test", "zh": "测试"},
        "steps": informative_unless_judged(steps, criteria),
        "criteria": criteria,
    }


def write_profile(directory, steps, criteria, name="p.json"):
    path = pathlib.Path(directory) / name
    path.write_text(json.dumps(profile(steps, criteria)))
    return str(path)


def cb(*arguments, timeout=60, **more):
    return subprocess.run(
        [BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **more
    )


def run_local(path, out, *more, **keywords):
    """Runs without a launcher: one rank, fast."""
    return cb("run", path, "--out", out, "--launcher", "none", *more, **keywords)


def journal(out):
    lines = (pathlib.Path(out) / "journal.jsonl").read_text().splitlines()
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except ValueError:
            pass
    return events


def ends(out, job=None):
    return [e for e in journal(out) if e["event"] == "end" and job in (None, e["job"])]


def manifest_holds(out):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"],
        cwd=out, capture_output=True, text=True,
    )
    return done.returncode == 0, done.stdout + done.stderr


def files(out):
    root = pathlib.Path(out)
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
