"""ci/lint_includes.py refuses every include that the architecture forbids, and no other."""

import importlib.util
import itertools
import os
import pathlib

import pytest

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
# What a room may see, as docs/design/architecture.md draws it; the lint's table must say the same.
HARNESS_SEES = {"kernels", "model", "sys", "core"}
DOMAIN_SEES = HARNESS_SEES | {"bench/harness"}
SEES = {
    "core": set(),
    "kernels": set(),
    "sys": {"core"},
    "model": {"core"},
    "judge": {"core"},
    "import": {"core"},
    "campaign": {"judge", "core"},
    "report": {"judge", "core"},
    "bench/harness": HARNESS_SEES - {"kernels"},
    "bench": {"bench/harness"},
    "bench/external": DOMAIN_SEES | {"import"},
    "bench/training": DOMAIN_SEES | {"bench/collectives", "bench/cpu", "bench/gpu"},
    "bench/collectives": DOMAIN_SEES | {"bench/gpu", "bench/network"},
    "bench/network": DOMAIN_SEES | {"import"},
    **{f"bench/{domain}": DOMAIN_SEES for domain in ("cpu", "gpu", "host", "skeleton", "storage")},
    "cli": {"core", "kernels", "sys", "model", "judge", "bench", "bench/harness", "campaign", "report"},
}
# One header each, where a whole room would be too much.
SINGLE = {("judge", "model/disturbance.h"), ("campaign", "model/disturbance.h"),
          ("campaign", "model/schedule.h"), ("cli", "bench/cpu/blas_choice.h"),
          ("import", "model/optics/audit.h"), ("import", "model/optics/module.h"), ("report", "model/fabric/layout.h"),
          ("report", "model/fabric/picture.h"), ("report", "model/optics/module_register.h")}
SINGLE |= {(room, "bench/cases.h") for room in SEES if room.startswith("bench/") and room != "bench/harness"}


@pytest.fixture
def lint(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("lint_includes", SOURCE / "ci/lint_includes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def place(root, path, text=""):
    file = root / path if path.startswith("kernels/") else root / "src" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def problems(lint, root, room, header):
    place(root, header, "#pragma once\n")
    user = place(root, f"{room}/user.cpp", f'#include "{header}"\n')
    return [text for _, text in lint.check_source(user)]


def test_the_table_has_every_room(lint):
    there = {p.name for p in (SOURCE / "src").iterdir()} | {"kernels"}
    there |= {f"bench/{p.name}" for p in (SOURCE / "src/bench").iterdir() if p.is_dir()}
    assert set(SEES) == there == set(lint.ARROWS)


@pytest.mark.parametrize("room, target", itertools.permutations(sorted(SEES), 2))
def test_each_arrow(lint, tmp_path, room, target):
    found = problems(lint, tmp_path, room, f"{target}/seen.h")
    allowed = target in SEES[room]
    assert found == ([] if allowed else [f'"{target}/seen.h": {room} may not include it'])


@pytest.mark.parametrize("room, header", sorted(SINGLE))
def test_single_headers(lint, tmp_path, room, header):
    assert problems(lint, tmp_path, room, header) == []


@pytest.mark.parametrize("room, header, said", [
    ("report", "CLI/CLI.hpp", "belongs to cli"),
    ("judge", "mpi.h", "belongs to bench, sys"),
    ("core", "cuda_runtime.h", "belongs to bench, kernels, sys"),
    ("cli", "pugixml.hpp", "belongs to report"),
])
def test_libraries_stay_in_their_room(lint, tmp_path, room, header, said):
    user = place(tmp_path, f"{room}/user.cpp", f"#include <{header}>\n")
    assert [text for _, text in lint.check_source(user) if said in text]


def test_nothing_outside_of_bench_depends_on_the_name_of_a_case(lint, tmp_path):
    place(tmp_path, "bench/cpu/walk_case.cpp", 'CaseInfo describe() {\n  return {\n      .name = "walk",\n  };\n}\n')
    assert lint.case_names() == {"walk"}
    for text in ('if (record.case_name == "run")', 'if (name != "walk")'):
        user = place(tmp_path, "judge/user.cpp", text + "\n")
        assert [line for line, _ in lint.check_case_names(user, {"walk"})] == [1]
    fine = place(tmp_path, "judge/user.cpp", 'const char* part = "walk";\nif (kind == "walker")\n')
    assert not list(lint.check_case_names(fine, {"walk"}))
