"""verbs over several hosts in the emulated machine: four hosts with a soft-RoCE device each (the hosts differ by name
only: soft-RoCE of Linux 6.1 lives in one network namespace). Schedules, a dead peer, a port that fails in the middle, a
lossy link, and every option that changes how messages are posted. One boot for all; the tests read what it left."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "vm"))
from vm_lab import MOVING, OPEN_MPI, RDMA_MODULES, SOFT_ROCE_FLEET, VmLab  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]
BUILD = Path(os.environ["CLUSTERBENCH_BUILD_DIR"])
STAND_IN = BUILD / "bin/clusterbench_fake_gpu"
DRIVERS = {11: 12020, 13: 13000}  # one that takes this CUDA module
HOSTS = ("h1", "h2", "h3", "h4")
SCHEDULES = ("tournament", "shift", "incast", "one-to-many", "all-to-all", "bisection", "victim")
RAILS = "h1:rxe0,h2:rxe1,h3:rxe2,h4:rxe3"

# Open MPI talks over an interface of its own, which no test cuts. `hosts` runs one rank on each of four hosts, `two` one
# on each of two, of which each has two NICs or one. `many` sends messages of four packets: with 64 of them soft-RoCE of
# Linux 6.1 sends again on a busy host, and then ends 9 of 10 two-way reads over 4 queue pairs (docs/evidence/verbs.md).
SCRIPT = OPEN_MPI + f"mpirun -np 1 {BINARY} --version >/dev/null 2>&1 &" + SOFT_ROCE_FLEET + MOVING + f"""
ip link add mpi0 type dummy
ip addr add 10.77.0.1/24 dev mpi0
ip link set mpi0 up
cat >/root/agent <<'S'
#!/bin/sh
export LAB_HOST=$1
shift
exec unshare --uts sh -c 'hostname "$LAB_HOST" && eval "$*"' sh "$@"
S
chmod +x /root/agent
export OMPI_MCA_btl=self,tcp OMPI_MCA_plm_rsh_agent=/root/agent OMPI_MCA_oob_tcp_if_include=mpi0 OMPI_MCA_btl_tcp_if_include=mpi0
export PRTE_MCA_plm_ssh_agent=/root/agent PRTE_MCA_oob_tcp_if_include=mpi0 PRTE_MCA_hwloc_default_binding_policy=none
unset PRTE_MCA_rmaps_default_mapping_policy  # it would put all ranks on the first host
run() {{ # run NAME HOSTS OPTIONS…
  local name=$1 hosts=$2; shift 2
  timeout 100 mpirun --host "$hosts" {BINARY} "$@" --quiet --json "$name.json" >"$name.out" 2>"$name.err"
  echo $? >"$name.rc"
}}
hosts() {{ local name=$1; shift; run "$name" h1:1,h2:1,h3:1,h4:1 verbs --rails {RAILS} "$@"; }}
two() {{ local name=$1; shift; run "$name" h1:1,h2:1 verbs --rails h1:rxe0,h2:rxe1 "$@"; }}
SMALL="--test bandwidth --size 4K --iterations 40 --repetitions 1 --round-deadline 20s"
printf 'h1 left\\nh3 left\\nh2 right\\nh4 right\\n' >/root/leaves
hosts schedules --schedule {",".join(SCHEDULES)} --leaf-map /root/leaves $SMALL
run cross h1:1,h2:1 verbs --rails h1:rxe0,h1:rxe1,h2:rxe2,h2:rxe3 --schedule cross-rail $SMALL
two posted --op write,send --size 1000 --test bandwidth,latency --iterations 130 --repetitions 2 --post-list 8 \\
  --cq-moderation 16 --tx-depth 32 --inline 64 --sl 3 --tc 104 --relaxed-ordering --mtu 512 --qps 3 --direction two-way
