#!/usr/bin/python3
"""Changes operators, conditions and constants in the code that judges, and asks whether a test notices.

usage: ci/mutants.py [--count 200] [--seed 1] [--rooms core,model,judge,campaign] [--cli] [--jobs N] [--keep DIR]
       ci/mutants.py [--cli] [--keep DIR] --only FILE:LINE[:NTH]…

Draws COUNT places at random in the rooms' .cpp files and makes one change at a time. The unchanged tree is built
once, in a copy (kept in DIR if one is given: the next draw builds only what is new). A change is made in a scratch
file, compiled alone and linked in front of the room's library into the unit tests that cover the room.
A mutant is killed by a test that fails twice in a row, or that takes five times as long as without the change; a
change that does not compile is drawn again. Test cases that take more than a twentieth of their executable's time
are run only for files whose names begin with the same word as their own. With --cli survivors also meet the command line tests.
The tests run where they see no other process and can write nothing but the scratch folder: a changed kill() or
remove() reaches no further.
Prints one line a mutant and, at the end, shares by room and the survivors. Exit 0 if 90 % or more were killed.
--only makes all changes of a line, or the nth of them, and says which test notices.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import queue
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A room and the unit tests that are linked and run for a change in it, the nearest first.
COVERED_BY = {
    "core": ["core", "judge", "campaign"],
    "model": ["model", "judge"],
    "judge": ["judge", "campaign"],
    "campaign": ["campaign"],
}
SLOW_UNIT = "report"  # renders whole reports: with --cli only, and before the command line tests
CLI_TESTS = ["test_gate.py", "test_bad_campaign.py", "test_profile.py", "test_run.py", "test_report.py",
             "test_signoff.py", "test_paperwork.py", "test_schema.py", "test_sweep.py", "test_bundle.py",
             "test_compare.py", "test_attempts.py"]
# Tables of what belongs together by meaning: a number in them is a name.
NOT_LOGIC = re.compile(r"/(text_names|text_reasons|suggest_options)\.cpp$")
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
         (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "),
         (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r"\breturn true;", "return false;"),
         (r"\breturn false;", "return true;"), (r"\bif \(!", "if ("), (r"\bif \((?!!|const |auto |constexpr )", "if (!"),
         (r"\bstd::max\(", "std::min("), (r"\bstd::min\(", "std::max("), (r"any_of\(", "all_of("),
         (r"all_of\(", "any_of(")]
NUMBER = re.compile(r"(?<![\w.\"'%x])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.\"'])")
COMPILE_SECONDS = 600
TIMES = "*in under*"  # test cases of how long something takes: not for unoptimised code


def blanked(text):
    """The text with comments, strings, characters and preprocessor lines as blanks, every offset kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#[^\n]*|static_assert\([^;]*;'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", "\1", m[0]), text, flags=re.S | re.M)


def negated(text, begin):
    """`if (a)` at begin becomes `if (!(a))`."""
    start, depth = text.index("(", begin), 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            inside = text[start + 1:i]
            return None if ";" in inside else (start, i + 1, f"(!({inside}))")
    return None


def places(path):
    """All changes of a file: (begin, end, new text)."""
    text = path.read_text()
    code = blanked(text)
    for pattern, new in SWAPS:
        for m in re.finditer(pattern, code):
            if new == "if (!":
                change = negated(text, m.start())
                if change:
                    yield change
            else:
                yield m.start(), m.end(), new
    for m in NUMBER.finditer(code):
        number = m[1]
        yield m.start(1), m.end(1), str(int(number) + 1) if number.isdigit() else f"{float(number) * 1.5:g}"


def without(cases):
    return "--test-case-exclude=" + ",".join(case.replace(",", "?") for case in cases)


def run(command, timeout=None, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **more)


def sandboxed(scratch, command):
    """The command with processes of its own and everything but scratch read-only."""
    prepare = f"mount --bind {scratch} {scratch} && mount -o remount,ro,bind / && exec {shlex.join(map(str, command))}"
    mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *mine, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", prepare]


