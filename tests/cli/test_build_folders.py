"""A checkout configures below any folder name, and no file of the program is left out there."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])


def compiled(checkout, build):
    """Names below the checkout of what would be compiled."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return {str(Path(c["file"]).relative_to(checkout)) for c in commands if Path(c["file"]).is_relative_to(checkout / "src")}


@pytest.mark.parametrize("folder", ["cuda", "nvml", "a b/ä ö"])
def test_folder_names_leave_no_source_out(folder, tmp_path):
    checkout = tmp_path / folder / "clusterbench"
    checkout.mkdir(parents=True)
    for name in ("CMakeLists.txt", "ci", "src", "kernels", "profiles", "templates"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, checkout / name)
    build = checkout / "build"
    done = subprocess.run(
        ["cmake", "-S", checkout, "-B", build, "-G", "Ninja", "-DCLUSTERBENCH_CUDA=OFF", "-DCLUSTERBENCH_TESTS=OFF"],
        capture_output=True, text=True, timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = {str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.cpp") if "cuda" not in p.relative_to(ROOT).parts}
    assert compiled(checkout, build) == expected


def nvcc_that_fails(tmp_path):
    tool = tmp_path / "nvcc"
    tool.write_text("#!/bin/sh\necho 'error: unsupported GNU version! gcc versions later than 12 are not supported' >&2\nexit 1\n")
    tool.chmod(0o755)
    return tool


def test_the_words_of_an_nvcc_that_cannot_compile_are_shown(tmp_path):
    nvcc = nvcc_that_fails(tmp_path)
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DCLUSTERBENCH_NVCC={nvcc}", "-DCLUSTERBENCH_TESTS=OFF"],
        capture_output=True, text=True, timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "going on without CUDA" in done.stderr and "unsupported GNU version" in done.stderr
    assert "CUDA kernels: no" in done.stdout
