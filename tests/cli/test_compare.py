"""`clusterbench compare`: what vanished, fails now or is judged otherwise is worse, not only what became slower."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from campaigns import at_least, cb, run_local, step, write_profile

BUILD = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
PROFILE = SOURCE / "tests" / "data" / "synth" / "h20-cluster.json"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Made-up campaigns: 32 healthy hosts, 31 of them, and the 32 with planted defects."""
    directory = tmp_path_factory.mktemp("fleet")
    for name, hosts, more in (("all", 32, ["--healthy"]), ("fewer", 31, ["--healthy"]), ("defects", 32, [])):
        subprocess.run([BUILD / "bin" / "synth_cluster", directory / name, "--hosts", str(hosts), *more,
                        "--profile", PROFILE], check=True, capture_output=True)
    return directory


def test_the_same_campaign_has_nothing_worse(fleet):
    done = cb("compare", fleet / "all", fleet / "all")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == ["2691 compared: 0 worse, 0 better, 0 undecided, 2691 same"]


def test_a_host_that_vanished_is_worse(fleet, tmp_path):
    done = cb("compare", fleet / "all", fleet / "fewer", "--json", tmp_path / "c.json", "--md", tmp_path / "c.md")
    assert done.returncode == 1, done.stdout
    assert "✗ no longer there: node0032" in done.stdout
    assert "! hosts differs: 32: node[0001-0032] → 31: node[0001-0031]" in done.stdout
    assert "152 no longer measured" in done.stdout
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["schema"] == "clusterbench.compare/2" and found["worse"] is True
    assert found["hosts"]["gone"] == ["node0032"]
    assert len(found["missing"]) == 152 and all(m["lost"] for m in found["missing"])
    assert {m["entity"].split(":")[0] for m in found["missing"] if "→" not in m["entity"]} == {"node0032"}
    page = (tmp_path / "c.md").read_text()
    assert "| lost | temperature\\_celsius | node0032:0 |" in page and "| hosts | 32: " in page


def test_a_host_that_came_is_new_and_nothing_worse(fleet):
    done = cb("compare", fleet / "fewer", fleet / "all")
    assert done.returncode == 0, done.stdout
    assert "+ new: node0032" in done.stdout


def test_a_host_that_is_gone_on_purpose_is_not_missed(fleet, tmp_path):
    done = cb("compare", fleet / "all", fleet / "fewer", "--map", "node0032=")
    assert done.returncode == 0, done.stdout
    assert "! node0032 is gone (--map)" in done.stdout and "no longer measured" not in done.stdout
    listed = tmp_path / "map"
    listed.write_text("# taken out in May\n node0032 = # for good\n\n")
    assert cb("compare", fleet / "all", fleet / "fewer", "--map-file", listed).returncode == 0


@pytest.mark.parametrize("text, said", [
    ("node0032", "'node0032' is not OLD=NEW"),
    ("node0099=node0001", "node0099: the earlier campaign has no such host"),
    ("node0032=node0099", "node0099: the later campaign has no such host"),
])
def test_a_wrong_map_is_refused(fleet, text, said):
    done = cb("compare", fleet / "all", fleet / "fewer", "--map", text)
    assert done.returncode == 2 and said in done.stderr