class Tree:
    """A copy of the sources with an unoptimised build, and what is needed to compile and link one changed file."""

    def __init__(self, where, jobs):
        self.root, self.jobs, self.build_dir = where / "tree", jobs, where / "tree/build/mutants"
        self.limits, self.slow = {}, {}
        listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True).stdout.split("\0")
        for name in filter(None, listed):
            self.copy(name)
        for old in self.root.rglob("*"):  # what an earlier draw left here and is gone since
            if old.is_file() and not old.is_relative_to(self.root / "build") and not (ROOT / old.relative_to(self.root)).exists():
                old.unlink()

    def copy(self, name):
        """Only what differs, with the time of now: a file that was put back may be older than its object."""
        old, new = self.root / name, ROOT / name
        if new.is_file() and not (old.is_file() and old.read_bytes() == new.read_bytes()):
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new, old)

    def build(self, targets):
        # Only of the rooms that are drawn from files are exchanged one by one: all else compiles eight files at a time.
        rooms = " ".join("cb_" + room for room in COVERED_BY)
        read_once = self.build_dir / "slow_headers.pch"
        hook = self.build_dir.with_name("mutants.cmake")
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text(f"""cmake_language(DEFER CALL set_target_properties {rooms} PROPERTIES UNITY_BUILD OFF)
cmake_language(DEFER CALL set_target_properties cb_test_main PROPERTIES INTERFACE_COMPILE_OPTIONS "")
foreach(t {rooms} {' '.join(t for t in targets if t.startswith("unit_"))} cb_report)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL target_compile_options ${{t}} PRIVATE -include-pch {read_once})")
endforeach()
""")
        run(["cmake", "-S", self.root, "-B", self.build_dir, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
             "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -w", "-DCLUSTERBENCH_CUDA=OFF",
             "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold", "-DCMAKE_UNITY_BUILD=ON",
             f"-DCMAKE_PROJECT_INCLUDE={hook}"], check=True)
        entries = json.loads((self.build_dir / "compile_commands.json").read_text())
        self.compile_of = {e["file"]: what_it_sees(e["command"]) for e in entries}
        self.precompile(read_once)
        built = run(["cmake", "--build", self.build_dir, "--parallel", str(self.jobs), "--target", *targets])
        if built.returncode != 0:
            sys.exit("mutants.py: the unchanged tree does not build\n" + built.stdout[-3000:])
        self.link_of = {t: self.link_command(t) for t in targets}

    def link_command(self, target):
        lines = run(["ninja", "-C", self.build_dir, "-t", "commands", target]).stdout.splitlines()
        return shlex.split(next(line for line in reversed(lines) if f"-o bin/{target}" in line).strip(": &"))

    def precompile(self, read_once):
        """The slow headers, read once: with them a file compiles in half the time."""
        if read_once.exists():
            return
        header = self.build_dir / "slow_headers.h"
        header.write_text("".join(f"#include <{h}>\n" for h in (
            "nlohmann/json.hpp", "fmt/format.h", "fmt/ranges.h", "algorithm", "filesystem", "map", "regex", "set")))
        seen = self.compile_of[str(self.root / "src/judge/verdict.cpp")]
        run(["clang++", "-O0", "-w", *seen, "-x", "c++-header", "-fpch-instantiate-templates", header, "-o", read_once],
            cwd=self.build_dir, check=True)

    def compile(self, path, text, scratch):
        """The changed file's object, or nothing if it does not compile."""
        source, compiled = scratch / path.name, scratch / "changed.o"
        source.write_text(text)
        done = run(["clang++", "-O0", "-w", *self.compile_of[str(self.root / path)], "-include-pch",
                    self.build_dir / "slow_headers.pch", "-c", source, "-o", compiled],
                   timeout=COMPILE_SECONDS, cwd=self.build_dir)
        return compiled if done.returncode == 0 else None

    def link(self, target, compiled, scratch):
        """The test with the changed object in front of the libraries, which then lend it everything else."""
        command = list(self.link_of[target])
        at = command.index("-o")
        command[at:at + 2] = [compiled, "-o", scratch / target]
        done = run(command, timeout=COMPILE_SECONDS, cwd=self.build_dir)
        if done.returncode != 0:
            sys.exit(f"mutants.py: {target} does not link\n{done.stderr[-2000:]}")
        return scratch / target

    def environment(self, program, scratch):
        (scratch / "tmp").mkdir(exist_ok=True)
        return {"CLUSTERBENCH_SOURCE_DIR": str(self.root), "CLUSTERBENCH_BUILD_DIR": str(self.build_dir),
                "CLUSTERBENCH_BIN": str(program), "CLUSTERBENCH_TEST_CASES": "1", "TMPDIR": str(scratch / "tmp"),
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONDONTWRITEBYTECODE": "1",
                "LC_ALL": "C.UTF-8", "HOME": str(scratch / "tmp"), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}

    def fails(self, name, command, program, scratch):
        """What a test says twice in a row; nothing if it passes once."""
        for _ in range(2):
            shutil.rmtree(scratch / "tmp", ignore_errors=True)
            try:
                done = run(sandboxed(scratch, command), timeout=self.limits.get(name, 600), cwd=self.root,
                           env=self.environment(program, scratch))
            except subprocess.TimeoutExpired:
                return "it does not end"
            # A changed fork() may have become another program, which ends well.
            if done.returncode == 0 and re.search(r"Status: SUCCESS!|\d+ passed", done.stdout):
                return None
        return done.stdout[-9000:] + done.stderr[-1000:]

    def unit(self, name, program, scratch, near=None):
        """Runs the test files whose names begin with the changed file's first word, and then all but what is slow."""
        command = [program, "--abort-after=1"]
        said = near and self.fails(name, [*command, f"--source-file=*/{near}*_test.cpp", without([TIMES])], program, scratch)
        return said or self.fails(name, [*command, without([TIMES, *self.slow.get(name, [])])], program, scratch)

    def slow_cases(self, name, program, scratch):
        """Of a passing test the cases that take more than a twentieth of its time."""
        done = run(sandboxed(scratch, [program, "-d", without([TIMES])]), cwd=self.root,
                   env=self.environment(program, scratch))
        took = [(float(s), case) for s, case in re.findall(r"^([\d.]+) s: (.*)$", done.stdout, re.M)]
        return [case for s, case in took if s > 0.05 * sum(s for s, _ in took)]

    def cli(self, name, program, scratch):
        command = ["/usr/bin/python3", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                   f"--basetemp={scratch}/tmp/pytest", f"tests/cli/{name}"]
        return self.fails(name, command, program, scratch)


