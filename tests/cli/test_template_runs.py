"""`template`: what the files start is what this program takes.

Scheduler and container programs are played by stand-ins that start the rest of their command line, so a renamed option of
clusterbench, of a template or a wrong quotation fails here. The campaigns are real ones.
"""

import os
import shutil
import subprocess

import pytest

from campaigns import BINARY, cb
from template_site import HERE, Site, rendered, validated


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


# Drops the options, of which none has a value of its own, and starts the rest.
REST = 'while [[ $1 == -* ]]; do shift; done; exec "$@"'
ALLOCATION = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": HERE, "SLURM_TASKS_PER_NODE": "1"}


def test_the_batch_script_runs_the_profile_and_continues(site):
    site.stand_in("srun", REST)
    text = rendered("slurm/acceptance.sbatch", *site.options)
    site.accepted(site.start(text, **ALLOCATION))
    assert site.campaigns()[0].name == "acceptance-7"
    assert all("--cpu-bind=none" in line for line in site.said("srun"))
    calls = len(site.said("srun"))
    again = site.start(text, **{**ALLOCATION, "SLURM_JOB_ID": "8"}, CAMPAIGN=str(site.campaigns()[0]))
    site.accepted(again)
    assert len(site.said("srun")) == calls  # what is done is not repeated


def test_the_batch_script_starts_an_image_by_pyxis(site):
    site.stand_in("srun", REST)
    text = rendered("slurm/acceptance.sbatch", *site.options, "--image", "lab/cb:1")
    site.accepted(site.start(text, **ALLOCATION))
    assert f"--container-image=lab/cb:1 --container-mounts={site.root}:{site.root} " in site.said("srun")[0]


def test_the_batch_script_ends_as_the_verdict_does(tmp_path):
    site = Site(tmp_path, limit=2.4)
    site.stand_in("srun", REST)
    site.accepted(site.start(rendered("slurm/acceptance.sbatch", *site.options), **ALLOCATION), code=1)


@pytest.mark.parametrize("codes, drained", [((0, 0), 0), ((3, 3), 0), ((1, 0), 1), ((0, 1), 1), ((124, 0), 1), ((2, 4), 0),
                                            ((127, 130), 0)])
def test_only_what_a_check_found_drains_a_node(site, codes, drained):
    site.program.unlink()
    site.program.write_text(f'#!/bin/sh\ncase $1 in health) exit {codes[0]} ;; nics) exit {codes[1]} ;; esac\nexit 1\n')
    site.program.chmod(0o755)
    assert site.start(rendered("slurm/node-check.sh", *site.options)).returncode == drained


def test_the_check_of_a_node_takes_options_that_exist(site):
    """On a machine without GPU and RDMA both cases are skipped; a wrong option would be exit 2."""
    text = rendered("slurm/node-check.sh", *site.options)
    for case in ("health", "nics"):
        done = site.start(f"{site.program} {case} --deadline 30s --no-color")
        assert f"{case} || exit 1" in text and done.returncode in (0, 1, 3), done.stderr
    assert '"$1" --deadline 30s --no-color' in text


def launcher(document):
    return document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]


def test_the_mpijob_runs_the_profile(site, under_mpirun):
    container = launcher(validated("mpijob/mpijob.yaml", *site.options))
    assert container["command"] == ["/bin/sh", "-c"]
    hostfile = site.bin / "hostfile"
    hostfile.write_text(f"{HERE} slots=1\n")
    site.accepted(site.start(container["args"][0].replace("/etc/mpi/hostfile", str(hostfile))))


@pytest.mark.parametrize("limit, code", [(1, 0), (2.4, 1)])
def test_the_daemonset_marks_accepted_nodes(tmp_path, limit, code, under_mpirun):
    site = Site(tmp_path, limit)
    pod = validated("mpijob/daemonset.yaml", *site.options)["spec"]["template"]["spec"]
    mark = pod["containers"][0]["readinessProbe"]["exec"]["command"][-1]
    text = pod["containers"][0]["args"][0].replace(mark, str(tmp_path / "accepted"))
    assert text.endswith("exec sleep infinity")
    done = site.start(text.removesuffix("exec sleep infinity"), NODE_NAME="n1", POD_UID="u")
    assert done.stdout.endswith(f"exit code {code}\n")
    assert [p.name for p in site.campaigns()] == ["n1-u"]
    assert (tmp_path / "accepted").exists() == (code == 0)


def test_apptainer_starts_every_rank(site, under_mpirun):
    site.stand_in("apptainer", 'shift; while [[ $# -gt 0 && $1 != *.sif ]]; do shift; done; shift; exec "$@"')
    text = rendered("apptainer/run.sh", *site.options, "--gpus", "8", "--hosts", f"{HERE}:2")
    assert site.start(text).returncode == 2  # without an image
    (site.root / "clusterbench.sif").touch()
    site.accepted(site.start(text))
    assert all(line.startswith(f"exec --nv --bind {site.root} {site.root}/clusterbench.sif ") for line in site.said("apptainer"))
    site.accepted(site.start(text, CAMPAIGN=str(site.campaigns()[0])))


