"""`overlap` on stand-ins whose products and collectives take times that are known (tests/fake_cuda, tests/fake_nccl)."""
import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = BUILD / "bin" / "clusterbench_fake_gpu"
FAKE = BUILD / "fake"

pytestmark = pytest.mark.skipif(not BIN.exists(), reason="built without CUDA")


def run(tmp_path, *args, cuda="", nccl="steady,rate=2", nvml="", gpus=2, ranks=0, iterations=3, code=0):
    file = tmp_path / "r.json"
    file.unlink(missing_ok=True)
    env = dict(os.environ, CLUSTERBENCH_FAKE_CUDA=f"memory=536870912 devices={gpus} {cuda}", FAKE_NCCL=nccl,
               CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_NCCL_LIBRARY=str(FAKE / "fake_nccl.so"),
               CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML=f"gpus={gpus} {nvml}")
    launcher = ["mpirun", "--oversubscribe", "-np", str(ranks)] if ranks else []
    point = ["--size", "128", "--message", "64K", "--warm-up", "0s", "--iterations", str(iterations)]
    done = subprocess.run([*launcher, BIN, "overlap", *point, *args, "--json", file], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(file.read_text())["records"] if file.exists() else done.stderr


def summary(record, name):
    return [m["summary"] for m in record["metrics"] if m["name"] == name][0]


def samples(record, name):
    return [m["samples"] for m in record["metrics"] if m["name"] == name][0]


def shortest(record):
    """The shortest product, collective and both: a busy machine makes a turn longer, never shorter."""
    return [min(samples(record, name)) for name in ("product_seconds", "collective_seconds", "both_seconds")]


def failed(record):
    return {c["name"] for c in record["checks"] if not c["passed"]}


def test_a_collective_under_products_that_go_on_beside_it_is_hidden(tmp_path):
    """A product of 128^3 at 0.4 GFLOP/s takes 21 ms with the first algorithm, a call of 64 KiB at 2 MB/s 66 ms, as each
    rank sends to both, and five calls 328 ms."""
    (record,) = run(tmp_path, cuda="wall=1 flops=4e8", iterations=6)
    assert not failed(record)
    product, collective, both = shortest(record)
    assert 0.25 < collective < 0.6  # with the products it would be 0.66
    assert product >= 0.7 * collective
    assert both - product < 0.3 * collective
    assert both == pytest.approx(product, rel=0.3)
    assert len(samples(record, "hidden_share")) == 6
    exposed = [b - p for b, p in zip(samples(record, "both_seconds"), samples(record, "product_seconds"))]
    assert samples(record, "exposed_seconds") == pytest.approx(exposed, rel=1e-6, abs=1e-12)
    hidden = [1 - e / c for e, c in zip(exposed, samples(record, "collective_seconds"))]
    assert samples(record, "hidden_share") == pytest.approx(hidden, rel=1e-6, abs=1e-12)
    assert sum(share > 0.5 for share in hidden) >= 4


def test_products_that_begin_behind_the_collective_hide_nothing(tmp_path):
    """Without a wall's clock the stand-in computes when it is asked for the result, which is behind the collective. At
    0.04 GFLOP/s two products are as long as the collective, and the stand-in computes no more than these."""
    (record,) = run(tmp_path, cuda="flops=4e7", iterations=6)
    assert not failed(record)
    product, collective, both = shortest(record)
    assert both - product == pytest.approx(collective, rel=0.3)


def test_fewer_thread_blocks_make_a_longer_collective(tmp_path):
    """A busy machine makes a call longer, never shorter: the shortest of six is the nearest to its pace."""
    records = run(tmp_path, "--max-ctas", "4,2", cuda="wall=1 flops=4e8", nccl="steady,cta_rate=1", iterations=6)
    four, two = (summary(r, "collective_seconds")["min"] for r in records)
    assert [r["params"]["max-ctas"] for r in records] == [4, 2]
    assert two / four == pytest.approx(2, rel=0.25)


def test_wrong_data_has_no_number(tmp_path):
    for args, nccl, cuda, check in (((), "steady,rate=2,wrong=0:4", "", "data"), (("--inject-fault", "0"), "steady,rate=2", "", "data"),
                                    ((), "steady,rate=2", "flip@1=gemm", "product")):
        (record,) = run(tmp_path, *args, nccl=nccl, cuda=cuda, code=1)
        assert failed(record) == {check}
        assert not [m for m in record["metrics"] if m["name"] == "hidden_share"]


def test_one_gpu_is_skipped_with_the_reason(tmp_path):
    (record,) = run(tmp_path, gpus=1, code=3)
    assert "needs two GPUs" in record["reason"]


def test_a_fatal_xid_of_one_rank_ends_later_points_on_all(tmp_path):
    seen, refused = run(tmp_path, "--op", "all_reduce,all_gather", nvml="xid@1=79", ranks=2, code=1)
    assert seen["outcome"] == "measured" and failed(seen) == {"gpu"}
    assert refused["outcome"] == "errored" and refused["metrics"] == []
    assert "GPU-00000000-0000-0000-0000-000000000001" in refused["reason"] and "Xid 79" in refused["reason"]
