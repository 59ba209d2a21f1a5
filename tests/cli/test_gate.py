"""`clusterbench gate`: one line per criterion and the exit code, from a campaign that exists."""

import datetime
import json
import os
import xml.etree.ElementTree

import pytest

from campaigns import at_least, cb, criterion, run_local, step, write_profile

NEXT_YEAR = f"{datetime.datetime.now(datetime.timezone.utc).year + 1}-12-31"
WRONG = step("wrong", params={"wrong-rank": 0})


def measured(tmp_path_factory, steps, code):
    directory = tmp_path_factory.mktemp("gate")
    out = directory / "out"
    done = run_local(write_profile(directory, steps, [at_least("good.rate", "good", 1)]), out)
    assert done.returncode == code, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """value 2 everywhere"""
    return measured(tmp_path_factory, [step("good")], 0)


@pytest.fixture(scope="module")
def with_wrong_data(tmp_path_factory):
    """A step `wrong` with a failed check besides, which no criterion names."""
    return measured(tmp_path_factory, [step("good"), WRONG], 1)


def gate(campaign, tmp_path, criteria, *more, steps=(step("good"),)):
    return cb("gate", campaign, "--profile", write_profile(tmp_path, steps, criteria), *more)


def waivers(tmp_path, **change):
    waiver = {"id": "w1", "criterion": "c", "scope": "*:0", "reason": "slow fan",
              "approver": "A. Buyer", "ticket": "OPS-77", "limit": 1.5, "expires": NEXT_YEAR}
    waiver.update(change)
    waiver = {k: v for k, v in waiver.items() if v is not None}
    path = tmp_path / "waivers.json"
    path.write_text(json.dumps({"schema": "clusterbench.waivers/1", "waivers": [waiver]}))
    return path


def test_the_own_profile_is_the_default(campaign):
    done = cb("gate", campaign)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == (
        "ACCEPTED  1 pass · 0 warnings · test profile, no machine was measured")


def test_a_line_names_value_limit_worst_and_source(campaign, tmp_path):
    done = gate(campaign, tmp_path, [at_least("c", "good", 2.4)])
    assert done.returncode == 1
    line = done.stdout.splitlines()[0]
    assert line.startswith("✗ c")
    assert "2.00 < 2.40 B/s" in line
    assert "worst " in line
    assert line.endswith("practice (test), 2026-11")
    assert "see records/001-good.json" in done.stdout


WITH_WARNING = [at_least("good", "good", 1), at_least("c", "good", 2.1, severity="warn")]


@pytest.mark.parametrize("criteria, code, mark, last", [
    ([at_least("c", "good", 1.99)], 0, "✓", "ACCEPTED  1 pass"),
    ([at_least("c", "good", 2)], 3, "?", "INCOMPLETE  0 pass · 1 incomplete"),  # within its interval
    ([at_least("c", "good", 2.1)], 1, "✗", "NOT ACCEPTED  0 pass · 1 fail"),
    (WITH_WARNING, 0, "!", "ACCEPTED  1 pass · 1 warning"),
    ([criterion("c", "good", metric="bytes_per_second", at={"size": "7K"}, min=1)], 3, "?",
     "INCOMPLETE  0 pass · 1 incomplete"),
    ([at_least("c", "good", 1, needs={"hosts": 2})], 3, "–",
     "INCOMPLETE  0 pass · 0 warnings · 1 not applicable"),
])
def test_every_state_and_its_exit_code(campaign, tmp_path, criteria, code, mark, last):
    done = gate(campaign, tmp_path, criteria)
    assert done.returncode == code, done.stdout + done.stderr
    assert any(line.split()[:2] == [mark, "c"] for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1].startswith(last)


@pytest.mark.parametrize("criteria", [
    [criterion("c", "wrong", check="data")],
    [at_least("c", "wrong", 1)],
    [at_least("good", "good", 1), at_least("c", "wrong", 1, severity="warn")],
])
def test_wrong_data_fails_its_criterion_whatever_the_severity(with_wrong_data, tmp_path, criteria):
    done = gate(with_wrong_data, tmp_path, criteria, steps=[step("good"), WRONG])
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(line.split()[:2] == ["✗", "c"] for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1].startswith("NOT ACCEPTED")
    assert "step:wrong" not in done.stdout  # said once


