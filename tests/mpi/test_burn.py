"""burn --device cpu: a flipped bit is found wherever it is; nothing that did not burn passes."""

import os
import signal

import pytest
from processes import wait_until_busy


def cpus():
    return [str(c) for c in sorted(os.sched_getaffinity(0))]


@pytest.mark.parametrize("ranks", [0, 1, 4])
def test_every_cpu_burns_once(job, ranks):
    code, document, out, err = job.measure(ranks, "burn", "--device", "cpu", "--duration", "2s")
    assert code == 0, err
    record, = document["records"]
    host = document["run"]["hosts"][0]
    checked = [record["entities"][c["entity"]] for c in record["checks"]]
    assert sorted(e["id"] for e in checked) == sorted(cpus())
    assert all(e["kind"] == "cpu" and e["host"] == host for e in checked)
    assert all(c["passed"] and c["name"] == "result" for c in record["checks"])
    rates = [m for m in record["metrics"] if m["name"] == "passes_per_second"]
    assert len(rates) == len(cpus())
    flops, = [m for m in record["metrics"] if m["name"] == "flops_per_second"]
    assert record["entities"][flops["entity"]]["kind"] == "host"
    assert flops["summary"]["n"] >= 4
    # 600 products of 96 × 96 matrices a pass
    flops_per_pass = 600 * 2 * 96**3
    windows = min(m["summary"]["n"] for m in rates)
    for w in range(windows if ranks in (0, 1) else 0):
        assert flops["samples"][w] == pytest.approx(
            flops_per_pass * sum(m["samples"][w] for m in rates))
    load, = [s for s in record["telemetry"]["series"] if s["name"] == "load_1min"]
    assert len(load["at"]) >= 4  # at least two a second
    assert load["at"] == sorted(load["at"])


@pytest.mark.parametrize("ranks, bad", [(0, 0), (2, 1)])
def test_one_flipped_bit_is_found(job, ranks, bad):
    if ranks > len(cpus()):
        pytest.skip("needs as many CPUs as ranks")
    code, document, out, err = job.measure(ranks, "burn", "--duration", "1s", "--inject-fault", bad)
    assert code == 1, err
    record, = document["records"]
    assert record["metrics"] == []
    failed, = [c for c in record["checks"] if not c["passed"]]
    assert failed["value"] == 1
    entity = record["entities"][failed["entity"]]
    host = document["run"]["hosts"][0]
    assert entity["kind"] == "cpu" and entity["host"] == host
    assert f"cpu {entity['id']}: 1 of" in failed["detail"]
    assert host in failed["detail"]
    assert "pass 1, matrix product" in failed["detail"]


def test_no_pass_is_no_success(job):
    # A pass takes some tens of milliseconds.
    code, document, _, err = job.measure(0, "burn", "--duration", "1ms")
    assert code == 4
    record, = document["records"]
    assert record["outcome"] == "errored"
    assert record["metrics"] == []
    assert "finished no pass" in err


def test_it_stops_at_once(job):
    process = job.start(0, "burn", "--duration", "1h")
    wait_until_busy(process.pid, 0.3)
    process.send_signal(signal.SIGINT)
    code, _, _, seconds = job.finish(process, timeout=10)
    assert code == 130
    assert seconds < 5  # some tens of milliseconds, and the rest for a busy test machine


def test_a_rank_that_is_not_there_cannot_be_faulty(job):
    code, _, err = job.run(0, "burn", "--inject-fault", 1)
    assert code == 2
    assert "there is no rank 1" in err