def test_defects_are_named_each_in_a_line(fleet, tmp_path):
    done = cb("compare", fleet / "all", fleet / "defects", "--json", tmp_path / "c.json")
    assert done.returncode == 1
    for line in ("✗ criterion gemm.correct: pass → fail", "✗ criterion hbm: pass → incomplete",
                 "✗ check product of gemm-bf16 size 8K dtype bf16 fails now: node0010:5  GPU 5 (GPU-node0010-5): 1 of 67108864",
                 "✗ no longer measured: node0032  (", "✗ no longer measured: node0010:5  (",
                 "verdict: pass → fail"):
        assert line in done.stdout, line
    assert "it ended with code 4" in done.stdout  # why node0011 has no figure
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["overall"] == {"before": "pass", "after": "fail"}
    assert [c["entity"] for c in found["checks"] if c["check"] == "product"] == ["node0010:5"]
    # 31 pairs of one host and eight GPUs of another take a line each, not 39.
    assert done.stdout.count("undecided ") <= 4
    assert "and 7 more, the least" in done.stdout and "parts" not in done.stdout
    back = cb("compare", fleet / "defects", fleet / "all")
    assert back.returncode == 3 and " 0 worse, " in back.stdout  # single samples stay undecided
    assert "no longer measured" not in back.stdout
    assert "✓ check product of gemm-bf16 size 8K dtype bf16 fails no more" in back.stdout


