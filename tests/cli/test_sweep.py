"""clusterbench sweep: one job per combination, the best per size, mistakes told before any job."""

import csv
import json
import os
import subprocess

BINARY = os.environ["CLUSTERBENCH_BIN"]


def sweep(*args, cwd, timeout=120):
    env = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return subprocess.run([BINARY, "sweep", *map(str, args)], cwd=cwd, env=env, timeout=timeout,
                          capture_output=True, text=True)


def test_every_combination_is_a_job_and_every_size_has_a_best(tmp_path):
    done = sweep("fake", "--env", "A=1,2", "--env", "B=x,inherit", "--launcher", "none", "--out",
                 "s", "--", "--size", "1K,4K", "--value", 3, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 combinations done" in done.stdout
    assert "(within noise)" in done.stdout  # the scripted case gives all the same
    whole = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert whole["schema"] == "clusterbench.sweep/1"
    assert [r["values"] for r in whole["runs"]] == [["1", "x"], ["1", "inherit"], ["2", "x"],
                                                    ["2", "inherit"]]
    for run in whole["runs"]:
        assert run["state"] == "done"
        assert json.loads((tmp_path / "s" / run["document"]).read_text())["records"]
    rows = list(csv.DictReader((tmp_path / "s" / "sweep.csv").open()))
    assert [(r["point"], r["rank"]) for r in rows] == [
        (size, str(rank)) for size in ("1K", "4K") for rank in (1, 2, 3, 4)]
    assert all(float(r["bytes_per_second"]) == 3 for r in rows)
    page = (tmp_path / "s" / "sweep.html").read_text()
    assert page.count("<svg") == 1 and "the best at that point" in page
    for name in ("1 x", "1 inherit", "2 x", "2 inherit"):
        assert page.count(f">{name}<") == 2  # in the chart and in the table
    assert page.count("3.00 B/s") == 8


def test_mistakes_are_told_at_once(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = sweep("fak", "--env", "A", "--deadline", "soon", "--out", "full", cwd=tmp_path)
    assert done.returncode == 2
    for text in ("4 problems", "fak is not known", "'A' is not NAME=VALUE", "soon is not a duration",
                 "full is not empty"):
        assert text in done.stderr
    assert os.listdir(tmp_path / "full") == ["file"]


def test_options_that_the_case_refuses_end_the_sweep(tmp_path):
    done = sweep("fake", "--env", "A=1,2", "--launcher", "none", "--out", "s", "--", "--sise", "1K",
                 cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean --size?" in (tmp_path / "s" / "001.err").read_text()
    assert not (tmp_path / "s" / "002.err").exists()


def test_a_combination_that_fails_costs_only_itself(tmp_path, under_mpirun):
    done = sweep("mpi", "--env", "OMPI_MCA_btl=inherit,nosuch", "--launcher", "mpirun",
                 "--ranks-per-host", 2, "--out", "t", "--", "--max-size", "1K", "--iterations", 5,
                 cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "1 of 2 combinations done" in done.stdout
    assert "✗ OMPI_MCA_btl=nosuch: " in done.stdout
