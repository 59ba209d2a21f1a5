"""The examples in docs/examples are what this program writes."""

import os
import pathlib
import subprocess

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
EXAMPLES = SOURCE / "docs" / "examples"


def test_the_examples_are_what_the_script_makes(tmp_path):
    done = subprocess.run([EXAMPLES / "regenerate.sh", os.environ["CLUSTERBENCH_BUILD_DIR"], tmp_path],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert len([p for p in made if p.parts[0] == "h20-32-nodes"]) == 10
    assert len([p for p in made if p.parts[0] == "host"]) == 8
    for name in made:
        assert (EXAMPLES / name).read_bytes() == (tmp_path / name).read_bytes(), \
            f"{name} differs: look at it, then run docs/examples/regenerate.sh"


def test_every_planted_defect_is_in_the_example(tmp_path):
    for language in ("en", "zh"):
        page = (EXAMPLES / "h20-32-nodes" / f"report.{language}.html").read_text()
        open_items = page[page.index("<h2>1 "):]  # the first section: who is to blame comes first
        conclusion = open_items[:open_items.index("</table>")]
        for line in (EXAMPLES / "h20-32-nodes" / "planted.txt").read_text().splitlines():
            host = line.split(" ", 1)[1].split(":")[0]
            assert host in conclusion, line


def test_the_example_of_a_host_is_a_whole_campaign_without_the_machine_s_identity():
    campaign = EXAMPLES / "host" / "campaign"
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"], cwd=campaign,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    gate = subprocess.run([os.environ["CLUSTERBENCH_BIN"], "gate", campaign], capture_output=True, text=True)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    for path in campaign.rglob("*"):
        if path.is_file():
            text = path.read_text()
            for identity in ("/root", "/work", "/tmp"):
                assert identity not in text, f"{path}: {identity}"
