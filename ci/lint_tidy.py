#!/usr/bin/python3
"""Runs clang-tidy (.clang-tidy) on the sources below src/, in parallel, from compile_commands.json, which
holds one entry for several files where CMake joined them (BUILD_DIRECTORY/…/Unity/*.cxx).

With files named, only these are read: seconds, before a commit. A header is read in a .cpp file that includes it, directly or
not: in a named one, else in its own, else in the first. A .cpp file is read alone, or with all that CMake joined with it where
three or more of them are named, which takes less time.

What was clean is not checked again while it, all project files that it includes, its compile
command, .clang-tidy and clang-tidy stay the same: BUILD_DIRECTORY/tidy/<sha256> marks it.
"""
import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SECONDS_PER_FILE = 900  # on a busy machine


def own_files(path, seen):
    """The file and all project files that it includes, directly or not."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        own_files(ROOT / "src" / header, seen)  # joined files are named by their whole path
        own_files(ROOT / header, seen)


def key_of(entry, settings):
    seen = set()
    own_files(Path(entry["file"]), seen)
    digest = hashlib.sha256(settings + entry["command"].encode())
    for path in sorted(seen):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check(entry, build, settings):
    """Empty when the file is clean, else what clang-tidy said."""
    stamp = build / "tidy" / key_of(entry, settings)
    if stamp.exists():
        return ""
    # Compiler warnings are the build's business, and the command is GCC's: -w keeps clang from adding
    # its own, and from stumbling over warnings that only GCC knows.
    command = ["clang-tidy", "--quiet", "--extra-arg=-w", "--extra-arg=-Wno-unknown-warning-option",
               "-p", str(build), entry["file"]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_FILE,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return f"{entry['file']}: clang-tidy took more than {SECONDS_PER_FILE} s"
    if done.returncode:
        return done.stdout + done.stderr
    stamp.touch()
    return ""


def compiled(entries):
    """The .cpp files that the entries compile."""
    for entry in entries:
        joined = Path(entry["file"])
        if joined.parent.name == "Unity":
            yield from map(Path, INCLUDE.findall(joined.read_text(encoding="utf-8")))
        else:
            yield joined


def with_headers(named, entries):
    """The .cpp files among the named, and one for each header that none of them includes. Says which headers nothing includes."""
    files = sorted(compiled(entries))
    reads = {}
    for path in files:
        reads[path] = set()
        own_files(path, reads[path])
    chosen = {path: None for path in named if path.suffix == ".cpp"}
    for header in (path for path in named if path.suffix == ".h"):
        readers = [path for path in files if header in reads[path]]
        if not readers:
            print(f"clang-tidy: {header.relative_to(ROOT)} is not read: no file that is compiled here includes it")
        elif not any(path in chosen for path in readers):
            own = header.with_suffix(".cpp")
            chosen[own if own in readers else readers[0]] = None
    return chosen


MANY = 3  # files of one joined file: reading that takes less time than each alone


def of_named(entry, named):
    """The compiler runs that read those of the named files that this entry compiles."""
    joined = Path(entry["file"])
    if joined in named:
        return [entry]
    if joined.parent.name != "Unity":
        return []
    text = joined.read_text(encoding="utf-8")
    inside = [path for path in named if f'"{path}"' in text]
    if len(inside) >= MANY:
        return [entry]
    return [{**entry, "file": str(path), "command": entry["command"].replace(str(joined), str(path))} for path in inside]


def check_alone(entry):
    arguments = shlex.split(entry["command"])[1:]
    arguments = arguments[1:] if arguments[0].endswith(("c++", "g++")) else arguments  # behind ccache
    command = ["clang-tidy", "--quiet", "--extra-arg=-w", "--extra-arg=-Wno-unknown-warning-option", entry["file"],
               "--", *(a for a in arguments if a != entry["file"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_FILE, cwd=entry["directory"],
                          stdin=subprocess.DEVNULL, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main(build, named):
    database = build / "compile_commands.json"
    if not database.exists():
        print(f"{database} is missing: run ci/lint.sh")
        return 1
    entries = [e for e in json.loads(database.read_text())
               if Path(e["file"]).is_relative_to(ROOT / "src") or Path(e["file"]).parent.name == "Unity"]
    if not any(Path(e["file"]).parent.name == "Unity" for e in entries):
        print(f"{database}: no joined files: is it configured with CMAKE_UNITY_BUILD?")
        return 1
    if named:
        paths = with_headers([path.resolve() for path in named], entries)
        return report([run for entry in entries for run in of_named(entry, paths)], check_alone)
    (build / "tidy").mkdir(exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    settings = (ROOT / ".clang-tidy").read_bytes() + version
    return report(entries, lambda entry: check(entry, build, settings))


def report(entries, check_one):
    failed = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for said in pool.map(check_one, entries):
            if said:
                failed += 1
                print(said)
    print(f"clang-tidy: {len(entries)} compiler runs, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, metavar="BUILD_DIRECTORY")
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    options = parser.parse_args()
    sys.exit(main(options.build.resolve(), options.files))
