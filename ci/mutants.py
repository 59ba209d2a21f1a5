#!/usr/bin/python3
"""Changes operators, conditions and constants in the code that judges, and asks whether a test notices.

usage: ci/mutants.py [--count 200] [--seed 1] [--rooms core,model,judge,campaign] [--cli] [--jobs N] [--keep DIR]

Draws COUNT places at random in the rooms, makes one change at a time in a copy of the tree (never in this one),
builds the unit tests that cover the room and runs them. A test that fails, or that does not end, has killed the
mutant; a change that does not compile is drawn again. With --cli survivors also meet the command line tests of
run, gate, report and signoff.
Prints one line a mutant and, at the end, the survivors and the share that was killed. Exit 0 if it is 90 % or more.
"""

import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A room and the unit tests that are built and run for a change in it, the quickest first.
COVERED_BY = {
    "core": ["core", "judge", "campaign", "report"],
    "model": ["model", "judge"],
    "judge": ["judge", "campaign", "report"],
    "campaign": ["campaign", "report"],
}
CLI_TESTS = ["test_gate.py", "test_bad_campaign.py", "test_profile.py", "test_run.py", "test_report.py",
             "test_signoff.py", "test_paperwork.py", "test_schema.py", "test_sweep.py"]
# Words for people and tables of names: a change in them is a change of wording.
NOT_LOGIC = re.compile(r"/(texts|text_names|text_reasons|suggest|embedded)\.cpp$")
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
         (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "),
         (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r"\breturn true;", "return false;"),
         (r"\breturn false;", "return true;"), (r"\bif \(!", "if ("), (r"\bif \((?!!|const |auto |constexpr )", "if (!"),
         (r"\bstd::max\(", "std::min("), (r"\bstd::min\(", "std::max("), (r"any_of\(", "all_of("),
         (r"all_of\(", "any_of(")]
NUMBER = re.compile(r"(?<![\w.\"'%x])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.\"'])")
COMPILE_SECONDS, TEST_SECONDS = 900, 300


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


class Tree:
    """A copy of the sources with a build of its own: unoptimised, since every mutant is compiled."""

    def __init__(self, where, jobs):
        self.root, self.jobs = where, jobs
        tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
        for name in tracked.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self.build_dir = self.root / "build/mutants"

    def configure(self):
        run(["cmake", "-S", self.root, "-B", self.build_dir, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
             "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCLUSTERBENCH_CUDA=OFF", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"],
            check=True)

    def build(self, *targets):
        command = ["cmake", "--build", self.build_dir, "--parallel", str(self.jobs), "--target", *targets]
        return run(command, timeout=COMPILE_SECONDS).returncode == 0


def run(command, timeout=None, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **more)


def notices(command, cwd, env=None):
    try:
        return run(command, timeout=TEST_SECONDS, cwd=cwd, env=env).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def killer(tree, room, with_cli):
    """The test that notices; nothing if none does; "invalid" if it does not compile."""
    tests = [f"unit_{name}" for name in COVERED_BY[room]]
    environment = {"CLUSTERBENCH_SOURCE_DIR": str(tree.root), "CLUSTERBENCH_BUILD_DIR": str(tree.build_dir),
                   "CLUSTERBENCH_BIN": str(tree.build_dir / "bin/clusterbench"), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    for test in tests:
        if not tree.build(test):
            return "invalid"
        if notices([tree.build_dir / "bin" / test, "--abort-after=1"], tree.root, environment):
            return test
    if not with_cli or not tree.build("clusterbench"):
        return None
    for test in CLI_TESTS:
        command = ["/usr/bin/python3", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/cli/{test}"]
        if notices(command, tree.root, environment):
            return test
    return None


def describe(path, text, begin, end, new):
    line = text.count("\n", 0, begin) + 1
    row = text.splitlines()[line - 1].strip()
    return f"{path}:{line}: {text[begin:end].strip()} → {new.strip()}    {row[:90]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(COVERED_BY))
    parser.add_argument("--cli", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="work in this directory and leave it: a second draw builds less")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        return draw(Tree(options.keep or pathlib.Path(scratch), options.jobs), options)


def draw(tree, options):
    random.seed(options.seed)
    tree.configure()
    rooms = options.rooms.split(",")
    targets = sorted({f"unit_{t}" for room in rooms for t in COVERED_BY[room]})
    if not tree.build(*targets) or (options.cli and not tree.build("clusterbench")):
        sys.exit("mutants.py: the unchanged tree does not build")
    for room in rooms:
        by = killer(tree, room, False)
        if by:
            sys.exit(f"mutants.py: {by} fails without any change")
    changes = [(room, path.relative_to(tree.root), change)
               for room in rooms for path in sorted((tree.root / "src" / room).rglob("*.cpp"))
               if not NOT_LOGIC.search(str(path)) for change in places(path)]
    random.shuffle(changes)
    survivors, tried = [], 0
    for room, path, (begin, end, new) in changes:
        if tried == options.count:
            break
        file = tree.root / path
        text = file.read_text()
        file.write_text(text[:begin] + new + text[end:])
        try:
            by = killer(tree, room, options.cli)
        finally:
            file.write_text(text)
        if by == "invalid":
            continue
        tried += 1
        what = describe(path, text, begin, end, new)
        print(f"{tried:4} {'killed by ' + by if by else 'SURVIVES':26} {what}", flush=True)
        if not by:
            survivors.append(what)
    killed = tried - len(survivors)
    print(f"\nseed {options.seed}: {killed} of {tried} killed ({100 * killed / max(tried, 1):.1f} %)")
    print("".join(f"  {s}\n" for s in survivors), end="")
    return 0 if tried and killed >= 0.9 * tried else 1


if __name__ == "__main__":
    sys.exit(main())
