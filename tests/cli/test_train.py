"""train on one rank: what a user sees."""

import hashlib
import json
import math
import os
import re
import signal
import statistics
import subprocess
import time

import pytest
from processes import compiled_shim, skip_under_sanitizers

BINARY = os.environ["CLUSTERBENCH_BIN"]


def train(*args):
    return subprocess.run([BINARY, "train", "--library", "builtin", "--threads", "1", *map(str, args)],
                          capture_output=True, text=True, timeout=250, check=False)


def record_of(path):
    record, = json.loads(path.read_text())["records"]
    return record


def metric(record, name):
    found, = [m for m in record["metrics"] if m["name"] == name]
    return found


def test_it_learns_down_to_a_band_above_the_floor(tmp_path):
    out = tmp_path / "t.json"
    done = train("--steps", 900, "--reach", 0.2, "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    record = record_of(out)
    losses = metric(record, "loss_nats")["samples"]
    assert metric(record, "first_loss_nats")["samples"][0] == pytest.approx(math.log(512), rel=0.02)
    assert sum(losses[-10:]) / 10 < 1.2496 + 0.2
    assert {c["name"] for c in record["checks"] if c["passed"]} == {
        "finite", "first_loss", "floor", "reach", "straggler", "twin"}


# Nats in every twentieth timed step of 300, by builtin on AVX2; BLIS differs by 2e-6 at most, and so do two threads.
CURVE = [6.24506, 5.24544, 4.06338, 3.3117, 2.16666, 1.50295, 1.85719, 1.40261, 1.394, 1.33068, 1.54859, 1.50157, 1.5724, 1.81246, 0.88953]


def test_the_loss_follows_the_golden_curve(tmp_path):
    out = tmp_path / "t.json"
    done = train("--steps", 303, "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert metric(record_of(out), "loss_nats")["samples"][::20] == pytest.approx(CURVE, rel=1e-4)


def test_a_band_that_is_not_reached_gives_no_number(tmp_path):
    out = tmp_path / "t.json"
    done = train("--steps", 12, "--reach", 0.2, "--json", out)
    assert done.returncode == 1
    record = record_of(out)
    assert [c["name"] for c in record["checks"] if not c["passed"]] == ["reach"]
    assert record["metrics"] == []


def test_figures_follow_from_one_another(tmp_path):
    out = tmp_path / "t.json"
    done = train("--steps", 30, "--micro-batches", 2, "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    record = record_of(out)
    steps = metric(record, "step_seconds")["samples"]
    assert len(steps) == 27  # three are warm-up
    assert metric(record, "tokens_per_second")["samples"] == pytest.approx([128 / s for s in steps])
    # 6·131072 + 6·2·32·64 operations a token
    assert metric(record, "model_flops_per_second")["samples"] == pytest.approx([811008 * 128 / s for s in steps])
    parts = [metric(record, name)["samples"] for name in
             ("forward_seconds", "backward_seconds", "optimizer_seconds")]
    shares = [sum(of_step) / step for step, *of_step in zip(steps, *parts)]
    # A process that does not get to run between two parts makes the step longer, and none of its parts.
    assert max(shares) <= 1 + 1e-6 and statistics.median(shares) > 0.8
    assert metric(record, "predicted_step_seconds")["samples"][0] > 0
    absent = {"exposed_communication_seconds", "predicted_communication_seconds", "bubble_share"}
    assert not absent & {m["name"] for m in record["metrics"]}  # one rank exchanges nothing
    assert metric(record, "memory_bytes")["samples"][0] > 12 * 164_160  # weights, gradients, moments
    assert record["facts"]["flops_per_token"].startswith("811008: 6 × matmul parameters")


def test_two_runs_have_the_same_losses(tmp_path):
    runs = []
    for name in ("a", "b"):
        out = tmp_path / name
        assert train("--steps", 20, "--json", out).returncode == 0
        runs.append(metric(record_of(out), "loss_nats")["samples"])
    assert runs[0] == runs[1]


def checkpointed(folder, steps, *args, out=None):
    out = out or folder / "t.json"
    done = train("--steps", steps, "--warm-up-steps", 1, "--twin-every", 0, "--checkpoint-dir", folder,
                 "--checkpoint-every", 5, "--json", out, *args)
    return done, record_of(out)


def test_a_resumed_training_ends_with_the_bits_of_an_uninterrupted_one(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    done, straight = checkpointed(whole, 20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(metric(straight, "checkpoint_seconds")["samples"]) == 4
    assert metric(straight, "checkpoint_bytes_per_second")["samples"][0] > 0
    assert checkpointed(parts, 12)[0].returncode == 0  # checkpoints of 5 and 10
    done, resumed = checkpointed(parts, 20, "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert resumed["facts"]["resumed_at"] == "10"
    assert resumed["facts"]["weights_digest"] == straight["facts"]["weights_digest"]
    assert metric(resumed, "loss_nats")["samples"] == metric(straight, "loss_nats")["samples"][10:]
    assert "first_loss" not in {c["name"] for c in resumed["checks"]}


def test_the_report_draws_phases_and_stalls_at_the_numbers_of_a_resumed_training(tmp_path):
    """Of the steps 6 to 20 the first is not timed; a checkpoint follows 10, 15 and 20."""
    assert checkpointed(tmp_path, 7)[0].returncode == 0  # a checkpoint of 5
    profile, out, page = tmp_path / "p.json", tmp_path / "out", tmp_path / "r.md"
    params = {"library": "builtin", "threads": "1", "steps": "20", "warm-up-steps": "1", "twin-every": "0",
              "checkpoint-dir": str(tmp_path), "checkpoint-every": "5", "resume": "true"}
    source = {"kind": "practice", "ref": "test", "date": "2026-11"}
    profile.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "t", "title": {"en": "t", "zh": "t"},
        "steps": [{"id": "trained", "case": "train", "params": params, "deadline": "2m"}],
        "criteria": [{"id": "c", "step": "trained", "domain": "compute", "why": "test", "source": source, "check": "finite"}]}))
    done = subprocess.run([BINARY, "run", profile, "--launcher", "none", "--out", out], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([BINARY, "report", out, "--md", page], capture_output=True, timeout=60).returncode == 0
    phases, = [line for line in page.read_text().splitlines() if line.startswith("- **trained: the phases of each step**: ")]
    number, = re.findall(r": 14 timed steps, .* Step (\d+) took longest, ", phases)
    assert 7 <= int(number) <= 20
    assert "Below: 3 checkpoints; no step ran while one was written, " in phases
    # One rank waits for nobody.
    assert "exposed" not in phases and "of each rank" not in page.read_text()


def test_a_torn_checkpoint_never_resumes(tmp_path):
    assert checkpointed(tmp_path, 12)[0].returncode == 0
    files = sorted(tmp_path.glob("*.checkpoint"))
    assert [f.name for f in files] == ["clusterbench-train-rank0.0.checkpoint", "clusterbench-train-rank0.1.checkpoint"]
    files[1].write_bytes(files[1].read_bytes()[:-1])  # of step 10
    done, resumed = checkpointed(tmp_path, 20, "--resume")
    assert done.returncode == 0 and resumed["facts"]["resumed_at"] == "5"
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])
    done, record = checkpointed(tmp_path, 20, "--resume")
    assert done.returncode == 4 and record["outcome"] == "errored"
    assert "no checkpoint of this training that every rank has whole" in done.stderr


def test_a_damaged_checkpoint_is_told_with_its_bytes_and_the_other_one_resumes(tmp_path):
    assert checkpointed(tmp_path, 12)[0].returncode == 0
    newest = tmp_path / "clusterbench-train-rank0.1.checkpoint"  # of step 10
    good = newest.read_bytes()
    data = good.index(b"\nend\n") + 5
    in_version = good.index(b"/2\n") + 1
    for at, what in ((in_version, "its header is not what was written"), (data + 100, "bytes 0 to 656640 of array 1 are not what was written")):
        newest.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        done, resumed = checkpointed(tmp_path, 9, "--resume")  # no further checkpoint
        assert done.returncode == 0 and resumed["facts"]["resumed_at"] == "5", done.stderr
        assert f"{newest} is damaged and counts as no checkpoint: {what}; next: " in done.stderr


def test_a_checkpoint_of_another_version_is_refused_and_stays(tmp_path):
    assert checkpointed(tmp_path, 12)[0].returncode == 0
    newest = tmp_path / "clusterbench-train-rank0.1.checkpoint"
    head, data = newest.read_bytes().split(b"header ", 1)
    head = head.replace(b"/2\n", b"/1\n")
    newest.write_bytes(head + b"header " + hashlib.sha256(head).hexdigest().encode() + data[64:])
    kept = {f: f.read_bytes() for f in tmp_path.glob("*.checkpoint")}
    for args in (["--resume"], []):
        done, _ = checkpointed(tmp_path, 20, *args)
        assert done.returncode == 4, done.stdout + done.stderr
        assert f"{newest} is a checkpoint of version 1 of the format, and this build has version 2; next: " in done.stderr
        assert {f: f.read_bytes() for f in tmp_path.glob("*.checkpoint")} == kept


def test_a_checkpoint_of_another_training_is_none(tmp_path):
    assert checkpointed(tmp_path, 12)[0].returncode == 0
    done, _ = checkpointed(tmp_path, 20, "--resume", "--seed", 2)
    assert done.returncode == 4 and "no checkpoint" in done.stderr


def test_checkpoints_that_are_there_are_not_replaced_in_silence(tmp_path):
    assert checkpointed(tmp_path, 12)[0].returncode == 0
    kept = {f: f.read_bytes() for f in tmp_path.glob("*.checkpoint")}
    for args in ((), ("--seed", 2)):
        done, _ = checkpointed(tmp_path, 12, *args)
        assert done.returncode == 4 and "is there already" in done.stderr and "--resume" in done.stderr
    assert {f: f.read_bytes() for f in tmp_path.glob("*.checkpoint")} == kept


def test_the_parts_of_the_stall_are_the_stall(tmp_path):
    done, record = checkpointed(tmp_path, 20)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [metric(record, f"checkpoint_{part}_seconds")["samples"] for part in ("host", "storage", "wait")]
    assert [sum(of_one) for of_one in zip(*parts)] == pytest.approx(metric(record, "checkpoint_seconds")["samples"])
    assert min(map(min, parts)) > 0
    assert re.match(r"(direct|page cache|tmpfs \(memory\)), (io_uring|threads): ", record["facts"]["checkpoint_path"])


# 9 MB of weights and moments: long enough for blocks in flight, short enough for a step.
WIDE = ("--hidden", 128, "--layers", 2, "--vocabulary", 2048, "--sequence", 16)


def test_a_full_disk_costs_no_checkpoint_that_is_there(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small], capture_output=True, check=False).returncode:
        pytest.skip("mount is not permitted here")
    try:
        done, _ = checkpointed(small, 10, *WIDE, out=tmp_path / "t.json")
        assert done.returncode == 0, done.stdout + done.stderr
        kept = {f: f.read_bytes() for f in small.glob("*.checkpoint")}
        assert len(kept) == 2 and sum(map(len, kept.values())) > 12 << 20
        done, record = checkpointed(small, 20, *WIDE, "--resume", out=tmp_path / "t.json")
        assert done.returncode == 4 and record["outcome"] == "errored"
        assert re.search(r"\S+: cannot write \S+rank0\.0\.checkpoint: No space left on device; next: make room there", done.stderr)
        assert {f: f.read_bytes() for f in small.iterdir()} == kept
    finally:
        subprocess.run(["umount", "-l", small], check=False)


@pytest.mark.parametrize("vocabulary, ends", [(32768, 0), (2048, 124)])
def test_a_flush_is_no_hang_as_long_as_the_bytes_explain_it(tmp_path, monkeypatch, vocabulary, ends):
    """101 MB may take 10 s beyond --stall, 6 MB 0.6 s."""
    skip_under_sanitizers(BINARY)
    slow = compiled_shim(tmp_path, "#include <sys/stat.h>\n#include <unistd.h>\nint fsync(int f) {"  # of the file; not of its directory
                                   " struct stat s; if (!fstat(f, &s) && S_ISREG(s.st_mode)) sleep(9); return 0; }")
    monkeypatch.setenv("LD_PRELOAD", str(slow))
    done = train("--hidden", 128, "--layers", 2, "--vocabulary", vocabulary, "--sequence", 16, "--steps", 4, "--warm-up-steps", 1,
                 "--twin-every", 0, "--checkpoint-dir", tmp_path, "--checkpoint-every", 3, "--stall", "6s")
    assert done.returncode == ends, done.stdout + done.stderr
    assert ("checkpoint after step 3" in done.stderr) == (ends == 124)


def test_a_training_that_is_killed_while_it_writes_goes_on_from_the_file_before(tmp_path):
    command = [BINARY, "train", "--library", "builtin", "--threads", "1", "--twin-every", "0", "--checkpoint-dir", tmp_path,
               "--checkpoint-every", "5", "--steps", "100000", *WIDE]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 200
        caught = False
        while not caught and time.monotonic() < deadline:
            if list(tmp_path.glob("*.partial")) and len(list(tmp_path.glob("*.checkpoint"))) == 2:  # an older one is being replaced
                process.send_signal(signal.SIGSTOP)
                os.waitpid(process.pid, os.WUNTRACED)  # until it stands
                caught = bool(list(tmp_path.glob("*.partial")))  # not renamed meanwhile
                process.send_signal(signal.SIGKILL if caught else signal.SIGCONT)
            time.sleep(0.0005)
        process.kill()
    assert caught and len(list(tmp_path.glob("*.partial"))) == 1
    newest = max(int(f.read_bytes().split(b"\n", 3)[2]) for f in tmp_path.glob("*.checkpoint"))
    done, resumed = checkpointed(tmp_path, newest + 5, *WIDE, "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert resumed["facts"]["resumed_at"] == str(newest)
    assert not list(tmp_path.glob("*.partial"))


def test_a_directory_that_is_not_there_is_told_before_a_step_is_trained(tmp_path):
    done = train("--checkpoint-dir", tmp_path / "nowhere", "--steps", 1000000)
    assert done.returncode == 4 and "nowhere/clusterbench-train-rank0.0.checkpoint cannot be written" in done.stderr


@pytest.mark.parametrize("args, text", [
    (["--resume"], "needs --checkpoint-dir"),
    (["--heads", 3, "--kv-heads", 2], "3 is no multiple of 2 --kv-heads"),
    (["--head-dim", 5], "5 is odd"),
    (["--inject-fault", "melt@0"], "melt@0 is no fault"),
    (["--inject-fault", "nan@5"], "there is no rank 5"),
    (["--inject-fault", "nan@0:9"], "there is no layer 9"),
    (["--inject-fault", "weight@0"], "a weight is compared between replicas"),
    (["--inject-fault", "slow@0"], "a slow rank is compared with others of its stage"),
    (["--inject-fault", "0", "--twin-every", 0], "--twin-every 0 makes none"),
    (["--vocabulary", 1], "1 token leaves nothing to learn"),
    (["--steps", 3], "leaves no step of --steps that is timed"),
    (["--tp", 2], "1 ranks are no multiple of --tp 2"),
])
def test_what_cannot_be_is_told(args, text):
    done = train(*args)
    assert done.returncode == 2 and text in done.stderr


@pytest.mark.parametrize("args", [["--sequence", 1], ["--vocabulary", 3], ["--hidden", 1024, "--layers", 1, "--sequence", 4, "--seed", 8]])
def test_the_first_loss_of_a_few_tokens_may_lie_further_off(tmp_path, args):
    out = tmp_path / "t.json"
    done = train("--steps", 4, "--json", out, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    check, = [c for c in record_of(out)["checks"] if c["name"] == "first_loss"]
    assert check["passed"] and 0.02 < check["value"] < check["limit"]


def test_what_does_not_fit_into_memory_is_refused():
    done = train("--model", "llama-405b", "--sequence", 64)
    assert done.returncode == 4 and "fewer --layers" in done.stdout + done.stderr


def test_a_profiles_step_is_proved_to_find_a_fault_and_accepted(tmp_path):
    why, ref = {"en": "a", "zh": "b"}, {"kind": "practice", "ref": {"en": "a", "zh": "b"}, "date": "2026-11"}
    profile = {"schema": "clusterbench.profile/1", "name": "t", "title": why,
               "steps": [{"id": "t", "case": "train", "scope": "host", "deadline": "2m",
                          "params": {"steps": 30, "threads": 1, "library": "builtin"}}],
               "criteria": [{"id": "tokens", "step": "t", "domain": "host", "title": why, "why": why, "source": ref,
                             "metric": "tokens_per_second", "min": 1}]}
    (tmp_path / "p.json").write_text(json.dumps(profile))
    done = subprocess.run([BINARY, "run", "./p.json", "--out", "c", "--launcher", "none", "--prove"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0 and "planted fault found by check twin" in done.stdout + done.stderr, done.stdout + done.stderr
