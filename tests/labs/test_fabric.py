"""A subnet of the InfiniBand simulator with two subnet managers: asked by our own datagrams, and seen by the real ibnetdiscover, iblinkinfo,
ibqueryerrors and dump_fts; what is found must be the same. Its cables are moved, its ports spoilt meanwhile."""

import functools
import json
import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

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


@functools.cache
def fastest():
    """The fastest rate that the simulator knows, which it states as supported for every port: a link below it is a finding."""
    return "NDR" if b"NDR" in Path(shutil.which("ibsim")).read_bytes() else "HDR"


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
        out += [f'[{p}] "{identity(d)}"[{q}] # "{d}" lid 0 {1 if {(name, p), (d, q)} & set(slow) else 4}x{fastest()}' for p, d, q in ports]
        out.append("")
    return "\n".join(out)


class Simulator:
    def __init__(self, directory, text):
        self.directory = directory
        self.managers = []
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
        for manager in self.managers:
            manager.kill()
            manager.wait(timeout=20)
        self.process.kill()
        self.process.wait(timeout=20)

    def tell(self, *commands):
        self.process.stdin.write("".join(c + "\n" for c in commands))
        self.process.stdin.flush()

    def tool(self, *command, name="net.txt"):
        """What a tool of infiniband-diags prints, as a file."""
        done = subprocess.run([f"/usr/sbin/{command[0]}", *command[1:]], cwd=self.directory, capture_output=True, text=True, timeout=60, check=False,
                              env={**self.environment, "LD_PRELOAD": PRELOAD})
        path = self.directory / name
        path.write_text(done.stdout)
        return path

    def discover(self):
        return self.tool("ibnetdiscover")

    def manager(self, host, priority):
        """OpenSM on that host's first adapter, when it has said what it is."""
        environment = {**self.environment, "SIM_HOST": identity(f"{host} mlx5_0"), "LD_PRELOAD": PRELOAD, "OSM_CACHE_DIR": str(self.directory),
                       "OSM_TMP_DIR": str(self.directory)}
        log = self.directory / f"opensm-{host}.log"
        out = open(self.directory / f"opensm-{host}.out", "w", encoding="utf-8")
        (self.directory / "opensm.conf").write_text("force_log_flush TRUE\n")
        self.managers.append(subprocess.Popen(["/usr/sbin/opensm", "-F", "opensm.conf", "-R", "ftree", "-p", str(priority), "-f", str(log)], cwd=self.directory,
                                              env=environment, stdout=out, stderr=out))
        until = time.monotonic() + 60
        while not re.search("SUBNET UP|STANDBY state", (log.read_text() if log.exists() else "") + open(out.name, encoding="utf-8").read()):
            assert time.monotonic() < until and self.managers[-1].poll() is None, "OpenSM did not get ready"
            time.sleep(0.1)


def write_plan(directory):
    path = directory / "plan.csv"
    path.write_text("a_device,a_port,b_device,b_port\n" + "".join(f"{a},{p},{b.replace(' ', '/')},{q}\n" for a, p, b, q in links()))
    return path


def judge(directory, dump, code, *more):
    return verdict(directory, code, ["--from", dump, *more])


