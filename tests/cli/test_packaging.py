"""The module file, the recipe for Spack and the container files: each as far as it can be read or run without its tool's cluster."""

import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BINARY = os.environ["CLUSTERBENCH_BIN"]
MODULES = Path("/usr/share/modules/init/bash")


@pytest.fixture
def installed(tmp_path):
    """A folder as a release has it."""
    place = tmp_path / "a release"
    (place / "bin").mkdir(parents=True)
    (place / "bin/clusterbench").write_text("#!/bin/sh\necho found\n")
    (place / "bin/clusterbench").chmod(0o755)
    subprocess.run([BINARY, "documents", "man", "--out", place / "share/man/man1"], check=True, timeout=60)
    (place / "share/modulefiles/clusterbench").mkdir(parents=True)
    shutil.copy(SOURCE / "packaging/modulefile", place / "share/modulefiles/clusterbench/0.1.0")
    return place


def with_module(installed, script):
    if not MODULES.exists():
        pytest.skip("environment-modules is not installed")
    words = f'. {MODULES}; module use "$1/share/modulefiles"; module load clusterbench && {script}'
    return subprocess.run(["bash", "--norc", "-c", words, "bash", installed], text=True, capture_output=True, timeout=60, check=False)


def test_the_module_finds_the_folder_it_lies_in_and_is_taken_back(installed):
    done = with_module(installed, "clusterbench; module unload clusterbench; command -v clusterbench || echo gone")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "found\ngone\n"


def test_man_finds_the_pages_beside_the_program_of_the_module(installed):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    done = with_module(installed, "man -w clusterbench-run && man -w ls")
    assert done.stdout.splitlines()[0] == f"{installed}/share/man/man1/clusterbench-run.1"
    assert done.stderr == ""


def test_the_module_says_what_it_is(installed):
    done = with_module(installed, "module help clusterbench && module whatis clusterbench")
    assert "clusterbench doctor" in done.stderr + done.stdout
    assert "GPU cluster measurement" in done.stderr + done.stdout


def test_the_recipe_installs_the_files_of_the_release(installed, tmp_path, monkeypatch):
    """Spack's own words are stood in for: what the recipe says, and that install() copies what is there."""
    said = []
    words = types.ModuleType("spack.package")
    words.Package = object
    for name in ("license", "version", "variant", "depends_on", "conflicts"):
        setattr(words, name, lambda *args, name=name, **options: said.append((name, args, options)))
    words.install_tree = shutil.copytree
    words.install = shutil.copy
    words.join_path = os.path.join
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", words)
    text = (SOURCE / "packaging/spack/package.py").read_text().replace("@VERSION@", "0.1.0").replace("@SHA256@", "0" * 64)
    names = {}
    exec(compile(text, "package.py", "exec"), names)  # noqa: S102
    assert ("version", ("0.1.0",), {"sha256": "0" * 64}) in said
    assert [args for name, args, options in said if name == "depends_on"] == [("openmpi",)]
    for name in ("LICENSE", "sbom.spdx.json"):
        (installed / name).write_text("x")
    monkeypatch.chdir(installed)
    recipe = names["Clusterbench"]()
    assert recipe.url_for_version("0.1.0") == f"file://{installed}/clusterbench-0.1.0-x86_64.tar.gz"
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    recipe.install(None, prefix)
    assert (prefix / "bin/clusterbench").stat().st_mode & 0o111
    assert (prefix / "share/modulefiles/clusterbench/0.1.0").exists() and (prefix / "LICENSE").exists()


def rendered(*words):
    return subprocess.run([BINARY, "template", *words], text=True, capture_output=True, timeout=60, check=True).stdout


def test_the_container_file_takes_its_base_by_argument_and_every_line_is_an_instruction():
    text = rendered("docker", "--file", "Dockerfile")
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    words = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert words == ["ARG", "FROM", "RUN", "COPY", "ENV", "CMD"]
    assert "ARG BASE=debian:12\nFROM ${BASE}\n" in text


def test_the_shell_of_both_container_files_is_sound():
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    joined = re.sub(r"\\\n\s*", "", rendered("docker", "--file", "Dockerfile"))
    run = re.search(r"^RUN (.*)", joined, re.MULTILINE)[1]
    definition = rendered("apptainer", "--file", "clusterbench.def")
    sections = re.split(r"^%(\w+)\n", definition, flags=re.MULTILINE)
    assert sections[1::2] == ["files", "post", "runscript"]
    assert re.match(r"(#.*\n)*Bootstrap: docker\nFrom: debian:12\n", sections[0])
    for script in (run, sections[4], sections[6]):
        done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=script, text=True, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout
