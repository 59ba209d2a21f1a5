"""compare-settings over the stand-in for NCCL, whose rate and log follow the library's variables."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def compare(job, monkeypatch):
    """(exit code, settings.json, stdout, directory)."""
    def run(*args, behaviour):
        monkeypatch.setenv("CLUSTERBENCH_NCCL_LIBRARY",
                           str(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "fake" / "fake_nccl.so"))
        monkeypatch.setenv("FAKE_NCCL", behaviour)
        monkeypatch.setenv("NCCL_COLLNET_ENABLE", "")  # whatever the shell had
        monkeypatch.delenv("NCCL_COLLNET_ENABLE")
        out = job.folder / "settings"
        code, text, err = job.run(0, "compare-settings", "--size", "256K", "--launcher", "none", "--out", out, *args,
                                  "--", "--memory", "host", "--gpus", 2, "--iterations", 4, "--calls", 1, "--checks", 1)
        document = json.loads((out / "settings.json").read_text()) if (out / "settings.json").exists() else None
        return code, document, text + err, out
    return run


def test_sharp_that_helps_and_is_proved_passes(compare):
    """The stand-in sends at 20 MB/s, and at 80 MB/s with SHARP: slow enough for a busy machine to keep the difference."""
    code, document, text, out = compare(
        "--setting", "sharp", "--repeats", 3, behaviour="hosts=2,sharp,rate=20,with:NCCL_COLLNET_ENABLE=1:80")
    point, = document["settings"][0]["points"]
    assert code == 0 and document["verdict"] == "pass", text
    assert point["proof_on"] == point["proof_off"] == "shown"
    assert 2 < point["ratio"] < 6 and point["ratio_low"] >= 1.3 and abs(point["control_share"]) < point["ratio"] - 1
    assert "at least × 1.3 is required; the log proves both sides" in text
    assert (out / "settings.zh.md").read_text().startswith("# NCCL 设置的开与关")
    runs = json.loads((out / "sharp" / "sweep.json").read_text())["runs"]
    assert len(runs) == 9 and sum("control" in r for r in runs) == 3  # interleaved, with an A/A control in each block


def test_sharp_that_nccl_does_not_take_fails_and_gains_nothing(compare):
    """A faster figure does not stand for the setting: the log says that the ring was taken."""
    code, document, text, _ = compare(
        "--setting", "sharp", "--repeats", 2, behaviour="hosts=2,rate=40,with:NCCL_COLLNET_ENABLE=1:120")
    assert code == 1 and document["settings"][0]["points"][0]["proof_on"] == "refuted"
    assert "NCCL_COLLNET_ENABLE=1 was set, and the library's log shows that it was not taken" in " ".join(text.split())


def test_without_a_log_it_is_incomplete(compare):
    code, document, _, _ = compare("--setting", "pxn", "--repeats", 2, behaviour="hosts=2,pxn,silent")
    assert code == 3 and document["verdict"] == "incomplete"
    assert document["settings"][0]["points"][0]["proof_on"] == "untold"


def test_every_setting_is_proved(compare):
    code, document, text, _ = compare("--setting", "nvls,pxn,registered,gdr", "--require", "nvls=1.2", "--repeats", 2,
                                      behaviour="hosts=2,pxn,nvls,rate=40,with:NCCL_NVLS_ENABLE=1:160")
    proofs = {s["id"]: (s["points"][0]["proof_off"], s["points"][0]["proof_on"]) for s in document["settings"]}
    assert proofs == dict.fromkeys(("nvls", "pxn", "registered", "gdr"), ("shown", "shown")), text
    assert code in (0, 3), text  # two repeats: the interval of nvls may be too wide on a busy machine


def test_what_an_interrupt_left_uncompared_does_not_pass(tmp_path):
    out = tmp_path / "settings"
    build = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
    env = dict(os.environ, CLUSTERBENCH_NCCL_LIBRARY=str(build / "fake" / "fake_nccl.so"), FAKE_NCCL="hosts=2,sharp")
    with subprocess.Popen([os.environ["CLUSTERBENCH_BIN"], "compare-settings", "--setting", "gdr,sharp", "--repeats", "1",
                           "--size", "64K", "--launcher", "none", "--out", out, "--", "--memory", "host", "--gpus", "2",
                           "--iterations", "2", "--calls", "1", "--checks", "1"],
                          env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        any("gdr 2/2" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert process.returncode == 130, text
    document = json.loads((out / "settings.json").read_text())
    assert {s["id"]: s["verdict"] for s in document["settings"]} == {"gdr": "pass", "sharp": "incomplete"}
    assert document["verdict"] == "incomplete" and "sharp: not compared" in text
    assert "- sharp: not compared" in (out / "settings.en.md").read_text()


@pytest.mark.parametrize("args, words", [
    (["--setting", "shrap"], "did you mean sharp"), (["--require", "sharp"], "is not SETTING=RATIO"),
    (["--require", "sharp=1.3,sharp=1.1"], "sharp is given twice"),
    (["--setting", "pxn", "--require", "sharp=2"], "sharp is not among the settings compared")])
def test_what_cannot_be_meant_is_refused(compare, args, words):
    code, _, text, _ = compare(*args, behaviour="")
    assert code == 2 and words in " ".join(text.split())
