"""verbs over soft-RoCE in the emulated machine: every operation with verification, a spoiled byte, a cut link, a slow
device, and what users get wrong. One boot for all; the tests read what it left."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "vm"))
from vm_lab import MOVING, OPEN_MPI, RDMA_MODULES, SOFT_ROCE_FLEET, VmLab  # noqa: E402

BINARY = os.environ["CLUSTERBENCH_BIN"]

# run NAME RANKS OPTIONS…: stdout, stderr, exit code and document of one command as files of that name. Two pairs of
# ranks on one host, each with its own device.
SCRIPT = OPEN_MPI + f"mpirun -np 1 {BINARY} --version >/dev/null 2>&1 &" + SOFT_ROCE_FLEET + MOVING + f"""
export OMPI_MCA_btl=self,vader
run() {{
  local name=$1 ranks=$2; shift 2
  timeout 150 mpirun -np "$ranks" {BINARY} "$@" --json "$name.json" >"$name.out" 2>"$name.err"
  echo $? >"$name.rc"
}}
one() {{
  local name=$1; shift
  timeout 60 {BINARY} "$@" --json "$name.json" >"$name.out" 2>"$name.err"
  echo $? >"$name.rc"
}}
# The kernel shows the drivers' counters of up to this many milliseconds ago: longer than a short point takes.
for device in rxe0 rxe1; do echo 100 >/sys/class/infiniband/$device/ports/1/hw_counters/lifespan; done
run all 2 verbs --rails rxe0,rxe1 --op write,read,send,fetch_add,compare_swap --direction one-way,two-way --size 64,4K \\
  --iterations 60 --repetitions 1 --round-deadline 60s
run unreliable 2 verbs --rails rxe0,rxe1 --op write,send --service uc,ud --test bandwidth,latency --size 512 \\
  --iterations 60 --repetitions 1 --round-deadline 60s
run spoiled 2 verbs --rails rxe0,rxe1 --op write,read,send --test bandwidth --size 8K --iterations 60 --repetitions 1 \\
  --inject-fault 1
# A cache's pages by RDMA writes: 4 layers of 8 pages of 4 KiB, two pairs of ranks on two devices.
run pages 4 kv-transfer --backend verbs --rails rxe0,rxe1 --model tiny --layers 4 --page-tokens 32 --prompt 256 --iterations 3 --window 8 \\
  --schedule together,one-at-a-time
# Two layers of 128 pages, one in flight at a time: the first layer is acknowledged while the second one is posted.
run narrow 2 kv-transfer --backend verbs --rails rxe0,rxe1 --model tiny --layers 2 --page-tokens 4 --prompt 512 --iterations 5 --window 1
run packed 2 kv-transfer --backend verbs --rails rxe0,rxe1 --model tiny --layers 4 --page-tokens 32 --prompt 256 --iterations 3 --pack
run misplaced 2 kv-transfer --backend verbs --rails rxe0,rxe1 --model tiny --layers 4 --page-tokens 32 --prompt 256 --iterations 3 \\
  --inject-fault swap@1:2
run events 2 verbs --rails rxe0,rxe1 --op write,send --size 64 --iterations 40 --repetitions 1 --events --qps 2
ip link set v1 mtu 4500
run mtu 2 verbs --rails rxe0,rxe1 --test bandwidth --size 8K --iterations 20 --repetitions 1
ip link set v1 mtu 1500
(moving rxe0; sleep 1; ip link set v1 down) &
SECONDS=0
run cut 2 verbs --rails rxe0,rxe1 --test bandwidth --size 4K --duration 20s --repetitions 1 --round-deadline 6s
echo $SECONDS >cut.seconds
wait
one down verbs --rails rxe1 --schedule loopback --test latency --iterations 10
ip link set v1 up
# The second rank is stopped as soon as pings are under way, which finding the process may take seconds after on a
# busy machine; `left` says who outlives the job.
OMPI_MCA_odls_base_sigkill_timeout=1 run stopped 2 verbs --rails rxe0,rxe1 --op send --test latency --size 64 --duration 8s --round-deadline 14s --stall 5s &
moving rxe0
SECONDS=0
for process in $(pgrep -x clusterbench); do
  grep -qz OMPI_COMM_WORLD_RANK=1 /proc/$process/environ && kill -STOP $process
done
wait
echo $SECONDS >stopped.seconds
pgrep -x clusterbench >stopped.left
tc qdisc add dev v2 root netem delay 150ms
# Half of it is far above what a busy machine does to a ping (up to 30 ms were seen).
run slow 4 locate --backend verbs --between rank --measure latency --mode full --duration 100ms --tolerance 0.6 --repeats 2
tc qdisc del dev v2 root
one loopback verbs --rails rxe0 --schedule loopback --op write --size 4K --iterations 50 --repetitions 1
# Refused before anything is measured: two at a time.
one unknown verbs --rails rxe9 &
one gid verbs --rails rxe0 --schedule loopback --gid-index 77
wait
one inline verbs --rails rxe0 --schedule loopback --inline 60000 &
one toomany verbs --rails rxe0 --schedule loopback --qps 16384 --tx-depth 15000
wait
one bigmtu verbs --rails rxe0 --schedule loopback --mtu 4096 &
one datagram verbs --rails rxe0 --schedule loopback --op send --service ud --size 64K
wait
(ulimit -l 16; timeout 60 setpriv --bounding-set -ipc_lock {BINARY} verbs --rails rxe0 --schedule loopback --size 1M \\
  --test bandwidth >memlock.out 2>memlock.err; echo $? >memlock.rc)
