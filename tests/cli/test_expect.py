"""`clusterbench expect` and `profile lock`: deliveries made of documents of `info`, lists as people write them."""

import copy
import csv
import json

import pytest

from campaigns import at_least, cb, profile, run_local, step


def part(kind, identity, **attributes):
    return {"kind": kind, "id": identity, "attributes": attributes}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The document of `info` on this machine, with two hosts of two GPUs and a drive each in place of its own."""
    path = tmp_path_factory.mktemp("info") / "info.json"
    done = cb("info", "--json", path)
    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text())
    document["run"]["hosts"] = ["n1", "n2"]
    document["hosts"] = [
        {"host": host, "parts": [
            part("system", "0", serial=f"S{host}", product="GPU-8U"),
            *(part("gpu", f"0000:0{i}:00.0", pci_address=f"0000:0{i}:00.0", model="NVIDIA H20", serial=f"{host}G{i}",
                   driver_version="535.129.03") for i in (1, 2)),
            part("nvme", "nvme0", model="KCD8XPUG7T68", serial=f"{host}D", firmware="0105")]}
        for host in ("n1", "n2")]
    document["records"] = []
    return document


def gpus(document, host):
    return [p for p in document["hosts"][host]["parts"] if p["kind"] == "gpu"]


def expect(tmp_path, document, *options):
    path = tmp_path / "delivered.json"
    path.write_text(json.dumps(document))
    return cb("expect", path, *options)


@pytest.fixture
def register(tmp_path, document):
    path = tmp_path / "register.csv"
    done = expect(tmp_path, document, "--register", path)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def test_the_register_has_every_serial_number_and_is_a_delivery_list(tmp_path, document, register):
    rows = list(csv.DictReader(register.open(newline="")))
    assert sorted(r["serial"] for r in rows) == ["Sn1", "Sn2", "n1D", "n1G1", "n1G2", "n2D", "n2G1", "n2G2"]
    assert rows[1] == {"host": "n1", "part": "gpu", "slot": "0000:01:00.0", "serial": "n1G1", "model": "NVIDIA H20",
                       "firmware": "", "uuid": ""}
    done = expect(tmp_path, document, "--assets", register)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "as ordered: 2 hosts\n"


def test_two_exchanged_gpus_are_one_finding(tmp_path, document, register):
    swapped = copy.deepcopy(document)
    one, other = gpus(swapped, 0)[0]["attributes"], gpus(swapped, 1)[1]["attributes"]
    one["serial"], other["serial"] = other["serial"], one["serial"]
    done = expect(tmp_path, swapped, "--assets", register)
    assert done.returncode == 1
    findings = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert len(findings) == 1
    assert "n2 gpu 0000:02:00.0 (n1G1) and n1 gpu 0000:01:00.0 (n2G2) are in each other's host" in findings[0]
    chinese = expect(tmp_path, swapped, "--assets", register, "--lang", "zh")
    assert "互换" in chinese.stdout


def test_a_serial_number_that_cannot_be_read_is_incomplete(tmp_path, document, register):
    unread = copy.deepcopy(document)
    del gpus(unread, 0)[0]["attributes"]["serial"]
    done = expect(tmp_path, unread, "--assets", register)
    assert done.returncode == 3
    assert "? whether n1 gpu 0000:01:00.0 (n1G1) is there is not known" in done.stdout


def test_a_list_in_gbk_with_semicolons_and_blank_lines(tmp_path, document):
    rows = ["主机名;部件类型;序列号;备注", "", "N1;显卡;n1g1;\"甲;乙\"", "n1;GPU;n1G2;", ";;;", "n2;GPU;n2G1;", "n2;GPU;n2G2;"]
    path = tmp_path / "delivery.csv"
    path.write_bytes("\r\n".join(rows).encode("gbk"))
    done = expect(tmp_path, document, "--assets", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text,said", [
    ("host,serial\nn1,A\n", "no column is called part"),
    ("host,part,serial\nn1,gpuu,A\n", "did you mean gpu"),
    ("host,part,serial\nn1,gpu,A\nn1,gpu,A\n", "line 3"),
    ("host,part,serial\n\"n1,gpu,A\n", "does not end"),
    ("", "no piece")])
def test_a_bad_list_is_refused_in_words(tmp_path, document, text, said):
    path = tmp_path / "delivery.csv"
    path.write_text(text)
    done = expect(tmp_path, document, "--assets", path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_criterion_of_a_profile(tmp_path, document):
    source = {"kind": "contract", "ref": "order 4711", "date": "2026-09-01"}
    criterion = {"id": "order", "step": "info", "domain": "host", "why": "order", "source": source,
                 "expect": {"gpu.count": 2, "gpu.model": "NVIDIA H20", "gpu.driver_version": ">=535.98",
                            "nvme.model": ["KCD8XPUG7T68", "other"]}}
    path = tmp_path / "order.json"
    path.write_text(json.dumps(profile([{"id": "info", "case": "info"}], [criterion])))
    assert cb("profile", "validate", path).returncode == 0
    assert expect(tmp_path, document, "--profile", path).returncode == 0
    old = copy.deepcopy(document)
    gpus(old, 1)[0]["attributes"]["driver_version"] = "535.54"
    done = expect(tmp_path, old, "--profile", path)
    assert done.returncode == 1
    assert "✗ n2:0000:01:00.0: gpu.driver_version is 535.54, ordered is >=535.98" in done.stdout
    criterion["expect"]["gpu.model"] = ">=>=x"
    path.write_text(json.dumps(profile([{"id": "info", "case": "info"}], [criterion])))
    refused = cb("profile", "validate", path)
    assert refused.returncode == 2 and "criteria[order].expect.gpu.model" in refused.stderr


@pytest.mark.parametrize("attribute,wanted,said", [
    ("gpu.model", "*", "every value matches"), ("gpu.count", ">=0", "nothing can miss"), ("nvme.size_bytes", ">= 0", "nothing can miss"),
    ("gpu.driver_version", ">=0", "nothing can miss"), ("gpu.count", ">0", ""), ("gpu.numa_node", ">=0", "")])
def test_an_order_that_nothing_can_miss_is_refused(tmp_path, attribute, wanted, said):
    source = {"kind": "contract", "ref": "order 4711", "date": "2026-09-01"}
    path = tmp_path / "order.json"
    path.write_text(json.dumps(profile([{"id": "info", "case": "info"}], [
        {"id": "order", "step": "info", "domain": "host", "why": "order", "source": source, "expect": {attribute: wanted}}])))
    done = cb("profile", "validate", path)
    assert done.returncode == (2 if said else 0) and said in done.stderr


def test_a_host_that_told_nothing_is_not_as_ordered(tmp_path, document, register):
    silent = copy.deepcopy(document)
    silent["run"]["hosts"].append("n3")
    done = expect(tmp_path, silent, "--assets", register)
    assert done.returncode == 3 and "n3" in done.stdout


def test_two_serial_numbers_that_differ_in_capitals_are_one(tmp_path, document):
    path = tmp_path / "delivery.csv"
    path.write_text("host,part,serial\nn1,gpu,n1G1\nn1,gpu,N1g1\n")
    done = expect(tmp_path, document, "--assets", path)
    assert done.returncode == 2 and "line 3" in done.stderr


def test_nothing_asked_for_is_a_usage_error(tmp_path, document):
    done = expect(tmp_path, document)
    assert done.returncode == 2 and "--assets" in done.stderr


def test_a_lock_of_an_accepted_campaign_accepts_the_same_machine(tmp_path):
    info = {"id": "info", "case": "info", "informative": True, "why": "names the hosts"}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile([info, step("good")], [at_least("good.rate", "good", 1)])))
    assert run_local(path, tmp_path / "out").returncode == 0
    locked = tmp_path / "locked.json"
    done = cb("profile", "lock", tmp_path / "out", "--name", "locked", "--serials", "--out", locked)
    assert done.returncode == 0, done.stderr
    wanted = json.loads(locked.read_text())["criteria"][0]["expect"]
    assert wanted["cpu.cores"] >= 1
    assert wanted["memory.total_bytes"].startswith(">=")
    again = run_local(locked, tmp_path / "again")
    assert again.returncode == 0, again.stdout + again.stderr
    wanted["cpu.cores"] += 1
    other = json.loads(locked.read_text())
    other["criteria"][0]["expect"] = wanted
    locked.write_text(json.dumps(other))
    judged = cb("gate", tmp_path / "again", "--profile", locked)
    assert judged.returncode == 1
    assert "cpu.cores" in judged.stdout


def test_a_campaign_that_was_changed_shows_nothing_and_one_that_is_named_twice_is_not_locked(tmp_path):
    info = {"id": "info", "case": "info", "informative": True, "why": "names the hosts"}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile([info, step("good")], [at_least("good.rate", "good", 1)])))
    out = tmp_path / "out"
    assert run_local(path, out).returncode == 0
    twice = cb("profile", "lock", out, out, "--name", "locked")
    assert twice.returncode == 2 and "another of these campaigns" in twice.stderr
    assert cb("expect", out, "--register", tmp_path / "r.csv").returncode == 0
    (record,) = (out / "records").glob("*info*")
    record.write_bytes(record.read_bytes().replace(b'"kind": "system"', b'"kind": "sYstem"'))
    done = cb("expect", out, "--register", tmp_path / "r.csv")
    assert done.returncode == 2 and "doubtful" in done.stderr


def test_a_campaign_that_is_not_accepted_is_not_locked(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile([step("good")], [at_least("good.rate", "good", 1e9)])))
    assert run_local(path, tmp_path / "out").returncode == 1
    done = cb("profile", "lock", tmp_path / "out", "--name", "locked")
    assert done.returncode == 2
    assert "not-accepted" in done.stderr
