"""The pages of docs/ can be found and are true where a search can tell: links, indexes, names of files and options."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
DOCS = SOURCE / "docs"
MADE = ("docs/examples/h20-32-nodes", "docs/examples/host", "tests/golden")  # written by the program


def relative(path):
    return path.relative_to(SOURCE).as_posix()


PAGES = sorted(p for p in [*SOURCE.glob("*.md"), *DOCS.rglob("*.md")] if not relative(p).startswith(MADE))
NAMED = re.compile(r"\bdocs/[\w./-]+\.(?:md|json|sh)\b")
SOURCES = [p for room in ("src", "kernels", "ci", "tests", "docs", "profiles") for p in sorted((SOURCE / room).rglob("*"))
           if p.suffix in {".h", ".cpp", ".cu", ".py", ".sh", ".cmake", ".txt", ".json", ".md"}
           and not relative(p).startswith(MADE)] + [SOURCE / "CMakeLists.txt", *SOURCE.glob("*.md")]


def text_of(page):
    return page.read_text(encoding="utf-8")


def anchors(page):
    """The anchors that a page's headings get where Markdown is shown as HTML."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page):
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert not lost


def test_pages_that_sources_name_exist():
    lost = [f"{relative(source)}: {name}" for source in SOURCES for name in NAMED.findall(text_of(source))
            if not (SOURCE / name).exists()]
    assert not lost


def test_who_reads_what_names_every_page():
    index = text_of(DOCS / "README.md")
    pages = [p for room in ("guide", "methods") for p in sorted((DOCS / room).glob("*.md"))]
    assert pages
    assert not [relative(p) for p in pages if f"({p.relative_to(DOCS).as_posix()})" not in index]


def arrows_of_the_lint():
    code = (SOURCE / "ci" / "lint_includes.py").read_text(encoding="utf-8")
    namespace = {"__file__": str(SOURCE / "ci" / "lint_includes.py"), "__name__": "lint_includes"}
    exec(compile(code, "lint_includes.py", "exec"), namespace)  # pylint: disable=exec-used
    return namespace["ARROWS"], namespace["HARNESS"]


