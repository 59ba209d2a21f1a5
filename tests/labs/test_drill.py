"""One drill in the namespace lab, and what a killed drill leaves; ci/drill_lab.py runs all of them."""

import json
import os
import pty
import signal
import time


def drill(netns, clusterbench, *arguments, **more):
    return netns.run([clusterbench, "drill", *map(str, arguments)], timeout=150, **more)


def record_of(out):
    return json.loads((out / "drill.json").read_text())["records"][0]


def test_a_stopped_rank_is_seen_and_named(netns, clusterbench, tmp_path):
    out = tmp_path / "d"
    done = drill(netns, clusterbench, "run", "stop-rank", "--hosts", netns.host_list(1), "--launcher", "mpirun",
                 "--allow", "stop-rank", "--out", out, "--deadline", 40)
    assert done.returncode == 0, done.stdout + done.stderr
    record = record_of(out)
    assert {c["name"]: c["passed"] for c in record["checks"]} == {
        "detected": True, "named": True, "restored": True, "recovered": True}
    seconds = {m["name"]: m["samples"][0] for m in record["metrics"] if m["unit"] == "seconds"}
    assert 3 < seconds["time_to_detection_seconds"] < 40
    assert record["entities"][0]["host"] == netns.hosts[-1]


def limits(netns, host):
    return netns.run(["tc", "qdisc", "show", "dev", "eth0"], host=host).stdout


def test_what_a_killed_drill_has_changed_is_undone(netns, clusterbench, tmp_path):
    out = tmp_path / "d"
    host = netns.hosts[-1]
    options = ["--hosts", netns.host_list(1), "--launcher", "mpirun"]
    job = netns.popen([clusterbench, "drill", "run", "slow-link", "--part", "eth0", "--allow", "slow-link",
                       "--out", str(out), "--deadline", "60", *options])
    deadline = time.monotonic() + 60
    while "tbf" not in limits(netns, host):
        assert time.monotonic() < deadline and job.poll() is None
        time.sleep(0.2)
    job.kill()
    job.communicate(timeout=20)
    assert "tbf" in limits(netns, host)
    refused = drill(netns, clusterbench, "run", "slow-link", "--part", "eth0", "--allow", "slow-link", "--out", out,
                    *options)
    assert refused.returncode == 2 and "drill restore" in refused.stderr, refused.stderr
    done = drill(netns, clusterbench, "restore", out, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tbf" not in limits(netns, host)


def test_a_drill_by_hand_asks_a_person_and_counts_from_the_answer(netns, clusterbench, tmp_path):
    """The person takes one of two feeds away, which ends nothing; then nobody says that it is back."""
    def by_hand(out, answers):
        master, slave = pty.openpty()
        job = netns.popen([clusterbench, "drill", "run", "power-feed", "--part", "feed B", "--hosts", netns.host_list(1),
                           "--launcher", "mpirun", "--deadline", "10", "--out", str(out)], stdin=slave)
        os.close(slave)
        asked = []
        for line in job.stderr:
            if "press Enter" not in line:
                continue
            asked.append(line.strip())
            if len(asked) <= answers:
                time.sleep(1)
                os.write(master, b"\n")
        job.communicate(timeout=60)
        os.close(master)
        return asked, job.returncode

    asked, code = by_hand(tmp_path / "d", 2)
    host = netns.hosts[-1]
    assert asked == [f"power-feed (feed B) on {host}: press Enter and do it at once",
                     f"power-feed (feed B) on {host}: put it back, then press Enter"]
    record = record_of(tmp_path / "d")
    assert code == 0, record["checks"]
    assert {c["name"]: c["passed"] for c in record["checks"]} == {"survived": True, "restored": True, "recovered": True}
    assert record["started"] < record["facts"]["injected_at"] < record["facts"]["restored_at"] <= record["ended"]
    _, code = by_hand(tmp_path / "e", 1)
    assert code == 1
    assert {c["name"]: c["passed"] for c in record_of(tmp_path / "e")["checks"]}["restored"] is False


def test_an_interrupted_drill_undoes_its_fault(netns, clusterbench, tmp_path):
    out, host = tmp_path / "d", netns.hosts[-1]
    job = netns.popen([clusterbench, "drill", "run", "slow-link", "--part", "eth0", "--allow", "slow-link", "--out", str(out),
                       "--deadline", "60", "--hosts", netns.host_list(1), "--launcher", "mpirun"])
    deadline = time.monotonic() + 60
    while "tbf" not in limits(netns, host):
        assert time.monotonic() < deadline and job.poll() is None
        time.sleep(0.2)
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 130, err
    assert "tbf" not in limits(netns, host), err


def test_a_fault_that_the_measurement_does_not_meet_passes_no_drill(netns, clusterbench, tmp_path):
    """No traffic uses lo: the measurement ends at its own time, and nobody may be named for that."""
    done = drill(netns, clusterbench, "run", "cut-link", "--part", "lo", "--allow", "cut-link", "--hold", 3, "--deadline", 10,
                 "--out", tmp_path / "d", "--hosts", netns.host_list(1), "--launcher", "mpirun")
    assert done.returncode == 1, done.stdout + done.stderr
    assert {c["name"]: c["passed"] for c in record_of(tmp_path / "d")["checks"]} == {
        "detected": False, "named": False, "restored": True, "recovered": True}
    assert "nobody was named" in done.stdout and "was seen, but" not in done.stdout