(moving rxe0; sleep 1; ip link set v1 down) &
SECONDS=0
run broken 2 kv-transfer --backend verbs --rails rxe0,rxe1 --model tiny --layers 4 --page-tokens 32 --prompt 256 --iterations 1000000 --stall 10s
echo $SECONDS >broken.seconds
wait
ls /dev/infiniband >/dev/null
"""


class Left:
    """What one command of the boot left."""

    def __init__(self, directory, name):
        def text(ending):
            file = directory / f"{name}.{ending}"
            return file.read_text() if file.exists() else ""

        self.rc = int(text("rc"))
        self.out, self.err = text("out"), text("err")
        self.seconds = int(text("seconds") or 0)
        self.survivors = text("left")
        self.records = json.loads(text("json"))["records"] if text("json") else []

    def told(self):
        return f"exit code {self.rc}\n{self.out}\n{self.err}"


@pytest.fixture(scope="module")
def boot():
    lab = VmLab(Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "vm-lab", modules=RDMA_MODULES)
    reason = lab.missing()
    if reason:
        pytest.skip(reason)
    directory = lab.run(SCRIPT, timeout=480, name="verbs").check().directory
    return lambda name: Left(directory, name)


def metric(record, name):
    return [m for m in record["metrics"] if m["name"] == name]


def test_every_operation_both_ways_is_right(boot):
    left = boot("all")
    assert left.rc == 0, left.told()
    points = {(r["params"]["op"], r["params"]["test"], r["params"]["direction"], r["params"]["size"]) for r in left.records}
    for op in ("write", "read", "send"):
        for size in (64, 4096):
            assert {(op, "bandwidth", "one-way", size), (op, "bandwidth", "two-way", size),
                    (op, "latency", "one-way", size)} <= points
    for op in ("fetch_add", "compare_swap"):
        assert {(op, "bandwidth", "one-way", 8), (op, "bandwidth", "two-way", 8), (op, "latency", "one-way", 8)} <= points
    for record in left.records:
        assert record["outcome"] == "measured"
        checks = [c for c in record["checks"] if c["name"] == "data"]
        assert checks and all(c["passed"] for c in checks), record["params"]
        latency = record["params"]["test"] == "latency"
        half = record["params"]["op"] in ("write", "send")
        wanted = ("half_round_trip_seconds" if half else "round_trip_seconds") if latency else "messages_per_second"
        value, = metric(record, wanted)
        assert value["summary"]["median"] > 0
        if latency:
            assert value["summary"]["n"] == 60
        pair = record["entities"][value["entity"]]
        assert (pair["kind"], pair["id"], pair["peer"]) == ("pair", "rxe0", "vmlab:rxe1")
        # Counters of both devices, by their common names.
        sent = [d["after"] - d["before"] for d in record["telemetry"]["deltas"] if d["name"] == "packets_sent"]
        assert sent and min(sent) >= 60, (record["params"], sent)
        # A software device has no rate that a share could be taken of.
        assert not any("ceiling" in m for m in record["metrics"])


def test_unreliable_services(boot):
    left = boot("unreliable")
    assert left.rc == 0, left.told()
    points = {(r["params"]["op"], r["params"]["service"], r["params"]["test"]) for r in left.records}
    assert points == {("write", "uc", "bandwidth"), ("write", "uc", "latency"), ("send", "uc", "bandwidth"),
                      ("send", "uc", "latency"), ("send", "ud", "bandwidth"), ("send", "ud", "latency")}


def test_a_spoiled_byte_is_caught_and_located(boot):
    left = boot("spoiled")
    assert left.rc == 1, left.told()
    wrong = {r["params"]["op"]: [c for c in r["checks"] if not c["passed"]] for r in left.records}
    for op in ("write", "send"):
        check, = wrong[op]
        assert check["name"] == "data"
        assert "vmlab rxe1 received a wrong byte from vmlab rxe0: queue pair 0, slot 0, offset 4096 of 8192" in check["detail"]
    assert wrong["read"] == []  # the reader is rank 0
    for record in left.records:
        assert bool(record["metrics"]) == (not wrong[record["params"]["op"]])


@pytest.mark.parametrize("name, ranks, messages", [("pages", 4, 32), ("packed", 2, 4)])
def test_pages_of_a_cache_go_by_writes_and_are_all_right(boot, name, ranks, messages):
    left = boot(name)
    assert left.rc == 0, left.told()
    assert len(left.records) == (2 if name == "pages" else 1)
    for record in left.records:
        assert len(record["checks"]) == ranks and all(c["passed"] for c in record["checks"])
        assert f"4 layers of 8 pages of 4.00 KiB: 128 KiB in {messages} messages" in record["facts"]["cache"]
        for value in metric(record, "transfer_seconds"):
            assert value["summary"]["n"] == 3 and value["summary"]["min"] > 0
        pairs = {(e["id"], e["peer"]) for e in record["entities"] if e["kind"] == "pair"}
        assert pairs == {(f"rank {i}", f"vmlab:rank {i + ranks // 2}") for i in range(ranks // 2)}
        assert not any("ceiling" in m for m in record["metrics"])  # soft-RoCE has no rate


def test_a_layer_is_stamped_when_its_acknowledgement_comes(boot):
    left = boot("narrow")
    assert left.rc == 0, left.told()
    record, = left.records
    first, longest, all_of_it = (metric(record, name)[0]["summary"]["median"] for name in
                                 ("first_layer_seconds", "longest_layer_seconds", "transfer_seconds"))
    # Two layers of one size: half of the time each.
    assert first < 0.75 * all_of_it and longest < 0.75 * all_of_it, (first, longest, all_of_it)


def test_a_page_in_the_wrong_place_is_named(boot):
    left = boot("misplaced")
    assert left.rc == 1, left.told()
    bad, = [c for c in left.records[0]["checks"] if not c["passed"]]
    assert "vmlab rank 0 → vmlab rank 1: transfer 1: layer 2, page 4: layer 2, page 5 came in its place" in bad["detail"]
    assert left.records[0]["metrics"] == []


def test_a_link_that_breaks_under_pages_names_both_ends_and_leaves_no_number(boot):
    left = boot("broken")
    # The limit without progress, 10 s, does not end the job before a transfer's own deadline, in which the receiver hears.
    assert left.rc == 4, left.told()
    assert left.seconds < 21 + 40  # the deadline of a transfer, and starting and ending mpirun in the emulation
    assert "vmlab rank 0 → vmlab rank 1: " in left.err and "rxe0" in left.err and "rxe1" in left.err, left.told()
    record, = left.records
    assert record["outcome"] == "errored" and not record["metrics"]


def test_sleeping_for_completions(boot):
    left = boot("events")
    assert left.rc == 0, left.told()


def test_different_mtus_meet_at_the_smaller(boot):
    left = boot("mtu")
    assert left.rc == 0, left.told()
    assert left.records[0]["facts"]["mtu_bytes"] == "1024"


def test_a_cut_link_is_named_at_the_deadline(boot):
    left = boot("cut")
    assert left.rc == 4, left.told()
    assert left.seconds < 6 + 30  # the deadline, and starting and ending mpirun in the emulation
    assert "rxe0" in left.err and "rxe1" in left.err
    record, = left.records
    assert record["outcome"] == "errored" and not record["metrics"]


def test_a_port_that_is_down(boot):
    left = boot("down")
    assert left.rc == 4, left.told()
    assert "vmlab rxe1: the port is DOWN" in left.err
    assert "ip link show v1" in left.err


def test_a_stopped_rank_is_named_and_leaves_nothing_behind(boot):
    left = boot("stopped")
    assert left.rc == 124, left.told()
    assert left.seconds < 14 + 5 + 20  # the round, --stall, and ending mpirun in the emulation
    assert "not there : vmlab rank 1" in left.err, left.told()
    assert not left.records
    assert left.survivors == ""


def test_locate_finds_the_slow_device(boot):
    left = boot("slow")
    assert left.rc == 1, left.told()
    lines = [line for line in left.out.splitlines() if line.startswith("suspect")]
    assert len(lines) == 1 and "vmlab rank 2" in lines[0], left.told()


def test_own_nic_through_the_switch(boot):
    left = boot("loopback")
    assert left.rc == 0, left.told()
    assert {e["peer"] for e in left.records[0]["entities"] if e["kind"] == "pair"} == {"vmlab:rxe0"}


@pytest.mark.parametrize("name, code, said", [
    ("unknown", 2, "rxe9 is not known, did you mean rxe0?"),
    ("gid", 2, "--gid-index  vmlab rxe0 has no GID 77; it has 0 1"),
    ("inline", 2, "bytes that vmlab rxe0 takes"),
    ("toomany", 2, "completion queue entries"),
    ("bigmtu", 2, "4096 is more than the 1024 bytes of active MTU"),
    ("datagram", 2, "65536 is more than the 1024 bytes of MTU, the most of UD"),
    ("memlock", 4, "limit of locked memory (ulimit -l)"),
])
def test_what_users_get_wrong(boot, name, code, said):
    left = boot(name)
    assert left.rc == code, left.told()
    assert said in left.err, left.told()
    assert not left.records or name == "memlock"
