"""Limits with units, limits that ask for nothing, and names that were meant otherwise."""

import json

import pytest

from campaigns import SOURCE, at_least, cb, criterion, profile, run_local, step


def validate(tmp_path, document):
    (tmp_path / "p.json").write_text(json.dumps(document))
    return cb("profile", "validate", tmp_path / "p.json")


def with_limit(**rule):
    return profile([step("s")], [criterion("c", "s", metric="bytes_per_second", **rule)])


@pytest.mark.parametrize("limit, code", [("2 B/s", 0), ("0.002kB/s", 0), ("3 B/s", 1), ("1 KiB/s", 1)])
def test_a_limit_may_have_its_unit(tmp_path, limit, code):
    (tmp_path / "p.json").write_text(json.dumps(with_limit(min=limit, max="1 GB/s")))
    done = run_local(tmp_path / "p.json", tmp_path / "out")
    # The fake case's median is the limit itself in the first two: its interval reaches below.
    assert done.returncode in ((0, 3) if code == 0 else (1,)), done.stdout


@pytest.mark.parametrize("limit, said", [
    ("400 Gb/s", "is given in bits_per_second, and bytes_per_second is measured in bytes_per_second"),
    ("5 ms", "is given in seconds"), ("2", "neither a number"), ("2 GB", "neither a number"), ("2 XB/s", "neither a number")])
def test_a_wrong_unit_is_named(tmp_path, limit, said):
    done = validate(tmp_path, with_limit(min=limit))
    assert done.returncode == 2 and "criteria[c].min" in done.stderr and said in done.stderr


def test_a_maximum_of_what_should_be_high_asks_for_nothing(tmp_path):
    done = validate(tmp_path, with_limit(max=1e15))
    assert done.returncode == 2 and "better when higher; write min" in done.stderr
    assert validate(tmp_path, with_limit(min=1, max=1e15)).returncode == 0


@pytest.mark.parametrize("identity", ["..", ".", "-x", "a/b", "a b", "a" * 101, "é"])
def test_an_id_that_names_no_file_is_refused_by_validate(tmp_path, identity):
    done = validate(tmp_path, profile([step(identity)], [at_least("c", identity, 1)]))
    assert done.returncode == 2 and "names files" in done.stderr


@pytest.mark.parametrize("source", [{"ref": " "}, {"ref": "\u200b"}, {"date": "9999-99"}, {"date": "2026-13"}, {"date": "2026-01-32"}])
def test_a_source_that_says_nothing_is_none(tmp_path, source):
    document = with_limit(min=1)
    document["criteria"][0]["source"] = {**SOURCE, **source}
    assert validate(tmp_path, document).returncode == 2


@pytest.mark.parametrize("name", ["HWLOC_XMLFILE", "HWLOC_FSROOT", "OPENSSL_CONF", "OPENSSL_MODULES", "GLIBC_TUNABLES",
                                  "IBV_DRIVERS", "MALLOC_TRACE", "CLUSTERBENCH_TEST_CASES", "OMPI_MCA_mca_base_param_files"])
def test_a_step_sets_nothing_that_falsifies_the_machine(tmp_path, name):
    done = validate(tmp_path, profile([step("s", env={name: "/x"})], [at_least("c", "s", 1)]))
    assert done.returncode == 2 and f"env.{name}" in done.stderr


@pytest.mark.parametrize("entry, said", [
    ({"criteria": [{"id": "triadd", "min": 20e9}]}, "criteria[triadd]  is in no base, did you mean triad?"),
    ({"steps": [{"id": "tried", "deadline": "1m"}]}, "steps[tried]  is in no base, did you mean triad?")])
def test_an_id_that_was_meant_otherwise_is_named_once(tmp_path, entry, said):
    document = {"schema": "clusterbench.profile/1", "base": "host-quick", "name": "ours",
                "title": {"en": "x", "zh": "x"}, **entry}
    done = validate(tmp_path, document)
    assert done.returncode == 2 and said in done.stderr and "1 problem" in done.stderr, done.stderr