def test_the_rooms_on_the_page_are_those_of_the_lint():
    page = text_of(DOCS / "design" / "architecture.md")
    arrows, domain = arrows_of_the_lint()
    assert set(re.search(r"^\*domain\* is (.*?)\. ", page, re.MULTILINE)[1].split(", ")) == domain
    told = {}
    for room, seen in re.findall(r"^\| `([\w/]+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE):
        words = set(seen.split(", ")) - {"–"}
        told[room] = (words - {"*domain*"}) | (domain if "*domain*" in words else set())
    assert told == arrows


DECISIONS = sorted((DOCS / "design" / "decisions").glob("[0-9]*.md"))
DECISION = re.compile(r"# (?P<number>\d{4}) (?P<title>.+)\n\nStatus: (?P<status>accepted|superseded by (?P<by>\d{4})) *\n"
                      r"Date: \d{4}-\d\d\n\n## Context\n.+\n## Decision\n.+\n## Price\n.+", re.DOTALL)


@pytest.mark.parametrize("page", DECISIONS, ids=lambda p: p.stem)
def test_a_decision_has_its_parts(page):
    found = DECISION.fullmatch(text_of(page))
    assert found, "needs number and title, Status, Date (year and month), Context, Decision, Price in this order"
    assert page.name.startswith(found["number"] + "-")
    assert len(text_of(page).split()) <= 300
    if found["by"]:
        assert [p for p in DECISIONS if p.name.startswith(found["by"] + "-")]


def test_the_index_of_decisions_is_complete():
    numbers = [p.name[:4] for p in DECISIONS]
    assert numbers == [f"{i + 1:04}" for i in range(len(numbers))]
    lines = []
    for page in DECISIONS:
        found = DECISION.fullmatch(text_of(page))
        lines.append(f"| [{found['number']}]({page.name}) | {found['title']} | {found['status']} |")
    index = text_of(DOCS / "design" / "decisions" / "README.md").splitlines()
    assert sorted(line for line in index if line.startswith("| [")) == sorted(lines)


def test_no_decision_stands_outside_of_the_folder():
    assert len(text_of(DOCS / "decisions.md").splitlines()) == 2, "a decision is a page of docs/design/decisions"


METHODS = sorted((DOCS / "methods").glob("*.md"))


@pytest.mark.parametrize("page", METHODS, ids=lambda p: p.stem)
def test_a_method_is_short_and_has_the_fixed_headings(page):
    text = text_of(page)
    first, *others = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first in ("What is timed", "What goes in")
    assert others == ["Formulas", "What is checked", "What is not counted", "Limits"]
    assert len(text.split()) <= 900


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CONTRIBUTING.md"], ids=relative)
def test_words_that_a_stranger_stumbles_over_are_avoided(page):
    """The style rule of CONTRIBUTING.md, as far as a search can tell."""
    assert not re.findall(r"\b(?:likewise|whoever|so many)\b", text_of(page), re.IGNORECASE)


FILE_NAMED = re.compile(r"(?<![\w/.-])(?:src|tests|ci|kernels|profiles|templates)/[\w./-]*\w"
                        r"\.(?:cpp|h|cu|py|sh|json|txt|cmake)\b")
IN_A_ROOM = re.compile(r"(?<![\w/.-])(?:core|sys|model|judge|bench|campaign|report|cli)/[\w./-]*\w\.(?:cpp|h)\b")
TO_BE_MADE = re.compile(r"walk|/x_")  # the examples of CONTRIBUTING.md


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_files_that_a_page_names_exist(page):
    text = text_of(page)
    named = [*FILE_NAMED.findall(text), *("src/" + name for name in IN_A_ROOM.findall(text))]
    assert not [name for name in named if not (SOURCE / name).exists() and not TO_BE_MADE.search(name)]


ROOMS_OF_TESTS = re.compile(r"`((?:attack|cli|labs|mpi|scale|unit)/[\w/]+\.(?:py|cpp))::([^`]+)`")


def test_tests_that_a_page_names_exist():
    """`cli/test_x.py::test_y` and `unit/room/x_test.cpp::title of the case`."""
    named = ROOMS_OF_TESTS.findall(text_of(DOCS / "evidence/trust.md"))
    assert len(named) > 120
    lost = []
    for file, name in sorted(set(named)):
        whole = f"def {name}(" if file.endswith(".py") else f'"{name}"'
        path = SOURCE / "tests" / file
        if not path.exists() or whole not in text_of(path):
            lost.append(f"{file}::{name}")
    assert not lost


# Options of mpirun, srun, cmake and other tools that stand in the pages, and what a user might type by mistake.
OF_OTHERS = {"--allow-run-as-root", "--arch", "--bind-to", "--bs", "--build", "--host", "--install", "--iodepth", "--kill-on-bad-exit", "--mca",
             "--mpi", "--nodelist", "--ntasks-per-node", "--oversubscribe", "--prefix", "--preset", "--print", "--without-roots"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
USED_BY_A_READER = [SOURCE / "README.md", *sorted((DOCS / "guide").glob("*.md")), *METHODS]


def help_of(*words):
    return subprocess.run([os.environ["CLUSTERBENCH_BIN"], *words, "--help"], capture_output=True, text=True, timeout=60,
                          check=True).stdout


@pytest.fixture(scope="module")
def options():
    found = set(OPTION.findall(help_of()))
    subcommands = re.findall(r"^  ([a-z][a-z-]+)  ", help_of(), re.MULTILINE)
    assert "gemm" in subcommands and "signoff" in subcommands
    for name in subcommands:
        text = help_of(name)
        found |= set(OPTION.findall(text))
        if "SUBCOMMAND" in text.splitlines()[1]:
            for below in re.findall(r"^  ([a-z][a-z-]+)  ", text, re.MULTILINE):
                found |= set(OPTION.findall(help_of(name, below)))
    return found


@pytest.mark.parametrize("page, heading", [("README.md", "## Use"), ("docs/guide/guide.md", "## Subcommands")])
def test_every_subcommand_stands_in_its_table(page, heading):
    section = text_of(SOURCE / page).split(heading + "\n")[1].split("\n#")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    named = set(re.findall(r"`([a-z][a-z-]+)", " ".join(first_cells)))
    assert not sorted(set(re.findall(r"^  ([a-z][a-z-]+)  ", help_of(), re.MULTILINE)) - named)


@pytest.mark.parametrize("page", USED_BY_A_READER, ids=relative)
def test_options_that_a_page_names_exist(page, options):
    assert not sorted(set(OPTION.findall(text_of(page))) - options - OF_OTHERS)
