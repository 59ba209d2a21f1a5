"""What the tests of `template` share: rendered files, and a site of stand-ins on which they are started."""

import json
import os
import pathlib
import socket
import subprocess

import jsonschema
import yaml

from campaigns import BINARY, at_least, cb, step, write_profile

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
TEMPLATES = SOURCE / "templates" / "cluster"
SCHEMAS = SOURCE / "tests" / "data" / "cluster"
FILES = [f"{p.parent.name}/{p.name}" for p in sorted(TEMPLATES.rglob("*")) if p.is_file()]
SCRIPTS = [f for f in FILES if f.endswith((".sh", ".sbatch"))]
YAML = [f for f in FILES if f.endswith((".yaml", ".yml"))]
HERE = socket.gethostname()
THREE = ("--hosts", "n[1-3]:4")
EVERYTHING = ("--gpus", "8", "--partition", "gpu", "--account", "acceptance", "--rdma-resource", "rdma/hca", "--rdma-count", "4",
              "--namespace", "lab", "--claim", "store", "--image", "lab.local:5000/cb/clusterbench:1", "--time", "1-00:00:00")
CHOICES = {"one": (), "nodes": ("--nodes", "3", "--slots", "2"), "three": THREE, "everything": THREE + EVERYTHING}


def rendered(file, *options):
    kind, name = file.split("/")
    done = cb("template", kind, "--file", name, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def validated(file, *options):
    document = yaml.safe_load(rendered(file, *options))
    name = pathlib.Path(file).stem + ".schema.json"
    schemas = {p.name: json.loads(p.read_text()) for p in SCHEMAS.glob("*.json")}
    resolver = jsonschema.RefResolver("", schemas[name], store=schemas)
    jsonschema.Draft7Validator(schemas[name], resolver=resolver).validate(document)
    return document


class Site:
    """A directory that plays the shared one, a profile in it, and stand-ins in the PATH."""

    def __init__(self, tmp_path, limit=1):
        self.root = tmp_path / "shared"
        self.bin = tmp_path / "bin"
        (tmp_path / "clusterbench" / "bin").mkdir(parents=True)
        self.root.mkdir()
        self.bin.mkdir()
        self.program = tmp_path / "clusterbench" / "bin" / "clusterbench"
        self.program.symlink_to(BINARY)
        self.profile = write_profile(self.root, [step("good"), step("each", scope="host")],
                                     [at_least("good.rate", "good", limit)])
        self.options = ("--program", self.program, "--directory", self.root, "--profile", self.profile)

    def stand_in(self, name, body):
        (self.bin / name).write_text(f"#!/bin/bash\nprintf '%s\\n' \"$*\" >>{self.bin}/{name}.log\n{body}\n")
        (self.bin / name).chmod(0o755)

    def said(self, name):
        return (self.bin / f"{name}.log").read_text().splitlines()

    def start(self, text, **more):
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}
        return subprocess.run(["bash", "-c", text], cwd=self.root, env=environment, capture_output=True, text=True, timeout=120)

    def campaigns(self):
        return sorted(p.parent for p in self.root.glob("*/MANIFEST.sha256"))

    def accepted(self, done, code=0, campaigns=1):
        assert done.returncode == code, done.stdout + done.stderr
        assert len(self.campaigns()) == campaigns
        for campaign in self.campaigns():
            assert cb("gate", campaign).returncode == code
