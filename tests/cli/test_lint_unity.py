"""ci/lint_unity.py finds helpers of two files that one compiler run cannot take together, and lets others stand."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])


def lint(tree):
    done = subprocess.run([sys.executable, ROOT / "ci/lint_unity.py", tree], capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    """Writes src/judge/a.cpp and b.cpp with these helpers in their anonymous namespaces."""
    def write(a, b, folder="src/judge", name="b.cpp"):
        (tmp_path / "ci/cmake").mkdir(parents=True)
        (tmp_path / "ci/cmake/unity.cmake").write_text("${PROJECT_SOURCE_DIR}/src/judge/alone.cpp\n")
        (tmp_path / "ci/cmake/tests.cmake").write_text("set_target_properties(unit_apart PROPERTIES UNITY_BUILD OFF)\n")
        (tmp_path / folder).mkdir(parents=True)
        for file, text in (("a.cpp", a), (name, b)):
            (tmp_path / folder / file).write_text(f"namespace cb {{\nnamespace {{\n{text}\n}}  // namespace\n}}  // namespace cb\n")
        return tmp_path
    return write


COLLISIONS = [
    ("constexpr int kMax = 3;", "constexpr double kMax{4};", "kMax"),
    ("struct Row {\n  int a;\n};", "enum class Row { a };", "Row"),
    ("int f(const std::string& a, int b = 2) {\n  return b;\n}", "int f(const std::string& other, int) { return 1; }",
     "f(const std::string&, int)"),
    ("template <typename T>\nT twice(T x) {\n  return x + x;\n}", "template <typename T>\nT twice(T y) { return 2 * y; }", "twice(T)"),
    ("using Rows = std::vector<int>;", "using Rows = std::vector<long>;", "Rows"),
    ("const std::map<int, int> kTable{{1, 2}};", "int kTable = [] { return 1; }();", "kTable"),
]


@pytest.mark.parametrize("a, b, name", COLLISIONS, ids=[c[2] for c in COLLISIONS])
def test_the_same_helper_twice_is_found(tree, a, b, name):
    assert lint(tree(a, b)) == (1, f"src/judge/b.cpp: {name} is also in src/judge/a.cpp: one compiler run may take both\n")


@pytest.mark.parametrize("a, b", [
    ("int f(int a) { return a; }", "int f(double a) { return 1; }"),  # overloads
    ("using Rows = std::vector<int>;", "using Rows =\n    std::vector<int>;"),
    ("namespace fs = std::filesystem;", "namespace fs = std::filesystem;"),
    ("// int f(int a) { return a; }\nconst char* kA = \"int f(int) {\";", "int f(int a) { return a; }"),
    ("struct Row {\n  int kMax = 3;\n  int f() { return 1; }\n};", "constexpr int kMax = 1;\nint f() { return 2; }"),
    ("struct stat status_of(int fd) { return {}; }", "struct stat named(int fd) { return {}; }"),
    ("constexpr size_t kA = size_t{1} << 20;", "constexpr size_t kB = size_t{1} << 20;"),
    ("[[gnu::target(\"avx2\")]] void a() {}", "[[gnu::target(\"avx2\")]] void b() {}"),
], ids=["overloads", "same alias", "namespace alias", "comment", "members", "struct stat", "value", "attribute"])
def test_what_may_stand_side_by_side_is_not(tree, a, b):
    assert lint(tree(a, b)) == (0, "")


@pytest.mark.parametrize("folder, name", [("src/judge", "alone.cpp"), ("tests/unit/apart", "b.cpp")])
def test_files_that_are_compiled_alone_have_their_own(tree, folder, name):
    assert lint(tree("int f() { return 1; }", "int f() { return 2; }", folder, name)) == (0, "")


def test_rooms_do_not_meet(tree, tmp_path):
    tree("int f() { return 1; }", "")
    (tmp_path / "src/report").mkdir()
    (tmp_path / "src/report/c.cpp").write_text((tmp_path / "src/judge/a.cpp").read_text())
    assert lint(tmp_path) == (0, "")
