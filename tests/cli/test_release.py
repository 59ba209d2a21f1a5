"""The release file: what ci/portable/check.py refuses, what stands in for a newer glibc, what is said without a network; and the
portable program itself where ci/release.sh has made one (build/portable)."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
BINARY = os.environ["CLUSTERBENCH_BIN"]
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
CHECK = SOURCE / "ci/portable/check.py"
PACK = SOURCE / "build/portable/pack"

OLD_LIBC = r"""
#include <dlfcn.h>
// As on a libc that has none of the functions.
#define dlsym(handle, name) NULL
#define strerrorname_np old_strerrorname_np
#define pthread_cond_clockwait old_clockwait
#define pthread_mutex_clocklock old_clocklock
#define _dl_find_object old_find_object
#define arc4random old_random
#define __libc_single_threaded old_single_threaded
#include "ci/portable/compat.c"

#include <stdio.h>

static int wait_for(int64_t nanoseconds, clockid_t clock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  struct timespec begin, until, end;
  clock_gettime(clock, &begin);
  const int64_t at = begin.tv_sec * 1000000000LL + begin.tv_nsec + nanoseconds;
  until.tv_sec = at / 1000000000LL;
  until.tv_nsec = at % 1000000000LL;
  pthread_mutex_lock(&mutex);
  const int code = old_clockwait(&condition, &mutex, clock, &until);
  clock_gettime(clock, &end);
  const int64_t took = (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
  return code == ETIMEDOUT && took >= nanoseconds && took < nanoseconds + 5000000000LL;
}

// A mutex that is held is not had before the moment; one that is free is had at once.
static int locks_within(int64_t nanoseconds, clockid_t clock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  struct timespec begin, until, end;
  clock_gettime(clock, &begin);
  const int64_t at = begin.tv_sec * 1000000000LL + begin.tv_nsec + nanoseconds;
  until.tv_sec = at / 1000000000LL;
  until.tv_nsec = at % 1000000000LL;
  const int first = old_clocklock(&mutex, clock, &until);
  const int second = old_clocklock(&mutex, clock, &until);
  clock_gettime(clock, &end);
  const int64_t took = (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
  return first == 0 && second == ETIMEDOUT && took >= nanoseconds && took < nanoseconds + 5000000000LL;
}

// Whether `address` is found in an object with tables for unwinding, which begin with version 1.
static int finds(void* address) {
  struct dl_find_object found;
  if (old_find_object(address, &found) != 0) return 0;
  return (char*)found.dlfo_map_start <= (char*)address && (char*)address < (char*)found.dlfo_map_end &&
         *(unsigned char*)found.dlfo_eh_frame == 1;
}

int main(void) {
  struct dl_find_object nothing;
  int local;
  printf("%d %d %d %d %d %d %d %d %d %d\n", locks_within(50000000, CLOCK_MONOTONIC), locks_within(50000000, CLOCK_REALTIME), wait_for(50000000, CLOCK_MONOTONIC), wait_for(50000000, CLOCK_REALTIME),
         wait_for(-50000000, CLOCK_MONOTONIC), finds((void*)main), finds((void*)puts),
         old_find_object(&local, &nothing) == -1, old_strerrorname_np(EIO) == NULL, old_random() != old_random());
}
"""


def checked(*args):
    return subprocess.run([CHECK, *args], text=True, capture_output=True, timeout=60, check=False)


def test_a_program_that_is_linked_to_its_build_machine_is_refused_with_what_it_needs():
    done = checked(BINARY)
    assert done.returncode == 1
    lines = {line.partition(": ")[0]: line for line in done.stdout.splitlines()}
    assert "libfmt.so" in lines["FAILED only libc, libm, libdl, libpthread, librt"]
    assert "and " in lines["FAILED no symbol newer than glibc 2.28"]


@pytest.mark.parametrize("source, options, wanted", [
    ("double f(double x);\n#include <math.h>\nint main(int c, char** v) { return (int)pow(c, c + 0.5); }", ["-lm"],
     "FAILED no symbol newer than glibc 2.28: "),
    ("#include <stdio.h>\nextern char** environ;\nint main(void) { return environ == 0; }", ["-fno-pic", "-no-pie"],
     "FAILED no variable of libc but stderr is copied: "),
    ("int seen_by_all(void) { return 1; }\nint main(void) { return 0; }", ["-rdynamic"], "FAILED nothing is exported: "),
    ("int main(void) { return 0; }", ["-Wl,-rpath,/opt/x"], "FAILED no search path of its own: /opt/x"),
    ("#include <unistd.h>\nint main(void) { return usleep(30000); }", [], "FAILED --help within 20 ms: "),
])
def test_each_check_finds_what_it_is_for(tmp_path, source, options, wanted):
    (tmp_path / "a.c").write_text(source)
    subprocess.run(["g++", "-x", "c", tmp_path / "a.c", "-o", tmp_path / "a", *options], check=True)
    done = checked(tmp_path / "a")
    assert wanted in done.stdout
    assert done.returncode == 1


def test_an_archive_that_is_too_large_is_refused(tmp_path):
    with open(tmp_path / "large.tar.gz", "wb") as file:
        file.truncate(61 * 10**6)
    assert "FAILED packed within 60 MB: 61.0 MB" in checked(BINARY, tmp_path / "large.tar.gz").stdout


def test_what_stands_in_for_functions_of_a_newer_glibc_does_as_they_do(tmp_path):
    (tmp_path / "old.c").write_text("#define _GNU_SOURCE\n" + OLD_LIBC)
    subprocess.run(["g++", "-x", "c", "-std=gnu11", "-O1", "-w", f"-I{SOURCE}", tmp_path / "old.c", "-o", tmp_path / "old"], check=True)
    done = subprocess.run([tmp_path / "old"], text=True, capture_output=True, timeout=60, check=True)
    assert done.stdout == "1 1 1 1 1 1 1 1 1 1\n"


def test_an_input_that_cannot_be_fetched_is_named(tmp_path):
    """As on a machine without a network: apt and pip fail."""
    shutil.copytree(SOURCE / "ci", tmp_path / "ci")
    (tmp_path / "bin").mkdir()
    for name in ("apt-get", "python3"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho 'cannot reach anybody'\nexit 100\n")
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run([tmp_path / "ci/portable/libraries.sh"], text=True, capture_output=True, timeout=60, check=False,
                          env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 1
    assert "fmtlib_9.1.0+ds1.orig.tar.gz is missing or differs from its SHA-256" in done.stderr
    assert "cannot reach anybody" in done.stderr


def test_an_input_with_other_bytes_is_refused(tmp_path):
    shutil.copytree(SOURCE / "ci", tmp_path / "ci")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "fmtlib_9.1.0+ds1.orig.tar.gz").write_bytes(b"something else")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apt-get").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin/apt-get").chmod(0o755)
    done = subprocess.run([tmp_path / "ci/portable/libraries.sh"], text=True, capture_output=True, timeout=60, check=False,
                          env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "CLUSTERBENCH_RELEASE_INPUTS": str(inputs)})
    assert done.returncode == 1
    assert "fmtlib_9.1.0+ds1.orig.tar.gz is missing or differs" in done.stderr


@pytest.fixture
def committed(tmp_path):
    """A repository with the script. The first thing that it would build, and what looks at bare machines, are stand-ins."""
    top = tmp_path / "checkout"
    (top / "ci/portable").mkdir(parents=True)
    for name in ("release.sh", "common.sh"):
        shutil.copy(SOURCE / "ci" / name, top / "ci" / name)
    for name, text in (("fresh-machine-record.sh", "[ ! -e build/stale ] || { echo 'trixie-test was never recorded' && exit 1; }"),
                       ("portable/libraries.sh", "echo 'builds now' && exit 7")):
        (top / "ci" / name).write_text(f"#!/bin/sh\n{text}\n")
        (top / "ci" / name).chmod(0o755)
    (top / ".gitignore").write_text("/build/\n")
    git = ["git", "-C", top, "-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "t"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    return top


@pytest.fixture
def checkout(committed):
    """The same with a change, so that the script ends before it builds anything."""
    (committed / "change").write_text("c")
    return committed


@pytest.mark.parametrize("out, said", [
    ("dist", "files there are changes of this checkout"), ("docs/../dist", "files there are changes of this checkout"),
    ("build/portable/dist", "the second build removes what is in build/portable"), ("build/portable", "the second build removes"),
    ("build/dist", "this checkout has changes"), ("build/portable2", "this checkout has changes"), ("../dist", "this checkout has changes")])
def test_a_folder_that_would_end_the_second_build_is_refused_before_the_first(checkout, out, said):
    done = subprocess.run(["ci/release.sh", "--check", "--out", out], cwd=checkout, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode != 0 and said in done.stderr, done.stderr
    assert "this checkout has changes" in said or not (checkout / out).exists()


@pytest.mark.parametrize("stale, words, code", [(True, [], 1), (True, ["--without-roots"], 7), (False, [], 7), (False, ["--without-roots"], 7)],
                         ids=["stale", "stale and told to go on", "fresh", "fresh and told to go on"])
def test_a_release_asks_for_the_runs_on_bare_machines_before_it_builds(committed, stale, words, code):
    (committed / "build").mkdir()
    if stale:
        (committed / "build/stale").touch()
    done = subprocess.run(["ci/release.sh", *words], cwd=committed, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert ("builds now" in done.stdout) == (code == 7)
    assert ("trixie-test was never recorded" in done.stderr) == stale
    assert ("or name --without-roots" in done.stderr) == (code == 1)


def test_an_unknown_option_of_the_release_is_refused():
    done = subprocess.run([SOURCE / "ci/release.sh", "--fast"], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--fast: unknown option" in done.stderr


@pytest.fixture
def folder():
    found = sorted(PACK.glob("clusterbench-*/bin/clusterbench"))
    if not found:
        pytest.skip("no portable program here: ci/release.sh makes it")
    return found[0].parent.parent


def test_the_portable_program_needs_libc_alone(folder):
    done = checked(folder / "bin/clusterbench")
    assert done.returncode == 0, done.stdout


def test_the_cuda_modules_need_no_newer_glibc(folder):
    modules = sorted((folder / "lib/clusterbench").glob("libclusterbench_cuda*.so"))
    if not modules:
        pytest.skip("made without nvcc")
    assert "libclusterbench_cuda11.so" in {m.name for m in modules}  # drivers before 580
    done = checked(folder / "bin/clusterbench", folder / "LICENSE", *modules)
    assert done.returncode == 0, done.stdout
    for module in modules:
        assert f"ok     {module.name}: no symbol newer than glibc 2.28" in done.stdout
        assert f"ok     {module.name}: exports its table alone: clusterbench_cuda" in done.stdout


@pytest.mark.skipif(not (BUILD / "fake/modules").exists(), reason="built without CUDA")
def test_a_module_that_is_linked_to_its_build_machine_is_refused():
    module = BUILD / "fake/modules/libclusterbench_cuda13.so"
    lines = checked(BINARY, SOURCE / "LICENSE", module).stdout.splitlines()
    assert any(line.startswith(f"FAILED {module.name}: only libc") and "libfake_cuda_runtime.so" in line for line in lines), lines
    assert f"ok     {module.name}: exports its table alone: clusterbench_cuda" in lines


def test_what_is_linked_stands_in_the_list_of_parts_with_a_licence(folder):
    parts = json.loads((folder / "sbom.spdx.json").read_text())
    assert parts["spdxVersion"] == "SPDX-2.3"
    names = {p["SPDXID"]: p for p in parts["packages"]}
    linked = [names[r["relatedSpdxElement"]] for r in parts["relationships"] if r["relationshipType"] == "STATIC_LINK"]
    compiled_in = [p for p in parts["packages"] if p["name"] != "clusterbench"]
    assert {"nlohmann-json3-dev", "libcli11-dev"} <= {p["name"] for p in compiled_in}
    assert {"fmtlib", "simdjson", "hwloc", "glibc", "libssl-dev", "libblkid-dev", "libstdc++-12-dev"} <= {p["name"] for p in linked}
    for part in compiled_in:
        assert part["licenseDeclared"] != "NOASSERTION", part
        assert (folder / "licences" / f"{part['name']}.txt").stat().st_size > 300
    program = hashlib.sha256((folder / "bin/clusterbench").read_bytes()).hexdigest()
    assert names["SPDXRef-clusterbench"]["checksums"][0]["checksumValue"] == program


def test_the_sums_name_every_file(folder):
    sums = dict(reversed(line.split("  ", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    assert set(sums) == files
    for name in ("bin/clusterbench", "LICENSE", "sbom.spdx.json"):
        assert sums[name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_no_folder_of_the_build_machine_is_in_the_program(folder):
    words = subprocess.run(["strings", "-n", "6", folder / "bin/clusterbench"], text=True, capture_output=True, check=True).stdout
    assert not re.findall(re.escape(str(SOURCE)) + r".*", words)


# ---- what ci/portable/try.sh asks of the release file in a bare root ----


def tried(tmp_path, program):
    """try.sh over an archive with the documents' campaign and a program of that text, where nothing is measured."""
    folder = tmp_path / "clusterbench-0-x86_64"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/clusterbench").write_text("#!/bin/sh\n" + program)
    (folder / "bin/clusterbench").chmod(0o755)
    shutil.copytree(SOURCE / "docs/examples/host", folder / "share/doc/clusterbench/docs/examples/host")
    sums = subprocess.run(["sha256sum", "bin/clusterbench"], cwd=folder, capture_output=True, timeout=60, check=True)
    (folder / "SHA256SUMS").write_bytes(sums.stdout)
    subprocess.run(["tar", "-C", tmp_path, "-czf", tmp_path / "release.tar.gz", folder.name], timeout=60, check=True)
    return subprocess.run([SOURCE / "ci/portable/try.sh", tmp_path / "release.tar.gz", "laptop"], text=True, capture_output=True,
                          timeout=120, check=False)


def test_a_laptop_judges_compares_verifies_and_bundles_what_others_measured(tmp_path):
    done = tried(tmp_path, f'exec "{BINARY}" "$@"\n')
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout + done.stderr
    for words in ("gate", "report", "compare", "signoff verify", "bundle"):
        assert f"bin/clusterbench {words} " in done.stdout


@pytest.mark.parametrize("program, wrong", [
    ('[ "$1" != compare ] || exit 0\n', "WRONG without the words: compared: 0 worse"),
    ('[ "$1 $2" != "signoff verify" ] || { echo "intact: 1 signature by listed keys" && exit 0; }\n', "WRONG exit 0"),
    ('[ "$1" != bundle ] || { date +%N >"$4" && sha256sum "$4" && exit 0; }\n', "WRONG exit 1"),
], ids=["compares nothing", "believes everything", "bundles differently twice"])
def test_a_program_that_does_otherwise_on_a_laptop_is_seen(tmp_path, program, wrong):
    done = tried(tmp_path, f'{program}exec "{BINARY}" "$@"\n')
    assert done.returncode == 1 and wrong in done.stdout, done.stdout + done.stderr


# ---- the packages: ci/portable/packages.sh of a folder as ci/release.sh stages it, with the program of this build ----


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    for tool in ("dpkg-deb", "rpmbuild"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    place = tmp_path_factory.mktemp("packages")
    staged = place / "staged"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(["cmake", "--install", BUILD, "--prefix", staged], check=True, capture_output=True, timeout=120, env=environment)
    (staged / "bin/clusterbench").write_text("#!/bin/sh\necho small\n")  # a real one takes a compressor seconds
    (staged / "share/doc/clusterbench/docs").mkdir(parents=True)
    for name in ("CHANGELOG.md", "README.md"):
        shutil.copy(SOURCE / name, staged / "share/doc/clusterbench")
    shutil.copytree(SOURCE / "docs/examples", staged / "share/doc/clusterbench/docs/examples")
    shutil.copy(SOURCE / "LICENSE", staged)
    (staged / "licences").mkdir()
    (staged / "licences/fmtlib.txt").write_text("MIT\n")
    (staged / "sbom.spdx.json").write_text('{"documentNamespace": "https://spdx.org/spdxdocs/x", "relationships": []}\n')
    made = []
    for name in ("once", "again"):
        (place / name).mkdir()
        subprocess.run([SOURCE / "ci/portable/packages.sh", staged, place / name], check=True, capture_output=True, timeout=120, env=environment)
        made.append({p.name: p for p in (place / name).iterdir()})
    return made


def the(packages, ending):
    return next(p for name, p in packages[0].items() if name.endswith(ending))


def said_by(*command):
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=True).stdout


FILES = ["/usr/bin/clusterbench", "/usr/share/man/man1/clusterbench.1.gz", "/usr/share/man/man1/clusterbench-signoff.1.gz",
         "/usr/share/bash-completion/completions/clusterbench", "/usr/share/fish/vendor_completions.d/clusterbench.fish",
         "/usr/share/clusterbench/profiles/host-quick.json", "/usr/share/clusterbench/templates/cluster/slurm/acceptance.sbatch",
         "/usr/share/doc/clusterbench/LICENSE", "/usr/share/doc/clusterbench/licences/fmtlib.txt",
         "/usr/share/doc/clusterbench/sbom.spdx.json", "/usr/share/doc/clusterbench/docs/examples/host/report.en.html"]


def test_packages_are_the_same_bytes_twice(packages):
    assert set(packages[0]) == set(packages[1]) and len(packages[0]) == 2
    for name, file in packages[0].items():
        assert file.read_bytes() == packages[1][name].read_bytes(), name


def test_the_deb_needs_libc_alone_and_has_every_file(packages):
    deb = the(packages, "_amd64.deb")
    assert said_by("dpkg-deb", "--field", deb, "Depends").strip() == "libc6 (>= 2.28)"
    recommended = said_by("dpkg-deb", "--field", deb, "Recommends").strip()
    assert recommended == "libibverbs1, libopenblas0-pthread | libopenblas0, openmpi-bin | mpich"
    lines = said_by("dpkg-deb", "--contents", deb).splitlines()
    found = {line.split()[5][1:]: line for line in lines}
    assert set(FILES + ["/usr/share/zsh/vendor-completions/_clusterbench", "/usr/share/doc/clusterbench/copyright"]) <= set(found)
    assert {line.split()[1] for line in lines} == {"root/root"}
    assert {line.split()[3] for line in lines} == {"2023-11-14"}
    assert found["/usr/bin/clusterbench"].startswith("-rwxr-xr-x")


def test_the_rpm_needs_libc_alone_and_has_every_file(packages):
    rpm = the(packages, ".x86_64.rpm")
    requires = said_by("rpm", "-qp", "--requires", rpm).splitlines()
    assert [r for r in requires if not r.startswith("rpmlib(")] == ["glibc >= 2.28"]
    assert said_by("rpm", "-qp", "--recommends", rpm).split() == ["libibverbs", "openblas", "openmpi"]
    assert set(FILES + ["/usr/share/zsh/site-functions/_clusterbench"]) <= set(said_by("rpm", "-qpl", rpm).splitlines())
    assert said_by("rpm", "-qp", "--qf", "%{LICENSE} %{ARCH} %{BUILDTIME} %{BUILDHOST}", rpm) == "Apache-2.0 x86_64 1700000000 localhost"


def test_the_list_of_parts_names_the_files_of_the_release_with_their_sums(packages, tmp_path):
    deb = the(packages, "_amd64.deb")
    (tmp_path / "sbom.json").write_text('{"documentNamespace": "https://spdx.org/spdxdocs/x", "relationships": []}\n')
    done = subprocess.run([SOURCE / "ci/portable/sbom.py", "--files", tmp_path / "sbom.json", deb.name], text=True, capture_output=True,
                          timeout=60, check=True, cwd=deb.parent)
    parts = json.loads(done.stdout)
    sums = {c["algorithm"]: c["checksumValue"] for c in parts["files"][0]["checksums"]}
    assert sums["SHA256"] == hashlib.sha256(deb.read_bytes()).hexdigest()
    assert parts["files"][0]["fileName"] == f"./{deb.name}"
    assert parts["relationships"] == [{"spdxElementId": parts["files"][0]["SPDXID"], "relationshipType": "CONTAINS",
                                       "relatedSpdxElement": "SPDXRef-clusterbench"}]
