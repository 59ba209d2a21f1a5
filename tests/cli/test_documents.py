"""Manual pages and completion, as `clusterbench documents` makes them of the definitions of the command line; completion is tried in
real shells."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BINARY = os.environ["CLUSTERBENCH_BIN"]
DAY = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}  # 2023-11-14


def documents(*words, code=0):
    done = subprocess.run([BINARY, "documents", *words], text=True, capture_output=True, timeout=60, check=False, env=DAY)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def subcommands(*path):
    """Those that --help shows."""
    said = subprocess.run([BINARY, *path, "--help"], text=True, capture_output=True, timeout=60, check=True).stdout
    return re.findall(r"^  ([a-z][a-z-]+) {2,}", said.split("Options:")[1].split("Example")[0], re.MULTILINE)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    place = tmp_path_factory.mktemp("man")
    documents("man", "--out", str(place))
    return place


def needs(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def shown(page):
    done = subprocess.run(["man", "-l", page], text=True, capture_output=True, timeout=60, check=True,
                          env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)


def test_the_program_and_every_subcommand_have_a_page(pages):
    assert {p.name for p in pages.iterdir()} == {"clusterbench.1"} | {f"clusterbench-{name}.1" for name in subcommands()}


def test_the_pages_are_clean_roff(pages):
    needs("mandoc")
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *sorted(pages.iterdir())], text=True, capture_output=True, timeout=60, check=False)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_groff_finds_nothing_either(pages):
    needs("groff")
    for page in pages.iterdir():
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], text=True, capture_output=True, timeout=60, check=True)
        assert done.stderr == "", page


def test_a_page_has_every_option_of_help_with_its_text(pages):
    needs("man")
    page = shown(pages / "clusterbench-gemm.1")
    text = re.sub(r"\s+", " ", page)
    said = subprocess.run([BINARY, "gemm", "--help"], text=True, capture_output=True, timeout=60, check=True).stdout
    options = re.findall(r"^  (-\S+)", said, re.MULTILINE)
    assert len(options) > 20
    for option in options:
        for name in option.split(","):
            assert re.search(rf"^ {{7}}.*{name}(,| |$)", page, re.MULTILINE), name
    assert "types of A and B; sums are fp64, fp32, fp32, int32 (fp64 fp32 bf16 int8) [fp64]" in text
    assert "clusterbench gemm --device cpu --dtype fp64,fp32 --size 4096 --json g.json" in page
    assert "2023-11-14" in page


def test_commands_below_a_command_stand_on_its_page(pages):
    needs("man")
    page = shown(pages / "clusterbench-signoff.1")
    for name in subcommands("signoff"):
        assert re.search(rf"^   clusterbench signoff {name}$", page, re.MULTILINE), name
    assert "--allow-rejected" in page and "--timestamp FILE.tsr" in page


def test_the_exit_codes_are_those_of_the_readme(pages):
    needs("man")
    table = re.findall(r"^\| (\d+) \| (.*) \|$", (SOURCE / "README.md").read_text(), re.MULTILINE)
    assert len(table) == 7
    text = re.sub(r"\s+", " ", shown(pages / "clusterbench.1"))
    for code, meaning in table:
        assert f" {code} {meaning} " in text


def test_hidden_commands_stand_nowhere(pages):
    everything = "".join(p.read_text() for p in pages.iterdir()) + documents("bash") + documents("zsh") + documents("fish")
    assert "blas-probe" not in everything.replace("\\-", "-")
    assert "skeleton" not in everything


def test_the_same_bytes_on_the_same_day(pages, tmp_path):
    documents("man", "--out", str(tmp_path))
    assert {p.name: p.read_bytes() for p in pages.iterdir()} == {p.name: p.read_bytes() for p in tmp_path.iterdir()}


def test_wrong_words_are_refused_with_the_right_ones():
    assert "did you mean bash?" in documents("bsh", code=2)
    assert "name a directory" in documents("man", code=2)
    assert "--out" in documents("bash", "--out", "/dev/null/x", code=2)


# ---- completion: (typed, what is offered at least, what is not) ----
CASES = json.loads("""[
  ["clusterbench ge", ["gemm"], ["gate"]],
  ["clusterbench gemm --dty", ["--dtype"], []],
  ["clusterbench gemm --device ", ["cpu", "gpu"], ["--json"]],
  ["clusterbench gemm --dtype fp64,bf", ["fp64,bf16"], ["fp64,fp32"]],
  ["clusterbench gemm --json /nowhere/x --libr", ["--library"], []],
  ["clusterbench signoff ver", ["verify"], []],
  ["clusterbench signoff verify --all", ["--allow-rejected"], []],
  ["clusterbench signoff --role c", ["customer"], ["supplier"]],
  ["clusterbench run host-q", ["host-quick"], []],
  ["clusterbench profile show h20-cl", ["h20-cluster"], []],
  ["clusterbench sweep band", ["bandwidth"], []],
  ["clusterbench template app", ["apptainer"], []],
  ["clusterbench doctor --lang ", ["en", "zh"], []],
  ["clusterbench run --launcher s", ["srun"], ["mpirun"]],
  ["clusterbench report somewh", ["somewhere/"], ["somefile"]],
  ["clusterbench gate --waivers somef", ["somefile"], []]
]""")

BASH = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
compopt() { :; }  # readline's, which runs only within it
mapfile -t COMP_WORDS < <(sed -E 's/=/ = /; s/ +/\n/g' <<<"$2")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_clusterbench
for word in "${COMPREPLY[@]}"; do if [[ -d $word ]]; then echo "$word/"; else echo "$word"; fi; done
"""


