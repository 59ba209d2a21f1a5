"""clusterbench sweep: jobs in random blocks, a best only beyond noise, mistakes told before any job."""

import csv
import json
import os
import subprocess

BINARY = os.environ["CLUSTERBENCH_BIN"]


def sweep(*args, cwd, timeout=120):
    env = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return subprocess.run([BINARY, "sweep", *map(str, args)], cwd=cwd, env=env, timeout=timeout,
                          capture_output=True, text=True)


def test_every_combination_runs_in_every_block_and_equal_ones_have_no_best(tmp_path):
    done = sweep("fake", "--env", "A=1,2", "--env", "B=x,inherit", "--launcher", "none", "--repeats", 2, "--seed",
                 9, "--out", "s", "--", "--size", "1K,4K", "--value", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("10 of 10 jobs done: 4 combinations and the first once more (A/A), 2 times, order drawn with seed 9"
            in done.stdout)
    assert done.stdout.count("no difference beyond noise") == 2  # the scripted case gives all the same
    whole = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert whole["schema"] == "clusterbench.sweep/2" and whole["repeats"] == 2 and whole["seed"] == 9
    every = sorted([["1", "x"], ["1", "inherit"], ["2", "x"], ["2", "inherit"], ["1", "x"]])
    for block in (1, 2):
        runs = [r for r in whole["runs"] if r["block"] == block]
        assert sorted(r["values"] for r in runs) == every
        assert [r["values"] for r in runs if r.get("control")] == [["1", "x"]]
    for run in whole["runs"]:
        assert run["state"] == "done"
        assert json.loads((tmp_path / "s" / run["document"]).read_text())["records"]
    rows = list(csv.DictReader((tmp_path / "s" / "sweep.csv").open()))
    assert [(r["point"], r["rank"]) for r in rows] == [
        (size, str(rank)) for size in ("1K", "4K") for rank in (1, 2, 3, 4)]
    assert all(float(r["bytes_per_second"]) == 3 and r["jobs"] == "2" for r in rows)
    assert [r["verdict"] for r in rows if r["rank"] == "1"] == ["no difference beyond noise"] * 2
    page = (tmp_path / "s" / "sweep.html").read_text()
    assert page.count("<svg") == 1 and "the first at that point" in page and 'class="best"' not in page
    for name in ("1 x", "1 inherit", "2 x", "2 inherit"):
        assert page.count(f">{name}<") == 2  # in the chart and in the table
    assert page.count("3.00 B/s") == 8


def test_one_repeat_cannot_tell(tmp_path):
    done = sweep("fake", "--env", "A=1,2", "--launcher", "none", "--repeats", 1, "--out", "s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 jobs done: 2 combinations, once, order drawn with seed 1" in done.stdout
    assert "cannot be told: too few jobs" in done.stdout and "A/A)" not in done.stdout


def test_mistakes_are_told_at_once(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = sweep("fak", "--env", "A", "--deadline", "soon", "--out", "full", cwd=tmp_path)
    assert done.returncode == 2
    for text in ("4 problems", "fak is not known", "'A' is not NAME=VALUE", "soon is not a duration",
                 "full is not empty"):
        assert text in done.stderr
    assert os.listdir(tmp_path / "full") == ["file"]


def test_an_unknown_case_is_answered_with_the_nearest_and_each_once(tmp_path):
    done = sweep("mpy", "--env", "A=1,2", "--out", "s", cwd=tmp_path)
    assert done.returncode == 2 and "mpy is not known, did you mean mpi? (" in done.stderr
    listed = done.stderr.split("mpi? (")[1].split(")")[0].split()
    assert "mpi" in listed and "fake" not in listed and len(listed) == len(set(listed))


def test_options_that_the_case_refuses_end_the_sweep(tmp_path):
    done = sweep("fake", "--env", "A=1,2", "--launcher", "none", "--out", "s", "--", "--sise", "1K",
                 cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean --size?" in (tmp_path / "s" / "001.err").read_text()
    assert not (tmp_path / "s" / "002.err").exists()
    assert len(list((tmp_path / "s").glob("*.err"))) == 1


def test_a_combination_that_fails_costs_only_itself(tmp_path, under_mpirun):
    done = sweep("mpi", "--env", "OMPI_MCA_btl=inherit,nosuch", "--launcher", "mpirun",
                 "--ranks-per-host", 2, "--repeats", 1, "--out", "t", "--", "--max-size", "1K", "--iterations", 5,
                 cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "1 of 2 jobs done" in done.stdout
    assert "✗ OMPI_MCA_btl=nosuch in block 1: " in done.stdout
