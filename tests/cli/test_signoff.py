"""`signoff`, `issue` and `checklist`: who signs what, and what of it still holds."""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

from campaigns import at_least, cb, files, profile, run_local, step, write_profile
from test_bad_campaign import relink
from test_paperwork import scaled
from signing import SIGN, WHO, at_terminal, bad, campaigns, forged, good, key, signatures, verify, write


def test_two_parties_sign_and_whoever_has_their_keys_verifies(good, tmp_path):
    li, li_public = key(tmp_path, "li")
    wang, wang_public = key(tmp_path, "wang")
    _, other = key(tmp_path, "other")
    assert verify(good) == (3, ["there is no signature"])
    done = cb("signoff", good, *SIGN, "--key", li, "--title", "director", "--company", "Buyer Ltd")
    assert done.returncode == 0, done.stderr
    done = cb("signoff", good, "--role", "supplier", "--name", "A. Wang", "--key", wang, *SIGN[4:])
    assert done.returncode == 0, done.stderr
    code, lines = verify(good, li_public, wang_public)
    assert code == 0 and lines[0] == "✓ intact: 2 signatures by listed keys"
    assert re.fullmatch(r"✓ B\. Li \(customer\), director, Buyer Ltd: accepted, \S+Z, key li\.pub\.pem", lines[1])
    assert re.fullmatch(r"✓ A\. Wang \(supplier\): accepted, \S+Z, key wang\.pub\.pem", lines[2])
    code, lines = verify(good)
    assert code == 3 and lines[0].startswith("? NOT AUTHENTICATED: 2 signatures")
    code, lines = verify(good, li_public)
    assert code == 1 and lines[0] == "✗ NOT VERIFIED: 2 problems"
    assert any("002-supplier.json" in line and "not listed" in line for line in lines)
    code, lines = verify(good, li_public, wang_public, other)
    assert code == 1 and any("the key other.pub.pem has not signed" in line for line in lines)
    document = json.loads((good / "signoffs/001-customer.json").read_text())
    campaign = json.loads((good / "campaign.json").read_text())
    assert document["profile_sha256"] == campaign["profile_sha256"]
    assert document["campaign"] == campaign["id"]


def test_a_verdict_that_is_not_spelt_out_signs_nothing(good):
    before = files(good)
    done = cb("signoff", good, *WHO, "--yes")
    assert done.returncode == 2 and "--verdict  is missing: accepted" in done.stderr
    assert files(good) == before


