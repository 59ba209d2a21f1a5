"""Which way NCCL's data takes, from its log: figures of each rank, whatever version wrote the lines."""

import os

import pytest
from collectives import metrics


def by_rank(record, name):
    return {int(record["entities"][m["entity"]]["id"]): m["samples"][0] for m in metrics(record, name)}


@pytest.mark.parametrize("version", ["21805", "22105", "22304", "22703", "22809", "23007"])
def test_the_paths_of_every_version(nccl, version):
    record, = nccl(4, "--size", "64K", "--iterations", 2, "--calls", 1, "--checks", 1, "--paths", "--algorithms",
                   behaviour=f"version={version},hosts=2,pxn,nvls,gdr_pci")[0]
    assert by_rank(record, "gpu_direct_share") == dict.fromkeys(range(4), 1.0)
    assert by_rank(record, "socket_connections") == dict.fromkeys(range(4), 0)
    assert by_rank(record, "pxn_connections") == dict.fromkeys(range(4), 2)  # of the two sends
    assert by_rank(record, "nvls_channels") == dict.fromkeys(range(4), 16)
    assert by_rank(record, "in_network_connections") == dict.fromkeys(range(4), 0)
    assert record["facts"]["paths"] == "ranks 0-3: P2P 1, IB 4, GPUDirect RDMA 4 of 4, PXN 2, NVLS 16 channels"
    assert record["facts"]["algorithm"].startswith("nvls_tree simple")
    assert metrics(record, "in_switch_share")[0]["samples"] == [1.0]


def test_the_rank_that_fell_back_is_named(nccl):
    record, = nccl(4, "--size", "64K", "--iterations", 2, "--calls", 1, "--checks", 1, "--paths",
                   behaviour="hosts=2,socket=2:1,no_gdr=3:1")[0]
    assert by_rank(record, "socket_connections") == {0: 0, 1: 0, 2: 4, 3: 0}
    assert by_rank(record, "gpu_direct_share") == {0: 1, 1: 1, 2: 0, 3: 0}
    assert record["facts"]["paths"] == ("ranks 0-1: P2P 1, IB 4, GPUDirect RDMA 4 of 4; rank 2: P2P 1, Socket 4, "
                                        "GPUDirect RDMA 0 of 4; rank 3: P2P 1, IB 4, GPUDirect RDMA 0 of 4")
    assert "algorithm" not in record["facts"]  # only connections were logged


def test_sharp_nvlink_of_several_hosts_and_host_memory(nccl, monkeypatch):
    monkeypatch.setenv("NCCL_COLLNET_ENABLE", "1")
    args = ["--size", "64K", "--iterations", 2, "--calls", 1, "--checks", 1, "--paths", "--algorithms"]
    record, = nccl(2, *args, behaviour="hosts=2,sharp")[0]
    assert by_rank(record, "in_network_connections") == {0: 2, 1: 2}
    assert record["facts"]["algorithm"].startswith("collnet_chain")
    assert metrics(record, "in_network_share")[0]["samples"] == [1.0]
    monkeypatch.delenv("NCCL_COLLNET_ENABLE")
    record, = nccl(2, *args, behaviour="hosts=2,sharp")[0]
    assert by_rank(record, "in_network_connections") == {0: 0, 1: 0}
    assert metrics(record, "in_switch_share")[0]["samples"] == [0.0]
    record, = nccl(2, *args, behaviour="hosts=2,nvl72")[0]
    assert by_rank(record, "domain_connections") == {0: 1, 1: 1}
    assert not by_rank(record, "gpu_direct_share"), "no connection over the network: absent, not 0"
    record, = nccl(2, *args, "--transport", "shm")[0]
    assert by_rank(record, "host_memory_connections") == {0: 1, 1: 1}


def test_one_rank_that_is_not_told_leaves_no_figure_of_any(job, monkeypatch):
    """Else a criterion about every rank would pass by those that did tell."""
    build = os.environ["CLUSTERBENCH_BUILD_DIR"]
    monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY", f"{build}/fake/fake_nccl.so")
    monkeypatch.setenv("FAKE_NCCL", "hosts=2")
    silent = ["sh", "-c", '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export FAKE_NCCL=hosts=2,silent; exec "$@"', "sh"]
    code, document, _, err = job.measure(2, "nccl", "--memory", "host", "--gpus", 1, "--size", "64K", "--iterations", 2,
                                         "--calls", 1, "--checks", 1, "--paths", before=silent)
    record, = document["records"]
    assert code == 0 and metrics(record, "bus_bytes_per_second"), err
    assert not by_rank(record, "socket_connections") and not by_rank(record, "pxn_connections")
    note, = [n for n in record["notes"] if "names no connection" in n]
    assert "rank 1" in note and "rank 1: ?" in record["facts"]["paths"]


def test_without_a_word_of_the_library_nothing_is_said(nccl):
    record, = nccl(2, "--size", "64K", "--iterations", 2, "--paths", behaviour="silent")[0]
    assert not by_rank(record, "socket_connections") and "paths" in record["facts"]
    assert any("names no connection" in n for n in record["notes"])
    assert metrics(record, "bus_bytes_per_second")