def from_bash(place, line):
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", place / "clusterbench", line], text=True, capture_output=True,
                          timeout=60, check=True, cwd=place)
    assert done.stderr == ""
    return done.stdout.split()


def from_fish(place, line):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {place}/clusterbench.fish; complete -C '{line}'"], text=True,
                          capture_output=True, timeout=60, check=True, cwd=place, env={**os.environ, "HOME": str(place)})
    assert done.stderr == ""
    return [found.split("\t")[0] for found in done.stdout.splitlines()]


def talk(argv, place, keys):
    """What a program says on a terminal of its own until it ends."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place)
        os.environ.update({"TERM": "dumb", "PS1": "> ", "COLUMNS": "400", "HOME": str(place), "LC_ALL": "C.UTF-8"})
        os.execvp(argv[0], argv)
    said, until, sent = b"", time.monotonic() + 30, False
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            said += os.read(terminal, 65536)
        except OSError:
            break
        if b"READY" in said and not sent:
            os.write(terminal, keys)
            sent = True
    os.close(terminal)
    os.waitpid(child, 0)
    return said.decode(errors="replace")


def from_zsh(place, line):
    """zsh completes at a terminal only: what the shell puts on the list of matches is noted by a compadd in front of its own."""
    (place / ".zshrc").write_text(rf"""
        fpath=({place} $fpath)
        autoload -U compinit && compinit -u -D
        compadd() {{
          local -a matches
          builtin compadd -O matches "$@"
          print -l -- $matches >>{place}/matches
          builtin compadd "$@"
        }}
        finish() {{ exit; }}
        zle -N finish
        bindkey '^T' finish
        print READ''Y
    """)
    (place / "matches").write_text("")
    talk(["zsh", "-i"], place, line.encode() + b"\t\x14")
    found = (place / "matches").read_text().split()
    head = line.rsplit(" ", 1)[-1]
    before = head[:head.rfind(",") + 1]
    return [before + word + ("/" if (place / word).is_dir() else "") for word in found]


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    place = tmp_path_factory.mktemp("shells")
    for shell in ("bash", "zsh", "fish"):
        documents(shell, "--out", str(place))
    (place / "somewhere").mkdir()
    (place / "somefile").write_text("")
    return place


@pytest.mark.parametrize("line, offered, other", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("shell, ask", [("bash", from_bash), ("fish", from_fish), ("zsh", from_zsh)])
def test_a_shell_offers_what_fits(shells, shell, ask, line, offered, other):
    needs(shell)
    found = ask(shells, line)
    assert set(offered) <= set(found), found
    assert not set(other) & set(found), found


def test_bash_completes_behind_an_equals_sign_and_a_double_dash(shells):
    assert from_bash(shells, "clusterbench gemm --device=g") == ["gpu"]
    assert "--op" in from_bash(shells, "clusterbench sweep mpi --env A=1 -- --o")


def test_bash_completes_at_a_terminal(shells):
    """readline itself, with its own splitting of words."""
    (shells / "rc").write_text(f"source {shells}/clusterbench\nclusterbench() {{ echo \"<$*>\"; exit; }}\necho READ''Y\n")
    said = talk(["bash", "--rcfile", str(shells / "rc"), "-i"], shells, b"clusterbench gemm --dev\t=g\t\n")
    assert "<gemm --device=gpu>" in re.sub(r"\s+", " ", said).replace("gpu >", "gpu>").replace("--device =", "--device="), said


def test_every_command_and_option_of_help_is_offered(shells):
    assert set(from_bash(shells, "clusterbench ")) == set(subcommands())
    for name in subcommands():
        said = subprocess.run([BINARY, name, "--help"], text=True, capture_output=True, timeout=60, check=True).stdout
        options = {n for o in re.findall(r"^  (-\S+)", said, re.MULTILINE) for n in o.split(",")}
        assert set(from_bash(shells, f"clusterbench {name} -")) == options


def test_an_installation_has_them_where_man_and_the_shells_look(tmp_path):
    """What cmake --install does: below DESTDIR the program is called where it lies."""
    build = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
    subprocess.run(["cmake", "--install", build, "--prefix", "/opt/c b"], check=True, capture_output=True, timeout=120,
                   env={**DAY, "DESTDIR": str(tmp_path)})
    share = tmp_path / "opt/c b/share"
    assert (share / "bash-completion/completions/clusterbench").read_text() == documents("bash")
    assert (share / "zsh/site-functions/_clusterbench").read_text() == documents("zsh")
    assert (share / "fish/vendor_completions.d/clusterbench.fish").read_text() == documents("fish")
    assert (share / "man/man1/clusterbench-run.1").read_text().startswith(".TH CLUSTERBENCH\\-RUN 1 2023-11-14 ")
