"""What may be a secret is not recorded."""

import json
import os

from campaigns import at_least, cb, run_local, step, write_profile

KEY = "AbcdEfgh1234IjklMnop"


def document(*arguments, **environment):
    done = cb("fake", "--json", "-", *arguments, env={**os.environ, **environment})
    assert done.returncode == 0
    assert KEY not in done.stdout
    return json.loads(done.stdout)["run"]


def test_settings_are_recorded_and_secrets_are_not():
    run = document(NCCL_IB_HCA="=mlx5_0:1,mlx5_1:1", UCX_AUTH_TOKEN="hunter2", NCCL_X="https://me:hunter2@mirror/",
                   CUDA_Y=KEY, AWS_SECRET_ACCESS_KEY=KEY)
    assert run["environment"]["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_1:1"
    assert {run["environment"][name] for name in ("UCX_AUTH_TOKEN", "NCCL_X", "CUDA_Y")} == {"[redacted]"}
    assert "AWS_SECRET_ACCESS_KEY" not in run["environment"]


def test_a_command_line_is_recorded_without_keys(tmp_path):
    assert cb("fake", "--json", tmp_path / f"{KEY}.json").returncode == 0
    argv = json.loads((tmp_path / f"{KEY}.json").read_text())["run"]["argv"]
    assert argv[1:] == ["fake", "--json", f"{tmp_path}/[redacted].json"]


def test_keys_of_a_subnet_stand_in_no_document(tmp_path):
    out = tmp_path / "f.json"
    for case, *more in (("fabric",), ("optics", "--subnet", "--vs-key=0x5ec2e7")):
        assert cb(case, *more, "--mkey", "0x5ec2e8", "--sysroot", tmp_path, "--json", out).returncode == 3
        assert "5ec2e" not in out.read_text() and "[redacted]" in out.read_text()


def test_redact_keeps_names_only():
    for arguments, environment in ((["--redact"], {}), ([], {"CLUSTERBENCH_REDACT": "1"})):
        run = document("--value", "2", *arguments, NCCL_DEBUG="WARN", **environment)
        assert run["environment"]["NCCL_DEBUG"] == "[redacted]"
        assert run["argv"] == ["clusterbench", "fake", "--json", "-", "--value", "[redacted]", *arguments]


def test_the_launchers_arguments_hold_no_secret(tmp_path):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    for words in (f"-x AWS_SECRET_ACCESS_KEY={KEY}", f"-x A={KEY}"):
        done = cb("run", profile, "--launcher", "mpirun", "--dry-run", "--out", tmp_path / "c",
                  env={**os.environ, "CLUSTERBENCH_MPIRUN_ARGS": words})
        assert done.returncode == 2
        assert "-x NAME" in done.stderr
        assert KEY not in done.stderr + done.stdout


def test_a_campaign_holds_no_key_of_its_command_line(tmp_path):
    profile = write_profile(tmp_path, [step("speed")], [at_least("speed", "speed", 1)])
    (tmp_path / KEY).mkdir()
    assert run_local(profile, tmp_path / KEY / "c").returncode == 0
    command = json.loads((tmp_path / KEY / "c" / "campaign.json").read_text())["command"]
    assert KEY not in " ".join(command)