# As ssh does: the words are joined and read by a shell. What would read the loop's standard input loses hosts.
SSH = 'shift; cat >/dev/null; exec bash -c "$*"'


@pytest.mark.parametrize("hosts", [(), ("--hosts", "n1,n2")])
def test_enroot_measures_each_host(site, hosts, under_mpirun):
    site.stand_in("ssh", SSH)
    site.stand_in("enroot", 'case $1 in import) touch "$3" ;; start) shift 4; exec "$@" ;; esac')
    site.accepted(site.start(rendered("enroot/run.sh", *site.options, *hosts)), campaigns=2 if hosts else 1)
    assert sum(line.startswith("import ") for line in site.said("enroot")) == 1


@pytest.mark.parametrize("hosts", [(), ("--hosts", "n1,n2")])
def test_docker_measures_each_host(site, hosts, under_mpirun):
    site.stand_in("ssh", SSH)
    site.stand_in("docker", 'while [[ $# -gt 0 && $1 != cb:1 ]]; do shift; done; shift; exec "$@"')
    text = rendered("docker/run.sh", *site.options, *hosts, "--image", "cb:1", "--gpus", "8")
    site.accepted(site.start(text), campaigns=2 if hosts else 1)
    assert all("--gpus all " in line for line in site.said("docker"))


def test_the_worst_host_decides_the_exit_code(tmp_path, under_mpirun):
    site = Site(tmp_path)
    site.stand_in("ssh", 'host=$1; shift; [ $host != n1 ] || exit 255; exec bash -c "$*"')
    site.stand_in("docker", 'while [[ $# -gt 0 && $1 != cb:1 ]]; do shift; done; shift; exec "$@"')
    done = site.start(rendered("docker/run.sh", *site.options, "--hosts", "n1,n2", "--image", "cb:1"))
    assert done.returncode == 255 and "n1: exit code 255\n" in done.stdout and "n2: exit code 0\n" in done.stdout


# ---- Ansible ----

ansible = pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="ansible-playbook is not installed: apt-get install ansible-core")


def playbook(directory, *more):
    places = {f"ANSIBLE_{name}": str(directory / name.lower()) for name in ("HOME", "LOCAL_TEMP", "REMOTE_TEMP", "ASYNC_DIR")}
    environment = {**os.environ, **places, "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_NOCOLOR": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["ansible-playbook", "-i", "inventory.yml", "play.yml", *more], cwd=directory, env=environment,
                          capture_output=True, text=True, timeout=200)


@ansible
@pytest.mark.parametrize("options", [(), ("--hosts", "n[1-3]:4")])
def test_the_play_passes_the_syntax_check(tmp_path, options):
    assert cb("template", "ansible", "--out", tmp_path / "a", *options).returncode == 0
    done = playbook(tmp_path / "a", "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr


@ansible
@pytest.mark.parametrize("limit, code", [(1, 0), (2.4, 2)])
def test_the_play_copies_runs_and_fetches(tmp_path, limit, code, under_mpirun):
    site = Site(tmp_path, limit)
    there = tmp_path / "there" / "clusterbench" / "bin" / "clusterbench"
    options = ("--program", there, *site.options[2:])
    assert cb("template", "ansible", "--out", tmp_path / "a", *options).returncode == 0
    done = playbook(tmp_path / "a", "-e", f"here={site.program.parent.parent}", "-e", f"alone={'true' if limit == 1 else 'false'}")
    assert done.returncode == code, done.stdout + done.stderr
    assert os.access(there, os.X_OK) and len(site.campaigns()) == 1
    fetched = list((tmp_path / "a" / "fetched").iterdir())
    assert [p.name for p in fetched] == [site.campaigns()[0].name + ".tar.gz"]
    assert "ACCEPTED" in done.stdout


@ansible
def test_the_play_says_what_a_host_lacks_and_measures(tmp_path):
    site = Site(tmp_path)
    site.program.unlink()
    site.program.write_text('#!/bin/sh\n[ "$1" != doctor ] || { echo "shared-memory  fail  64 MiB"; exit 1; }\n'
                            f'exec {BINARY} "$@"\n')
    site.program.chmod(0o755)
    options = ("--program", tmp_path / "there" / "clusterbench" / "bin" / "clusterbench", *site.options[2:])
    assert cb("template", "ansible", "--out", tmp_path / "a", *options).returncode == 0
    done = playbook(tmp_path / "a", "-e", f"here={site.program.parent.parent}", "-e", "alone=true")
    assert done.returncode == 0 and "ACCEPTED" in done.stdout, done.stdout + done.stderr
    assert "shared-memory  fail  64 MiB" in done.stdout
