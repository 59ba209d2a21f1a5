"""`doctor --hosts`: each host answers through its launcher, whatever else the launcher prints, and what only looks like an answer is none."""

import os
import shutil
from pathlib import Path

import pytest

from campaigns import BINARY, cb
from test_doctor import HERE, ROOT, STARTS_ONE_HERE, document, states
from test_doctor_jobs import script

pytestmark = pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")


def test_ssh_says_why_a_host_is_not_reached(tmp_path):
    env = script(tmp_path, "mpirun", "echo 'ssh: Could not resolve hostname far' >&2; echo ----- >&2; echo 'ORTE was unable to start' >&2; exit 255\n")
    _, found = document("--hosts", "far,farther", "--launcher", "mpirun", env=env)
    row = found["hosts"][0]["checks"][0]
    assert row["seen"] == "the job there failed: exit code 255: ssh: Could not resolve hostname far"
    zh = cb("doctor", "--hosts", "far,farther", "--launcher", "mpirun", "--lang", "zh", env=env, timeout=60).stdout
    assert "退出码 255" in zh


def there(folder, before="", after=""):
    """The environment in which a launcher starts its one rank here, between these lines of a script."""
    return script(folder, "mpirun", f'{before}\n{STARTS_ONE_HERE}"$@"; code=$?\n{after}\nexit $code\n')


def asked(env, hosts="far,farther"):
    done, found = document("--hosts", hosts, "--launcher", "mpirun", env=env)
    return done, found["hosts"]


def test_all_hosts_are_asked_at_once(tmp_path):
    """Each launcher waits for the other; the host is shown by the name that it was asked by, and its own."""
    meet = f"touch {tmp_path}/met.$$; for i in $(seq 600); do [ $(ls {tmp_path}/met.* | wc -l) -ge 2 ] && break; sleep 0.1; done"
    done, (*hosts, _) = asked(there(tmp_path, meet))
    assert [h["host"] for h in hosts] == [f"far ({HERE})", f"farther ({HERE})"], done.stdout


def test_what_stands_around_a_document_does_not_matter(tmp_path):
    """Banners with braces, other JSON, marks and ends of lines as of a terminal."""
    _, hosts = asked(script(tmp_path, "mpirun", f"""echo "motd {{"; printf '{{\n "level": 1\n}}\n'
{STARTS_ONE_HERE}"$@" >{tmp_path}/said.$$; code=$?
sed 's/^/[1,0]<stdout>: /; s/$/\r/' {tmp_path}/said.$$; echo "}}"; exit $code
"""))
    assert all("reached" not in states(h) for h in hosts), hosts


@pytest.mark.parametrize("end, words", [("exit 7", "exit code 7"), ("kill -SEGV $$", "killed by signal 11")])
def test_a_launcher_that_fails_behind_the_document_is_told(tmp_path, end, words):
    done, (far, *_) = asked(there(tmp_path, after=end))
    assert done.returncode == 1 and states(far) == {"reached": "fail"} and words in far["checks"][0]["seen"], far


def test_a_host_with_another_version_costs_no_other_host(tmp_path):
    """Its sentence is not that of this program, which takes no text on trust."""
    other = tmp_path / "other" / "clusterbench"
    other.parent.mkdir()
    program = Path(BINARY).read_bytes()
    assert b"{0} is known at once" in program
    other.write_bytes(program.replace(b"{0} is known at once", b"{0} is known at last"))
    other.chmod(0o755)
    which = f'case "$*" in *farther*) there={other};; *) there={BINARY};; esac\n'
    _, (far, farther, _) = asked(script(tmp_path, "mpirun", which + STARTS_ONE_HERE + 'shift; exec "$there" "$@"\n'))
    assert "reached" not in states(far) and states(farther) == {"reached": "fail"}, farther


def test_exit_code_1_without_a_check_that_failed_is_told(tmp_path):
    _, (far, *_) = asked(there(tmp_path, after="echo $code torn >&2; exit 1"))
    assert states(far) == {"reached": "fail"} and "exit code 1: 0 torn" in far["checks"][0]["seen"], far


def test_an_end_with_0_is_no_exchange_between_hosts(tmp_path):
    env = there(tmp_path, 'case "$*" in *" tcp "*) exit 0;; esac')
    _, (*hosts, between) = asked(env)
    assert all("reached" not in states(h) for h in hosts)
    row, = between["checks"]
    assert row["state"] == "fail" and "it ended with 0 and without a document" in row["seen"], row


def test_two_names_of_one_machine_are_no_pair_of_hosts():
    if "orterun" not in os.path.realpath(shutil.which("mpirun")):
        pytest.skip("only Open MPI starts ranks of localhost without ssh")
    done, (*_, between) = asked(ROOT, "localhost,127.0.0.1")
    row, = between["checks"]
    assert done.returncode == 1 and row["state"] == "fail", row
    assert row["seen"] == f"these 2 names stand for fewer machines: {HERE}" and row["next"].startswith("mend the list of hosts")


@pytest.mark.parametrize("arguments", ["--tag-output", "--timestamp-output"])
def test_marks_of_a_real_launcher_do_not_spoil_what_a_host_says(arguments):
    if "orterun" not in os.path.realpath(shutil.which("mpirun")):
        pytest.skip("options of Open MPI 4")
    for _ in range(3):
        _, (other, *_) = asked({**ROOT, "CLUSTERBENCH_MPIRUN_ARGS": arguments}, f"localhost,{HERE}")
        assert "reached" not in states(other), other