def test_what_is_not_asked_for_any_more_cannot_be_told(tmp_path):
    both = write_profile(tmp_path, [step("good"), step("more")], [at_least("good.rate", "good", 1)], "a.json")
    one = write_profile(tmp_path, [step("good")], [at_least("good.rate", "good", 1)], "b.json")
    assert run_local(both, tmp_path / "a").returncode == 0
    assert run_local(one, tmp_path / "b").returncode == 0
    done = cb("compare", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 3, done.stdout
    assert "? no longer measured: " in done.stdout and " of more: " in done.stdout
    assert cb("compare", tmp_path / "b", tmp_path / "a").returncode == 0


def test_a_criterion_that_fails_now_is_worse_by_the_campaigns_own_profile(tmp_path):
    for name, limit in (("a", 1), ("b", 3)):
        path = write_profile(tmp_path, [step("good")], [at_least("good.rate", "good", limit)], f"{name}.json")
        run_local(path, tmp_path / name)
    done = cb("compare", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 1
    assert "✗ criterion good.rate: pass → fail" in done.stdout and "0 worse" in done.stdout
    # It passes because the limit was lowered, which makes nothing better.
    done = cb("compare", tmp_path / "b", tmp_path / "a")
    assert done.returncode == 3 and "asks for something else, min: 3 → 1" in done.stdout


def transport(directory, name, case, rate):
    """A document as verbs or tcp would write it, with that bandwidth."""
    path = directory / f"{name}.json"
    assert cb("fake", "--size", "1M", "--value", rate, "--quiet", "--json", path).returncode == 0
    document = json.loads(path.read_text())
    for record in document["records"]:
        record["case"] = case
        record["params"] = {"size": 1048576, "direction": "one-way"}
        record["params"].update({"op": "write"} if case == "verbs" else {"streams": 8})
    path.write_text(json.dumps(document))
    return path


def test_transports_are_told_apart_by_several_jobs_only(tmp_path):
    rdma = [transport(tmp_path, f"r{n}", "verbs", rate) for n, rate in enumerate((48e9, 50e9, 46e9))]
    tcp = [transport(tmp_path, f"t{n}", "tcp", rate) for n, rate in enumerate((12e9, 11.5e9, 12.5e9))]
    one = cb("compare-transports", rdma[0], tcp[0])
    assert one.returncode == 0, one.stderr
    assert "4× better (one job)" in one.stdout and "write 1M" in one.stdout and "8 streams" in one.stdout
    several = cb("compare-transports", *rdma, *tcp)
    assert "4× better " in several.stdout and "(one job)" not in several.stdout
    near = [transport(tmp_path, f"n{n}", "tcp", rate) for n, rate in enumerate((45e9, 51e9, 49e9))]
    assert "no different beyond noise" in cb("compare-transports", *rdma, *near).stdout
    fast = [transport(tmp_path, f"f{n}", "tcp", rate) for n, rate in enumerate((96e9, 97e9, 95e9))]
    assert "2× worse" in cb("compare-transports", *rdma, *fast).stdout


def test_a_host_that_is_there_is_not_gone(tmp_path):
    """OLD= would hide what that host has lost."""
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    assert run_local(path, tmp_path / "a").returncode == 0
    host = json.loads((tmp_path / "a/campaign.json").read_text())["hosts"][0]["name"]
    done = cb("compare", tmp_path / "a", tmp_path / "a", "--map", f"{host}=")
    assert done.returncode == 2 and f"{host} is not gone: the later campaign has it" in done.stderr


@pytest.mark.parametrize("option", ["--json", "--md"])
def test_nothing_is_written_over_evidence(tmp_path, option):
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    assert run_local(path, tmp_path / "a").returncode == 0
    for name in ("campaign.json", "records/001-s.json", "MANIFEST.sha256"):
        before = (tmp_path / "a" / name).read_bytes()
        assert cb("compare", tmp_path / "a", tmp_path / "a", option, tmp_path / "a" / name).returncode == 2
        assert cb("profile", "capture", tmp_path / "a", "--name", "n", "--out", tmp_path / "a" / name).returncode == 2
        assert (tmp_path / "a" / name).read_bytes() == before
    assert cb("gate", tmp_path / "a").returncode == 0


@pytest.mark.parametrize("side", [0, 1, 2])
def test_doubtful_evidence_compares_as_nothing(tmp_path, side):
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    assert run_local(path, tmp_path / "a").returncode == 0
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b/logs/001-s.err").write_text("changed")
    sides = [("a", "b"), ("b", "a"), ("b", "b")][side]
    done = cb("compare", *(tmp_path / s for s in sides), "--json", tmp_path / "c.json", "--md", tmp_path / "c.md")
    assert done.returncode in (1, 3)
    assert done.stdout.startswith("? evidence  the ")
    doubts = json.loads((tmp_path / "c.json").read_text())["doubts"]
    assert [len(doubts[k]) for k in ("before", "after")] == [int(s == "b") for s in sides]
    assert "evidence is in doubt" in (tmp_path / "c.md").read_text()


def test_clusters_of_different_kinds_stand_side_by_side(tmp_path):
    """What both have measured, what differs between them, and nothing judged."""
    for name, size in (("a", "1K"), ("b", "2K")):
        params = {"value": 3 if name == "a" else 6, "size": size, "samples": 3}
        profile = write_profile(tmp_path, [step("io", params=params)], [at_least("io.rate", "io", 1)], f"{name}.json")
        assert run_local(profile, tmp_path / name).returncode == 0
    done = cb("side-by-side", tmp_path / "a", tmp_path / "b", "--csv", tmp_path / "t.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    line, = [x for x in done.stdout.splitlines() if "bytes_per_second" in x]
    assert "3.00 B/s, 80 %" in line and "5.99 B/s, 80 %" in line and line.rstrip().endswith(" 2"), line
    assert "differs  fake size: A 1K B 2K" in done.stdout
    assert done.stdout.count("ACCEPTED  1 pass") == 2
    head, row = (tmp_path / "t.csv").read_text().splitlines()
    assert row.startswith("fake,,bytes_per_second,rank,bytes_per_second,2.997,2.997,")
    assert cb("side-by-side", tmp_path / "a", tmp_path / "b", "--csv", "-").stdout.splitlines() == [head, row]
    (tmp_path / "c").mkdir()
    shutil.copytree(tmp_path / "a", tmp_path / "c" / "third")
    for place in ("c/third/journal.jsonl", "c/third/records/new.csv"):
        over = cb("side-by-side", tmp_path / "a", tmp_path / "b", "--csv", tmp_path / place)
        assert over.returncode == 2 and "is evidence of the campaign" in over.stderr, over.stderr
    wrong = cb("side-by-side", tmp_path / "a", tmp_path / "b", "--case", "verbz")
    assert wrong.returncode == 2 and "did you mean verbs" in wrong.stderr
    none = cb("side-by-side", tmp_path / "a", tmp_path / "b", "--case", "verbs")
    assert none.returncode == 3 and "nothing that two of these campaigns have measured" in none.stdout
