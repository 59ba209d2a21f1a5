"""Text that hides something, or that is no text: no output may be broken or deceiving by it."""

import datetime
import json
import xml.etree.ElementTree

import pytest

from campaigns import at_least, cb, run_local, step, write_profile

HIDDEN = "\u200b\u00ad\U000e0041\u202e\u2066\ufffe\uffff"


@pytest.fixture
def campaign(tmp_path):
    bad = at_least("speed", "speed", 2.2, title={"en": f"fast{HIDDEN}er", "zh": f"快{HIDDEN}"}, why=f"be{HIDDEN}cause")
    bad["source"] = {**bad["source"], "ref": f"te{HIDDEN}st"}
    profile = write_profile(tmp_path, [step("speed")], [bad])
    run_local(profile, tmp_path / "c")
    return tmp_path / "c"


def test_junit_is_well_formed(campaign, tmp_path):
    waiver = {"id": "w1", "criterion": "speed", "scope": "*:0", "reason": f"slow{HIDDEN}fan", "approver": f"A.{HIDDEN}Buyer",
              "ticket": "T-1", "limit": 1.5, "expires": (datetime.date.today() + datetime.timedelta(365)).isoformat()}
    (tmp_path / "w.json").write_text(json.dumps({"schema": "clusterbench.waivers/1", "waivers": [waiver]}))
    cb("gate", campaign, "--waivers", tmp_path / "w.json", "--junit", tmp_path / "j.xml")
    xml.etree.ElementTree.parse(tmp_path / "j.xml")
    text = (tmp_path / "j.xml").read_text()
    assert not any(c in text for c in HIDDEN)
    assert "slow???????fan" in text


def test_json_shows_what_is_hidden_and_keeps_the_value(campaign, tmp_path):
    assert cb("report", campaign, "--json", tmp_path / "r.json").returncode == 0
    text = (tmp_path / "r.json").read_text()
    assert not any(c in text for c in HIDDEN)
    assert f"te{HIDDEN}st" in json.dumps(json.loads(text), ensure_ascii=False)


@pytest.mark.parametrize("option", ["--html", "--md", "--csv", "--prom"])
def test_no_format_passes_it_on(campaign, tmp_path, option):
    assert cb("report", campaign, option, tmp_path / "out").returncode == 0
    assert not any(c in (tmp_path / "out").read_text() for c in HIDDEN)


def test_the_terminal_does_not_get_it(campaign):
    done = cb("gate", campaign)
    assert "te???????st" in done.stdout
    assert not any(c in done.stdout + done.stderr for c in HIDDEN)