two inlined --op write,send --size 64 --inline 64 --iterations 60 --repetitions 1
two sleeping --op send --service rc,ud --size 500 --iterations 40 --repetitions 1 --events --direction one-way,two-way
two reads --op read --test bandwidth --size 16K --outstanding-reads 2 --iterations 40 --repetitions 1
two few --op write,read,send --test bandwidth --size 64 --qps 3 --iterations 5 --repetitions 1
two many --op write,read,send --test bandwidth --direction two-way --size 4K --qps 4 --iterations 16 --repetitions 1 \\
  --tx-depth 8
for v in v0 v1; do tc qdisc add dev $v root netem loss 3%; done
two lossy --op write --test bandwidth --size 4K --iterations 400 --repetitions 1 --lossless --qp-timeout 14
for v in v0 v1; do tc qdisc del dev $v root; done
two gpu --memory gpu --test bandwidth
# GPUs whose memory is the host's, which is registered by its address; the second of two is nearest to no NIC.
gpus() {{ # gpus NAME WORDS_OF_H1 WORDS_OF_H2 OPTIONS…
  local name=$1
  printf 'case $(hostname) in h1) words="%s" ;; *) words="%s" ;; esac\n' "$2" "$3" >/root/gpus-$name
  printf 'export CLUSTERBENCH_FAKE_CUDA="devices=2 $words"\nexec %s "$@"\n' "${{PROGRAM:-{STAND_IN}}}" >>/root/gpus-$name
  shift 3
  timeout 100 mpirun --host h1:1,h2:1 sh /root/gpus-$name verbs --rails h1:rxe0,h2:rxe1 --memory gpu --iterations 20 --repetitions 1 \
    "$@" --quiet --json "$name.json" >"$name.out" 2>"$name.err"
  echo $? >"$name.rc"
}}
if [ -x {STAND_IN} ]; then
  gpus gpus "" "" --op write,read,send --test bandwidth --size 64,32K
  gpus gpus_latency "dma_buf=1" "" --op read,send --test latency --size 64 --gpu 1
  gpus gpus_wrong "" "flip@0=copy" --op write,send --test bandwidth --size 1M
  gpus gpus_small "" "memory=1000000" --op write --test bandwidth --size 32K
  gpus gpus_few "" "devices=1" --op write --test bandwidth --gpu 1
  export CLUSTERBENCH_CUDA_LIBRARY={BUILD}/fake/libcuda.so.1
  for module in {" ".join(f"{major}:{driver}" for major, driver in DRIVERS.items())}; do
    export CLUSTERBENCH_CUDA_MODULE={BUILD}/fake/modules/libclusterbench_cuda${{module%:*}}.so
    PROGRAM={BUILD}/bin/clusterbench_fake_modules gpus gpus_module_${{module%:*}} driver=${{module#*:}} driver=${{module#*:}} \
      --op write,read --test bandwidth --size 32K
  done
  unset CLUSTERBENCH_CUDA_LIBRARY CLUSTERBENCH_CUDA_MODULE
fi
ip link set v3 down
hosts dead --schedule tournament $SMALL
ip link set v3 up
(moving rxe1; sleep 0.3; ip link set v3 down) &
hosts cut --schedule pair --test bandwidth --size 4K --duration 4s --repetitions 1 --round-deadline 10s
wait
"""


class Left:
    def __init__(self, directory, name):
        def text(ending):
            file = directory / f"{name}.{ending}"
            return file.read_text() if file.exists() else ""

        self.rc, self.out, self.err = int(text("rc")), text("out"), text("err")
        self.records = json.loads(text("json"))["records"] if text("json") else []

    def told(self):
        return f"exit code {self.rc}\n{self.out}\n{self.err}"

    def record(self, schedule=None):
        record, = [r for r in self.records if schedule in (None, r["params"]["schedule"])]
        return record


@pytest.fixture(scope="module")
def boot():
    lab = VmLab(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab", modules=RDMA_MODULES)
    reason = lab.missing()
    if reason:
        pytest.skip(reason)
    directory = lab.run(SCRIPT, timeout=560, name="verbs-hosts").check().directory
    return lambda name: Left(directory, name)


def figures(record, name="bytes_per_second"):
    """{(host, peer host): median} of a metric of pairs."""
    out = {}
    for m in record["metrics"]:
        entity = record["entities"][m["entity"]]
        if m["name"] == name and entity["kind"] == "pair":
            out[entity["host"], entity["peer"].split(":")[0]] = m["summary"]["median"]
    return out


def of_hosts(record, name):
    return {record["entities"][m["entity"]]["host"]: m["summary"]["median"] for m in record["metrics"] if m["name"] == name}


def right(record):
    checks = [c for c in record["checks"] if c["name"] == "data"]
    return record["outcome"] == "measured" and checks and all(c["passed"] for c in checks)


@pytest.fixture(scope="module")
def of_schedule(boot):
    """The record of one of the schedules, which one job measured."""
    left = boot("schedules")
    assert left.rc == 0, left.told()
    return left.record


def test_each_schedule_is_a_record_of_its_own(boot, of_schedule):
    assert tuple(r["params"]["schedule"] for r in boot("schedules").records) == SCHEDULES
    for schedule in SCHEDULES:
        assert right(of_schedule(schedule)), schedule
        assert ("leaf-map" in of_schedule(schedule)["params"]) == (schedule == "bisection")


def test_tournament_meets_every_pair_once(of_schedule):
    met = {frozenset(pair) for pair in figures(of_schedule("tournament"))}
    assert met == {frozenset((a, b)) for a in HOSTS for b in HOSTS if a < b}
    assert len(figures(of_schedule("tournament"))) == 6


def test_shift_holds_every_directed_pair(of_schedule):
    assert set(figures(of_schedule("shift"))) == {(a, b) for a in HOSTS for b in HOSTS if a != b}


@pytest.mark.parametrize("name, side", [("incast", "received"), ("one-to-many", "sent")])
def test_one_host_and_all_others_with_fairness(of_schedule, name, side):
    record = of_schedule(name)
    assert len(figures(record)) == 3
    total, share = of_hosts(record, f"{side}_bytes_per_second"), of_hosts(record, f"{side}_fairness")
    assert set(total) == set(share) == {"h1"}
    assert total["h1"] == pytest.approx(sum(figures(record).values()), rel=1e-3)
    assert 1 / 3 <= share["h1"] <= 1


def test_all_to_all_at_once(of_schedule):
    record = of_schedule("all-to-all")
    assert len(figures(record)) == 12
    assert set(of_hosts(record, "received_fairness")) == set(HOSTS)


def test_bisection_by_leaf(of_schedule):
    assert set(figures(of_schedule("bisection"))) == {("h1", "h2"), ("h3", "h4")}
    assert of_schedule("bisection")["facts"]["bisection"] == "2 leaves of --leaf-map, 2 of 2 pairs cross"


def test_a_flow_beside_an_incast(of_schedule):
    """h2 sends to h3: alone, then while h3 and h4 send to h1. All share two emulated processors, so the share is no figure."""
    record = of_schedule("victim")
    assert set(figures(record)) == {("h2", "h3"), ("h3", "h1"), ("h4", "h1")}
    alone, share = figures(record, "alone_bytes_per_second"), figures(record, "victim_share")
    assert set(alone) == set(share) == {("h2", "h3")}
    assert share["h2", "h3"] == pytest.approx(figures(record)["h2", "h3"] / alone["h2", "h3"], rel=1e-6)


def test_cross_rail(boot):
    left = boot("cross")
    assert left.rc == 0, left.told()
    record = left.record()
    pairs = {(record["entities"][m["entity"]]["id"], record["entities"][m["entity"]]["peer"])
             for m in record["metrics"] if m["name"] == "bytes_per_second"}
    assert pairs == {("rxe0", "h2:rxe3"), ("rxe1", "h2:rxe2")}


@pytest.mark.parametrize("name, records", [("posted", 4), ("inlined", 4), ("sleeping", 6), ("reads", 1), ("few", 3), ("many", 3)])
def test_ways_of_posting_leave_the_data_right(boot, name, records):
    left = boot(name)
    assert left.rc == 0, left.told()
    assert len(left.records) == records
    for record in left.records:
        assert right(record), record["params"]
    if name == "posted":
        assert {r["facts"]["mtu_bytes"] for r in left.records} == {"512"}
    if name == "inlined":
        assert {r["facts"]["inline_bytes"] for r in left.records} == {"64"}


def test_a_lossy_link_is_not_lossless(boot):
    left = boot("lossy")
    assert left.rc == 1, left.told()
    failed = [c for c in left.record()["checks"] if c["name"] == "lossless" and not c["passed"]]
    assert failed and all(c["value"] > 0 for c in failed)
    assert any("resent" in c["detail"] for c in failed)


def test_no_gpu_is_incomplete(boot):
    left = boot("gpu")
    assert left.rc == 3, left.told()
    assert left.record()["outcome"] == "skipped"
    assert "--memory host" in left.record()["reason"]


needs_stand_in = pytest.mark.skipif(not STAND_IN.exists(), reason="built without CUDA")


@needs_stand_in
def test_gpu_memory_is_registered_by_its_address_where_no_dma_buf_is_to_be_had(boot):
    left = boot("gpus")
    assert left.rc == 0, left.told()
    points = {(r["params"]["op"], r["params"]["size"]) for r in left.records}
    assert points == {(op, size) for op in ("write", "read", "send") for size in (64, 32768)}
    for record in left.records:
        assert right(record), record["params"]
        assert record["facts"]["memory"] == "GPU 0 by nvidia-peermem (no dma-buf: cuMemGetHandleForAddressRange: CUDA error 801)"
        assert record["facts"]["inline_bytes"] == "0"


@needs_stand_in
@pytest.mark.parametrize("major", DRIVERS)
def test_gpu_memory_of_a_cuda_module(boot, major):
    """The program has no CUDA but the module's."""
    left = boot(f"gpus_module_{major}")
    assert left.rc == 0, left.told()
    assert {r["params"]["op"] for r in left.records} == {"write", "read"}
    for record in left.records:
        assert right(record), record["params"]
        assert record["facts"]["memory"].startswith("GPU 0 by nvidia-peermem")


@needs_stand_in
def test_latency_of_gpu_memory_and_a_nic_that_takes_no_dma_buf(boot):
    left = boot("gpus_latency")
    assert left.rc == 0, left.told()
    assert {r["params"]["op"] for r in left.records} == {"read", "send"}
    for record in left.records:
        assert right(record), record["params"]
        assert "GPU 1 by nvidia-peermem (no dma-buf: " in record["facts"]["memory"]


@needs_stand_in
def test_wrong_bytes_of_a_gpu_are_caught_and_located(boot):
    left = boot("gpus_wrong")
    assert left.rc == 1, left.told()
    for record in left.records:
        check, = [c for c in record["checks"] if not c["passed"]]
        # The stand-in spoils the middle of what is copied, where what is received begins.
        assert check["name"] == "data" and "h2 rxe1 received a wrong byte from h1 rxe0" in check["detail"], check
        assert not record["metrics"]


@needs_stand_in
def test_a_gpu_without_memory_left_is_named(boot):
    left = boot("gpus_small")
    assert left.rc not in (0, 2), left.told()
    assert "h2" in left.told() and "out of memory" in left.told()


@needs_stand_in
def test_a_host_without_that_gpu_is_named(boot):
    left = boot("gpus_few")
    assert left.rc == 3, left.told()
    assert left.record()["reason"] == "no such GPU, or none that CUDA can use, on h2; next: run clusterbench list there"


@pytest.mark.parametrize("name, dead, alive", [("dead", 3, 3), ("cut", 1, 1)])
def test_a_dead_port_costs_its_own_pairs_only(boot, name, dead, alive):
    left = boot(name)
    assert left.rc not in (0, 2), left.told()
    record = left.record()
    assert record["outcome"] == "measured", (record.get("reason"), left.told())
    lost = [c for c in record["checks"] if c["name"] == "transfer" and not c["passed"]]
    assert all("h4" in c["detail"] for c in lost)
    assert len({c["entity"] for c in lost}) == dead
    assert len(figures(record)) == alive
    assert not any("h4" in pair for pair in figures(record))
    assert any(note.startswith("partial:") for note in record["notes"])
