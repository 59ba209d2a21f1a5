#!/usr/bin/python3
"""clusterbench verbs against perftest in one boot of the emulated machine, over soft-RoCE.

    tests/labs/vm/compare_perftest.py BINARY [--pairs 5] [--iterations 2000] [--operations write,read,send]
                                      [--tests latency,bandwidth] [--quick | --sizes 4096,1048576 --qps 1,4]
                                      [--outstanding-reads N] [--work DIR]

Both tools run the same operation, size, queue pairs, depth, completions and number of messages, with either end pinned
to its own processor. A pair is perftest, clusterbench, perftest: ours stands beside the mean of the two runs around it,
and how far these two are apart is the noise. perftest's t_typical stands beside our median, its message rate (its
bandwidth has two digits) beside ours. The kernel threads that do soft-RoCE's work get real-time priority, as a NIC would
not wait for a processor either. Run it on a machine that does nothing else; one operation and one test take 1 to 5 minutes.

ratio: median of the pairs' ratios, clusterbench over perftest; a latency below 1 and a rate above 1 are better.
noise: median distance between the two perftest runs of a pair.
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
# frequency fails now and then under emulation ("Correlation coefficient"), and then it prints inf or 0: once more.
FUNCTIONS = r"""
for thread in $(pgrep ksoftirqd); do chrt --fifo --pid 1 "$thread"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export OMPI_MCA_hwloc_base_binding_policy=none
listening() { grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6; }
theirs() { # theirs NAME PROGRAM OPTIONS…
  local name=$1 line=inf; shift
  for _ in 1 2 3 4 5; do
    timeout 30 taskset -c 1 "$1" -d rxe1 -F "${@:2}" >server.log 2>&1 &
    for _ in $(seq 100); do listening && break; sleep 0.05; done
    timeout 30 taskset -c 0 "$1" -d rxe0 -F "${@:2}" 10.78.0.2 >client.out 2>client.log
    line=$(grep -A1 '#bytes' client.out | grep -v '#' | grep '[0-9]')
    wait
    case $line in *inf*|*nan*|*\ 0.000000*|'') ;; *) echo "$name $line" >>theirs.txt; break ;; esac
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
    return iterations if size <= 4096 else max(16, iterations * 4096 // size)


def alike(sizes, iterations):
    """(count, sizes that have it): what one start of clusterbench measures."""
    counts = sorted({count_of(size, iterations) for size in sizes}, reverse=True)
    return [(count, [size for size in sizes if count_of(size, iterations) == count]) for count in counts]


def blocks(operation, options, pair):
    """Per start of ours: its command, and perftest's (name, command) for the same points."""
    (latency, bandwidth, qps), tests, iterations = options.points, options.tests, options.iterations
    reads = options.outstanding_reads if operation == "read" else 0
    ours_reads, their_reads = (f" --outstanding-reads {reads}", f" -o {reads}") if reads else ("", "")
    for count, group in alike(latency, iterations) if "latency" in tests else []:
        yield (f"ours lat-{operation}-{group[0]}-{pair}.json --op {operation} --test latency "
               f"--size {','.join(map(str, group))} --inline 0 --iterations {count}",
               [(f"lat {operation} {size} 1 {pair}", f"ib_{operation}_lat -s {size} -n {count}") for size in group])
    # Without perftest's --perform_warm_up, which waits for ever when not every message asks for a completion.
    for count, group in alike(bandwidth, iterations) if "bandwidth" in tests else []:
        yield (f"ours bw-{operation}-{group[0]}-{pair}.json --op {operation} --test bandwidth --repetitions 1 --tx-depth 128 "
               f"--cq-moderation 64 --qp-timeout 14 --size {','.join(map(str, group))} --qps {','.join(map(str, qps))} "
               f"--iterations {count}{ours_reads}",
               [(f"bw {operation} {size} {q} {pair}",
                 f"ib_{operation}_bw -s {size} -q {q} -t 128 -Q 64 -n {count}{their_reads}")
                for size in group for q in qps])


def script(binary, options):
    lines = [SOFT_ROCE, f"BINARY={binary}", FUNCTIONS]
    for pair in range(options.pairs):
        for operation in options.operations:
            for mine, others in blocks(operation, options, pair):
                lines += [f"theirs '{name} before' {command}" for name, command in others]
                lines.append(mine)
                lines += [f"theirs '{name} after' {command}" for name, command in others]
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
    """{(kind, op, size, qps): {pair: [value before ours, value after]}}, pairs with both."""
    out = {}
    for line in text.splitlines():
        kind, op, size, qps, pair, _, *columns = line.split()
        # latency: bytes iterations t_min t_max t_typical; bandwidth: bytes iterations peak average Mpps
        value = float(columns[4]) * (1e-6 if kind == "lat" else 1e6)
        out.setdefault((kind, op, int(size), int(qps)), {}).setdefault(int(pair), []).append(value)
    return {key: {pair: values for pair, values in pairs.items() if len(values) == 2} for key, pairs in out.items()}


def shown(kind, value):
    return f"{value * 1e6:.2f} µs" if kind == "lat" else f"{value:.0f} msg/s"


def row(key, mine, other):
    """The table's row of one point, and whether it is at least as good as perftest, within the noise."""
    kind, op, size, qps = key
    start = f"| {op} {'latency' if kind == 'lat' else 'rate'} | {size} | {qps} | "
    common = sorted(set(mine) & set(other))
    if not common:
        return start + "not measured | | | | | no |", False
    ratios = [mine[pair] / statistics.mean(other[pair]) for pair in common]
    ratio = statistics.median(ratios)
    noise = statistics.median(abs(after / before - 1) for before, after in (other[pair] for pair in common))
    good = ratio <= 1 if kind == "lat" else ratio >= 1
    within = abs(ratio - 1) <= noise
    a = statistics.median(mine[pair] for pair in common)
    b = statistics.median(value for pair in common for value in other[pair])
    return (start + f"{shown(kind, a)} | {shown(kind, b)} | {ratio:.3f} | {min(ratios):.3f}–{max(ratios):.3f} ({len(common)}) | "
            f"{noise * 100:.1f} % | {'yes' if good else 'within noise' if within else 'no'} |", good or within)


def table(mine, other):
    rows = ["| operation | size | QPs | clusterbench | perftest | ratio | pairs' ratios | noise | ok |",
            "|---|---|---|---|---|---|---|---|---|"]
    points = [row(key, mine.get(key, {}), other[key]) for key in sorted(other)]
    return "\n".join(rows + [text for text, _ in points]), sum(not good for _, good in points)


def points_of(arguments):
    """(sizes of latency, sizes of bandwidth, queue pairs) that the command line asks for."""
    latency, bandwidth, qps = ((2, 65536), (64, 65536), (1, 4)) if arguments.quick else (LATENCY_SIZES, BANDWIDTH_SIZES, QUEUE_PAIRS)
    chosen = tuple(int(size) for size in (arguments.sizes or "").split(",") if size)
    only = tuple(int(count) for count in (arguments.qps or "").split(",") if count)
    return chosen or latency, chosen or bandwidth, only or qps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--tests", default="latency,bandwidth")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--sizes", help="these sizes alone, latency and bandwidth")
    parser.add_argument("--qps", help="these numbers of queue pairs alone")
    parser.add_argument("--outstanding-reads", type=int, default=0, help="reads in flight per queue pair, of either tool")
    parser.add_argument("--work", help="directory for kernel and results; a temporary one unless given")
    parser.add_argument("--deadline", type=int, default=3000, help="seconds; what was measured by then is shown")
    arguments = parser.parse_args()
    arguments.operations, arguments.tests = arguments.operations.split(","), arguments.tests.split(",")
    arguments.points = points_of(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        lab = VmLab(Path(arguments.work or temporary).resolve(), modules=RDMA_MODULES)
        reason = lab.missing()
        if reason:
            raise SystemExit(reason)
        result = lab.run(script(Path(arguments.binary).resolve(), arguments), timeout=arguments.deadline,
                         name="compare")
        if not (result.directory / "theirs.txt").exists():
            result.check()
        text, bad = table(ours(result.directory), theirs((result.directory / "theirs.txt").read_text()))
        print(text)
        print(f"{result.seconds:.0f} s; exit code of the emulated machine: {result.rc}\n{result.stdout}", file=sys.stderr)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
