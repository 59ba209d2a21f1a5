"""Two builds of the program in one job: nothing is measured, and both are named."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from processes import by_rank

BINARY = os.environ["CLUSTERBENCH_BIN"]


def test_ranks_of_another_build_are_refused_with_both_names(tmp_path):
    version = subprocess.run([BINARY, "--version"], text=True, capture_output=True, timeout=60, check=True).stdout
    commit = re.search(r"\(([0-9a-f]{12})", version)
    if commit is None:
        pytest.skip("built outside of a checkout: no commit to change")
    commit = commit[1]
    program = Path(BINARY).read_bytes()
    assert commit.encode() in program
    other = tmp_path / "clusterbench"
    other.write_bytes(program.replace(commit.encode(), b"0123456789ab"))
    other.chmod(0o755)
    words = ["mpi", "--op", "all_reduce", "--size", "1K", "--iterations", "5", "--json", tmp_path / "x.json"]
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    done = subprocess.run(["mpirun", *root, "--oversubscribe", "-np", "2", *by_rank([BINARY, *words], [other, *words])], text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "0123456789ab" in done.stderr and commit in done.stderr, done.stderr
    assert "install the same on every host" in done.stderr
    assert not (tmp_path / "x.json").exists()
