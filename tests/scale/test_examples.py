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
    for name in made:
        assert (EXAMPLES / name).read_bytes() == (tmp_path / name).read_bytes(), \
            f"{name} differs: look at it, then run docs/examples/regenerate.sh"


def test_every_planted_defect_is_in_the_example(tmp_path):
    for language in ("en", "zh"):
        page = (EXAMPLES / "h20-32-nodes" / f"report.{language}.html").read_text()
        for line in (EXAMPLES / "h20-32-nodes" / "planted.txt").read_text().splitlines():
            host = line.split(" ", 1)[1].split(":")[0]
            assert host in page[:page.index("</table>")], line
