"""`list` says of each case whether this host can run it, as the case itself would."""

import os
import pathlib

import pytest

from campaigns import cb


def here(case, **environment):
    done = cb("list", env={**os.environ, **environment})
    assert done.returncode == 0
    heading, *lines = done.stdout.splitlines()
    at, end = heading.index("here"), heading.index("what it measures")
    return next(line[at:end].strip() for line in lines if line.split()[0] == case)


def test_without_cufile_gds_cannot_run():
    assert here("gds", CLUSTERBENCH_CUFILE_LIBRARY="/nonexistent/libcufile.so") == "no: cuFile cannot be opened"


def test_without_nccl_or_a_gpu_nccl_cannot_run():
    assert here("nccl", CLUSTERBENCH_NCCL_LIBRARY="/nonexistent/libnccl.so").startswith("no: ")


@pytest.mark.skipif(pathlib.Path("/sys/class/infiniband").exists(), reason="this host has an RDMA device")
def test_without_an_rdma_device_verbs_cannot_run():
    assert here("verbs") == "no: no RDMA device"


def test_what_runs_everywhere():
    assert here("info") == "yes"
    assert here("tcp") == here("locate") == "yes, under mpirun or srun"
    assert here("io") == "yes, in a directory that you may write to"
