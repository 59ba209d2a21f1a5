"""run --prove: a fault is planted in a short job of every step, and its check has to find it.

What is not shown leaves the campaign incomplete; the jobs with the fault give no figures.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import stand_in_mpirun
from campaigns import BINARY, at_least, cb, criterion, journal, manifest_holds, profile, run_local, step, write_profile
from test_bad_campaign import relink

FAKE_GPU = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "clusterbench_fake_gpu"
FAKE = FAKE_GPU.parent.parent / "fake"


def real(identity, case, **params):
    return {"id": identity, "case": case, "deadline": "60s", "params": params}


HOST_STEPS = [
    real("info", "info"),
    real("gemm", "gemm", device="cpu", dtype=["fp64", "fp32"], size="128", duration="200ms"),
    real("memory", "bandwidth", device="cpu", op="triad", size="8M", duration="200ms"),
    real("latency", "bandwidth", device="cpu", op="latency", **{"min-size": "64K", "max-size": "64K"}),
    real("read", "io", rw="randread", size="8M", duration="1s", direct="false"),
    real("write", "io", rw="write", size="8M", direct="false"),
    real("files", "io", workload="metadata", files="20"),
    real("burn", "burn", device="cpu", duration="6s"),
]
# Step, and the check that has to find the fault.
FOUND_BY = {"gemm": "product", "memory": "arrays", "latency": "cycle", "read": "data", "write": "data", "files": "data",
            "burn": "result"}


def rules(steps):
    return [criterion(f"{identity}.{check}", identity, check=check) for identity, check in FOUND_BY.items()
            if identity in {s["id"] for s in steps}]


def proved(out):
    return [e for e in journal(out) if e["event"] == "proved"]


def report(out, *more):
    done = cb("report", out, *more)
    assert done.returncode == 0, done.stderr
    return done


def as_json(out, tmp_path):
    report(out, "--json", tmp_path / "report.json")
    return json.loads((tmp_path / "report.json").read_text())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Every case that this machine has, without a launcher, with proofs."""
    root = tmp_path_factory.mktemp("prove")
    path = write_profile(root, HOST_STEPS, rules(HOST_STEPS))
    done = run_local(path, root / "c", "--prove", timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "c", done


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """Two scripted steps with proofs."""
    root = tmp_path_factory.mktemp("scripted")
    done = run_local(two_steps(root), root / "c", "--prove")
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "c"


@pytest.fixture
def campaign(scripted, tmp_path):
    return shutil.copytree(scripted, tmp_path / "c")


def two_steps(directory, **second):
    return write_profile(directory, [step("first"), step("second", params={"value": 3, **second})],
                         [at_least("first.rate", "first", 1), at_least("second.rate", "second", 1)])


# ---- what is shown ----
def test_every_case_finds_its_planted_fault(host):
    out, done = host
    assert {e["step"]: e.get("check") for e in proved(out) if e["found"]} == FOUND_BY
    (info,) = [e for e in proved(out) if not e["found"]]
    assert (info["step"], info["impossible"]) == ("info", True)
    assert "no data to spoil" in info["reason"]
    assert re.search(r"gemm +✓ planted fault found by check product", done.stderr)
    assert re.search(r"info +– no fault can be planted: it takes an inventory", done.stderr)
    assert "✓ proofs" in done.stdout and "of 7 of 7 steps (7 jobs); none can be planted in info" in done.stdout


def test_a_proof_is_a_document_with_a_failed_check_and_no_number(host):
    out, _ = host
    for event in proved(out):
        if event.get("impossible"):
            continue
        records = json.loads((out / event["file"]).read_text())["records"]
        assert all(r["params"]["inject-fault"] == 0 for r in records)
        for r in records:
            failed = [c for c in r["checks"] if not c["passed"]]
            assert [c["name"] for c in failed] == [event["check"]]
            # The files' figures are of the calls, and the check is of their content.
            assert event["step"] == "files" or event["step"] == "burn" or not r.get("metrics")


def test_proofs_are_evidence(host):
    out, _ = host
    assert manifest_holds(out)[0]
    listed = (out / "MANIFEST.sha256").read_text()
    for event in proved(out):
        if "file" in event:
            assert f"{event['sha256']}  {event['file']}" in listed
    assert not list((out / "proofs").glob("*.partial")) and not (out / "scratch").exists()


def test_no_report_is_written_over_a_proof(campaign, tmp_path):
    proof = next((campaign / "proofs").glob("*.json"))
    before = proof.read_bytes()
    for command in (["report", campaign, "--md", proof], ["gate", campaign, "--json", proof], ["gate", campaign, "--md", proof]):
        done = cb(*command)
        assert done.returncode == 2 and "is evidence of the campaign" in done.stderr
    assert proof.read_bytes() == before


def test_the_report_lists_them_in_both_languages(host, tmp_path):
    out, _ = host
    document = as_json(out, tmp_path)
    assert {p["step"]: p["state"] for p in document["proofs"]} == {**dict.fromkeys(FOUND_BY, "shown"), "info": "impossible"}
    for language, heading, planted in (("en", "Checks shown to fail", "one element of the product is changed"),
                                       ("zh", "检查有效性验证", "改动乘积中的一个元素")):
        for kind in ("md", "html"):
            page = tmp_path / f"r.{language}.{kind}"
            report(out, f"--{kind}", page, "--lang", language)
            text = page.read_text()
            assert heading in text and planted in text and "product" in text
    assert cb("gate", out, "--md", tmp_path / "s.md", "--lang", "zh").returncode == 0
    assert "7 个步骤中有 7 个步骤的检查发现了植入的故障" in (tmp_path / "s.md").read_text()


def test_they_are_no_figures(host, tmp_path):
    out, _ = host
    document = as_json(out, tmp_path)
    assert not any("proofs/" in json.dumps(f) for f in (document["figures"], document["jobs"]))
    report(out, "--csv", tmp_path / "f.csv")
    assert "inject-fault" not in (tmp_path / "f.csv").read_text()
    done = cb("profile", "capture", out, "--out", tmp_path / "captured.json")
    assert "inject-fault" not in done.stdout + (tmp_path / "captured.json").read_text() if done.returncode == 0 else True


def test_a_campaign_with_proofs_compares_as_one_without(scripted, tmp_path):
    assert run_local(two_steps(tmp_path), tmp_path / "plain").returncode == 0
    done = cb("compare", tmp_path / "plain", scripted)
    assert done.returncode == 0, done.stdout


def test_without_prove_nothing_is_said(tmp_path):
    done = run_local(two_steps(tmp_path), tmp_path / "c")
    assert done.returncode == 0
    assert not (tmp_path / "c" / "proofs").exists()
    assert "proofs" not in as_json(tmp_path / "c", tmp_path)
    assert "proof" not in done.stdout + done.stderr + cb("gate", tmp_path / "c").stdout
    report(tmp_path / "c", "--md", tmp_path / "r.md")
    assert "planted" not in (tmp_path / "r.md").read_text()


def test_dry_run_says_what_would_be_run_and_how_long(tmp_path):
    steps = [step("first"), real("info", "info"), real("burn", "burn", device="cpu", duration="60s")]
    path = write_profile(tmp_path, steps, [at_least("first.rate", "first", 1)])
    done = run_local(path, tmp_path / "c", "--prove", "--dry-run")
    assert done.returncode == 0 and not (tmp_path / "c").exists()
    assert re.search(r"# proofs: 2 short jobs with a planted fault, about 5\.10* s", done.stdout), done.stdout
    assert "# 002-info: no fault can be planted: it takes an inventory" in done.stdout
    (burn,) = [line for line in done.stdout.splitlines() if "proofs/003-burn.json" in line]
    assert "--inject-fault 0" in burn and "--duration 3s" in burn
    assert "inject-fault" not in run_local(path, tmp_path / "c", "--dry-run").stdout


def test_a_step_without_its_check_says_so(tmp_path):
    steps = [step("first"), {**real("net", "tcp", duration="1s"), "scope": "cluster", "ranks_per_host": 1}]
    path = write_profile(tmp_path, steps, [at_least("first.rate", "first", 1)])
    done = run_local(path, tmp_path / "c", "--prove", "--dry-run")
    assert "# 002-net: no fault can be planted: nobody compares the data without --verify" in done.stdout


def test_steps_of_io_that_hardly_read(tmp_path):
    """Twenty requests of which hardly one reads, a reading beside a checkpoint, and files that the engine does not touch."""
    steps = [real("slow-mix", "io", rw="randrw", rwmix="1", rate="20", duration="3s", size="16M", direct="false"),
             real("mixed", "io", workload="mixed", size="4M", duration="1s", direct="false"),
             real("files", "io", workload="metadata", files="20", engine="null")]
    path = write_profile(tmp_path, steps, [criterion(f"{s['id']}.data", s["id"], check="data") for s in steps])
    out = tmp_path / "c"
    done = run_local(path, out, "--prove", timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {e["step"]: e.get("check") for e in proved(out)} == {s["id"]: "data" for s in steps}
    assert cb("gate", out).returncode == 0


# ---- what is not shown ----
def test_a_check_that_cannot_fail_leaves_the_campaign_incomplete(tmp_path):
    out = tmp_path / "c"
    done = run_local(two_steps(tmp_path, blind="true"), out, "--prove")
    assert done.returncode == 3, done.stdout
    assert "the check of step second on" in done.stdout and "did not find a planted fault (the data is wrong)" in done.stdout
    assert re.search(r"second +✗ the planted fault was not found", done.stderr)
    assert "? proofs" in done.stdout and "1 of 2 steps" in done.stdout
    document = as_json(out, tmp_path)
    assert document["verdict"] == "incomplete"
    assert {p["step"]: p["state"] for p in document["proofs"]} == {"first": "shown", "second": "not-shown"}
    # Asking again takes nothing back.
    before = proved(out)
    assert cb("run", "--resume", out, "--prove").returncode == 3
    assert proved(out) == before


def test_a_proof_that_could_not_be_made_is_made_by_the_next_run(tmp_path):
    out = tmp_path / "c"
    environment = stand_in_mpirun.install(tmp_path / "bin", {})
    command = ["run", two_steps(tmp_path), "--out", out, "--launcher", "mpirun"]
    assert cb(*command, env=environment).returncode == 0
    stand_in_mpirun.install(tmp_path / "bin", {"002-second:1": "killed"})
    done = cb("run", "--resume", out, "--prove", env=environment)
    assert done.returncode == 3, done.stdout
    assert "whether the check of step second on" in done.stdout and "killed by signal 9" in done.stdout
    stand_in_mpirun.install(tmp_path / "bin", {})
    done = cb("run", "--resume", out, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [e["found"] for e in proved(out) if e["step"] == "second"] == [False, True]
    assert cb("gate", out).returncode == 0 and manifest_holds(out)[0]


def test_a_step_that_was_not_measured_is_not_proved(tmp_path):
    path = write_profile(tmp_path, [step("first"), step("second", params={"value": 3, "failing-rank": 0})],
                         [at_least("first.rate", "first", 1), at_least("second.rate", "second", 1)])
    assert run_local(path, tmp_path / "c", "--prove").returncode == 3
    assert [e["step"] for e in proved(tmp_path / "c")] == ["first"]


# ---- later, and interrupted ----
def test_a_finished_campaign_is_proved_later(tmp_path):
    out = tmp_path / "c"
    assert run_local(two_steps(tmp_path), out).returncode == 0
    records = {p.name: p.read_bytes() for p in (out / "records").iterdir()}
    done = cb("run", "--resume", out, "--prove")
    assert done.returncode == 0, done.stderr
    assert {p.name: p.read_bytes() for p in (out / "records").iterdir()} == records
    assert [e["found"] for e in proved(out)] == [True, True]
    done = cb("run", "--resume", out)
    assert done.returncode == 0 and done.stderr.count("done before") == 4
    assert [e["found"] for e in proved(out)] == [True, True]


def slow_proof(directory):
    return write_profile(directory, [step("first"), step("slow", params={"value": 2, "samples": 1, "pause": "3s"}), step("last")],
                         [at_least("first.rate", "first", 1), at_least("last.rate", "last", 1),
                          criterion("slow.data", "slow", check="data")])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_while_it_proves_it_goes_on_with_resume(tmp_path, how):
    out = tmp_path / "c"
    command = [BINARY, "run", slow_proof(tmp_path), "--out", out, "--launcher", "none", "--prove"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while not ((out / "journal.jsonl").exists() and
                   any(e["event"] == "prove" and e["job"].endswith("slow") for e in journal(out))):
            assert running.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(how)
    assert running.returncode == (130 if how == signal.SIGINT else -9)
    stopped = cb("gate", out)
    assert stopped.returncode == 3 and "has not ended" in stopped.stdout
    time.sleep(4 if how == signal.SIGKILL else 0)  # the job outlives its run, and its document is no proof
    done = cb("run", "--resume", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {e["step"]: e["found"] for e in proved(out)} == {"first": True, "slow": True, "last": True}
    assert cb("gate", out).returncode == 0 and manifest_holds(out)[0]


def test_asked_for_and_never_made_is_incomplete(campaign):
    """The journal says that proofs were asked for: without their events each is missing."""
    shutil.rmtree(campaign / "proofs")
    lines = (campaign / "journal.jsonl").read_text().splitlines(keepends=True)
    (campaign / "journal.jsonl").write_text("".join(li for li in lines if '"event":"prove' not in li))
    relink(campaign)
    done = cb("gate", campaign)
    assert done.returncode == 3 and "it was not made" in done.stdout


# ---- tampered ----
def sealed_again(campaign, name, change):
    """Alters a proof and makes all digests anew, as somebody with a program could."""
    path = campaign / name
    document = json.loads(path.read_text())
    change(document)
    before = path.read_bytes()
    path.write_text(json.dumps(document))
    import hashlib
    text = (campaign / "journal.jsonl").read_text()
    (campaign / "journal.jsonl").write_text(
        text.replace(hashlib.sha256(before).hexdigest(), hashlib.sha256(path.read_bytes()).hexdigest()))
    relink(campaign)


def passes(document):
    for r in document["records"]:
        for check in r["checks"]:
            check["passed"] = True


def other_case(document):
    for r in document["records"]:
        r["case"] = "skeleton"


def no_fault(document):
    argv = document["run"]["argv"]
    at = argv.index("--inject-fault")
    del argv[at:at + 2]


def other_value(document):
    argv = document["run"]["argv"]
    argv[argv.index("--value") + 1] = "7"


@pytest.mark.parametrize("change", [passes, other_case, no_fault, other_value])
def test_a_proof_that_does_not_fit_is_not_shown(campaign, change):
    sealed_again(campaign, "proofs/002-second.json", change)
    done = cb("gate", campaign)
    assert done.returncode == 3, done.stdout
    assert "whether the check of step second on" in done.stdout


def test_a_proof_that_does_not_fit_is_made_again(campaign):
    sealed_again(campaign, "proofs/002-second.json", other_value)
    assert cb("gate", campaign).returncode == 3
    done = cb("run", "--resume", campaign)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [e["file"] for e in proved(campaign) if e["step"] == "second"] == ["proofs/002-second.json", "proofs/002-second+2.json"]
    assert cb("gate", campaign).returncode == 0


def test_a_proof_of_another_step_is_not_shown(campaign):
    first = json.loads((campaign / "proofs/001-first.json").read_text())
    sealed_again(campaign, "proofs/002-second.json", lambda document: (document.clear(), document.update(first)))
    assert cb("gate", campaign).returncode == 3


def test_a_changed_lost_or_foreign_proof_is_seen(campaign):
    path = campaign / "proofs/002-second.json"
    text = path.read_text()
    path.write_text(text.replace("wrong", "wrung") if "wrong" in text else text + " ")
    assert cb("gate", campaign).returncode == 3
    path.unlink()
    assert cb("gate", campaign).returncode == 3
    path.write_text(text)
    (campaign / "proofs/009-extra.json").write_text(text)
    done = cb("gate", campaign)
    assert done.returncode == 3 and "proofs/009-extra.json" in done.stdout


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_a_proof_with_one_blind_point_is_not_shown(tmp_path):
    """As a program would have taken it that asked for one failed check of all points."""
    steps = [{**real("net", "tcp", duration="200ms", verify="true", test="bandwidth", streams=["1", "2"]), "scope": "cluster",
              "ranks_per_host": 2}]
    path = write_profile(tmp_path, steps, [criterion("net.data", "net", check="data")])
    out, environment = tmp_path / "c", {**os.environ, "CLUSTERBENCH_MPIRUN_ARGS": "--oversubscribe"}
    done = cb("run", path, "--out", out, "--launcher", "mpirun", "--hosts", f"{os.uname().nodename}:2", "--prove", env=environment,
              timeout=200)
    assert done.returncode == 0 and cb("gate", out).returncode == 0, done.stdout + done.stderr
    (event,) = proved(out)
    assert event["planted"] == "one byte of what the first receiving rank of each point received is changed"

    def second_passes(document):
        assert len(document["records"]) == 2
        passes({"records": document["records"][1:]})

    sealed_again(out, event["file"], second_passes)
    gate = cb("gate", out)
    assert gate.returncode == 3, gate.stdout
    assert "the check of step net on cluster did not find a planted fault" in gate.stdout
    assert as_json(out, tmp_path)["proofs"][0]["state"] == "not-shown"
    before = proved(out)
    done = cb("run", "--resume", out, "--prove", env=environment, timeout=200)
    assert done.returncode == 3 and proved(out) == before  # no later attempt takes it back


def test_a_bundle_and_a_signature_cover_them(campaign, tmp_path):
    assert cb("bundle", campaign, "--out", tmp_path / "b.tar.gz").returncode == 0
    done = cb("gate", campaign, "--profile", two_steps(tmp_path))
    assert done.returncode == 0 and "✓ proofs" in done.stdout


# ---- other launchers, devices, keys ----
def test_signed_as_they_are_made(tmp_path):
    for arguments in (["genpkey", "-algorithm", "ed25519", "-out", tmp_path / "k.pem"],
                      ["pkey", "-in", tmp_path / "k.pem", "-pubout", "-out", tmp_path / "p.pem"]):
        subprocess.run(["openssl", *arguments], check=True)
    out = tmp_path / "c"
    assert run_local(two_steps(tmp_path), out, "--prove", "--key", tmp_path / "k.pem").returncode == 0
    assert all("signature" in e for e in proved(out))
    assert cb("gate", out, "--public-key", tmp_path / "p.pem").returncode == 0
    sealed_again(out, "proofs/002-second.json", lambda document: document["run"].update(id="x"))
    assert cb("gate", out, "--public-key", tmp_path / "p.pem").returncode == 3


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_across_two_ranks(tmp_path):
    steps = [{**real("reduce", "mpi", op="all_reduce", size="4K", duration="200ms"), "scope": "cluster", "ranks_per_host": 2},
             {**real("cast", "mpi", op="broadcast", size="4K", iterations="10"), "scope": "cluster", "ranks_per_host": 2},
             {**real("net", "tcp", duration="200ms", verify="true"), "scope": "cluster", "ranks_per_host": 2},
             # Rank 0 receives nothing here: the fault is where something arrives.
             {**real("one-way", "tcp", duration="200ms", verify="true", test="bandwidth"), "scope": "cluster", "ranks_per_host": 2}]
    path = write_profile(tmp_path, steps, [criterion(f"{s['id']}.data", s["id"], check="data") for s in steps])
    environment = {**os.environ, "CLUSTERBENCH_MPIRUN_ARGS": "--oversubscribe"}
    done = cb("run", path, "--out", tmp_path / "c", "--launcher", "mpirun", "--hosts", f"{os.uname().nodename}:2", "--prove",
              env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {e["step"]: e.get("check") for e in proved(tmp_path / "c")} == {
        "reduce": "data", "cast": "data", "net": "data", "one-way": "data"}


@pytest.mark.skipif(not FAKE_GPU.exists(), reason="built without CUDA")
def test_on_gpus(tmp_path):
    steps = [real("gemm", "gemm", device="gpu", m="64", n="64", k="64", algorithms="3", **{"warm-up": "0s", "iterations": "6"}),
             real("copies", "bandwidth", device="gpu", size="32K", op=["host_to_device", "device_to_host", "triad", "latency"],
                  **{"warm-up": "0s", "iterations": "6"}),
             real("burn", "burn", device="gpu", size="128", phase="bf16", duration="500ms", **{"memory-share": "0.05"})]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile(steps, [criterion("gemm.product", "gemm", check="product"),
                                               criterion("copies.pattern", "copies", check="pattern"),
                                               criterion("burn.result", "burn", check="result")])))
    environment = dict(
        os.environ, CLUSTERBENCH_CUBLASLT_LIBRARY=str(FAKE / "fake_cublaslt.so"), CLUSTERBENCH_FAKE_CUDA="memory=536870912 devices=3",
        CLUSTERBENCH_NVML_LIBRARY=str(FAKE / "fake_nvml.so"), CLUSTERBENCH_FAKE_NVML="gpus=3")
    done = subprocess.run([FAKE_GPU, "run", path, "--out", tmp_path / "c", "--launcher", "none", "--prove"],
                          env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {e["step"]: e.get("check") for e in proved(tmp_path / "c")} == {"gemm": "product", "copies": "pattern", "burn": "result"}
