"""`clusterbench profile`, and the profiles that come with it."""

import json
import os
import pathlib
import re
import shutil

import pytest

from campaigns import BINARY, SOURCE, at_least, cb, profile, run_local, step, write_profile

KNOWN_CASES = cb("list").stdout.split()
PROFILES = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "profiles"


def uses_nccl(name):
    profile = json.loads((PROFILES / f"{name}.json").read_text())
    bases = profile.get("base", [])
    return any(s.get("case") == "nccl" for s in profile.get("steps", [])) or any(
        uses_nccl(base if isinstance(base, str) else base["profile"])
        for base in (bases if isinstance(bases, list) else [bases]))


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
               "criteria": [{"id": "c", "min": 5, "source": SOURCE}]}
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
    assert "3 problems" in done.stderr  # of y both, though its structure is wrong
    assert "criteria[y].metric" in done.stderr
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


def test_profiles_are_joined_by_their_names(tmp_path):
    shown = cb("profile", "show", "h20-cluster+ib-ndr400")
    assert shown.returncode == 0, shown.stderr
    joined = json.loads(shown.stdout)
    assert joined["name"] == "h20-cluster+ib-ndr400"
    assert joined["title"]["zh"].count(" + ") == 1
    parts = [json.loads(cb("profile", "show", part).stdout) for part in ("h20-cluster", "ib-ndr400")]
    assert {c["id"] for c in joined["criteria"]} == {c["id"] for p in parts for c in p["criteria"]}


def test_a_file_is_joined_with_a_name_and_keeps_the_base_beside_it(tmp_path):
    write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)], "ground.json")
    mine = derived(tmp_path, "ground.json", criteria=[{"id": "c", "min": 5, "source": SOURCE}])
    done = cb("profile", "validate", f"{mine}+host-quick")
    assert done.returncode == 0, done.stderr
    shown = json.loads(cb("profile", "show", f"{mine}+host-quick").stdout)
    assert {"s", "info"} <= {s["id"] for s in shown["steps"]}
    assert next(c for c in shown["criteria"] if c["id"] == "c")["min"] == 5


def test_a_file_whose_name_has_a_plus_is_one_profile(tmp_path):
    write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)], "a+b.json")
    assert cb("profile", "validate", tmp_path / "a+b.json").returncode == 0
    assert cb("profile", "validate", "a+b", "--profile-dir", tmp_path).returncode == 0


def test_joining_what_is_not_there_names_the_part(tmp_path):
    done = cb("profile", "show", "host-quick+ib-ndr40")
    assert done.returncode == 2
    assert "did you mean ib-ndr400?" in done.stderr
    done = cb("profile", "show", "h20-cluster-ib")  # an earlier name
    assert done.returncode == 2
    assert "h20-cluster+ib-ndr400" in done.stderr


def test_a_campaign_of_joined_profiles(tmp_path):
    """Its name stands in the campaign, and the gate takes it again by that name."""
    for name in ("one", "two"):
        write_profile(tmp_path, [step(name)], [at_least(name, name, 1)], f"{name}.json")
    out = tmp_path / "out"
    joined = ("one+two", "--profile-dir", tmp_path)
    done = run_local(*joined[:1], out, *joined[1:])
    assert done.returncode == 0, done.stderr
    assert cb("gate", out, "--profile", *joined).returncode == 0
    assert json.loads((out / "campaign.json").read_text())["profile"]["name"] == "one+two"


def test_a_planted_fault_is_delivered_to_nobody(tmp_path):
    text = profile([step("judged", params={"value": 2, "inject-fault": 0})], [at_least("c", "judged", 1)])
    path = tmp_path / "p.json"
    path.write_text(json.dumps(text))
    done = cb("profile", "validate", path)
    assert done.returncode == 2 and "steps[judged].params.inject-fault" in done.stderr and "run --prove" in done.stderr
    text["steps"][0].update(informative=True, why="shows that the check fails")
    path.write_text(json.dumps(text))
    assert cb("profile", "validate", path).returncode == 0


