"""What ci/gpu_fleet.py and ci/gpu_direct.py plant: fifteen faults and more in every profile, each once, and never two in one place."""
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
sys.path.append(str(SOURCE / "tests/labs/vm"))
import gpu_direct as direct  # noqa: E402
from fleet_faults import OF_A_JOB, batches_of  # noqa: E402
from gpu_fleet import BUS, accused, faults_of, gpus_of, hosts_of, wrong_of  # noqa: E402
from gpu_node import entries_of  # noqa: E402

PROFILES = SOURCE / "profiles"
FLEETS = [f"{product}-{several}" for product in BUS for several in ("pair", "cluster")]
FLEETS += ["nccl-nodes", "nccl-cluster", "nccl-matrix", "nccl-matrix-sharp", "nccl-matrix-nvl72", "gds", "end-to-end-gpu"]


@pytest.mark.parametrize("profile", FLEETS)
def test_a_profile_of_several_hosts_meets_fifteen_faults_each_once(profile):
    names = faults_of(PROFILES, profile)
    batches = batches_of(names, hosts_of(profile), gpus_of(profile))
    assert len(names) >= 15
    assert Counter(name for batch in batches for name in batch.values()) == Counter(names)
    for batch in batches:
        assert all(host < hosts_of(profile) and gpu < gpus_of(profile) for host, gpu in batch)
        sick = {host for (host, _), name in batch.items() if name in OF_A_JOB}
        assert not sick or len(sick) == len(batch) < hosts_of(profile)  # one a host, and one host is sound


@pytest.mark.parametrize("profile", ["gpu-direct-200g", "gpu-direct-400g"])
def test_a_profile_of_gpu_direct_meets_fifteen_faults_and_keeps_its_other_limits(profile):
    criteria = entries_of(PROFILES, profile, "criteria")
    assert len(direct.FAULTS) >= 15
    assert sorted(name for names in direct.RUNS for name in names) == sorted(direct.FAULTS)
    assert {fault.criterion for fault in direct.FAULTS.values() if fault.criterion} <= criteria.keys()
    scaled = direct.scaled(PROFILES, profile)["criteria"]
    assert {c["id"]: c["min"] for c in scaled} == {"gdr.write": pytest.approx(criteria["gdr.write"]["min"] * direct.SCALE)}


def report(*criteria):
    return {"criteria": [{"id": name, "state": state, "reason": said, "failing": [{"name": part} for part in parts]}
                         for name, state, said, parts in criteria]}


def test_a_fault_counts_as_found_where_its_own_host_is_named_and_no_other():
    faults = {(1, 3): "a GPU a tenth slower"}
    assert wrong_of(report(("gemm.bf16.fleet", "fail", "", ["n2:3"])), faults, ["n1", "n2"]) == ([], [])
    assert wrong_of(report(("gemm.bf16.fleet", "fail", "", ["n2:4"])), faults, ["n1", "n2"]) == (["a GPU a tenth slower"], [])
    assert wrong_of(report(("gemm.bf16.fleet", "fail", "", ["n2:3", "n1:3"])), faults, ["n1", "n2"]) == ([], [("gemm.bf16.fleet", "n1:3")])
    assert wrong_of(report(("gemm.bf16.fleet", "fail", "", ["n2:3"]), ("nccl.all.correct", "fail", "", ["n2:3"])), faults, ["n1", "n2"])[1]


def test_a_host_that_is_not_measured_is_the_only_one_that_the_report_speaks_of():
    faults = {(1, 0): "NCCL loses a rank"}
    said = "step nccl-node failed on n2 rank 3: remote process exited"
    assert wrong_of(report(("nccl.node.correct", "incomplete", said, [])), faults, ["n1", "n2", "n3"]) == ([], [])
    assert wrong_of(report(("nccl.node.correct", "incomplete", said.replace("n2", "n1"), [])), faults, ["n1", "n2", "n3"]) == (
        ["NCCL loses a rank"], [("open", "n1")])
    assert wrong_of(report(("nccl.node.correct", "pass", "", [])), faults, ["n1", "n2", "n3"]) == (["NCCL loses a rank"], [])


