"""Profiles of GPUDirect RDMA in the emulated machine: four hosts, each with two soft-RoCE ports and three stand-in GPUs, measured by
`clusterbench run`. The hosts differ by name only. A port carries a ten-thousandth of the profile's rate (tbf), and the profile's limit
of a rate is scaled by the same factor; its other limits are as shipped. Messages are smaller: soft-RoCE sends again what waits long."""
import json
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))
from gpu_node import HEALTHY_CUDA, HEALTHY_NVML, PRODUCTS, entries_of, failing, open_points  # noqa: E402
from vm_lab import OPEN_MPI, RDMA_MODULES  # noqa: E402

HOSTS = ("h1", "h2", "h3", "h4")
PORTS, GPUS = 2, 3
SCALE = 1e-4
MODULES = [*RDMA_MODULES, "sch_prio", "cls_u32"]
PRODUCT = PRODUCTS["h100-sxm"]
RAILS = [f"{host}:rxe{PORTS * i + port}" for i, host in enumerate(HOSTS) for port in range(PORTS)]
SMALL = {
    "verbs": {"size": "8K", "tx-depth": "2", "duration": "1s", "rails": ",".join(RAILS)},
    "nccl": {"size": "16K", "duration": None, "iterations": 3, "checks": 2, "init-deadline": "30s", "wait-deadline": "20s"},
}


def megabits(profile):
    """A port's rate: 200 or 400 Gb/s, scaled."""
    return int(profile.removeprefix("gpu-direct-").removesuffix("g")) * 1e3 * SCALE


def scaled_criterion(entry):
    source = {**entry["source"], "ref": "a ten-thousandth of the profile's limit, as the port's rate is"}
    return {"id": entry["id"], "min": entry["min"] * SCALE, "source": source}


def scaled(profiles, profile, params=None):
    """The shipped profile with smaller messages, three GPUs a host and the rate of its limit scaled."""
    steps, criteria = (entries_of(Path(profiles), profile, name) for name in ("steps", "criteria"))
    out = []
    for step, entry in steps.items():
        out.append({"id": step, "params": SMALL[entry["case"]] | ((params or {}) if entry["case"] == "verbs" else {})})
        if entry["case"] == "nccl":
            out[-1] |= {"ranks_per_host": GPUS, "needs": {**entry["needs"], "gpu": GPUS}}
    return {"schema": "clusterbench.profile/1", "base": profile, "name": f"{profile}-scaled", "title": {"en": "on soft-RoCE", "zh": "软件 RoCE"},
            "steps": out, "criteria": [scaled_criterion(c) for c in criteria.values() if "min" in c]}


def setup(profile):
    """The ports of all hosts on one subnet behind a bridge, p0 and on: each sends and receives at its rate and no faster."""
    rate = f"{megabits(profile):g}mbit"
    count = len(RAILS)
    return OPEN_MPI + f"""
echo 100000 >/proc/sys/net/core/netdev_max_backlog
echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
{{
  echo "link add br0 type bridge"
  echo "link set br0 mtu 4500"
  echo "link set br0 up"
  for i in $(seq 0 {count - 1}); do
    echo "link add v$i mtu 4500 type veth peer name p$i mtu 4500"
    echo "link set p$i master br0 up"
    echo "addr add 10.79.0.$((i + 1))/24 dev v$i"
    echo "link set v$i up"
  done
  echo "link add mpi0 type dummy"
  echo "addr add 10.77.0.1/24 dev mpi0"
  echo "link set mpi0 up"
}} | ip -batch -
rate() {{ tc qdisc replace dev v$1 root tbf rate $2 burst 16k limit 4mb; }} # rate PORT RATE
for i in $(seq 0 {count - 1}); do
  echo 0 >/proc/sys/net/ipv4/conf/v$i/rp_filter
  rdma link add rxe$i type rxe netdev v$i
  rate $i {rate}
done
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
cp /proc/stat /root/stat # the hosts share this machine's processors with soft-RoCE and with each other, and each would see that
mount --bind /root/stat /proc/stat
export OMPI_MCA_btl=self,tcp OMPI_MCA_plm_rsh_agent=/root/agent OMPI_MCA_oob_tcp_if_include=mpi0 OMPI_MCA_btl_tcp_if_include=mpi0
export PRTE_MCA_plm_ssh_agent=/root/agent PRTE_MCA_oob_tcp_if_include=mpi0 PRTE_MCA_hwloc_default_binding_policy=none
unset PRTE_MCA_rmaps_default_mapping_policy  # it would put all ranks on the first host
cat >/root/agent <<'S'
#!/bin/sh
export LAB_HOST=$1
shift
. /root/host-$LAB_HOST
exec unshare --uts sh -c 'hostname "$LAB_HOST" && eval "$*"' sh "$@"
S
chmod +x /root/agent
"""


