"""`template`: the files that it makes are valid, and what would spoil them is refused."""

import os
import pathlib
import re
import subprocess

import pytest
import yaml

from campaigns import at_least, cb, step, write_profile
from template_site import CHOICES, FILES, SCRIPTS, TEMPLATES, THREE, YAML, rendered, validated


def refused(*options):
    done = cb("template", *options)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_alone_it_lists_the_kinds():
    lines = cb("template").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["slurm", "mpijob", "apptainer", "enroot", "docker", "ansible"]
    named = {name for line in lines for name in line.split()}
    assert {f.split("/")[1] for f in FILES} <= named


@pytest.mark.parametrize("file", FILES)
def test_a_file_begins_with_what_it_is_how_to_use_it_and_what_to_change(file):
    lines = [line for line in rendered(file).splitlines() if not line.startswith("#!")]
    assert all(line.startswith("# ") for line in lines[:3]) and not lines[3].startswith("# ")
    assert re.match(r"# (Use|Submit|Build)", lines[1])
    assert lines[2].startswith("# Change: ")


@pytest.mark.parametrize("file", FILES)
def test_every_placeholder_has_a_value(file):
    """Each line with placeholders is found again with something in their place, for one host or for three."""
    lines = "\n".join(rendered(file, *options) for options in CHOICES.values()).splitlines()
    opening, closing = (r"<%", r"%>") if file == "ansible/play.yml" else (r"\{\{", r"\}\}")
    tags, section = re.compile(opening + r"(\w+)" + closing), re.compile(opening + r"[#^/=].*?" + closing)
    for line in (TEMPLATES / file).read_text().splitlines():
        if not tags.search(line) or section.search(line):
            continue
        pattern = re.compile(r"(\S.*)".join(re.escape(part) for part in tags.split(line)[::2]))
        assert any(pattern.fullmatch(one) for one in lines), line


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("choice", CHOICES)
def test_no_placeholder_is_left(file, choice):
    text = rendered(file, *CHOICES[choice])
    assert "<%" not in text and text.endswith("\n")
    assert ("{{" in text) == (file == "ansible/play.yml")