def what_it_sees(command):
    """The include paths, definitions and standard of a compile command, which both compilers understand."""
    words = shlex.split(command)
    return [word for before, w in zip(words, words[1:]) for word in
            ([before, w] if before == "-isystem" else [w] if re.match(r"-[ID]|-std=", w) else [])]


def first_failure(said):
    failing = next((block for block in said.split("=" * 79) if " ERROR: " in block), said)
    case = re.search(r"^TEST CASE:  (.*)$|^FAILED (\S+)", failing, re.M)
    return (case[1] or case[2]) if case else (said.strip().splitlines() or ["it crashes"])[-1][:80]


def killer(tree, room, path, text, with_cli, scratch):
    """(what notices, its words); (None, None) if nothing does; ("invalid", …) if the change does not compile."""
    compiled = tree.compile(path, text, scratch)
    if not compiled:
        return "invalid", None
    for name in COVERED_BY[room] + ([SLOW_UNIT] if with_cli else []):
        program = tree.link(f"unit_{name}", compiled, scratch)
        said = tree.unit(f"unit_{name}", program, scratch, path.stem.split("_")[0])
        if said:
            return f"unit_{name}", first_failure(said)
    if with_cli:
        program = tree.link("clusterbench", compiled, scratch)
        for name in CLI_TESTS:
            said = tree.cli(name, program, scratch)
            if said:
                return name, first_failure(said)
    return None, None


def units_of(rooms, with_cli):
    return sorted({f"unit_{t}" for room in rooms for t in COVERED_BY[room] + ([SLOW_UNIT] if with_cli else [])})


def measure_unchanged(tree, rooms, with_cli, scratch):
    """All tests pass without a change; with one they may take five times as long, and half a minute more."""
    kept = tree.build_dir / "limits.json"  # of tests that are what they were in the draw before
    known = json.loads(kept.read_text()) if kept.exists() else {}
    for name in units_of(rooms, with_cli) + (CLI_TESTS if with_cli else []):
        program = tree.build_dir / "bin" / (name if name.startswith("unit_") else "clusterbench")
        unit, seen = name.startswith("unit_"), program.stat().st_mtime
        if name in known:
            _, tree.limits[name], tree.slow[name] = known[name]
        if known.get(name, [0])[0] != seen:
            began = time.monotonic()
            said = (tree.unit if unit else tree.cli)(name, program, scratch)
            if said:
                sys.exit(f"mutants.py: {name} fails without any change\n{said}")
            if name in known:
                known[name][0] = seen
            else:
                known[name] = [seen, 30 + 5 * (time.monotonic() - began),
                               tree.slow_cases(name, program, scratch) if unit else []]
        _, tree.limits[name], tree.slow[name] = known[name]
    kept.write_text(json.dumps(known))