THREE = ["n1", "n2", "n3"]
LOST, MEMORY = "NCCL loses a rank", "somebody has a GPU's memory"


def open_points(*said):
    """Of one criterion, whose reason is what its gaps say."""
    made = report(("moe.pair.dispatch", "incomplete", "; ".join(said), []))
    made["criteria"][0]["gaps"] = [{"what": what} for what in said]
    return made


@pytest.mark.parametrize("said, hosts", [
    ("step moe-pair on pair-001-002 (n1, n2) failed: n2 rank 3: gone, see logs/n", {"n2"}),
    ("step moe-pair on pair-001-002 (n1, n2) failed: it wrote no record file", set()),
    ("step moe-pair on pair-n1-n2 (n1, n2) failed: clusterbench moe: n1 rank 1: rank 0 on n2 is gone: its connection broke", {"n2"}),
    ("step infer-gpu failed on n2 rank 3: out of memory; see logs/", {"n2"}),
    ("step infer-gpu on n1 counts as not measured: left out, because step info failed on it (no GPU)", {"n1"}),
    ("step train-all on cluster failed: mpirun noticed that process rank 3 with PID 0 on node n3 exited on signal 9 (Killed).", {"n3"}),
    ("step train-all on cluster failed: n10 rank 3: gone", set()),
    ("n3 contributed nothing to step moe-pair @ batch 4: see logs/007-moe-pair@group-02.err", set()),
    ("n1 rank 7: it hangs; n3 rank 0: it hangs", {"n1", "n3"}),
])
def test_a_message_accuses_whom_it_blames_and_no_member_of_the_group(said, hosts):
    assert accused(said, THREE) == hosts


@pytest.mark.parametrize("pair", ["n2 rank 7 → n3:rank 7", "n3:7 → n2:7", "n2 → n3"])
def test_the_other_end_of_a_pair_is_accused_only_where_neither_is_sick(pair):
    said = f"inconclusive: the median of {pair} lies between 72 kB/s and 94 kB/s, and ≥ 75 kB/s is required; measure more"
    assert accused(said, THREE, ["n2"]) == {"n2"}
    assert accused(said, THREE, ["n1"]) == {"n2", "n3"}
    assert accused(f"{said}; n3 rank 7: gone", THREE, ["n2"]) == {"n2", "n3"}


def test_two_faults_in_one_reason_count_as_one():
    faults = {(1, 0): LOST, (0, 0): MEMORY}
    both = "n2 rank 3: remote process exited; n1 rank 0: the experts need 3 MiB, and 1000 B free"
    once = wrong_of(open_points(f"step moe-all on cluster failed: {both}"), faults, THREE)
    assert len(once[0]) == 1 and once[0][0] in (LOST, MEMORY) and once[1] == []
    # What several steps say for one reason is one reason.
    assert len(wrong_of(open_points(*(f"step {step} failed: {both}" for step in ("a", "b", "c"))), faults, THREE)[0]) == 1
    apart = open_points("step moe-node failed on n2 rank 3: remote process exited", f"step moe-all on cluster failed: {both}")
    assert wrong_of(apart, faults, THREE) == ([], [])
    own = [f"step moe-node failed on {part}" for part in both.split("; ")]
    assert wrong_of(open_points(*own), faults, THREE) == ([], [])


def test_the_words_of_one_fault_beside_the_host_of_another_find_neither():
    faults = {(1, 0): LOST, (0, 0): MEMORY}
    exchanged = open_points("step a failed on n1 rank 3: remote process exited", "step a failed on n2 rank 0: 1000 B free")
    assert sorted(wrong_of(exchanged, faults, THREE)[0]) == [LOST, MEMORY]


