#!/usr/bin/python3
"""How throughput falls with packet loss, and what marks of congestion cost, in the emulated machine (root is not needed).

    ci/loss_sweep.py BINARY [--only netem,own,verbs,ecn] [--losses 0,0.0001,0.001,0.01,0.03] [--work DIR]

netem: TCP between two namespaces over 40 Mb/s and 2 ms, of which `tc netem` loses a share, with two congestion controls.
own:   the same link without netem's loss: `tcp --loss` loses that share at the receiving socket. Both must say the same.
verbs: RDMA write over soft-RoCE, whose reliable connections go back to the lost packet and send all from there again.
ecn:   TCP through a `tc red` queue that marks, with ECN at both ends, at one, at none, beside what the queue has counted. By RFC
       3168 an echo is repeated, so its share is above that of the marks; with DCTCP they are equal.

Speed under emulation says nothing; the link is slower than the processors, and shares of it are what is shown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/labs/vm"), str(ROOT / "tests/labs/netns")]
import netns_lab  # noqa: E402  pylint: disable=wrong-import-position
from vm_lab import OPEN_MPI, RDMA_MODULES, SOFT_ROCE, VmLab  # noqa: E402  pylint: disable=wrong-import-position

MODULES = [*RDMA_MODULES, "sch_red", "tcp_bbr", "tcp_dctcp"]
PARTS = ("netem", "own", "verbs", "ecn")
CONTROLS = ("reno", "cubic")
RATE = "40mbit"
ECN = {"both ends": (1, 1, "reno"), "both ends, DCTCP": (1, 1, "dctcp"), "the sender asks, the other agrees": (1, 2, "reno"),
       "the receiver refuses": (1, 0, "reno"), "neither": (0, 0, "reno")}


def call(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, timeout=60).stdout


# ---- inside the emulated machine ----
def tc(namespace, *words):
    return call("ip", "netns", "exec", namespace, "tc", *words)


def set_kernel(lab, host, name, value):
    call("ip", "netns", "exec", host, "sysctl", "-qw", f"net.ipv4.{name}={value}")


def segments_alone(lab):
    """Each segment is a packet of its own, as on a wire: else a queue loses or marks 40 of them at once."""
    for host in lab.hosts:
        call("ip", "-n", host, "link", "set", "eth0", "gso_max_segs", "1")


def delayed(lab, loss):
    """What goes to the second host is limited, late, and lost by that share; what comes back is late."""
    tc(lab.head, "qdisc", "replace", "dev", "n2", "root", "netem", "rate", RATE, "delay", "1ms", "limit", "300",
       *(["loss", f"{loss * 100:g}%"] if loss else []))
    tc(lab.head, "qdisc", "replace", "dev", "n1", "root", "netem", "delay", "1ms", "limit", "3000")


def tcp(lab, binary, *options, streams=1):
    """[(parameters, facts, figures)] of the records."""
    out = Path("/tmp/tcp.json")
    done = lab.run(["mpirun", "--host", lab.host_list(1), "-np", "2", binary, "tcp", "--test", "bandwidth", "--streams", streams,
                    "--zero-copy", "off", "--quiet", "--json", out, *options], timeout=170)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{done.stderr}")
    return [(r["params"], r["facts"], {m["name"]: m["summary"]["median"] for m in r["metrics"]})
            for r in json.loads(out.read_text())["records"]]


def show(part, what, loss, figures, more=""):
    rate = figures["bytes_per_second"] * 8e-6
    again = f"{figures['retransmitted_share']:.5f}" if "retransmitted_share" in figures else "-"
    print(f"| {part} | {what} | {loss:g} | {rate:.2f} | {again} | {more} |", flush=True)


def with_losses(binary, part, losses):
    with netns_lab.NetnsLab(2) as lab:
        segments_alone(lab)
        for control in CONTROLS:
            for host in lab.hosts:
                set_kernel(lab, host, "tcp_congestion_control", control)
            if part == "own":
                delayed(lab, 0)
                for params, _, figures in tcp(lab, binary, "--duration", "4s", "--loss", ",".join(f"{x:g}" for x in losses)):
                    show(part, control, params["loss"], figures, f"kept {figures.get('kept_share', 1):.3f}")
                continue
            for loss in losses:
                delayed(lab, loss)
                (_, facts, figures), = tcp(lab, binary, "--duration", "4s")
                assert facts["congestion_control"] == control, facts
                show(part, control, loss, figures)


def queue_counts(lab):
    red, = (q for q in json.loads(tc(lab.head, "-s", "-j", "qdisc", "show", "dev", "n2")) if q["kind"] == "red")
    return red


def with_marks(binary):
    """Checked as well as shown: False where our echoes do not fit the marks of the queue."""
    good = True
    call("sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno dctcp")  # also for namespaces
    with netns_lab.NetnsLab(2) as lab:
        segments_alone(lab)
        for what, (sender, receiver, control) in ECN.items():
            for host, value in zip(lab.hosts, (sender, receiver)):
                set_kernel(lab, host, "tcp_ecn", value)
                set_kernel(lab, host, "tcp_congestion_control", control)
            tc(lab.head, "qdisc", "replace", "dev", "n2", "root", "handle", "1:", "tbf", "rate", "20mbit", "burst", "8k",
               "latency", "400ms")
            tc(lab.head, "qdisc", "replace", "dev", "n2", "parent", "1:1", "handle", "10:", "red", "limit", "90000", "min",
               "4500", "max", "13500", "avpkt", "1500", "burst", "6", "probability", "0.1", "bandwidth", "20mbit", "ecn")
            (_, facts, figures), = tcp(lab, binary, "--duration", "2s", streams=4)
            queue = queue_counts(lab)
            share = queue["marked"] / queue["packets"]
            agreed = bool(sender and receiver)
            ours = figures.get("ecn_echo_share")
            right = facts["ecn"] == ("agreed by both ends" if agreed else "not agreed") and (
                ours is None and queue["marked"] == 0 and queue["drops"] > 0 and figures["retransmitted_share"] > 0 if not agreed
                else queue["marked"] > 10 and (abs(ours / share - 1) < 0.25 if control == "dctcp" else ours >= share))
            good = good and right
            show("ecn", what, 0, figures, f"echoed {'-' if ours is None else f'{ours:.4f}'}, the queue marked {queue['marked']} of "
                 f"{queue['packets']} and dropped {queue['drops']}: {'right' if right else 'WRONG'}")
            tc(lab.head, "qdisc", "del", "dev", "n2", "root")
    return good


def with_verbs(binary, losses):
    call("bash", "-c", SOFT_ROCE)
    for loss in losses:
        for device in ("v0", "v1"):
            call("tc", "qdisc", "replace", "dev", device, "root", "netem", "rate", RATE, "delay", "1ms", "limit", "3000",
                 *(["loss", f"{loss * 100:g}%"] if loss and device == "v0" else []))
        script = OPEN_MPI + "export OMPI_MCA_btl=self,vader\n" + (
            f"timeout 150 mpirun -np 2 {binary} verbs --rails rxe0,rxe1 --op write --test bandwidth --size 64K --duration 4s "
            "--repetitions 4 --qp-timeout 10 --tx-depth 16 --cq-moderation 1 --quiet --json /tmp/verbs.json")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=170, check=False)
        record, = json.loads(Path("/tmp/verbs.json").read_text())["records"]
        figures = {m["name"]: m["summary"]["median"] for m in record["metrics"]}
        if "bytes_per_second" not in figures:
            print(f"| verbs | write | {loss:g} | none | | {record.get('reason', '')} {done.stderr.strip()[:300]} |", flush=True)
            continue
        sent = sum(d["after"] - d["before"] for d in record["telemetry"]["deltas"] if d["name"] == "packets_sent"
                   and record["entities"][d["entity"]]["id"] == "rxe0")
        moved = {d["name"]: d["after"] - d["before"] for d in record["telemetry"]["deltas"]
                 if d["name"] in ("ack_timeouts", "sequence_naks_received", "out_of_sequence")}
        show("verbs", "write", loss, figures, f"{sent:.0f} packets sent; {moved}")


def inside(binary, parts, losses):
    for line in OPEN_MPI.splitlines():  # fewer components of Open MPI to load, also between namespaces
        os.environ.update(setting.split("=", 1) for setting in line.split()[1:])
    print("| part | what | loss | Mb/s | sent again | |\n|---|---|---|---|---|---|", flush=True)
    good = True
    for part in parts:
        if part == "verbs":
            with_verbs(binary, losses)
        elif part == "ecn":
            good = with_marks(binary) and good
        else:
            with_losses(binary, part, losses)
    return good


# ---- outside ----
def run(binary, parts, losses, directory, timeout=1500):
    """The Result of one boot; its stdout is the table."""
    lab = VmLab(directory, modules=MODULES)
    if reason := lab.missing():
        raise SystemExit(reason)
    directory.mkdir(parents=True, exist_ok=True)
    return lab.run(f"exec python3 {Path(__file__).resolve()} {Path(binary).resolve()} --inside --only {','.join(parts)} --losses "
                   f"{','.join(f'{x:g}' for x in losses)}", timeout=timeout, name="loss")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--losses", default="0,0.0001,0.001,0.01,0.03")
    parser.add_argument("--work", help="directory for kernel and results; a temporary one unless given")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    losses = [float(x) for x in arguments.losses.split(",")]
    if arguments.inside:
        sys.exit(0 if inside(arguments.binary, parts, losses) else 1)
    with tempfile.TemporaryDirectory() as temporary:
        result = run(arguments.binary, parts, losses, Path(arguments.work or temporary).resolve())
        print(result.stdout, end="")
        if result.rc:
            print(result.stderr + result.console[-2000:], file=sys.stderr)
        print(f"{result.seconds:.0f} s", file=sys.stderr)
        sys.exit(result.rc)


if __name__ == "__main__":
    main()
