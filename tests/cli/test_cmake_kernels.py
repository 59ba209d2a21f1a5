"""ci/cmake/kernels.cmake by itself, in a project of its own: what it does where nvcc is new, old or broken."""
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])

# The two kernels stand for all: each has helpers of the same names in an unnamed namespace.
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(probe CXX)
set(CLUSTERBENCH_CUDA AUTO CACHE STRING "")
macro(enable_language what) # the compiler below is no compiler
  set(CMAKE_CUDA_COMPILER_VERSION 13.0)
endmacro()
include(%s/ci/cmake/kernels.cmake)
get_target_property(type kernels TYPE)
message(STATUS "kernels are ${type}")
if(type STREQUAL STATIC_LIBRARY)
  get_target_property(unity kernels UNITY_BUILD)
  message(STATUS "joined: ${CMAKE_UNITY_BUILD} ${unity}")
endif()
message(FATAL_ERROR "nothing is to be built")
"""


def configure(tmp_path, nvcc, *options):
    """What CMake says, with that script for nvcc; ci, kernels and their parent are the project's."""
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    for name in ("ci", "kernels", "src"):
        if not (tree / name).exists():
            (tree / name).symlink_to(SOURCE / name)
    (tree / "CMakeLists.txt").write_text(PROJECT % SOURCE)
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\n{nvcc}\n")
    compiler.chmod(0o755)
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", tmp_path / "build", f"-DCMAKE_CUDA_COMPILER={compiler}", *options],
                          capture_output=True, text=True, timeout=100, check=False)
    said = done.stdout + done.stderr
    assert "nothing is to be built" in said, said
    return said


WORKS = 'case "$*" in *--list-gpu-arch*) echo compute_80; echo compute_90 ;; esac; exit 0'


def test_unity_builds_do_not_join_the_kernels(tmp_path):
    """CMake joins .cu files from 3.31 on; six of them define threads_per_block in one unnamed namespace."""
    said = configure(tmp_path, WORKS, "-DCMAKE_UNITY_BUILD=ON")
    assert "kernels are STATIC_LIBRARY" in said and "joined: ON OFF" in said, said


def test_the_names_that_a_joined_file_would_have_twice_are_there():
    """Without them the test above would guard against nothing."""
    twice = [path.name for path in (SOURCE / "kernels").glob("*.cu") if "constexpr unsigned threads_per_block" in path.read_text()]
    assert len(twice) > 1


def test_an_nvcc_that_cannot_compile_is_told_with_its_own_words(tmp_path):
    words = "error: -- unsupported GNU version! gcc versions later than 12 are not supported!"
    said = configure(tmp_path, f"echo '{words}' >&2; exit 1")
    assert "kernels are INTERFACE_LIBRARY" in said and "CUDA kernels: no" in said
    told = " ".join(said.split())
    assert "CMake Warning" in said and "cannot compile kernels/fill_verify.cu; going on without CUDA" in told, said
    assert words in told, said


@pytest.mark.parametrize("kernels, wanted", [("AUTO", "80-real;90-real;90-virtual"), ("ON", "80-real;90-real;90-virtual")])
def test_what_this_nvcc_knows_is_built(tmp_path, kernels, wanted):
    said = configure(tmp_path, WORKS, f"-DCLUSTERBENCH_CUDA={kernels}")
    assert f"CUDA kernels: yes, nvcc 13.0 for {wanted}" in said, said