def stand_ins(build, host, cuda="", nvml="", nccl="", library="fake_nccl.so"):
    """The file that the host's agent reads."""
    fake = Path(build).resolve() / "fake"
    number = HOSTS.index(host) + 1
    bus = ",".join(f"{way}={name}:45" for way in ("bus", "across") for name in ("AllReduce", "AllGather", "ReduceScatter", "SendRecv"))
    return f"""export CLUSTERBENCH_NVML_LIBRARY={fake}/fake_nvml.so CLUSTERBENCH_CUBLASLT_LIBRARY={fake}/fake_cublaslt.so
export CLUSTERBENCH_NCCL_LIBRARY={fake}/{library} FAKE_NCCL="hosts=named,{bus},{nccl}"
export CLUSTERBENCH_FAKE_NVML="gpus={GPUS} host={number} {HEALTHY_NVML} {PRODUCT['nvml']} {nvml}"
export CLUSTERBENCH_FAKE_CUDA="devices={GPUS} host={number} {HEALTHY_CUDA} {PRODUCT['cuda']} {cuda}"
"""


def file_of(path, text):
    return f"cat >{path} <<'J'\n{text.rstrip()}\nJ\n"


def words_of(faults, host):
    """What the host's stand-ins are told."""
    out = {}
    for fault in faults:
        if host in fault.hosts:
            out |= {key: f"{out.get(key, '')},{word}".strip(",") if key == "nccl" else word for key, word in fault.words.items()}
    return out


def script_of(build, profiles, profile, faults=(), timeout=400):
    """Measures and judges with the faults; leaves code, out, report.json and logs."""
    program, hosts = Path(build).resolve() / "bin/clusterbench_fake_gpu", "".join(f"{host} slots={GPUS}\n" for host in HOSTS)
    out = setup(profile) + "mkdir -p /lab/p\n" + file_of(f"/lab/p/{profile}-scaled.json", json.dumps(scaled(profiles, profile, {k: v for fault in faults for k, v in fault.params.items()})))
    for host in HOSTS:
        out += file_of(f"/root/host-{host}", stand_ins(build, host, **words_of(faults, host)))
    out += file_of("/root/hosts", hosts) + "".join(fault.before for fault in faults)
    return out + f"""
timeout {timeout} {program} run {profile}-scaled --profile-dir /lab/p --out /root/out --launcher mpirun --hostfile /root/hosts >out 2>&1
echo $? >code
timeout 60 {program} report /root/out --json report.json >>out 2>&1
cp -r /root/out/logs /lab/logs
"""


@dataclass
class Fault:
    """What is changed, the criterion that fails, the end that it names and words of its reason; or without a criterion, what is said of the host that is not measured."""

    criterion: str = ""
    culprit: str = ""
    says: str = ""
    may: tuple = ()  # fails besides: criteria that begin so
    words: dict = field(default_factory=dict)
    hosts: tuple = ()  # that have the words
    before: str = ""
    params: dict = field(default_factory=dict)  # of verbs


