"""`clusterbench report`: files, options and failures on a real campaign of scripted samples."""

import json
import os
import re
import shutil
import subprocess

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
PROFILE = {
    "schema": "clusterbench.profile/1",
    "name": "scripted",
    "title": {"en": "Scripted <script>alert(1)</script>", "zh": "脚本样本"},
    "steps": [
        {"id": "sweep", "case": "fake", "params": {"value": 2, "size": ["1K", "4K", "16K", "64K"]}}
    ],
    "criteria": [
        {
            "id": "rate",
            "step": "sweep",
            "domain": "compute",
            "title": {"en": "Rate", "zh": "速率"},
            "metric": "bytes_per_second",
            "min": 1,
            "why": "shown by the report",
            "source": {"kind": "contract", "ref": "§1", "date": "2026"},
        }
    ],
}


def cb(*arguments):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run(
        [BINARY, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("campaign")
    profile = place / "scripted.json"
    profile.write_text(json.dumps(PROFILE))
    done = cb("run", profile, "--out", place / "out", "--launcher", "none")
    assert done.returncode == 0, done.stderr
    return place / "out"


@pytest.fixture
def campaign(finished, tmp_path):
    """A copy of its own, because the report is written into the campaign's directory."""
    return shutil.copytree(finished, tmp_path / "out")


def test_writes_report_html_into_the_campaign_and_nothing_else(campaign):
    before = {p for p in campaign.rglob("*") if p.is_file()}
    done = cb("report", campaign)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["✓ Accepted", str(campaign / "report.html")]
    assert {p for p in campaign.rglob("*") if p.is_file()} - before == {campaign / "report.html"}
    page = (campaign / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "<svg" in page and os.uname().nodename in page


def test_twice_gives_the_same_bytes_also_with_the_report_in_place(campaign, tmp_path):
    for name in ("first", "second"):
        done = cb(
            "report", campaign, "--html", tmp_path / f"{name}.html", "--md",
            tmp_path / f"{name}.md", "--json", tmp_path / f"{name}.json",
        )
        assert done.returncode == 0, done.stderr
        assert cb("report", campaign).returncode == 0
    for kind in ("html", "md", "json"):
        first, second = ((tmp_path / f"{n}.{kind}").read_bytes() for n in ("first", "second"))
        assert first == second and len(first) > 500


def test_json_has_verdict_and_figures(campaign, tmp_path):
    path = tmp_path / "r.json"
    done = cb("report", campaign, "--json", path)
    assert done.returncode == 0, done.stderr
    assert not (campaign / "report.html").exists()
    report = json.loads(path.read_text())
    assert report["schema"] == "clusterbench.report/1"
    assert report["verdict"] == "accepted"
    assert report["criteria"][0]["state"] == "pass"
    assert report["criteria"][0]["value"] == pytest.approx(2, rel=0.01)
    assert [f["params"]["size"] for f in report["figures"]] == [1024, 4096, 16384, 65536]


def test_chinese(campaign, tmp_path):
    done = cb("report", campaign, "--md", tmp_path / "r.md", "--lang", "zh")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.startswith("# 验收报告: 脚本样本\n\n**✓ 通过**")


def test_a_failing_criterion_is_reported_and_the_report_itself_succeeds(finished, tmp_path):
    profile = json.loads(json.dumps(PROFILE))
    profile["criteria"][0]["min"] = 3
    path = tmp_path / "strict.json"
    path.write_text(json.dumps(profile))
    assert cb("run", path, "--out", tmp_path / "out", "--launcher", "none").returncode == 1
    done = cb("report", tmp_path / "out", "--md", tmp_path / "r.md")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "**✗ Not accepted**" in text
    assert re.search(r"Rate: ≥ \S+ \S+ everywhere; the worst", text)


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["no-such-directory"], 2, "no-such-directory"),
        (["."], 2, "campaign.json"),
        (["DIR", "--lang", "fr"], 2, "fr"),
        (["DIR", "--html", "/no/such/place/r.html"], 4, "/no/such/place"),
        (["DIR", "--htm", "x"], 2, "--htm"),
        ([], 2, "directory is required"),
    ],
)
def test_mistakes(campaign, tmp_path, arguments, code, words):
    done = cb("report", *[str(campaign) if a == "DIR" else a for a in arguments])
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert not (campaign / "report.html").exists()


def test_a_torn_record_is_reported_not_fatal(campaign, tmp_path):
    record = next((campaign / "records").glob("*.json"))
    record.write_bytes(record.read_bytes()[:200])
    done = cb("report", campaign, "--md", tmp_path / "r.md")
    assert done.returncode == 0, done.stderr
    assert "Incomplete, not accepted" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert record.name in done.stderr  # it is not what the manifest says


def test_help_has_an_example():
    done = cb("report", "--help")
    assert done.returncode == 0
    assert "clusterbench report out/acceptance" in done.stdout