def test_a_step_that_nothing_judges_is_named(tmp_path):
    text = profile([step("judged")], [at_least("c", "judged", 1)])
    text["steps"].append(step("forgotten"))
    path = tmp_path / "p.json"
    path.write_text(json.dumps(text))
    for command in (("profile", "validate", path), ("run", path, "--out", tmp_path / "out")):
        done = cb(*command)
        assert done.returncode == 2
        assert "steps[forgotten]" in done.stderr
        assert '"informative": true with the reason' in done.stderr
    assert not (tmp_path / "out").exists()
    text["steps"][1].update(informative=True, why={"en": "a map", "zh": "一览"})
    path.write_text(json.dumps(text))
    assert cb("profile", "validate", path).returncode == 0


def derived(tmp_path, base, **more):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"schema": "clusterbench.profile/1", "name": "mine", "base": base, **more}))
    return path


def test_bases_that_contradict_each_other_are_refused_by_name(tmp_path):
    """Both define the steps read and write: one of the two tests would be lost."""
    done = cb("profile", "validate", derived(tmp_path, ["checkpoint", "parallel-fs"]))
    assert done.returncode == 2
    for entry in ("steps[read]", "steps[write]"):
        line = next(x for x in done.stderr.splitlines() if entry in x)
        assert "stands in checkpoint and in parallel-fs and differs in" in line
        assert '"as": PREFIX' in line
    assert "params.workload" in done.stderr and "params.rw" in done.stderr


def test_a_prefix_keeps_both(tmp_path):
    path = derived(tmp_path, ["checkpoint", {"profile": "parallel-fs", "as": "pfs"}])
    shown = cb("profile", "show", path)
    assert shown.returncode == 0, shown.stderr
    both = json.loads(shown.stdout)
    steps = {s["id"]: s for s in both["steps"]}
    assert {"read", "write", "pfs.read", "pfs.write"} <= set(steps)
    assert steps["write"]["params"]["workload"] == "checkpoint-write"
    assert steps["pfs.write"]["params"]["rw"] == "write"
    alone = [json.loads(cb("profile", "show", n).stdout) for n in ("checkpoint", "parallel-fs")]
    for part in ("steps", "criteria"):
        assert len(both[part]) == sum(len(p[part]) for p in alone)
    assert {c["step"] for c in both["criteria"] if c["id"].startswith("pfs.")} == {"pfs.info", "pfs.read", "pfs.write"}


def test_a_changed_limit_needs_its_own_source(tmp_path):
    done = cb("profile", "validate",
              derived(tmp_path, "host-quick", criteria=[{"id": "triad", "min": 20e9}]))
    assert done.returncode == 2
    assert "criteria[triad].min" in done.stderr and 'without a "source" of its own' in done.stderr
    done = cb("profile", "validate", derived(tmp_path, "host-quick", criteria=[
        {"id": "triad", "min": 20e9, "source": {"kind": "contract", "ref": "annex 2", "date": "2026"}}]))
    assert done.returncode == 0, done.stderr


def test_a_profile_that_cannot_reject_anything_is_refused(tmp_path):
    for criteria, said in (
            ([], "judges nothing"),
            ([at_least("c", "s", 1, severity="warn")], "nothing in this profile can fail"),
            ([at_least("c", "s", -1e300)], "which nothing falls below"),
            ([at_least("c", "s", 1, max=1e300)], "which nothing exceeds"),
            ([at_least("c", "s", 1, needs={"gpu": 1000000})], "which nothing meets")):
        done = cb("profile", "validate", write_profile(tmp_path, [step("s")], criteria))
        assert done.returncode == 2
        assert said in done.stderr


def test_a_limit_of_one_host_one_run_is_said_to_be_by_chance(tmp_path):
    path = write_profile(tmp_path, [step("s")], [at_least("c", "s", 1)])
    assert cb("run", path, "--out", tmp_path / "out", "--launcher", "none").returncode == 0
    done = cb("profile", "capture", tmp_path / "out", "--name", "ours")
    assert done.returncode == 0, done.stderr
    assert "warning: fewer than three figures for c" in done.stderr
    ref = json.loads(done.stdout)["criteria"][0]["source"]["ref"]
    assert ref["en"].endswith("too few to know the spread")
    done = cb("profile", "capture", *[tmp_path / "out"] * 3, "--name", "ours")
    assert done.stderr == "" and "too few" not in done.stdout