def test_the_sound_end_of_a_pair_is_not_accused_and_a_sound_host_that_is_named_is():
    faults = {(1, 0): LOST}
    good = [f"step moe-pair on pair-00{i}-00{j} (n{i}, n{j}) failed: n2 rank 3: remote process exited" for i, j in ((1, 2), (2, 3))]
    assert wrong_of(open_points(*good), faults, THREE) == ([], [])
    assert wrong_of(open_points(*good, "step moe-pair on pair-001-003 (n1, n3) failed: it hung"), faults, THREE) == ([], [])
    assert wrong_of(open_points(*good, "step moe-node on n3 failed: it hung"), faults, THREE) == ([], [("open", "n3")])


def test_what_a_failing_criterion_could_not_measure_is_looked_at_too():
    made = report(("infer.gpu.gpu", "fail", "n2:3: Xid 79", ["n2:3"]))
    made["criteria"][0]["gaps"] = [{"what": "step infer-gpu failed on n2 rank 3: unspecified launch failure"}]
    faults = {(1, 3): "a GPU fails at work"}
    assert wrong_of(made, faults, THREE) == ([], [])
    made["criteria"][0]["gaps"].append({"what": "step infer-gpu failed on n1 rank 3: unspecified launch failure"})
    assert wrong_of(made, faults, THREE) == ([], [("open", "n1")])


@pytest.mark.parametrize("words", ["nothing has moved for 20 s", "CUDA device 3 has not finished training step after 40 s: it hangs"])
def test_a_kernel_that_never_ends_is_told_in_the_words_of_its_case(words):
    faults = {(1, 0): "a kernel never ends"}
    assert wrong_of(open_points(f"step train-node failed on n2 rank 3: {words}"), faults, THREE) == ([], [])
    assert wrong_of(open_points("step train-node failed on n2 rank 3: broke"), faults, THREE) == (["a kernel never ends"], [])


NOT_MEASURED = sorted(name for name, fault in direct.FAULTS.items() if not fault.criterion)


def open_of_direct(said):
    return report(("nccl-rails.data", "incomplete", said, []))


@pytest.mark.parametrize("name", NOT_MEASURED)
def test_a_host_of_gpu_direct_that_is_not_measured_is_named_and_no_sound_one(name):
    """Whatever of a profile's, step's or option's words a text has: without the host, with another or with all of them it names nobody."""
    fault = direct.FAULTS[name]
    assert fault.culprit in direct.HOSTS
    other = direct.HOSTS[direct.HOSTS.index(fault.culprit) - 1]
    right = f"step nccl-rails failed on {fault.culprit} rank 3: {fault.says}: see the log"
    exchanged, all_of_them = right.replace(fault.culprit, other), f"{right}; {', '.join(direct.HOSTS)} took part"
    vague = f"step gdr-write of gpu-direct-200g failed on {fault.culprit}: NCCL and CUDA use --memory gpu"
    assert direct.wrong_of(open_of_direct(right), {name: fault}) == []
    assert direct.wrong_of(open_of_direct(exchanged), {name: fault}) == [
        f"{name} is not found", f"{other} is sound, and nccl-rails.data names it: {exchanged}"]
    assert len(direct.wrong_of(open_of_direct(all_of_them), {name: fault})) == 3
    assert direct.wrong_of(open_of_direct(vague), {name: fault}) == [f"{name} is not found"]
    assert direct.wrong_of(open_of_direct(right.replace(fault.culprit, "cluster")), {name: fault}) == [f"{name} is not found"]


def test_a_host_of_gpu_direct_may_be_open_besides_its_own_fault():
    faults = {name: direct.FAULTS[name] for name in ("damaged packets", "a rank of NCCL stands still")}
    good = report(("gdr.write", "fail", "", ["h2:rxe2 → h4:rxe6"]), ("nccl-rails.data", "incomplete", "h2 rank 3: nothing has moved for 20 s", []))
    assert direct.wrong_of(good, faults) == []
    faults["damaged packets"] = direct.FAULTS["a link at seven tenths"]
    assert len(direct.wrong_of(good, faults)) == 2  # it is not found, and what fails is of no fault
