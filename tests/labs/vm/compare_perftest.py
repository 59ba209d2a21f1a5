#!/usr/bin/python3
"""clusterbench verbs against perftest in one boot of the emulated machine, over soft-RoCE.

    tests/labs/vm/compare_perftest.py BINARY [--pairs 5] [--iterations 500] [--operations write,read,send]
                                      [--tests latency,bandwidth] [--quick] [--work DIR]

Both tools run the same operation, size, queue pairs, depth and number of messages, one after the other, with either end
pinned to its own processor, `--pairs` times in turn, every other time the other tool first. The kernel threads that do
soft-RoCE's work get real-time priority, as a NIC would not wait for a processor either. Run it on a machine that does
nothing else. perftest's t_typical stands beside our median, its message rate (its
bandwidth has two digits) beside ours. The ratio is clusterbench over perftest, of the medians; the spread is that of the
pairs' own ratios. A latency below 1 and a rate above 1 are better.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from vm_lab import RDMA_MODULES, SOFT_ROCE, VmLab  # noqa: E402

OPERATIONS = ("write", "read", "send")
LATENCY_SIZES = (2, 64, 1024, 65536)
BANDWIDTH_SIZES = (64, 4096, 65536, 1048576)
QUEUE_PAIRS = (1, 4)

# perftest waits on a TCP port for its client: no fixed sleep, the port is looked for. Its estimate of the processor's
# frequency fails now and then under emulation ("Correlation coefficient"), and then it prints inf: once more.
FUNCTIONS = """
for thread in $(pgrep ksoftirqd); do chrt --fifo --pid 1 "$thread"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export OMPI_MCA_hwloc_base_binding_policy=none
listening() { grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6; }
theirs() { # theirs NAME PROGRAM OPTIONS…
  local name=$1 line=inf; shift
  for _ in 1 2 3 4 5; do
    timeout 60 taskset -c 1 "$1" -d rxe1 -F "${@:2}" >server.log 2>&1 &
    for _ in $(seq 100); do listening && break; sleep 0.05; done
    line=$(timeout 60 taskset -c 0 "$1" -d rxe0 -F "${@:2}" 10.78.0.2 2>client.log | grep -A1 '#bytes' | tail -1)
    wait
    case $line in *inf*|*nan*|'') ;; *) echo "$name $line" >>theirs.txt; break ;; esac
  done
}
cat >ours.sh <<'S'
exec taskset -c "$OMPI_COMM_WORLD_RANK" "$@"
S
ours() { # ours FILE OPTIONS…
  mpirun -np 2 bash ours.sh "$BINARY" verbs --rails rxe0,rxe1 --quiet --json "$@" 2>>ours.log || cat ours.log
}
"""


def count_of(size, iterations):
    """Messages per queue pair: as many bytes as time allows, but never so few that the start decides."""
    return iterations if size <= 4096 else max(30, iterations * 8192 // size)


def blocks(operation, tests, iterations, sizes, pair):
    """Per record of ours: its command, and the commands of perftest for the same points."""
    latency, bandwidth, qps = sizes
    if "latency" in tests:
        yield (f"ours lat-{operation}-0-{pair}.json --op {operation} --test latency --size {','.join(map(str, latency))} "
               f"--inline 0 --iterations {iterations}",
               [f"theirs 'lat {operation} {size} 1 {pair}' ib_{operation}_lat -s {size} -n {iterations}" for size in latency])
    if "bandwidth" not in tests:
        return
    # Ours always warms up; perftest's send cannot.
    warm = "" if operation == "send" else " --perform_warm_up"
    for count in sorted({count_of(size, iterations) for size in bandwidth}):
        alike = [size for size in bandwidth if count_of(size, iterations) == count]
        yield (f"ours bw-{operation}-{alike[0]}-{pair}.json --op {operation} --test bandwidth --repetitions 1 --tx-depth 128 "
               f"--size {','.join(map(str, alike))} --qps {','.join(map(str, qps))} --iterations {count}",
               [f"theirs 'bw {operation} {size} {q} {pair}' ib_{operation}_bw -s {size} -q {q} -t 128 -n {count}{warm}"
                for size in alike for q in qps])


def script(binary, options, sizes):
    lines = [SOFT_ROCE, f"BINARY={binary}", FUNCTIONS]
    for pair in range(options.pairs):
        for operation in options.operations:
            for mine, others in blocks(operation, options.tests, options.iterations, sizes, pair):
                lines += [mine, *others] if pair % 2 == 0 else [*others, mine]
        lines.append(f"echo pair {pair + 1} of {options.pairs} done >/dev/ttyS0")
    return "\n".join(lines) + "\n"


def ours(directory):
    """{(kind, op, size, qps): {pair: value}} of our documents: seconds of latency, messages per second."""
    out = {}
    for file in directory.glob("*-*-*.json"):
        pair = int(file.stem.rpartition("-")[2])
        for record in json.loads(file.read_text() or '{"records": []}')["records"]:
            params = record["params"]
            kind = "lat" if params["test"] == "latency" else "bw"
            wanted = ("messages_per_second",) if kind == "bw" else ("half_round_trip_seconds", "round_trip_seconds")
            for metric in record["metrics"]:
                if metric["name"] in wanted:
                    key = (kind, params["op"], params["size"], params["qps"])
                    out.setdefault(key, {})[pair] = metric["summary"]["median"]
    return out


def theirs(text):
    out = {}
    for line in text.splitlines():
        kind, op, size, qps, pair, *columns = line.split()
        # latency: bytes iterations t_min t_max t_typical; bandwidth: bytes iterations peak average Mpps
        value = float(columns[4]) * (1e-6 if kind == "lat" else 1e6)
        out.setdefault((kind, op, int(size), int(qps)), {})[int(pair)] = value
    return out


def table(mine, other):
    rows = ["| operation | size | QPs | clusterbench | perftest | ratio | pairs' ratios | ok |", "|---|---|---|---|---|---|---|---|"]
    bad = 0
    for key in sorted(other):
        kind, op, size, qps = key
        common = sorted(set(mine.get(key, {})) & set(other[key]))
        if not common:
            rows.append(f"| {op} {kind} | {size} | {qps} | not measured | | | | no |")
            bad += 1
            continue
        a, b = statistics.median(mine[key].values()), statistics.median(other[key].values())
        ratios = [mine[key][i] / other[key][i] for i in common]
        # Noise: the ratio may be on the wrong side of 1 by as much as the pairs' ratios scatter around theirs.
        half = (max(ratios) - min(ratios)) / 2
        good = a / b <= 1 if kind == "lat" else a / b >= 1
        within = good or abs(a / b - 1) <= half
        bad += not within
        shown = (f"{a * 1e6:.2f} µs", f"{b * 1e6:.2f} µs") if kind == "lat" else (f"{a:.0f} msg/s", f"{b:.0f} msg/s")
        rows.append(f"| {op} {'latency' if kind == 'lat' else 'rate'} | {size} | {qps} | {shown[0]} | {shown[1]} | {a / b:.3f} | "
                    f"{min(ratios):.3f}–{max(ratios):.3f} | {'yes' if good else 'within noise' if within else 'no'} |")
    return "\n".join(rows), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--tests", default="latency,bandwidth")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--work", help="directory for kernel and results; a temporary one unless given")
    parser.add_argument("--deadline", type=int, default=3000, help="seconds; what was measured by then is shown")
    arguments = parser.parse_args()
    arguments.operations, arguments.tests = arguments.operations.split(","), arguments.tests.split(",")
    sizes = ((2, 65536), (64, 65536), (1, 4)) if arguments.quick else (LATENCY_SIZES, BANDWIDTH_SIZES, QUEUE_PAIRS)
    with tempfile.TemporaryDirectory() as temporary:
        lab = VmLab(Path(arguments.work or temporary).resolve(), modules=RDMA_MODULES)
        reason = lab.missing()
        if reason:
            raise SystemExit(reason)
        result = lab.run(script(Path(arguments.binary).resolve(), arguments, sizes), timeout=arguments.deadline,
                         name="compare")
        if not (result.directory / "theirs.txt").exists():
            result.check()
        text, bad = table(ours(result.directory), theirs((result.directory / "theirs.txt").read_text()))
        print(text)
        if result.stdout:
            print(result.stdout, file=sys.stderr)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