def verdict(directory, code, arguments, environment=None):
    out = directory / "f.json"
    done = subprocess.run([BINARY, "fabric", "--json", out, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment)
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


managed = pytest.mark.skipif(not os.path.exists("/usr/sbin/opensm"), reason="needs opensm, which ci/bootstrap.sh installs")


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A subnet with a master and a standby; each test puts back what it changes."""
    with Simulator(tmp_path_factory.mktemp("live"), net_file()) as sim:
        sim.manager("host000", 10)
        sim.manager("host005", 1)
        yield sim


def ask(sim, code, *more):
    """Our own datagrams, from another host than the managers'."""
    return verdict(sim.directory, code, list(more), {**sim.environment, "SIM_HOST": identity("host002 mlx5_1"), "LD_PRELOAD": PRELOAD})


def figures_of(record):
    return {m["name"]: m["summary"]["max"] for m in record["metrics"] if record["entities"][m["entity"]]["kind"] == "cluster"}


def links_of(dump):
    """{(device, port, device, port)} of an ibnetdiscover text, each link once."""
    out, names, lines, device = set(), {}, [], None
    for line in dump.read_text().splitlines():
        head = re.match(r'(Switch|Ca)\t\d+ "([^"]+)"\s+# "([^"]+)"', line)
        port = re.match(r'\[(\d+)\](?:\(\w+\))?\s+"([^"]+)"\[(\d+)\]', line)
        if head:
            device = head[2]
            names[device] = head[3]
        elif port:
            lines.append((device, int(port[1]), port[2], int(port[3])))
    for a, p, b, q in lines:
        out.add(tuple(sorted([(names[a], p), (names[b], q)])))
    return out


@managed
def test_asked_directly_it_is_what_ibnetdiscover_prints(live):
    record, failed, said = ask(live, 0, "--plan", write_plan(live.directory), "--save", live.directory / "own.txt")
    assert not failed and "suspects: none" in said
    figures = figures_of(record)
    assert (figures["adapters"], figures["switches"], figures["links"], figures["hosts"]) == (HOSTS * RAILS, RAILS + SPINES, len(list(links())), HOSTS)
    assert figures["unreached_pairs"] == 0 and figures["uplink_load"] == 1 and figures["ends_with_errors"] == 0
    assert figures["standby_managers"] == 1 and "rail-optimised" in record["facts"]["topology"]
    passed = {c["name"] for c in record["checks"]}
    assert {"manager", "route_hole", "credit_loop", "pkeys", "mtu", "errors", "unanswered"} <= passed
    assert "firmware" not in passed  # the simulator's devices do not tell it
    theirs = links_of(live.discover())
    assert links_of(live.directory / "own.txt") == theirs and len(theirs) == figures["links"]


@managed
def test_every_kind_of_file_has_the_same_verdict(live):
    files = {"cache": live.directory / "cache", "info": live.tool("iblinkinfo", name="info.txt"), "lines": live.tool("iblinkinfo", "-l", name="lines.txt"),
             "text": live.tool("ibnetdiscover", "--cache", "cache"), "tables": live.tool("dump_fts", name="fts.txt"),
             "errors": live.tool("ibqueryerrors", "--data", name="errors.txt")}
    shape = None
    for names in (["text"], ["cache"], ["info"], ["lines"], ["errors", "tables", "text"], ["info", "tables"], ["cache", "tables", "errors", "info"]):
        record, failed, _ = judge(live.directory, ",".join(str(files[n]) for n in names), 0, "--plan", write_plan(live.directory))
        figures = figures_of(record)
        own = {k: figures[k] for k in ("adapters", "switches", "links", "hosts")}
        shape = shape or own
        assert not failed and own == shape, names
        if "tables" in names:
            assert figures["unreached_pairs"] == 0 and "route_hole" in {c["name"] for c in record["checks"]}


@managed
def test_counters_are_those_that_ibqueryerrors_prints(live):
    wanted = {("leaf-0", 2): 12, ("host003 mlx5_2", 1): 345, ("spine-1", 4): 7}
    live.tell(*(f'PerformanceSet "{identity(d)}"[{p}] PortCounters.SymbolErrorCounter={n}' for (d, p), n in wanted.items()), "Wait 1")
    theirs = live.tool("ibqueryerrors", "--data", name="errors.txt")
    record, failed, _ = ask(live, 1)
    told = {record["entities"][c["entity"]]["id"]: c["detail"] for c in record["checks"] if not c["passed"]}
    assert failed == {("errors", f"{d} port {p}") for d, p in wanted}
    for (device, port), n in wanted.items():
        assert f"SymbolErrorCounter {n} in " in json.dumps(told[f"{device} port {port}"])
        assert re.search(rf"GUID 0x\w+ port {port}: .*SymbolErrorCounter == {n}]", theirs.read_text())
    _, of_files, _ = judge(live.directory, f"{theirs},{live.discover()}", 1)
    assert of_files == failed
    live.tell(*(f'PerformanceSet "{identity(d)}"[{p}] PortCounters.SymbolErrorCounter=0' for d, p in wanted), "Wait 1")
    assert not ask(live, 0)[1]


@managed
def test_errors_in_a_window_are_those_that_came_in_it(live):
    live.tell(f'PerformanceSet "{identity("leaf-0")}"[2] PortCounters.LinkDownedCounter=3', "Wait 1")
    record, failed, _ = ask(live, 0, "--window", "1s")
    assert not failed and figures_of(record)["shown_errors_per_bit"] > 1e-12
    assert any("not shown" in json.dumps(n) for n in record["notes"])
    live.tell(f'PerformanceSet "{identity("leaf-0")}"[2] PortCounters.LinkDownedCounter=0', "Wait 1")


@managed
def test_the_gate_of_the_profile_accepts_it_and_refuses_it_without_a_device(live, tmp_path):
    """`run fabric-ib` with a window of a second, and its gate; then the same with an adapter that is silent."""
    profile = tmp_path / "lab.json"
    profile.write_text(json.dumps({"schema": "clusterbench.profile/1", "base": "fabric-ib", "name": "lab",
                                   "steps": [{"id": "fabric", "params": {"window": "1s", "mad-timeout": "20ms"}}]}))
    environment = {**live.environment, "SIM_HOST": identity("host002 mlx5_1"), "LD_PRELOAD": PRELOAD}

    def gate(out):
        subprocess.run([BINARY, "run", profile, "--launcher", "none", "--out", out], cwd=tmp_path, env=environment, capture_output=True,
                       text=True, timeout=120, check=False)
        done = subprocess.run([BINARY, "gate", out, "--no-color"], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    code, said = gate(tmp_path / "good")
    assert code == 0, said
    live.tell(f'Error "{identity("host004 mlx5_2")}" 100', "Wait 1")
    code, said = gate(tmp_path / "bad")
    live.tell(f'Error "{identity("host004 mlx5_2")}" 0', "Wait 1")
    assert code == 1 and "leaf-2 port 5" in said, said


@managed
def test_a_device_that_does_not_answer_is_named_and_nothing_hangs(live):
    live.tell(f'Error "{identity("host004 mlx5_2")}" 100', "Wait 1")
    begin = time.monotonic()
    _, failed, said = ask(live, 1, "--mad-timeout", "20ms", "--no-counters")
    live.tell(f'Error "{identity("host004 mlx5_2")}" 0', "Wait 1")
    assert time.monotonic() - begin < 30
    assert failed == {("unanswered", "leaf-2 port 5")} and "did not answer NodeInfo" in said


@managed
def test_modules_are_asked_of_every_switch_and_a_subnet_without_registers_is_said(live):
    """ibsim knows no class of a vendor: the discovery and the LIDs are real, the answer is silence or an error."""
    begin = time.monotonic()
    done = subprocess.run([BINARY, "optics", "--subnet", "--quiet", "--mad-timeout", "20ms"], capture_output=True, text=True, timeout=120, check=False,
                          env={**live.environment, "SIM_HOST": identity("host002 mlx5_1"), "LD_PRELOAD": PRELOAD})
    assert done.returncode == 3 and time.monotonic() - begin < 60
    assert re.search(rf"{RAILS + SPINES} of {RAILS + SPINES} switches were not read, the first is (leaf|spine)-\d: .*next:", done.stderr), done.stderr


@managed
def test_a_few_lost_datagrams_change_nothing(live):
    live.tell(f'Error "{identity("leaf-1")}" 20', "Wait 1")
    record, failed, _ = ask(live, 0, "--mad-timeout", "20ms", "--no-counters")
    live.tell(f'Error "{identity("leaf-1")}" 0', "Wait 1")
    lost = int(re.search(r"(\d+) without answer", json.dumps(record["facts"]))[1])
    assert not failed and lost > 0


@managed
def test_a_second_device_with_the_same_guid(live):
    live.tell(f'Guid "{identity("host003 mlx5_2")}" 0x{identity("host001 mlx5_2")[2:]}', "Wait 1")
    _, failed, _ = ask(live, 1, "--no-tables", "--no-counters")
    live.tell(f'Guid "{identity("host003 mlx5_2")}" 0x{identity("host003 mlx5_2")[2:]}', "Wait 1")
    assert failed == {("duplicate_guid", identity("host001 mlx5_2"))} or failed == {("duplicate_guid", identity("host003 mlx5_2"))}


@managed
def test_exchanged_cables_are_found_directly(live):
    a, b = ("leaf-0", 2, "host001 mlx5_0"), ("leaf-3", 2, "host001 mlx5_3")
    live.tell(*(f'Unlink "{identity(leaf)}"[{port}]' for leaf, port, _ in (a, b)),
              f'Link "{identity(a[0])}"[2] "{identity(b[2])}"[1]', f'Link "{identity(b[0])}"[2] "{identity(a[2])}"[1]', "Wait 1")
    _, failed, _ = ask(live, 1, "--plan", write_plan(live.directory), "--no-tables", "--no-counters")
    live.tell(*(f'Unlink "{identity(leaf)}"[{port}]' for leaf, port, _ in (a, b)),
              *(f'Link "{identity(leaf)}"[{port}] "{identity(device)}"[1]' for leaf, port, device in (a, b)), "Wait 1")
    # The managers may not have swept since: the four ports are then not active yet, which is true too.
    names = [name for name, _ in failed]
    assert names.count("swapped") == 1 and set(names) <= {"swapped", "port_state"} and len(names) <= 5, failed


@managed
def test_without_its_managers_a_subnet_says_so(live):
    for manager in live.managers:
        manager.kill()
        manager.wait(timeout=20)
    time.sleep(1)
    _, failed, said = ask(live, 1, "--no-counters", "--no-tables", "--mad-timeout", "20ms")
    assert {name for name, _ in failed} == {"manager"} and "no master subnet manager" in said
