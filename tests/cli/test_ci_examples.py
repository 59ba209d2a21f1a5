"""The pipelines in ci/examples: their commands are taken out of the files and run as a runner would."""

import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest
import yaml

from campaigns import BINARY, at_least, step, write_profile

EXAMPLES = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "ci" / "examples"


def gitlab(text):
    """The script lines of all jobs, in order, as a YAML parser reads them."""
    jobs = [job for job in yaml.safe_load(text).values() if isinstance(job, dict) and "script" in job]
    return [line for job in jobs for line in job["script"] if line.startswith("clusterbench ")]


def github(text):
    steps = [s for job in yaml.safe_load(text)["jobs"].values() for s in job["steps"]]
    return [line for s in steps for line in s.get("run", "").splitlines() if line.startswith("clusterbench ")]


def jenkins(text):
    return re.findall(r"sh '(clusterbench [^']*)'", text)


PIPELINES = {"gitlab-ci.yml": gitlab, "github-actions.yml": github, "Jenkinsfile": jenkins}


def test_every_example_is_tested():
    assert {p.name for p in EXAMPLES.iterdir()} == set(PIPELINES)


@pytest.mark.parametrize("limit, last", [(1, 0), (2.4, 1)])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_ends_as_its_gate_does(name, limit, last, tmp_path):
    commands = PIPELINES[name]((EXAMPLES / name).read_text())
    assert len(commands) == 3 and " run " in commands[0] and " gate " in commands[2]
    profile = write_profile(tmp_path, [step("good")], [at_least("good.rate", "good", limit)])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "clusterbench").symlink_to(BINARY)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
                   "PROFILE": profile, "CAMPAIGN": "acceptance",
                   "GITHUB_STEP_SUMMARY": str(tmp_path / "gate.md"),
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    codes = []
    for command in commands:
        # As runners call it: the first failing command ends the job.
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", command.replace("run ", "run --launcher none ", 1)
                               if " run " in command else command],
                              cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        codes.append(done.returncode)
        if done.returncode:
            break
    assert codes == [0, 0, last], done.stderr
    assert (tmp_path / "acceptance/report.html").stat().st_size > 1000
    suite = xml.etree.ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert suite.attrib["failures"] == ("2" if last else "0")
    assert (tmp_path / "gate.md").read_text().startswith("## ")
