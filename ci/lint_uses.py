#!/usr/bin/python3
"""Finds files that use what they do not include. The compiler may not notice: several files are compiled
in one run, and a library's header may happen to include another.

Looked at are the names below of the standard library, and types that one project header alone defines. An
include may come through project headers; what library headers include among themselves does not count.
"""
import argparse
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STANDARD = {
    "algorithm": "sort stable_sort min max clamp minmax_element max_element min_element find_if any_of all_of none_of nth_element "
                 "lower_bound upper_bound fill copy_n transform remove_if unique count_if equal reverse",
    "array": "array", "atomic": "atomic", "bit": "bit_cast popcount bit_width has_single_bit",
    "charconv": "from_chars to_chars", "chrono": "chrono", "cmath": "sqrt pow ceil floor log2 isfinite isnan llround lround",
    "condition_variable": "condition_variable", "csignal": "signal raise", "cstdlib": "getenv aligned_alloc strtod",
    "cstring": "memcpy memset memcmp strerror", "deque": "deque", "exception": "exception_ptr rethrow_exception",
    "filesystem": "filesystem", "fstream": "ifstream ofstream", "functional": "function greater less",
    "initializer_list": "initializer_list", "iterator": "back_inserter inserter istreambuf_iterator",
    "map": "map multimap", "memory": "unique_ptr shared_ptr make_unique make_shared weak_ptr", "mutex": "mutex lock_guard unique_lock",
    "numeric": "accumulate iota partial_sum gcd", "optional": "optional nullopt", "random": "mt19937_64 mt19937 normal_distribution",
    "regex": "regex smatch regex_search", "set": "set multiset", "span": "span", "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error invalid_argument logic_error out_of_range", "string": "string to_string stoi",
    "string_view": "string_view", "thread": "thread this_thread", "tuple": "tuple tie", "type_traits": "is_same_v decay_t enable_if_t",
    "unordered_map": "unordered_map", "unordered_set": "unordered_set", "utility": "exchange pair make_pair",
    "variant": "variant visit get_if holds_alternative", "vector": "vector",
}
HEADER_OF = {name: header for header, names in STANDARD.items() for name in names.split()}
# Headers that the standard says bring another's names along.
ALSO = {"string": {"string_view", "initializer_list"}, "vector": {"initializer_list"}, "map": {"utility"}, "sstream": {"string"},
        "regex": {"string"}, "filesystem": {"string"}, "fstream": {"string"}, "tuple": {"utility"}, "unordered_map": {"utility"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
STD_NAME = re.compile(r"\bstd::(\w+)")
TYPE = re.compile(r"^(?:struct|class|enum class|enum)\s+([A-Z]\w+)[^;{]*\{", re.MULTILINE)
DECLARED = re.compile(r"\b(?:struct|class|enum|using|typename|concept|size_t|int|bool|auto)\s+([A-Z]\w+)")
WORD = re.compile(r"(?<![\w:.>])[A-Z]\w+")


@cache
def includes(path):
    """The library headers and the project headers that the file names itself."""
    library, own = set(), set()
    for kind, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for base in (ROOT / "src", ROOT) if kind == '"' else ():
            if (base / header).is_file():
                own.add(base / header)
        if kind == "<":
            library |= {header} | ALSO.get(header, set())
    return library, own


def reached(path):
    """Every library header and project file that the file includes through project files."""
    library, seen, waiting = set(), set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            named, own = includes(file)
            library |= named
            waiting += own
    return library, seen


@cache
def code(path):
    return NOISE.sub(" ", INCLUDE.sub(" ", path.read_text(encoding="utf-8")))


def types(files):
    """Type -> the one project header that defines it; types of several files are left out."""
    where = {}
    for path in files:
        for name in TYPE.findall(code(path)):
            where.setdefault(name, set()).add(path)
    return {name: next(iter(paths)) for name, paths in where.items() if len(paths) == 1 and next(iter(paths)).suffix == ".h"}


def findings(path, where):
    library, seen = reached(path)
    for name in sorted(set(STD_NAME.findall(code(path)))):
        header = HEADER_OF.get(name)
        if header and header not in library:
            yield f"std::{name} without <{header}>"
    declared = {name for file in seen for name in DECLARED.findall(code(file))}  # here, or a namesake
    for name in sorted((set(WORD.findall(code(path))) & where.keys()) - declared):
        if where[name] not in seen:
            yield f'{name} without "{where[name].relative_to(ROOT)}"'


def main():
    files = sorted(p for folder in ("src", "kernels") for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".h", ".cu"))
    where = types(files)
    found = [f"{path.relative_to(ROOT)}: {what}" for path in files for what in findings(path, where)]
    print("\n".join(found) if found else f"{len(files)} files, {len(where)} types")
    return 1 if found else 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sys.exit(main())