def describe(path, text, begin, end, new):
    line = text.count("\n", 0, begin) + 1
    row = text.splitlines()[line - 1].strip()
    return f"{path}:{line}: {text[begin:end].strip()} → {new.strip()}    {row[:90]}"


def chosen(path, name, only):
    """The changes that FILE:LINE[:NTH] mean, or all."""
    found, text = list(places(path)), path.read_text()
    if not only:
        return found
    out = []
    for file, line, *nth in (one.split(":") for one in only):
        of_line = sorted(c for c in found if file == str(name) and text.count("\n", 0, c[0]) + 1 == int(line))
        out += of_line[int(nth[0]):][:1] if nth else of_line
    return out


def changes_of(tree, rooms, only):
    for room in rooms:
        for path in sorted((tree.root / "src" / room).rglob("*.cpp")):
            if not NOT_LOGIC.search(str(path)):
                name = path.relative_to(tree.root)
                yield from ((room, name, change) for change in chosen(path, name, only))


def judged(tree, changes, options, scratches):
    """(room, description, killer, its words) of each change in the order of the draw; the unbuildable left out."""
    def one(item):
        room, path, (begin, end, new) = item
        text = (tree.root / path).read_text()
        scratch = scratches.get()
        try:
            by, words = killer(tree, room, path, text[:begin] + new + text[end:], options.cli, scratch)
        finally:
            scratches.put(scratch)
        return room, describe(path, text, begin, end, new), by, words

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = collections.deque(pool.submit(one, c) for c in itertools.islice(changes, 5 * options.jobs))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(one, c) for c in itertools.islice(changes, 1))
            if result[2] != "invalid":
                yield result
            elif options.only:
                print(f"does not compile: {result[1]}")
        # What is under way when the caller has enough is finished and left out.


def draw(tree, options, where):
    rooms = options.rooms.split(",")
    targets = units_of(rooms, options.cli)
    tree.build(targets + (["clusterbench"] if options.cli else []))
    scratches = queue.SimpleQueue()
    for i in range(options.jobs):
        (where / f"scratch{i}").mkdir(exist_ok=True)
        scratches.put(where / f"scratch{i}")
    measure_unchanged(tree, rooms, options.cli, where / "scratch0")
    changes = list(changes_of(tree, rooms, options.only))
    if not options.only:
        random.Random(options.seed).shuffle(changes)
    counts, survivors = collections.defaultdict(lambda: [0, 0]), []
    results = itertools.islice(judged(tree, iter(changes), options, scratches), options.count)
    for number, (room, what, by, words) in enumerate(results, 1):
        counts[room][0 if by else 1] += 1
        print(f"{number:4} {'killed by ' + by if by else 'SURVIVES':24} {what}" + (f"    [{words}]" if by else ""),
              flush=True)
        if not by:
            survivors.append(what)
    return summed_up(options.seed, counts, survivors)


def summed_up(seed, counts, survivors):
    killed, tried = sum(k for k, _ in counts.values()), sum(k + s for k, s in counts.values())
    print(f"\nseed {seed}: {killed} of {tried} killed ({100 * killed / max(tried, 1):.1f} %)")
    for room, (k, s) in sorted(counts.items()):
        print(f"  {room:10} {k} of {k + s}")
    print("".join(f"  {s}\n" for s in survivors), end="")
    return 0 if tried and killed >= 0.9 * tried else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(COVERED_BY))
    parser.add_argument("--cli", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", metavar="FILE:LINE[:NTH]", nargs="+")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this directory and leave it: a second draw builds less")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        where = (options.keep or pathlib.Path(scratch)).resolve()
        where.mkdir(parents=True, exist_ok=True)
        return draw(Tree(where, options.jobs), options, where)


if __name__ == "__main__":
    sys.exit(main())