# The stand-in spoils the middle of a copy: with these messages that of a GPU's 2 MiB, where what is received begins.
MIDDLE = {"size": "256K", "tx-depth": "1", "qp-timeout": "19"}
SLOW = ("gdr.write", "bisection.fleet", "cross-rail.fleet")
# The first half of the hosts sends to the second: h1 to h3 and h2 to h4; vN is the port rxeN, two of each host in order.
FAULTS = {
    "a link at seven tenths": Fault("gdr.write", "h1:rxe0", before="rate 0 {rate:0.7}\n", may=SLOW),
    "a link an eighth slower": Fault("gdr.write", "h2:rxe3", before="rate 3 {rate:0.875}\n", may=("gdr.write",)),
    "a lossy link": Fault("gdr.write", "h2:rxe3", before="tc qdisc replace dev v3 root netem loss 15% rate {rate:1}\n", may=SLOW),
    "damaged packets": Fault("gdr.write", "h2:rxe2", before="tc qdisc replace dev v2 root netem corrupt 15% rate {rate:1}\n", may=SLOW),
    "a slow way from rail to rail": Fault("cross-rail.fleet", "h1:rxe0", before="""
tc qdisc replace dev v0 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
tc qdisc add dev v0 parent 1:1 tbf rate {rate:1} burst 16k limit 4mb
tc qdisc add dev v0 parent 1:2 tbf rate {rate:0.5} burst 16k limit 4mb
tc filter add dev v0 parent 1: protocol ip u32 match ip dst 10.79.0.6/32 flowid 1:2
"""),
    "a spoilt byte in a GPU": Fault("gdr.data", "h4:", words={"cuda": "flip@0=copy"}, hosts=("h4",), may=("gdr.", "step:"),
                                    params=MIDDLE),
    "wrong data in a rail": Fault("nccl-rails.data", "h2", words={"nccl": "wrong=1:2"}, hosts=("h2",), may=("nccl-rails.",)),
    "a rail is slower": Fault("nccl-rails.fleet", "rail 1", words={"nccl": "slow_rail=1:70"}, hosts=HOSTS),
    "a broken link": Fault("gdr.write", "h3:rxe5", before="ip link set v5 down\n", may=SLOW),
    "a NIC is gone": Fault(culprit="h4", says="rxe6", before="rdma link delete rxe6\n"),
    "a host without GPUs": Fault(culprit="h4", says="gpu on every host, h4 has none", words={"cuda": "devices=0", "nvml": "gpus=0"}, hosts=("h4",)),
    "the NVSwitch fabric is not ready": Fault(culprit="h3", says="nvidia-fabricmanager", words={"cuda": "count_error=802"}, hosts=("h3",)),
    "somebody has a GPU's memory": Fault("gdr.write", "h2:", words={"cuda": "memory@0=1000"}, hosts=("h2",), may=("gdr.",)),
    "a copy of a GPU fails": Fault("gdr.write", "h1:", words={"cuda": "die_copy@0=2"}, hosts=("h1",), may=("gdr.",)),
    "a copy never ends": Fault("gdr.write", "h2:", "it hangs", words={"cuda": "hang_copy@0=2"}, hosts=("h2",), may=("gdr.",)),
    "NCCL is missing": Fault(culprit="h3", says="NCCL cannot be opened", words={"library": "nothing.so"}, hosts=("h3",)),
    "NCCL finds a GPU twice": Fault(culprit="h4", says="h4 is out", words={"nccl": "duplicate"}, hosts=("h4",)),
    "NCCL loses a rank": Fault(culprit="h2", says="h2 is out", words={"nccl": "error=1:2"}, hosts=("h2",)),
    "a rank of NCCL stands still": Fault(culprit="h2", says="nothing has moved", words={"nccl": "hang=1:2"}, hosts=("h2",)),
}


# Those that do not hide each other: one on a link, one in NCCL.
TOGETHER = (
    ("a link at seven tenths", "wrong data in a rail"), ("a link an eighth slower", "a rail is slower"),
    ("a slow way from rail to rail", "NCCL is missing"), ("damaged packets", "a rank of NCCL stands still"),
)
RUNS = (*TOGETHER, *((name,) for name in FAULTS if not any(name in names for names in TOGETHER)))


def planted(name, profile):
    """The fault with the rates that it names: {rate:SHARE} is that share of a port's."""
    fault = FAULTS[name]
    return replace(fault, before=re.sub(r"\{rate:([\d.]+)\}", lambda m: f"{megabits(profile) * float(m[1]):g}mbit", fault.before))


def names(why, host):
    return re.search(rf"\b{host}\b", why) is not None


def is_named(fault, report, bad, left):
    if fault.criterion:
        return any(fault.culprit in part for part in bad.get(fault.criterion, ())) and fault.says in reason_of(report, fault.criterion)
    return any(names(why, fault.culprit) and fault.says in why for why in left.values())


def sound_of(faults):
    """Hosts that no open text may name: those without a fault, where a fault keeps a host from being measured."""
    if all(fault.criterion for fault in faults):
        return []
    return [host for host in HOSTS if not any(host in fault.hosts or names(fault.culprit, host) for fault in faults)]


def reason_of(report, criterion):
    return next(c["reason"] for c in report["criteria"] if c["id"] == criterion)


def explains(fault, criterion, part):
    may = tuple(word for word in (fault.criterion, *fault.may) if word)
    return bool(may) and criterion.startswith(may) and fault.culprit in part


def wrong_of(report, faults):
    """What is not as it must be: the faults, by name, that are not named, what fails besides, and sound hosts that an open text names."""
    bad, left = failing(report), {criterion: str(why) for criterion, why in open_points(report).items()}
    out = [f"{name} is not found" for name, fault in faults.items() if not is_named(fault, report, bad, left)]
    out += [f"{criterion} fails at {part}" for criterion, parts in bad.items() for part in sorted(parts)
            if not any(explains(fault, criterion, part) for fault in faults.values())]
    return out + [f"{host} is sound, and {criterion} names it: {why}" for criterion, why in left.items() for host in sound_of(faults.values())
                  if names(why, host)]
