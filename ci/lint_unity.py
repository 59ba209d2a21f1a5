#!/usr/bin/python3
"""Finds helpers that two files of a room define alike. The presets but dev and tsan compile several files of a room in
one run (docs/design/decisions/0008-several-files-per-compiler-run.md), and their anonymous namespaces are then one: the
second definition breaks a build only once the two files come into one batch.

Looked at is what stands directly in an anonymous namespace: types, aliases, constants, and functions with their
parameters' types, since functions that differ in these may stand side by side.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOISE = re.compile(r'R"([^(]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*',
                   re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\s*(?:struct|class|union|enum(?:\s+class)?)\s+(?:alignas\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?:$|:)")
ALIAS = re.compile(r"\s*using\s+(\w+)\s*=")
FUNCTION = re.compile(r"([\w~]+|operator\s*\S+)\s*\(")
VALUE = re.compile(r"(?<![=!<>])=(?!=)")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^]]*\]\s*)*$")
APART = re.compile(r"unit_(\w+) PROPERTIES UNITY_BUILD OFF")
FOR_ONE_PROCESSOR = re.compile(r"^#if.*__(?:x86_64|aarch64)__", re.MULTILINE)
ALONE = re.compile(r"\$\{PROJECT_SOURCE_DIR\}/(\S+\.cpp)")


def without_templates(text):
    """Without `template <…>` in front."""
    text = text.strip()
    if not text.startswith("template"):
        return text
    depth = 0
    for at, c in enumerate(text):
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == ">" and depth == 0:
            return without_templates(text[at + 1:])
    return ""


def parameters(text):
    """The types in a list of parameters, which begins behind its bracket: without names and defaults."""
    parts, depth, part = [], 0, ""
    for c in text:
        if c == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts, part = [*parts, part], ""
        else:
            part += c
    types = [re.sub(r"\s*=.*", "", p, flags=re.DOTALL).strip() for p in [*parts, part]]
    return ", ".join(re.sub(r"\s+", " ", re.sub(r"(?<=[\w>&*\]])(\s+|(?<=[&*]))\w+$", "", t)) for t in types)


def has_value(head):
    """True for `int a = …`, not for `int f(int a = 1)`."""
    return bool(VALUE.search(head.split("(")[0]))


def name_of(head, body):
    """What a declaration defines: a name, a function with its parameters' types, or nothing. `body`: braces follow."""
    head = without_templates(head)
    if not head or re.match(r"(?:using\s+namespace|using\s+[\w:]+\s*$|namespace\s+\w+\s*=|static_assert|friend|extern|TEST_CASE|DOCTEST)", head):
        return None
    if found := TYPE.match(head):
        return found[1] if body else None
    if found := ALIAS.match(head):
        return found[1]
    found = FUNCTION.search(head)
    if found and not has_value(head):
        return f"{found[1]}({parameters(head[found.end():])})" if body else None
    head = VALUE.split(head)[0].strip()
    found = VARIABLE.search(head)
    return found[1] if found and re.search(r"\s", head) else None


def definitions(text):
    """(namespace, name) and declaration of everything that stands directly in an anonymous namespace."""
    text = re.sub(r"\[\[.*?\]\]", "", NOISE.sub(lambda m: '""' if m[0][0] in "R\"'" else " ", text), flags=re.DOTALL)
    spaces, inner, value, head = [], 0, False, ""
    for c in text:
        if inner:
            inner += {"{": 1, "}": -1}.get(c, 0)
            continue
        if value:  # braces of a value: its declaration goes on to the semicolon
            value = c != ";"
            inner = 1 if c == "{" else 0
            continue
        if c == "{" and (opened := NAMESPACE.match(head)):
            spaces, head = [*spaces, opened[1]], ""
        elif c in "{;":
            if spaces and spaces[-1] == "" and (name := name_of(head, c == "{")):
                yield ("::".join(filter(None, spaces)), name), " ".join(head.split())
            inner = 1 if c == "{" else 0
            value = bool(inner) and has_value(head)
            head = ""
        elif c == "}":
            spaces, head = spaces[:-1], ""
        else:
            head += c


def rooms(root):
    """Folder of each library or test program -> its files that may come into one batch."""
    alone = {p for glob in ALONE.findall((root / "ci/cmake/unity.cmake").read_text(encoding="utf-8")) for p in root.glob(glob)}
    out = defaultdict(list)
    for path in sorted(root.glob("src/**/*.cpp")):
        parts = path.relative_to(root / "src").parts
        if path not in alone and not FOR_ONE_PROCESSOR.search(path.read_text(encoding="utf-8")):
            out["/".join(parts[:2]) if parts[0] == "bench" and len(parts) > 2 else parts[0]].append(path)
    apart = APART.findall((root / "ci/cmake/tests.cmake").read_text(encoding="utf-8"))
    for path in sorted(root.glob("tests/unit/**/*.cpp")):
        room = path.relative_to(root).parts[2]
        if room not in apart:
            out["tests/unit/" + room].append(path)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the tree that is checked")
    root = parser.parse_args().root
    failed = 0
    for room, paths in rooms(root).items():
        first = {}
        for path in paths:
            for found, declaration in definitions(path.read_text(encoding="utf-8")):
                other, same = first.setdefault(found, (path, declaration))
                if other == path or declaration == same and declaration.startswith("using "):
                    continue
                failed += 1
                print(f"{path.relative_to(root)}: {found[1]} is also in {other.relative_to(root)}: one compiler run may take both")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
