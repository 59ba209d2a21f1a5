"""The commands under "Your first case" of CONTRIBUTING.md make a case that compiles and is in the table."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
PATTERN = "src/bench/skeleton/skeleton_case.cpp"


def commands():
    section = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Your first case")[1].split("\n## ")[0]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]


def compiler_of_the_pattern(tree):
    """The pattern's own command line, with the headers of `tree` before those of the checkout."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"].endswith("/" + PATTERN):
            words = shlex.split(entry["command"])
            del words[words.index("-o"):words.index("-o") + 2]
            return [words[0], f"-I{tree}/src", *(w for w in words[1:] if w not in ("-c", entry["file"])), "-fsyntax-only"]
    raise AssertionError(f"{PATTERN} is not compiled by itself")


def test_the_commands_make_a_case_that_compiles(tmp_path):
    shutil.copytree(SOURCE / "src" / "bench", tmp_path / "src" / "bench")
    subprocess.run(["bash", "-e", "-c", commands()], cwd=tmp_path, check=True, timeout=30)
    compiler = compiler_of_the_pattern(tmp_path)
    for name in ("src/bench/cpu/walk_case.cpp", "src/bench/registry.cpp"):
        done = subprocess.run([*compiler, tmp_path / name], capture_output=True, text=True, timeout=250, check=False)
        assert done.returncode == 0, done.stderr
    made = (tmp_path / "src/bench/cpu/walk_case.cpp").read_text(encoding="utf-8")
    assert "skeleton" not in made.lower() and "hidden = true" not in made
    assert "walk_case()," in (tmp_path / "src/bench/registry.cpp").read_text(encoding="utf-8")
