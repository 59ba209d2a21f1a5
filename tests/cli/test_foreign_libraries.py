"""LD_LIBRARY_PATH leads to files that have the names of libraries and are none, are for another architecture, or are another library:
what needs them says so with the file's name, what does not need them measures."""

import os
import shutil
import struct
import subprocess

import pytest
from campaigns import BINARY

# What the program opens at run time. A build for one distribution also links a few others, which its loader refuses by itself.
NAMES = ["libibverbs.so.1", "libibumad.so.3", "libnvidia-ml.so.1", "libcuda.so.1", "libnccl.so.2", "libcufile.so.0", "libcublasLt.so.13",
         "libopenblas.so.0", "libblis.so.4", "libdnnl.so.2", "libdnnl.so.3", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"]
EM_AARCH64 = 183


def not_a_library(path, _):
    path.write_text("not a library\n" * 200)


def another_architecture(path, library):
    shutil.copy(library, path)
    with path.open("r+b") as f:
        f.seek(18)  # e_machine
        f.write(struct.pack("<H", EM_AARCH64))


def another_library(path, library):
    shutil.copy(library, path)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    out = tmp_path_factory.mktemp("library") / "other.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", out], input="int other(void) { return 0; }", text=True, check=True)
    return out


@pytest.fixture(params=[not_a_library, another_architecture, another_library])
def run(request, tmp_path, library):
    """run(words…): what the program did; run.what: what stands in for the libraries."""
    for name in NAMES:
        request.param(tmp_path / name, library)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CLUSTERBENCH_")} | {"LD_LIBRARY_PATH": str(tmp_path)}

    def start(*words):
        return subprocess.run([BINARY, *words], env=environment, capture_output=True, text=True, timeout=60, check=False)
    start.what, start.place = request.param, tmp_path
    return start


@pytest.mark.parametrize("words", [("info",), ("list",), ("bandwidth", "--size", "1M", "--duration", "50ms"),
                                   ("gemm", "--device", "cpu", "--library", "builtin", "--size", "64", "--duration", "50ms")])
def test_what_needs_none_of_them_runs(run, words):
    done = run(*words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [("health",), ("gemm", "--device", "gpu"), ("nccl",), ("verbs",), ("nics",), ("mpi",)])
def test_what_needs_them_says_why_it_measures_nothing(run, words):
    done = run(*words)
    assert done.returncode == 3 and "skipped" in done.stderr, done.stdout + done.stderr


def test_a_product_falls_back_to_what_opens(run):
    done = run("gemm", "--device", "cpu", "--dtype", "fp64", "--size", "64", "--duration", "50ms")
    assert done.returncode == 0 and "1 check, none failed" in done.stdout, done.stderr


def test_the_library_that_was_asked_for_is_named_with_its_file(run):
    if run.what is not another_library:
        pytest.skip("what does not load is passed over, and the distribution's own oneDNN may be next")
    done = run("gemm", "--device", "cpu", "--library", "onednn", "--size", "64")
    assert done.returncode == 4
    assert f"{run.place}/libdnnl.so.3 has no dnnl_version; next: --library builtin" in done.stderr, done.stderr


def test_doctor_knows_whether_an_mpi_opens(run):
    done = run("doctor")
    row = next((line for line in done.stdout.splitlines() if line.startswith("mpi ")), "")
    # A job takes the library beside its launcher, whatever the loader finds first.
    assert (" ok " in row) == (shutil.which("mpirun") is not None), done.stdout
