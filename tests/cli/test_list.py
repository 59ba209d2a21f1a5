"""`list` says of each case whether this host can run it, as the case itself would."""

import os
import pathlib
import re

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


def test_no_code_outside_of_a_case_asks_for_its_name():
    """What differs between cases is a field of CaseInfo, so that a new case changes no other file."""
    names = {line.split()[0] for line in cb("list").stdout.splitlines()[1:]} | {"fake"}
    asks = re.compile(r'(?:case_name|info\.name|\bcase) *[!=]= *"(\w[\w-]*)"|[!=]= *"(' + "|".join(sorted(names)) + ')"')
    root = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "src"
    assert asks.search('if (step.case_name == "info") learn();') and asks.search('name != "verbs"')
    files = [p for p in root.rglob("*") if p.suffix in (".cpp", ".h") and "bench" not in p.relative_to(root).parts]
    assert len(files) > 300
    assert {str(p.relative_to(root)) for p in files if asks.search(p.read_text(encoding="utf-8"))} == set()
