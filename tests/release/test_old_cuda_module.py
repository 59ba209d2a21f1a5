"""The CUDA module for drivers from 450 on, by the toolkit and the commands of a release: built whole, loaded, and chosen for old drivers."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
PROGRAM = BUILD / "bin/clusterbench_fake_modules"
TOOLKIT = SOURCE / ".cache/release/cuda11"
INPUTS = Path(os.environ.get("CLUSTERBENCH_RELEASE_INPUTS", SOURCE / ".cache/release/inputs"))
NAME = "libclusterbench_cuda11.so"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="built without CUDA")


def said(*command, seconds=60, **env):
    return subprocess.run(command, check=True, text=True, capture_output=True, timeout=seconds, env={**os.environ, **env}).stdout


def packages_are_here():
    names = re.findall(r"^non-free .* (\S+)$", (SOURCE / "ci/portable/inputs.txt").read_text(), re.M)
    assert len(names) == 2
    return all((INPUTS / name).exists() for name in names)


@pytest.fixture(scope="module")
def toolkit():
    """timeout ends the whole group, apt too."""
    done = subprocess.run(["timeout", "600", SOURCE / "ci/portable/cuda.sh"], text=True, capture_output=True, check=False)
    if done.returncode == 1 and not packages_are_here():
        pytest.skip(f"the two packages with CUDA 11.8 cannot be had here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return TOOLKIT


@pytest.fixture(scope="module")
def module(toolkit):
    """A build beside this one, of that target alone; tests that are timed have the machine before it."""
    build = BUILD / "old_cuda_module"
    said("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCLUSTERBENCH_CUDA_MODULES=ON",
         "-DCLUSTERBENCH_TESTS=OFF", f"-DCLUSTERBENCH_CUDA_OLD_TOOLKIT={toolkit}", seconds=120)
    said("nice", "-n", "19", "cmake", "--build", build, "--target", "cuda_module_11", "--parallel", "2", seconds=1000)
    return build / "lib/clusterbench" / NAME


def in_module(toolkit, module, kind):
    """How many files of machine code or PTX it holds for each architecture."""
    return Counter(re.findall(r"\.(sm_\d+)\.", said(toolkit / "bin/cuobjdump", f"--list-{kind}", module)))


def test_every_kernel_has_machine_code_and_ptx(toolkit, module):
    kernels = len(list((SOURCE / "kernels").glob("*.cu")))
    assert in_module(toolkit, module, "elf") == dict.fromkeys(ARCHITECTURES, kernels)
    assert in_module(toolkit, module, "ptx") == {"sm_90": kernels}


def test_it_exports_its_table_alone(module):
    symbols = said("nm", "-D", "--defined-only", module).splitlines()
    assert [line.split()[-1] for line in symbols] == ["clusterbench_cuda"]


@pytest.mark.parametrize("driver, words", [(11040, "11.4"), (12020, "12.2"), (12080, "12.8")])
def test_an_old_driver_gets_it(module, tmp_path, driver, words):
    """Beside one that needs CUDA 13. Its own runtime finds no GPU here."""
    program = tmp_path / "bin/clusterbench"
    places = tmp_path / "lib/clusterbench"
    program.parent.mkdir()
    places.mkdir(parents=True)
    shutil.copy(PROGRAM, program)
    shutil.copy(module, places)
    newer, = (BUILD / "fake/modules/real").glob("libclusterbench_cuda1[3-9].so")
    shutil.copy(newer, places)
    text = said(program, "info", CLUSTERBENCH_CUDA_LIBRARY=str(BUILD / "fake/libcuda.so.1"),
                CLUSTERBENCH_FAKE_CUDA=f"devices=1 memory=536870912 driver={driver}")
    part = text[text.rindex("  cuda\n"):]
    assert f"driver   {words}" in part and str(places / NAME) in part, part
    assert f"the newest here that a driver of CUDA {words} runs" in part, part