@pytest.mark.parametrize("file", SCRIPTS)
@pytest.mark.parametrize("choice", CHOICES)
def test_scripts_pass_shellcheck(file, choice):
    done = subprocess.run(["shellcheck", "-"], input=rendered(file, *CHOICES[choice]), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", SCRIPTS)
@pytest.mark.parametrize("choice", CHOICES)
def test_scripts_have_the_format_of_our_own(file, choice):
    done = subprocess.run(["shfmt", "-d", "-i", "2", "-ci"], input=rendered(file, *CHOICES[choice]), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", YAML)
@pytest.mark.parametrize("choice", CHOICES)
def test_yaml_passes_yamllint(file, choice):
    rules = "{extends: default, rules: {line-length: {max: 140}}}"
    done = subprocess.run(["yamllint", "--strict", "-d", rules, "-"], input=rendered(file, *CHOICES[choice]),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("choice", CHOICES)
def test_the_mpijob_has_the_fields_of_its_definition(choice):
    spec = validated("mpijob/mpijob.yaml", *CHOICES[choice])["spec"]
    workers = spec["mpiReplicaSpecs"]["Worker"]
    assert (workers["replicas"], spec["slotsPerWorker"]) == {"one": (1, 1), "nodes": (3, 2)}.get(choice, (3, 4))
    limits = workers["template"]["spec"]["containers"][0].get("resources")
    assert limits == ({"limits": {"nvidia.com/gpu": 8, "rdma/hca": 4}} if choice == "everything" else None)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_daemonset_has_the_fields_of_its_definition(choice):
    document = validated("mpijob/daemonset.yaml", *CHOICES[choice])
    pod = document["spec"]["template"]
    assert pod["metadata"]["labels"] == document["spec"]["selector"]["matchLabels"]
    assert {m["name"] for m in pod["spec"]["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["spec"]["volumes"]}


def test_named_hosts_are_asked_for():
    document = validated("mpijob/mpijob.yaml", *THREE)
    pod = document["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["n1", "n2", "n3"]
    assert "#SBATCH --nodelist=n[1-3]\n" in rendered("slurm/acceptance.sbatch", *THREE)
    assert "--hosts 'n[1-3]:4,m:2'" in rendered("apptainer/run.sh", "--hosts", "n[1-3]:4,m:2")
    assert "--hosts 'a:2,n[1-2]:2'" in rendered("apptainer/run.sh", "--hosts", "a:2,n1:2,n2:2")
    inventory = yaml.safe_load(rendered("ansible/inventory.yml", *THREE))
    assert inventory == {"measured": {"hosts": {f"n{i}": {"slots": 4} for i in (1, 2, 3)}}}


def test_the_same_choice_gives_the_same_bytes(tmp_path):
    (tmp_path / "hosts").write_text("n1 slots=4\nn2 slots=4\nn3 slots=4\n")
    for file in FILES:
        assert rendered(file, *THREE) == rendered(file, "--hostfile", tmp_path / "hosts")


# ---- what is refused ----

OPTIONS_IN_SCRIPTS = ("--image", "--program", "--directory", "--partition", "--account", "--time", "--namespace", "--claim",
                      "--rdma-resource")


NO_PLAIN_WORDS = ("a;b", "a b", "a\nb", "$(id)", "a'b", 'a"b', "`id`", "{{x}}", "a#b", "-x", "a\\b", "ä", "&")
# A path is no harm in an image's name.
WITH_PATHS = [(option, "/a/../b") for option in OPTIONS_IN_SCRIPTS if option != "--image"]


@pytest.mark.parametrize("option, value", [*((option, value) for option in OPTIONS_IN_SCRIPTS for value in NO_PLAIN_WORDS), *WITH_PATHS])
def test_what_is_no_plain_word_is_refused(option, value):
    assert option in refused("slurm", f"{option}={value}")


@pytest.mark.parametrize("option", (*OPTIONS_IN_SCRIPTS, "--hosts", "--profile", "--out", "--file"))
def test_an_empty_value_is_refused(option):
    assert option in refused("slurm", option, "")


def test_hosts_and_profiles_are_checked_as_run_does(tmp_path):
    assert "host-quick" in refused("slurm", "--profile", "host-quik")
    assert "'n1;id' is not a host name" in refused("slurm", "--hosts", "n1;id")
    assert "--nodes" in refused("slurm", "--hosts", "n1", "--nodes", "2")
    assert "same number of slots" in refused("mpijob", "--hosts", "a:2,b:4")
    assert "slurm" in refused("slrum")
    assert "play.yml" in refused("ansible", "--file", "plan.yml")
    good = write_profile(tmp_path, [step("good")], [at_least("good.rate", "good", 1)])
    assert "must lie below /shared/clusterbench" in refused("docker", "--profile", good)
    assert f"profile={good}\n" in rendered("slurm/acceptance.sbatch", "--profile", good)
    odd = tmp_path / "a b"
    odd.mkdir()
    assert "--profile" in refused("slurm", "--profile", write_profile(odd, [step("good")], [at_least("good.rate", "good", 1)]))


def test_files_are_written_and_none_is_replaced(tmp_path):
    for kind in {f.split("/")[0] for f in FILES}:
        assert cb("template", kind, "--out", tmp_path / kind, *THREE).returncode == 0
    written = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert written == set(FILES)
    for file in FILES:
        assert (tmp_path / file).read_text() == rendered(file, *THREE)
        assert os.access(tmp_path / file, os.X_OK) == (file in SCRIPTS)
    (tmp_path / "mpijob" / "mpijob.yaml").unlink()
    (tmp_path / "mpijob" / "daemonset.yaml").write_text("mine")
    assert "daemonset.yaml exists and is kept" in refused("mpijob", "--out", tmp_path / "mpijob")
    assert [p.read_text() for p in (tmp_path / "mpijob").iterdir()] == ["mine"]
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "run.sh").symlink_to(tmp_path / "nowhere")
    assert "run.sh exists and is kept" in refused("enroot", "--out", tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


def test_the_image_holds_the_program_where_the_files_start_it():
    for options in ((), ("--program", "/opt/clusterbench-0.1.0-x86_64/bin/clusterbench"), ("--program", "/usr/local/bin/cb")):
        program = options[1] if options else "/opt/clusterbench/bin/clusterbench"
        target = re.search(r"^COPY clusterbench (\S+)$", rendered("docker/Dockerfile", *options), re.MULTILINE)[1]
        whole = program.removesuffix("/bin/clusterbench") if program.endswith("/bin/clusterbench") else program
        assert target == whole
        assert f"\n    {whole} {whole}\n" in rendered("apptainer/clusterbench.def", *options)
        assert f" {program} run " in rendered("mpijob/mpijob.yaml", *options)
