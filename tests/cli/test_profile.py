"""`clusterbench profile`, and the profiles that come with it."""

import json
import os
import pathlib
import re
import shutil

import pytest

from campaigns import BINARY, at_least, cb, profile, step, write_profile

KNOWN_CASES = cb("list").stdout.split()
PROFILES = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "profiles"


def uses_nccl(name):
    profile = json.loads((PROFILES / f"{name}.json").read_text())
    bases = profile.get("base", [])
    return any(s.get("case") == "nccl" for s in profile.get("steps", [])) or any(
        uses_nccl(base) for base in ([bases] if isinstance(bases, str) else bases))


@pytest.mark.parametrize("name", sorted(p.stem for p in PROFILES.glob("*.json")))
def test_every_profile_that_comes_along_is_valid(name):
    done = cb("profile", "validate", name)
    if "nccl" not in KNOWN_CASES and uses_nccl(name):
        # Profiles of several nodes are ahead of a build without that case, and nothing else is wrong.
        wrong = [line for line in done.stderr.splitlines() if line.startswith("  ")]
        assert wrong and all(re.match(r"  steps\[nccl-(node|all)\]\.case +nccl is not known", line)
                             for line in wrong), done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"✓ {name}: \d+ steps, \d+ criteria, \d+ checklist items, "
                        r"sha256 [0-9a-f]{64}\n", done.stdout)


def test_show_is_resolved_and_loads_again(tmp_path):
    shown = cb("profile", "show", "host-quick")
    assert shown.returncode == 0
    assert "base" not in json.loads(shown.stdout)
    (tmp_path / "copy.json").write_text(shown.stdout)
    again = cb("profile", "show", tmp_path / "copy.json")
    assert again.stdout == shown.stdout


def test_list_names_where_each_comes_from(tmp_path):
    write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)], "mine.json")
    done = cb("profile", "list", "--profile-dir", tmp_path)
    assert done.returncode == 0
    assert re.search(rf"mine +1 +1 +{re.escape(str(tmp_path))}", done.stdout)
    assert re.search(r"host-quick .* built in", done.stdout)


def test_a_bare_binary_knows_its_profiles_and_an_installed_one_prefers_its_files(tmp_path):
    (tmp_path / "bin").mkdir()
    binary = tmp_path / "bin" / "clusterbench"
    shutil.copy(BINARY, binary)
    assert cb("profile", "validate", "host-quick", executable=binary).returncode == 0
    share = tmp_path / "share/clusterbench/profiles"
    share.mkdir(parents=True)
    text = profile([step("s")], [at_least("c", "s", 1)], name="theirs")
    (share / "host-quick.json").write_text(json.dumps(text))
    done = cb("profile", "validate", "host-quick", executable=binary)
    assert done.stdout.startswith("✓ theirs:")


def test_the_directory_given_comes_first_and_a_base_is_found_beside_a_file(tmp_path):
    write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)], "ground.json")
    derived = {"schema": "clusterbench.profile/1", "base": "ground", "name": "derived",
               "criteria": [{"id": "c", "min": 5}]}
    (tmp_path / "derived.json").write_text(json.dumps(derived))
    shown = cb("profile", "show", tmp_path / "derived.json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["criteria"][0]["min"] == 5
    assert cb("profile", "validate", "derived", "--profile-dir", tmp_path).returncode == 0


def test_all_problems_at_once_with_the_nearest_valid_value(tmp_path):
    path = write_profile(
        tmp_path,
        [step("a", case="fakee"), step("b", params={"valeu": 1, "size": "4Q"}),
         step("c", needs={"gpus": 1})],
        [at_least("x", "b", 1), at_least("y", "d", 1),
         {**at_least("z", "c", 1), "metric": "bytes_per_secnd"}])
    done = cb("profile", "validate", path)
    assert done.returncode == 2
    for said in ("did you mean fake?", "did you mean --value?", "steps[b].params.size",
                 "criteria[y].step", "did you mean bytes_per_second?", "did you mean gpu?"):
        assert said in done.stderr, said


def test_structure_and_catalogue_are_told_together(tmp_path):
    path = write_profile(tmp_path, [step("a", case="fakee"), step("b")],
                         [at_least("x", "b", 1),
                          {**at_least("y", "b", 1), "severety": "warn", "metric": "nonsense"}])
    done = cb("profile", "validate", path)
    assert done.returncode == 2
    assert "2 problems" in done.stderr  # of y its structure alone: the rest would repeat it
    assert "did you mean severity?" in done.stderr
    assert "did you mean fake?" in done.stderr


@pytest.mark.parametrize("change, said", [
    ({"stepps": []}, "did you mean steps?"),
    ({"schema": "clusterbench.profile/9"}, "newer"),
    ({"base": "nothing-like-it"}, "nothing-like-it"),
])
def test_structure_is_checked(tmp_path, change, said):
    text = profile([step("s")], [at_least("c", "s", 1)])
    text.update(change)
    (tmp_path / "p.json").write_text(json.dumps(text))
    done = cb("profile", "validate", tmp_path / "p.json")
    assert done.returncode == 2
    assert said in done.stderr


def test_an_unknown_name(tmp_path):
    done = cb("profile", "show", "host-quik")
    assert done.returncode == 2
    assert "did you mean host-quick?" in done.stderr
    done = cb("profile", "show", tmp_path / "none.json")
    assert done.returncode == 2
    assert str(tmp_path / "none.json") in done.stderr
