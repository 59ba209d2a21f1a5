"""A subnet of the InfiniBand simulator, seen by the real ibnetdiscover and judged by ours; its cables are moved meanwhile."""

import json
import os
import shutil
import subprocess
import threading

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
PRELOAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
pytestmark = pytest.mark.skipif(not os.path.exists(PRELOAD) or not shutil.which("ibnetdiscover", path="/usr/sbin:/usr/bin"),
                                reason="needs ibsim-utils and infiniband-diags, which ci/bootstrap.sh installs")
HOSTS, RAILS, SPINES = 6, 4, 2


def links(hosts=HOSTS, rails=RAILS, spines=SPINES):
    """(leaf, port, device, port): adapter r of every host on leaf r, every leaf on every spine."""
    for r in range(rails):
        for h in range(hosts):
            yield f"leaf-{r}", h + 1, f"host{h:03} mlx5_{r}", 1
        for s in range(spines):
            yield f"leaf-{r}", hosts + 1 + s, f"spine-{s}", r + 1


def identity(name):
    kind, number = ("S", 0x100) if name.startswith(("leaf", "spine")) else ("H", 0x1000)
    digits = [int(d) for d in name.replace("host", "").replace("mlx5_", "").replace("leaf-", "1 ").replace("spine-", "2 ").split()]
    return f"{kind}-{number + digits[0] * 256 + digits[1]:016x}"


def net_file(slow=()):
    """The simulator's input. `slow`: (device, port) of links of one lane."""
    names = sorted({n for leaf, _, device, _ in links() for n in (leaf, device)})
    out = []
    for name in names:
        is_switch = identity(name).startswith("S")
        ports = [(p, d, q) for leaf, p, d, q in links() if leaf == name] + [(q, leaf, p) for leaf, p, d, q in links() if d == name]
        key = "switchguid" if is_switch else "caguid"
        out.append(f"{key}=0x{identity(name)[2:]}")
        out.append(f'{"Switch 32" if is_switch else "Ca 1"} "{identity(name)}" # "{name}"' + (" base port 0 lid 0 lmc 0" if is_switch else ""))
        out += [f'[{p}] "{identity(d)}"[{q}] # "{d}" lid 0 {1 if {(name, p), (d, q)} & set(slow) else 4}xHDR' for p, d, q in ports]
        out.append("")
    return "\n".join(out)


class Simulator:
    def __init__(self, directory, text):
        self.directory = directory
        (directory / "net").write_text(text)
        self.name = f"clusterbench-{os.getpid()}-{directory.name}"
        self.environment = {**os.environ, "IBSIM_SOCKNAME": self.name, "SIM_HOST": identity("host000 mlx5_0")}
        self.process = subprocess.Popen(["ibsim", "-s", "net"], cwd=directory, env=self.environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ready = threading.Timer(60, self.process.kill)  # ibsim that never gets ready would hold up everything
        ready.start()
        said = ""
        while "ready" not in said:
            said = self.process.stdout.readline()
            assert said, "ibsim ended"
        ready.cancel()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(timeout=20)

    def tell(self, *commands):
        self.process.stdin.write("".join(c + "\n" for c in commands))
        self.process.stdin.flush()

    def discover(self):
        done = subprocess.run(["/usr/sbin/ibnetdiscover"], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True,
                              env={**self.environment, "LD_PRELOAD": PRELOAD})
        path = self.directory / "net.txt"
        path.write_text(done.stdout)
        return path


def write_plan(directory):
    path = directory / "plan.csv"
    path.write_text("a_device,a_port,b_device,b_port\n" + "".join(f"{a},{p},{b.replace(' ', '/')},{q}\n" for a, p, b, q in links()))
    return path


def judge(directory, dump, code, *more):
    out = directory / "f.json"
    done = subprocess.run([BINARY, "fabric", "--from", dump, "--json", out, *more], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    (record,) = json.loads(out.read_text())["records"]
    failed = {(c["name"], record["entities"][c["entity"]]["id"]) for c in record["checks"] if not c["passed"]}
    return record, failed, done.stdout


@pytest.fixture
def place(tmp_path):
    return tmp_path


def test_a_healthy_subnet_is_as_it_was_built(place):
    with Simulator(place, net_file()) as sim:
        dump = sim.discover()
    record, failed, said = judge(place, dump, 0, "--plan", write_plan(place))
    assert not failed and "suspects: none" in said
    figures = {m["name"]: m["summary"]["max"] for m in record["metrics"]}
    assert figures == {"adapters": HOSTS * RAILS, "switches": RAILS + SPINES, "links": len(list(links())), "hosts": HOSTS,
                       "oversubscription": HOSTS / SPINES}
    leaves = [record["entities"][m["entity"]]["id"] for m in record["metrics"] if m["name"] == "oversubscription"]
    assert sorted(leaves) == [f"leaf-{r}" for r in range(RAILS)]
    assert record["facts"]["tiers"] == "2" and record["facts"]["parts"] == "1"


def test_two_exchanged_cables_are_one_finding(place):
    a, b = ("leaf-0", 2, "host001 mlx5_0"), ("leaf-3", 2, "host001 mlx5_3")
    with Simulator(place, net_file()) as sim:
        sim.tell(*(f'Unlink "{identity(leaf)}"[{port}]' for leaf, port, _ in (a, b)),
                 f'Link "{identity(a[0])}"[2] "{identity(b[2])}"[1]', f'Link "{identity(b[0])}"[2] "{identity(a[2])}"[1]', "Wait 1")
        dump = sim.discover()
    _, failed, said = judge(place, dump, 1, "--plan", write_plan(place))
    # Five of six adapters of a leaf are not enough to say which rail it is.
    assert failed == {("swapped", "host001 mlx5_0 port 1 – leaf-0 port 2; host001 mlx5_3 port 1 – leaf-3 port 2")}
    assert "suspect: host001 mlx5_0 port 1 – leaf-0 port 2; host001 mlx5_3 port 1 – leaf-3 port 2: are in the plan; two cables" in said


def test_a_cable_that_is_out_is_missing(place):
    with Simulator(place, net_file()) as sim:
        sim.tell(f'Unlink "{identity("leaf-1")}"[{HOSTS + 1}]', "Wait 1")
        dump = sim.discover()
    _, failed, _ = judge(place, dump, 1, "--plan", write_plan(place))
    assert failed == {("missing", f"leaf-1 port {HOSTS + 1} – spine-0 port 2")}


def test_a_link_of_one_lane_is_slow(place):
    with Simulator(place, net_file(slow={("leaf-2", 3)})) as sim:
        dump = sim.discover()
    _, failed, _ = judge(place, dump, 1)
    assert [name for name, _ in failed] == ["link_rate"] and "leaf-2 port 3" in next(iter(failed))[1]
