"""`run` under MPICH's mpirun, and in shells and ranks of other launchers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from campaigns import at_least, step, write_profile  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]
TOLD = ("OMPI_COMM", "OMPI_UNIVERSE", "PMI_", "PMIX_", "SLURM_", "FLUX_")


def ended(*words, timeout=60, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(TOLD)}
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=timeout, check=False,
                          env={**clean, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                               **{k: str(v) for k, v in environment.items()}})


def campaign(tmp_path, *before, launcher, **environment):
    profile = write_profile(tmp_path, [step("one", ranks_per_host=1, env={"NCCL_DEBUG": "a b"}), step("two", ranks_per_host=2 if launcher == "mpirun" else 1)],
                            [at_least("c", "one", 1, title={"en": "c", "zh": "甲"})])
    done = ended(*before, BINARY, "run", profile, "--launcher", launcher, "--out", tmp_path / "d", timeout=120, **environment)
    records = [json.loads(f.read_text()) for f in sorted((tmp_path / "d" / "records").glob("*.json"))]
    return done, [r["run"]["ranks"] for r in records], {r["tool"]["build"]["mpi"] for r in records}


@pytest.mark.parametrize("told", [{"PMI_RANK": 0, "PMI_SIZE": 2}, {"PMI_RANK": 1, "PMI_SIZE": 2}, {"OMPI_COMM_WORLD_RANK": 3},
                                  {"SLURM_PROCID": 0, "SLURM_STEP_NUM_TASKS": 2, "SLURM_JOB_ID": 3}], ids=str)
def test_a_campaign_hands_no_rank_of_its_own_to_jobs(tmp_path, told):
    done, ranks, _ = campaign(tmp_path, launcher="none", **told)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ranks == [1, 1]


@pytest.mark.parametrize("launcher", ["none", "mpirun"])
def test_a_campaign_within_an_mpirun_of_one_rank(tmp_path, launcher):
    done, ranks, _ = campaign(tmp_path, "mpirun", "-np", 1, launcher=launcher)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ranks == [1, 2 if launcher == "mpirun" else 1]


def test_a_campaign_under_mpich(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mpirun").symlink_to("/usr/bin/mpirun.mpich")
    (programs / "hydra_pmi_proxy").symlink_to("/usr/bin/hydra_pmi_proxy")  # Hydra looks for it beside itself
    done, ranks, libraries = campaign(tmp_path, launcher="mpirun", PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Hydra" in done.stderr
    assert ranks == [1, 2]
    assert all(name.startswith("MPICH") for name in libraries)
