"""What the program writes satisfies docs/*.schema.json, and the schemas refuse what is mutilated."""
import copy
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BINARY = os.environ["CLUSTERBENCH_BIN"]


def validator(name):
    schema = json.loads((SOURCE / "docs" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


RESULT = validator("result.schema.json")
PROFILE = validator("profile.schema.json")


def problems(checker, document):
    return [f"{'/'.join(map(str, e.path))}: {e.message[:300]}" for e in checker.iter_errors(document)]


def measure(tmp_path, *arguments):
    out = tmp_path / "result.json"
    environment = dict(os.environ, OMP_NUM_THREADS="1", SECRET_TOKEN="never")
    done = subprocess.run([BINARY, *arguments, "--quiet", "--json", out], env=environment,
                          capture_output=True, text=True, timeout=120, check=False)
    assert out.exists(), done.stderr
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.parametrize("arguments", [
    [], ["--samples", "5000"], ["--size", "1K,4K"], ["--failing-rank", "0"],
    ["--skipping-rank", "0"], ["--wrong-rank", "0"], ["--samples", "1"]])
def test_fake_documents_are_valid(tmp_path, arguments):
    document = measure(tmp_path, "fake", *arguments)
    assert problems(RESULT, document) == []
    assert "SECRET_TOKEN" not in json.dumps(document)


# Real cases with parameters that take a moment; those that this build does not have are skipped.
SMALL = {
    "info": [],
    "gemm": ["--size", "64", "--duration", "100ms"],
    "bandwidth": ["--op", "triad", "--size", "1M", "--duration", "100ms"],
    "mpi": ["--op", "all_reduce", "--min-size", "1K", "--max-size", "1K", "--duration", "100ms"],
    "nccl": ["--size", "1K"],
    "io": ["--dir", "{dir}", "--rw", "randread", "--size", "4M", "--duration", "200ms"],
    "burn": ["--duration", "300ms"],
}


def available_cases():
    listing = subprocess.run([BINARY, "list"], capture_output=True, text=True, timeout=60, check=True)
    return {line.split()[0] for line in listing.stdout.splitlines()[1:]}


@pytest.mark.parametrize("case", sorted(SMALL))
def test_documents_of_every_case_are_valid(tmp_path, case):
    if case not in available_cases():
        pytest.skip(f"the registry has no case {case}")
    arguments = [a.format(dir=tmp_path) for a in SMALL[case]]
    assert problems(RESULT, measure(tmp_path, case, *arguments)) == []


def test_every_profile_is_valid():
    for path in sorted((SOURCE / "profiles").glob("*.json")):
        profile = json.loads(path.read_text(encoding="utf-8"))
        assert problems(PROFILE, profile) == [], path.name


def places(node, path=()):
    """Every path to a value inside a document."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield (*path, index)
            yield from places(value, (*path, index))


def changed(document, path, change):
    out = copy.deepcopy(document)
    node = out
    for step in path[:-1]:
        node = node[step]
    change(node, path[-1])
    return out


OPTIONAL = {"say", "ceiling", "stdev", "ci95", "detail", "unavailable", "partial", "value", "limit"}
# Objects whose keys are data: any may be absent.
DATA = {"say", "params", "environment", "build", "attributes", "facts", "unavailable"}


def test_the_schema_refuses_a_document_without_any_required_key(tmp_path):
    document = measure(tmp_path, "fake")
    removed = 0
    for path in places(document):
        if isinstance(path[-1], int) or path[-1] in OPTIONAL or set(path[:-1]) & DATA:
            continue
        if "ceiling" not in path:
            removed += 1
        assert problems(RESULT, changed(document, path, lambda n, k: n.pop(k))), path
    assert removed > 40


def test_the_schema_refuses_null_and_unknown_keys_everywhere(tmp_path):
    document = measure(tmp_path, "fake")

    def to_null(node, key):
        node[key] = None

    for path in places(document):
        assert problems(RESULT, changed(document, path, to_null)), path
    for path in [(), ("tool",), ("run",), ("records", 0), ("records", 0, "metrics", 0),
                 ("records", 0, "entities", 0), ("records", 0, "checks", 0)]:
        assert problems(RESULT, changed(document, (*path, "surprise"),
                                        lambda n, k: n.__setitem__(k, 1))), path


@pytest.mark.parametrize("path, value", [
    (("schema",), "clusterbench.result/3"),
    (("run", "ranks"), 0),
    (("run", "environment", "SECRET_TOKEN"), "x"),
    (("records", 0, "outcome"), "fine"),
    (("records", 0, "outcome"), "skipped"),
    (("records", 0, "reason"), "a measured record has none"),
    (("records", 0, "metrics", 0, "entity"), -1),
    (("records", 0, "metrics", 0, "better"), "faster"),
    (("records", 0, "metrics", 0, "samples"), []),
    (("records", 0, "metrics", 0, "ceiling", "value"), 0),
    (("records", 0, "checks", 0, "passed"), 1),
    (("records", 0, "params", "size"), []),
    (("records", 0, "started"), "yesterday"),
])
def test_the_schema_refuses_wrong_values(tmp_path, path, value):
    document = measure(tmp_path, "fake")
    assert problems(RESULT, document) == []
    assert problems(RESULT, changed(document, path, lambda n, k: n.__setitem__(k, value)))


STEP = {"id": "s", "case": "gemm", "params": {"size": ["4K", 8192]}, "deadline": "10m",
        "ranks_per_host": "slots", "needs": {"gpu": 1}}
CRITERION = {"id": "c", "step": "s", "domain": "compute", "metric": "flops_per_second", "min": 1,
             "why": "w", "source": {"kind": "practice", "ref": "r", "date": "2026-11"}}
GOOD = {"schema": "clusterbench.profile/1", "name": "p", "title": {"en": "P", "zh": "配"},
        "steps": [STEP], "criteria": [CRITERION],
        "checklist": [{"id": "x", "domain": "host", "text": {"en": "a", "zh": "b"}}]}


def test_a_profile_and_one_derived_from_it_are_valid():
    assert problems(PROFILE, GOOD) == []
    derived = {"schema": "clusterbench.profile/1", "name": "q", "base": "p",
               "steps": [{"id": "s", "deadline": None}],
               "criteria": [{"id": "c", "min": None, "min_of_ceiling": 0.9},
                            {"id": "d", "remove": True}]}
    assert problems(PROFILE, derived) == []
    without_base = {k: v for k, v in derived.items() if k != "base"}
    assert problems(PROFILE, without_base)


@pytest.mark.parametrize("path, value", [
    (("schema",), "clusterbench.profile/2"),
    (("nam",), "x"),
    (("steps", 0, "deadlin"), "1m"),
    (("steps", 0, "scope"), "hosts"),
    (("steps", 0, "ranks_per_host"), 0),
    (("steps", 0, "deadline"), "soon"),
    (("steps", 0, "params", "size"), []),
    (("steps", 0, "needs", "gpu"), 0),
    (("criteria", 0, "min"), "1"),
    (("criteria", 0, "check"), "product"),
    (("criteria", 0, "min_of_ceiling"), 1.1),
    (("criteria", 0, "domain"), "netwrok"),
    (("criteria", 0, "source", "kind"), "rumour"),
    (("criteria", 0, "source", "date"), "last year"),
    (("criteria", 0, "statistic"), "p50"),
    (("checklist", 0, "text", "zh"), ""),
])
def test_the_profile_schema_refuses_wrong_values(path, value):
    assert problems(PROFILE, changed(GOOD, path, lambda n, k: n.__setitem__(k, value)))


@pytest.mark.parametrize("path", [
    ("name",), ("schema",), ("steps", 0, "id"), ("steps", 0, "case"), ("criteria", 0, "source"),
    ("criteria", 0, "why"), ("criteria", 0, "min"), ("criteria", 0, "metric"),
    ("criteria", 0, "source", "ref"), ("title", "zh"), ("checklist", 0, "text")])
def test_the_profile_schema_refuses_missing_keys(path):
    assert problems(PROFILE, changed(GOOD, path, lambda n, k: n.pop(k)))