def test_what_is_signed_is_shown_and_nothing_written_without_yes(good):
    before = files(good)
    done = cb("signoff", good, *WHO, "--verdict", "accepted", stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "repeat with --yes" in done.stderr
    campaign = json.loads((good / "campaign.json").read_text())
    for part in (campaign["id"], "ACCEPTED", "1 pass", "verdict", "B. Li (customer)", "anybody could have",
                 "report.en.html", "report.zh.html"):
        assert part in done.stdout, part
    assert re.search(r"^manifest +[0-9a-f]{64}$", done.stdout, re.M)
    assert re.search(r"^digest +[0-9a-f]{64}$", done.stdout, re.M)
    assert files(good) == before


def test_what_is_waived_is_shown_before_it_is_signed(tmp_path):
    path = write_profile(tmp_path, [step("slow")], [at_least("c", "slow", 2.4)])
    assert run_local(path, tmp_path / "c").returncode == 1
    waiver = {"id": "W-7", "criterion": "c", "scope": f"{os.uname().nodename}:*", "reason": "slow fan", "approver": "A. Buyer",
              "ticket": "OPS-77", "limit": 1.5, "expires": datetime.date.today().replace(month=12, day=31).isoformat()}
    (tmp_path / "w.json").write_text(json.dumps({"schema": "clusterbench.waivers/1", "waivers": [waiver]}))
    done = cb("signoff", tmp_path / "c", *WHO, "--verdict", "accepted", "--waivers", tmp_path / "w.json",
              stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    line = next(line for line in done.stdout.splitlines() if "W-7" in line)
    assert f"up to 1.50 B/s, slow fan, OPS-77, A. Buyer, until {waiver['expires']}" in line


@pytest.mark.parametrize("answer, code", [("yes", 0), ("y", 2), ("", 2)])
def test_at_a_terminal_it_asks(good, answer, code):
    status, shown = at_terminal(["signoff", good, *WHO, "--verdict", "accepted"], [("Type yes:", answer)])
    assert status == code and "cannot be taken back" in shown
    assert signatures(good) == (["001-customer.json"] if code == 0 else [])


def test_the_report_is_written_first_and_signed_with_the_rest(good, tmp_path):
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    names = json.loads((good / "signoffs/001-customer.json").read_text())["files"]
    for lang, word in (("en", "Acceptance report"), ("zh", "验收报告")):
        page = (good / f"report.{lang}.html").read_bytes()
        assert word in page.decode()
        assert names[f"report.{lang}.html"] == {"bytes": len(page), "sha256": hashlib.sha256(page).hexdigest()}
    before = (good / "report.en.html").read_bytes()
    assert cb("signoff", good, "--role", "witness", "--name", "C", *SIGN[4:]).returncode == 0
    assert (good / "report.en.html").read_bytes() == before  # the second one signs the same report
    (good / "report.zh.html").write_bytes(before)
    assert verify(good, public)[0] == 1


def test_a_person_signs_once_and_a_key_stands_for_one_person(good, tmp_path):
    li, _ = key(tmp_path, "li")
    wang, _ = key(tmp_path, "wang")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    for again, said in ((("--key", li), "has signed already"), ((), "with another one"),
                        (("--key", wang), "with another one")):
        done = cb("signoff", good, *SIGN, *again)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    done = cb("signoff", good, "--role", "supplier", "--name", "A. Wang", "--key", li, *SIGN[4:])
    assert done.returncode == 2 and "a key stands for one person" in done.stderr
    assert signatures(good) == ["001-customer.json"]
    for role, name, private in (("customer", "D. Zhao", wang), ("supervisor", "E. Sun", None)):
        more = ("--key", private) if private else ()
        assert cb("signoff", good, "--role", role, "--name", name, *SIGN[4:], *more).returncode == 0
    assert signatures(good) == ["001-customer.json", "002-customer.json", "003-supervisor.json"]


def test_a_condition_is_replaced_by_a_later_word_of_the_same_person(bad, tmp_path):
    li, public = key(tmp_path, "li")
    sign = ("signoff", bad, *WHO, "--key", li, "--yes", "--verdict")
    assert cb(*sign, "conditional", "--until", "2999-12-31").returncode == 0
    assert cb(*sign, "conditional", "--until", "2999-12-31").returncode == 2
    assert cb(*sign, "rejected").returncode == 0
    code, lines = verify(bad, public)
    assert code == 1 and lines[0] == "✗ intact: 2 signatures by listed keys; REJECTED by B. Li (customer)"
    assert verify(bad, public, more=["--allow-rejected"])[0] == 0
    assert verify(bad)[0] == 1 and verify(bad, more=["--allow-rejected"])[0] == 3


def test_nobody_adds_a_signature_or_a_file_without_a_listed_key(bad, tmp_path):
    """The customer rejected; whoever sends it on makes an acceptance and another contract of it."""
    wang, wang_public = key(tmp_path, "wang")
    li, li_public = key(tmp_path, "li")
    conditional = ("--verdict", "conditional", "--until", "2999-12-31", "--yes")
    assert cb("signoff", bad, "--role", "supplier", "--name", "A. Wang", "--key", wang, *conditional).returncode == 0
    assert cb("signoff", bad, *WHO, "--key", li, "--verdict", "rejected", "--yes").returncode == 0
    (bad / "site.json").write_text(json.dumps({"schema": "clusterbench.site/1", "contract": "another"}))
    forged(bad, "002-customer.json", "003-customer.json", number=3, verdict="accepted", open=[])
    code, lines = verify(bad, wang_public, li_public)
    assert code == 1
    for part in ("003-customer.json by B. Li (customer) is signed without a key",
                 "site.json was added after signoffs/002-customer.json"):
        assert any(part in line for line in lines), part
    assert verify(bad)[0] == 3  # anybody can compute digests: without keys it says no more
    for keys, said in (((), "without a key: anybody can have written it"), ((wang_public, li_public), "site.json was added")):
        report = cb("report", bad, "--md", tmp_path / "r.md", *(w for k in keys for w in ("--public-key", k)))
        assert report.returncode == (1 if keys else 0)
        assert said in (tmp_path / "r.md").read_text().replace("\\", "")


def test_the_report_verifies_before_it_prints(bad, tmp_path):
    li, public = key(tmp_path, "li")
    assert cb("signoff", bad, *WHO, "--key", li, "--verdict", "rejected", "--yes").returncode == 0

    def reported(*keys):
        done = cb("report", bad, *(w for k in keys for w in ("--public-key", k)), "--md", tmp_path / "r.md",
                  "--html", tmp_path / "r.html", "--json", tmp_path / "r.json", "--junit", tmp_path / "r.xml",
                  "--prom", tmp_path / "r.prom")
        state = json.loads((tmp_path / "r.json").read_text())["signatures"][0]["state"]
        assert f'clusterbench_signatures{{state="{state}"}} 1' in (tmp_path / "r.prom").read_text()
        assert f"{state}: " in (tmp_path / "r.xml").read_text()
        return done.returncode, state, (tmp_path / "r.html").read_text()

    assert reported(public)[:2] == (0, "valid") and "✓ valid, key li.pub.pem" in reported(public)[2]
    assert reported()[:2] == (0, "unknown-key") and "? key not known to this report" in reported()[2]
    file = bad / "signoffs/001-customer.json"
    text = file.read_text()
    file.write_text(text.replace("rejected", "accepted"))
    code, state, html = reported(public)
    assert (code, state) == (1, "invalid") and "✗ INVALID: changed since it was signed" in html
    file.write_text(text)
    file.write_text(text.replace('"role": "customer"', '"role": "boss"'))
    done = cb("report", bad, "--html", tmp_path / "r.html")
    assert done.returncode == 1 and "role boss is not known" in done.stderr
    assert verify(bad)[0] == 1


def test_empty_directories_are_seen(good, tmp_path):
    (good / "attachments").mkdir()
    done = cb("signoff", good, *SIGN)
    assert done.returncode == 2 and "attachments  is an empty directory" in done.stderr
    (good / "attachments").rmdir()
    assert cb("signoff", good, *SIGN).returncode == 0
    (good / "logs/attachments").mkdir()
    code, lines = verify(good)
    assert code == 1 and any("logs/attachments/ was added" in line for line in lines)


@pytest.mark.parametrize("names", [[b"caf\xe9.txt"], [b"caf\xe9.txt", b"caf\xe8.txt"]])
def test_names_that_no_document_can_hold_are_refused_before_anything_is_written(good, names):
    for name in names:
        with open(os.path.join(os.fsencode(good), name), "wb") as out:
            out.write(b"x")
    before = sorted(os.listdir(os.fsencode(good)))
    done = cb("signoff", good, *SIGN)
    assert done.returncode == 2 and "caf?.txt" in done.stderr and "not UTF-8" in done.stderr
    assert sorted(os.listdir(os.fsencode(good))) == before


def test_names_in_any_language_are_signed_and_verified(good, tmp_path):
    li, public = key(tmp_path, "li")
    (good / "附件三 – Überprüfung.txt").write_text("x")
    done = cb("signoff", good, "--role", "customer", "--name", "李娜", "--title", "经理", "--company", "某公司",
              *SIGN[4:], "--key", li)
    assert done.returncode == 0, done.stderr
    code, lines = verify(good, public)
    assert code == 0 and lines[1].startswith("✓ 李娜 (customer), 经理, 某公司: accepted")


def test_a_changed_byte_of_every_file_is_named(good, tmp_path):
    li, public = key(tmp_path, "li")
    assert cb("report", good).returncode == 0
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    for name, content in files(good).items():
        if not content:
            continue
        place = len(content) // 2
        (good / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1:])
        done = cb("signoff", "verify", good)
        (good / name).write_bytes(content)
        assert done.returncode == 1, name
        assert any(line.startswith("problem: ") and name in line for line in done.stdout.splitlines()), name
    assert verify(good, public)[0] == 0


def test_a_failing_campaign_needs_conditions_with_days(bad):
    done = cb("signoff", bad, *SIGN)
    assert done.returncode == 2
    assert "criterion good.rate" in done.stderr and "checklist labels" in done.stderr
    assert not (bad / "signoffs").exists()
    assert cb("signoff", bad, *WHO, "--yes", "--verdict", "conditional").returncode == 2
    done = cb("signoff", bad, *WHO, "--yes", "--verdict", "conditional", "--until", "2999-12-31",
              "--open-item", "spare parts;2999-11-30")
    assert done.returncode == 0, done.stderr
    assert "criterion good.rate, fail, by 2999-12-31" in done.stdout
    assert "checklist labels, incomplete, by 2999-12-31" in done.stdout
    assert "agreed spare parts, by 2999-11-30" in done.stdout


def test_a_signed_campaign_is_not_written_again(good, tmp_path):
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    before = files(good)
    assert cb("report", good, "--html", good / "report.html").returncode == 2
    assert cb("report", good, "--md", good / "x.md", "--html", tmp_path / "x.html").returncode == 2
    assert cb("gate", good, "--json", good / "gate.json").returncode == 2
    assert cb("run", "--resume", good).returncode == 2
    assert files(good) == before
    assert cb("report", good, "--html", tmp_path / "x.html").returncode == 0
    assert cb("report", good).returncode == 0
    assert (good / "report-signed.html").exists()
    code, lines = verify(good, public)
    assert code == 0 and lines[-1].startswith("later: report-signed.html is what")


@pytest.mark.parametrize("more", [(), ("--lang", "zh"), ("keys",)])
def test_the_page_of_signatures_counts_where_it_can_be_made_again(good, tmp_path, more):
    li, public = key(tmp_path, "li")
    assert cb("signoff", good, *SIGN, "--key", li).returncode == 0
    assert cb("report", good, *(("--public-key", public) if more == ("keys",) else more)).returncode == 0
    assert verify(good, public)[0] == 0
    page = good / "report-signed.html"
    page.write_text(page.read_text().replace("B. Li", "C. Li"))
    code, lines = verify(good, public)
    assert code == 3 and any("report-signed.html is not what" in line for line in lines)
    (tmp_path / "site.json").write_text(json.dumps({"schema": "clusterbench.site/1", "contract": "another"}))
    assert cb("report", good, "--site", tmp_path / "site.json").returncode == 0
    assert verify(good, public)[0] == 3


def test_an_unfinished_campaign_is_not_signed(good):
    lines = (good / "journal.jsonl").read_text().splitlines()
    (good / "journal.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    done = cb("signoff", good, *SIGN)
    assert done.returncode == 2 and "not finished" in done.stderr


def test_an_issue_is_closed_by_a_passing_measurement_only(bad, tmp_path):
    def close(directory):
        return cb("issue", "update", bad, "--id", "I-001", "--retest", directory)

    assert "1 added" in cb("issue", "add", bad, "--from-failures").stdout
    assert close(bad).returncode == 2
    assert run_local(write(tmp_path / "again.json", 1), tmp_path / "again").returncode == 0
    done = close(tmp_path / "again")  # accepted by its own profile, which asks for less
    assert done.returncode == 2 and "still fails" in done.stderr
    # By the same steps: a re-test of others proves nothing.
    run_local(write(tmp_path / "same.json", 3, ("labels",)), tmp_path / "same")
    scaled(tmp_path / "same", tmp_path / "faster", 2)
    shutil.copytree(tmp_path / "faster", tmp_path / "old")
    file = tmp_path / "old" / "campaign.json"
    file.write_text(re.sub('"started": "[^"]*"', '"started": "2020-01-01T00:00:00Z"', file.read_text()))
    done = close(tmp_path / "old")
    assert done.returncode == 2 and "changed" in done.stderr
    relink(tmp_path / "old")  # as if it had been measured then
    done = close(tmp_path / "old")
    assert done.returncode == 2 and "before the issue was found" in done.stderr
    assert cb("issue", "add", tmp_path / "faster", "--symptom", "loud").returncode == 0
    itself = cb("issue", "update", tmp_path / "faster", "--id", "I-001", "--retest", tmp_path / "faster")
    assert itself.returncode == 2
    assert close(tmp_path / "faster").returncode == 0
    assert "0 open of 1" in cb("issue", "list", bad).stdout


def test_work_on_issues_goes_on_after_a_conditional_signature(bad, tmp_path):
    li, public = key(tmp_path, "li")
    wang, wang_public = key(tmp_path, "wang")
    cb("issue", "add", bad, "--from-failures")
    cb("checklist", bad, "--item", "labels", "--result", "fail", "--by", "B. Li")
    done = cb("signoff", bad, *WHO, "--key", li, "--yes", "--verdict", "conditional", "--until", "2999-12-31")
    assert done.returncode == 0, done.stderr
    assert "issue I-001, open" in done.stdout and "checklist labels, fail" in done.stdout
    assert cb("issue", "update", bad, "--id", "I-001", "--owner", "A. Wang", "--key", li).returncode == 0
    code, lines = verify(bad, public)
    assert code == 0
    assert "later: issues.history.jsonl line 2 is later than signoffs/001-customer.json, by B. Li (key li.pub.pem)" in lines
    # In somebody's name, but without the key of anybody who signed.
    shutil.copytree(bad, tmp_path / "wang")
    for directory, more in ((bad, ()), (tmp_path / "wang", ("--key", wang))):
        done = cb("checklist", directory, "--item", "labels", "--result", "pass", "--by", "B. Li", *more)
        assert done.returncode == 0, done.stderr
        code, lines = verify(directory, public)
        assert code == 3 and lines[0].startswith("? NOT AUTHENTICATED: 1 signature by listed keys")
        assert any(line.startswith("not authenticated: checklist.history.jsonl line 2") for line in lines)
    assert verify(bad)[0] == 3
    history = bad / "issues.history.jsonl"
    line = json.loads(history.read_text().splitlines()[1])
    assert line["signature"]["public_key"] == json.loads((bad / "signoffs/001-customer.json").read_text())["public_key"]
    text = (bad / "issues.json").read_text()
    (bad / "issues.json").write_text(text.replace("A. Wang", "B. Wang"))
    assert verify(bad, public)[0] == 1
    assert cb("issue", "list", bad).returncode == 2


def test_a_signed_line_of_a_history_counts_in_its_campaign_only(bad, campaigns, tmp_path):
    """The same work in another campaign gives the same line, but for the signature."""
    li, public = key(tmp_path, "li")
    other = shutil.copytree(bad, tmp_path / "other")
    document = json.loads((other / "campaign.json").read_text())
    for directory in (bad, other):
        done = cb("signoff", directory, *WHO, "--key", li, "--yes", "--verdict", "conditional", "--until", "2999-12-31")
        assert done.returncode == 0, done.stderr
    assert cb("checklist", bad, "--item", "labels", "--result", "pass", "--by", "B. Li", "--key", li).returncode == 0
    for name in ("checklist.json", "checklist.history.jsonl"):
        shutil.copy(bad / name, other / name)
    assert verify(other, public)[0] == 0  # it is the same campaign
    line = json.loads((other / "checklist.history.jsonl").read_text())
    assert line["signature"].keys() == {"algorithm", "public_key", "value"}
    line["signature"]["value"] = "00" * 64
    bare = {k: v for k, v in line.items() if k != "line"}
    dump = lambda d: json.dumps(d, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    line["line"] = hashlib.sha256(dump(bare).encode()).hexdigest()
    (other / "checklist.history.jsonl").write_text(dump(line) + "\n")
    code, lines = verify(other, public)
    assert code == 1 and any("does not carry a valid Ed25519 signature" in line for line in lines)
    assert document["id"] == json.loads((bad / "campaign.json").read_text())["id"]


def test_hostile_words_reach_the_terminal_harmless(good):
    done = cb("signoff", good, "--role", "witness", "--name", "B. Li", "--remark", "\x1b[31mB\nLi<script>",
              *SIGN[4:])
    assert done.returncode == 0
    forged(good, "001-witness.json", "002-witness.json", number=2, name="\x1b[31mB\nLo")  # no signoff takes such a name
    assert "\x1b" not in done.stdout and "\x1b" not in cb("signoff", "verify", good).stdout