def test_wrong_data_that_no_criterion_names_is_in_every_format(with_wrong_data, tmp_path):
    files = {n: tmp_path / f"gate.{n}" for n in ("json", "junit", "prom", "md")}
    done = cb("gate", with_wrong_data, *[w for n, f in files.items() for w in (f"--{n}", f)])
    assert done.returncode == 1, done.stderr
    line = next(x for x in done.stdout.splitlines() if x.startswith("✗ step:wrong"))
    assert "check data failed: wrong as it was told; see records/002-wrong.json" in line
    assert done.stdout.splitlines()[-1].startswith("NOT ACCEPTED  1 pass · 1 fail")
    root = xml.etree.ElementTree.parse(files["junit"]).getroot()
    assert root.find("testsuite/testcase[@name='step:wrong']/failure") is not None
    assert ('clusterbench_criterion_state{criterion="step:wrong",step="wrong",state="fail"} 1'
            in files["prom"].read_text())
    assert "Step wrong: data right and complete" in files["md"].read_text()
    report = json.loads(files["json"].read_text())
    assert report["verdict"] == "not-accepted"
    assert {c["id"]: c["state"] for c in report["criteria"]}["step:wrong"] == "fail"
    for language, title in (("en", "Step wrong: data right and complete"),
                            ("zh", "步骤 wrong：数据正确且完整")):
        page = tmp_path / f"{language}.html"
        assert cb("report", with_wrong_data, "--html", page, "--lang", language).returncode == 0
        assert title in page.read_text()


def test_a_profile_without_the_step_does_not_undo_its_wrong_data(with_wrong_data, tmp_path):
    done = gate(with_wrong_data, tmp_path, [at_least("c", "good", 1)])
    assert done.returncode == 1
    assert "✗ step:wrong" in done.stdout


def test_a_lost_job_of_an_informative_step_is_incomplete(tmp_path):
    path = write_profile(tmp_path, [step("good"), step("lost", params={"failing-rank": 0}),
                                    step("left-out", params={"skipping-rank": 0})],
                         [at_least("c", "good", 1)])
    done = run_local(path, tmp_path / "out")
    assert done.returncode == 3, done.stdout
    for identity in ("lost", "left-out"):
        assert f"? step:{identity} " in done.stdout
    assert "skipped as it was told" in done.stdout


def test_a_profile_for_other_hosts_accepts_nothing(campaign, tmp_path):
    criteria = [at_least("c", "good", 1)] + [
        at_least(f"n{i}", "good", 1, needs={"gpu": 200}) for i in range(2)]
    junit = tmp_path / "junit.xml"
    done = gate(campaign, tmp_path, criteria, "--junit", junit)
    assert done.returncode == 3
    root = xml.etree.ElementTree.parse(junit).getroot()
    assert root.find("testsuite/testcase[@name='profile']/error") is not None
    assert "? profile" in done.stdout and "1 of 3 criteria that can fail apply" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("INCOMPLETE  1 pass")


def test_scripted_figures_are_refused_to_everybody_but_a_tester(campaign, tmp_path):
    path = write_profile(tmp_path, [step("good")], [at_least("c", "good", 1)])
    stranger = {k: v for k, v in os.environ.items() if k != "CLUSTERBENCH_TEST_CASES"}
    for environment in (stranger, {**stranger, "CLUSTERBENCH_TEST_CASES": "0"}):
        for command in (("profile", "validate", path), ("run", path, "--out", tmp_path / "out"),
                        ("gate", campaign), ("gate", campaign, "--profile", "host-quick"),
                        ("report", campaign, "--html", tmp_path / "r.html")):
            done = cb(*command, env=environment)
            assert done.returncode == 2, command
            assert "steps[good].case" in done.stderr and "makes its figures up" in done.stderr
    assert not (tmp_path / "out").exists() and not (tmp_path / "r.html").exists()
    page = tmp_path / "tested.html"
    assert cb("report", campaign, "--html", page).returncode == 0
    assert "Test profile: scripted figures" in page.read_text()


def test_a_scattered_median_is_inconclusive_on_both_sides_of_the_limit(campaign, tmp_path):
    """20 samples 1.996 … 2.004: the median 2 is known as 1.998 to 2.002."""
    for limit, code in ((1.998, 0), (1.9981, 3), (2, 3), (2.002, 3), (2.0021, 1)):
        done = gate(campaign, tmp_path, [at_least("c", "good", limit)])
        assert done.returncode == code, done.stdout
        assert ("inconclusive" in done.stdout) == (code == 3)


def test_a_limit_above_every_ceiling_is_an_error_of_the_profile(campaign, tmp_path):
    """The scripted ceiling is 2.5."""
    assert gate(campaign, tmp_path, [at_least("c", "good", 2.5)]).returncode == 1
    done = gate(campaign, tmp_path, [at_least("c", "good", 2.6)])
    assert done.returncode == 2
    assert "criteria[c]" in done.stderr and "above the ceiling" in done.stderr
    assert "1.25 × the scripted value" in done.stderr


