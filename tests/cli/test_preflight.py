"""The look before anything is measured, on one host; tests/labs/test_faults.py has four."""

import json
import os
import subprocess

CLUSTERBENCH = os.environ["CLUSTERBENCH_BIN"]


def preflight(tmp_path, *more):
    done = subprocess.run([CLUSTERBENCH, "preflight", "--json", tmp_path / "p.json", *map(str, more)], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads((tmp_path / "p.json").read_text())["records"]
    return record


def test_one_host_is_not_compared_with_itself(tmp_path):
    record = preflight(tmp_path)
    names = {m["name"] for m in record["metrics"]}
    assert "clock_offset_seconds" not in names and "open_files" in names
    assert not {"same_program", "rank_map"} & {c["name"] for c in record["checks"]}
    assert any("nothing to be compared with" in n for n in record["notes"])


def test_room_is_that_of_a_directory_which_holds_data(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for room in (file, "/proc"):
        record = preflight(tmp_path, "--room", room)
        assert "free_bytes" not in {m["name"] for m in record["metrics"]}
        assert any(str(room) in n for n in record["notes"])
    assert "free_bytes" in {m["name"] for m in preflight(tmp_path, "--room", tmp_path)["metrics"]}
