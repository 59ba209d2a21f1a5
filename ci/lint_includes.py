#!/usr/bin/python3
"""Checks the include arrows between the rooms, where outside headers may be used, file lengths, and that a class
has a name of its own: of two in one namespace the linker takes either's destructor for both. Nothing outside of
src/bench may depend on a case's name: what others must know is a field of CaseInfo.

The CMake targets enforce most arrows through the linker; this also sees headers, and says which line.
"""
import argparse
import re
import sys
from pathlib import Path

# Room -> the rooms that it may include besides itself. A room that is not named here is an error. Each folder of
# src/bench is a room of its own: a domain sees the harness and what stands here. Of a room that is followed by
# a colon, only that header.
HARNESS = {"bench/harness", "bench:cases.h", "kernels", "model", "sys", "core"}
ARROWS = {
    "core": set(),
    "kernels": set(),
    "sys": {"core", "kernels:module_table.h"},
    "model": {"core"},
    "judge": {"core", "model:disturbance.h"},
    "import": {"core", "model:audit.h", "model:module.h"},
    "bench/harness": {"sys", "model", "core"},
    "bench/cpu": HARNESS,
    "bench/external": HARNESS | {"import"},
    "bench/gpu": HARNESS,
    "bench/host": HARNESS,
    "bench/network": HARNESS | {"import"},
    "bench/skeleton": HARNESS,
    "bench/storage": HARNESS,
    "bench/training": HARNESS | {"bench/collectives", "bench/cpu", "bench/gpu"},
    "bench/collectives": HARNESS | {"bench/gpu", "bench/network"},
    "bench": {"bench/harness"},
    "campaign": {"judge", "model:disturbance.h", "model:schedule.h", "core"},
    "report": {"judge", "model:layout.h", "model:module_register.h", "model:picture.h", "core"},
    "cli": {"core", "kernels", "sys", "model", "judge", "bench", "bench/harness", "bench/cpu:blas_choice.h",
            "campaign", "report"},
}
# Outside headers and the rooms that may use them: a library is wrapped once, in one room.
OUTSIDE = [
    (r"CLI/", {"cli"}),
    (r"kainjow/|pugixml", {"report"}),
    (r"mpi\.h|infiniband/|rdma/|liburing|hwloc|nvml|nccl|cufile|cublas", {"sys", "bench"}),
    (r"cuda", {"sys", "bench", "kernels"}),
]
MAX_LINES = 600
ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{|^\}  // namespace", re.MULTILINE)
CLASS = re.compile(r"^(?:struct|class)\s+(?:\[\[\w+\]\]\s+)?([A-Z]\w+)[^;{]*\{", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def room_of(parts):
    """The room of a path below src/, or of one that begins with kernels/."""
    return "/".join(parts[:2]) if parts[0] == "bench" and len(parts) > 2 else parts[0]


def allowed(room, header):
    target = room_of(header.split("/"))
    return target == room or target in ARROWS[room] or target + ":" + header.split("/")[-1] in ARROWS[room]


def check_include(room, header, quoted, is_header):
    if not quoted:
        if is_header and header == "nlohmann/json.hpp":
            yield "json.hpp in a header: include <nlohmann/json_fwd.hpp>, json.hpp only in .cpp files"
        for pattern, rooms in OUTSIDE:
            if re.match(pattern, header) and room.split("/")[0] not in rooms:
                yield f"<{header}> belongs to {', '.join(sorted(rooms))}, not to {room}"
        return
    base = ROOT if header.startswith("kernels/") else ROOT / "src"
    if not (base / header).is_file():
        yield f'"{header}" is no file below src/: write includes from src/, e.g. "core/units.h"'
    elif not allowed(room, header):
        yield f'"{header}": {room} may not include it'


def check_source(path):
    parts = path.relative_to(ROOT).parts
    room, text = room_of(parts[1:] if parts[0] == "src" else parts), path.read_text(encoding="utf-8")
    if room not in ARROWS:
        yield 1, f"{room} is no room of the architecture: {', '.join(ARROWS)}"
        return
    is_header = path.suffix == ".h"
    if is_header and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield 1, "header without #pragma once"
    if path.suffix == ".cpp" and "nlohmann::" in text and "#include <nlohmann/json.hpp>" not in text:
        yield 1, "uses nlohmann::json without its header: a neighbour in the unity batch lends it"
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            quoted = found[1] == '"'
            for problem in check_include(room, found[2], quoted, is_header):
                yield number, problem


def classes(path):
    """(line, name with its namespace) of each class that a header defines outside of others."""
    text = path.read_text(encoding="utf-8")
    for found in CLASS.finditer(text):
        spaces = []
        for space in NAMESPACE.finditer(text, 0, found.start()):
            spaces = spaces + [space[1]] if space[1] else spaces[:-1]
        yield text.count("\n", 0, found.start()) + 1, "::".join(spaces + [found[1]])


def check_class_names(headers):
    first = {}
    for path in headers:
        for line, name in classes(path):
            if first.setdefault(name, path) != path:
                yield path, line, f"{name} is also in {first[name].relative_to(ROOT)}: rename one"


def case_names():
    return {name for path in files(["src/bench"], {".cpp"}) if path.name.endswith("_case.cpp")
            for name in re.findall(r'^\s+\.name = "(\w+)",$', path.read_text(encoding="utf-8"), re.MULTILINE)}


def check_case_names(path, names):
    """A comparison with a case's name, which a field of CaseInfo should answer."""
    compared = re.compile(r'case_name\s*[!=]=\s*"|[!=]=\s*"(?:' + "|".join(sorted(names)) + r')"')
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if names and compared.search(line):
            yield number, "compares with a case's name: make it a field of CaseInfo (src/core/catalogue.h)"


def check_length(path):
    lines = path.read_text(encoding="utf-8").count("\n")
    if lines > MAX_LINES:
        yield 1, f"{lines} lines, at most {MAX_LINES}: split it by concern"


def files(folders, suffixes):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes:
                yield path


def main():
    problems = 0
    sources = list(files(["src", "kernels"], {".cpp", ".h", ".cu"}))
    if not sources:
        print(f"{ROOT}: no sources found")
        return 1
    written = files(["src", "kernels", "tests", "ci"], {".cpp", ".h", ".cu", ".py", ".sh", ".cmake"})
    checks = [(path, check_source) for path in sources] + [(path, check_length) for path in written]
    for path, check in checks:
        for line, problem in check(path):
            print(f"{path.relative_to(ROOT)}:{line}: {problem}")
            problems += 1
    names = case_names()
    for path in sources:
        if not path.is_relative_to(ROOT / "src/bench"):
            for line, problem in check_case_names(path, names):
                print(f"{path.relative_to(ROOT)}:{line}: {problem}")
                problems += 1
    for path, line, problem in check_class_names([p for p in sources if p.suffix == ".h"]):
        print(f"{path.relative_to(ROOT)}:{line}: {problem}")
        problems += 1
    return 1 if problems else 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sys.exit(main())