def test_the_pipelines_formats(campaign, tmp_path):
    files = {n: tmp_path / f"gate.{n}" for n in ("json", "junit", "prom", "md", "csv")}
    done = gate(campaign, tmp_path,
                [at_least("good.low", "good", 1), at_least("good.high", "good", 2.1),
                 at_least("gone", "good", 1, at={"size": "7K"})],
                *[word for n, f in files.items() for word in (f"--{n}", f)])
    assert done.returncode == 1, done.stderr
    suite = xml.etree.ElementTree.parse(files["junit"]).getroot().find("testsuite")
    assert suite.attrib["failures"] == "2" and suite.attrib["errors"] == "1"
    names = [(c.attrib["classname"], c.attrib["name"]) for c in suite.iter("testcase")]
    assert len(set(names)) == len(names) == int(suite.attrib["tests"])
    assert suite.find("testcase[@name='good.high']/failure") is not None
    assert suite.find("testcase[@name='gone']/error") is not None
    prom = files["prom"].read_text()
    assert prom.endswith("\n")
    assert 'clusterbench_accepted{profile="test"} 0' in prom
    assert 'clusterbench_criterion_state{criterion="good.high",step="good",state="fail"} 1' in prom
    assert "clusterbench_last_completion_timestamp_seconds " in prom
    assert "host=" not in prom
    assert "| ✗ fail |" in files["md"].read_text()
    states = {c["id"]: c["state"] for c in json.loads(files["json"].read_text())["criteria"]}
    assert states == {"good.low": "pass", "good.high": "fail", "gone": "incomplete"}
    assert files["csv"].read_text().startswith("step,case,")


def test_an_output_that_cannot_be_written_is_an_error(campaign, tmp_path):
    done = cb("gate", campaign, "--junit", tmp_path / "nowhere" / "x.xml")
    assert done.returncode == 4 and "nowhere" in done.stderr


def test_hostile_text_is_harmless_in_every_format(campaign, tmp_path):
    hostile = "=1+1|<script>alert(1)</script>\"\033]0;x\007\u202e`{{x}}"
    files = {n: tmp_path / f"h.{n}" for n in ("json", "junit", "prom", "md")}
    done = gate(campaign, tmp_path, [at_least(hostile, "good", 2.4, title={"en": hostile, "zh": hostile})],
                *[word for n, f in files.items() for word in (f"--{n}", f)])
    assert done.returncode == 1
    for name, path in files.items():
        text = path.read_text()
        assert "\033" not in text and "\u202e" not in text or name == "json"
    xml.etree.ElementTree.parse(files["junit"])
    assert "<script>" not in files["md"].read_text()
    assert all(line.startswith(("#", "clusterbench_")) for line in files["prom"].read_text().splitlines())
    json.loads(files["json"].read_text())


def test_a_waiver_lets_its_failure_pass_and_is_named(campaign, tmp_path):
    done = gate(campaign, tmp_path, [at_least("c", "good", 2.1)], "--waivers", waivers(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("~ c")
    assert f"waived until {NEXT_YEAR} by A. Buyer, OPS-77" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("ACCEPTED  0 pass · 0 warnings · 1 waived")


def test_beyond_the_waivers_limit_it_fails(campaign, tmp_path):
    done = gate(campaign, tmp_path, [at_least("c", "good", 2.1)], "--waivers",
                waivers(tmp_path, limit=2.05))
    assert done.returncode == 1
    assert "beyond the limit of waiver w1" in done.stdout


@pytest.mark.parametrize("change, said", [
    ({"expires": "2020-01-01"}, "expired on 2020-01-01"),
    ({"limit": None}, "limit"),
    ({"approver": None}, "approver"),
    ({"criterion": "d"}, "no criterion d"),
    ({"scope": "elsewhere:*"}, "nothing of c that matches elsewhere:* fails"),
    ({"aprover": "x"}, "did you mean approver?"),
    ({"scope": "*"}, "is everything"),
    ({"limit": -1e308}, "is not above 0"),
    ({"limit": 1e-9}, "which nothing falls below"),
    ({"expires": "9999-12-31"}, "3 years at most"),
])
def test_a_bad_waiver_is_an_error(campaign, tmp_path, change, said):
    done = gate(campaign, tmp_path, [at_least("c", "good", 2.1)], "--waivers",
                waivers(tmp_path, **change))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_hostile_names_do_not_reach_the_terminal(campaign, tmp_path):
    done = gate(campaign, tmp_path, [at_least("\033[31mc\u202e", "good", 2.4)])
    assert done.returncode == 1
    assert "\033" not in done.stdout and "\u202e" not in done.stdout


def test_no_campaign(tmp_path):
    for directory in (tmp_path, tmp_path / "nowhere"):
        done = cb("gate", directory)
        assert done.returncode == 2
        assert "is not a campaign directory" in done.stderr
