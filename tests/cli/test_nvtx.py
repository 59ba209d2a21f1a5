"""The ranges that a profiler shows: a stand-in for one (tests/fake_nvtx) writes them down."""
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
BIN = os.environ["CLUSTERBENCH_BIN"]
PROFILER = BUILD / "fake" / "fake_nvtx.so"

pytestmark = pytest.mark.skipif(not PROFILER.exists(), reason="built without CUDA")


def test_a_profiler_sees_points_and_their_phases(tmp_path):
    log = tmp_path / "ranges"
    env = dict(os.environ, NVTX_INJECTION64_PATH=str(PROFILER), FAKE_NVTX_LOG=str(log))
    done = subprocess.run([BIN, "skeleton", "--size", "64K,128K"], env=env,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    points = [line for line in lines if not line.startswith(" ") and line != "end"]
    assert len(points) == 2 and lines.count("end") == 2  # one after the other, each closed
    inner = [line.strip() for line in lines if line.startswith("  ") and line.strip() != "end"]
    assert sum(line.endswith("warm-up") for line in inner) == 2 and sum(line.endswith("sampling") for line in inner) == 2
    assert sum(line == "  end" for line in lines) == len(inner)
