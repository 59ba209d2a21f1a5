"""`clusterbench info`: this machine against other tools, described machines, hostile names."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BIN = os.environ["CLUSTERBENCH_BIN"]
SYSROOT = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "tests/data/sysroot"


def info(tmp_path, *options):
    document = tmp_path / "info.json"
    done = subprocess.run([BIN, "info", "--json", document, *options], capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(document.read_text()), done.stdout


def part(document, kind, ident=None):
    parts = [p for p in document["hosts"][0]["parts"] if p["kind"] == kind]
    return parts[0] if ident is None else next(p for p in parts if p["id"] == ident)


def unpack(name, root):
    """The machine of tests/data/sysroot/NAME.tree as files below root."""
    for line in (SYSROOT / f"{name}.tree").read_text().splitlines():
        if line.startswith("#"):
            continue
        path, content = line.split("\t", 1)
        several = re.search(r"\{(\d+)-(\d+)\}", path)
        for i in range(int(several[1]), int(several[2]) + 1) if several else [None]:
            place(root, path.replace(several[0], str(i)) if several else path,
                  content if i is None else
                  re.sub(r"\{([+-]\d+)?\}", lambda m, i=i: str(i + int(m[1] or 0)), content))
    return root


def place(root, path, content):
    target = root / path[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    if content.startswith("-> "):
        target.symlink_to(content[3:])
        return
    escapes = {"n": "\n", "t": "\t", "0": "\0"}
    target.write_text(re.sub(r"\\(.)", lambda m: escapes.get(m[1], m[1]), content))


def test_document_of_this_machine(tmp_path):
    document, stdout = info(tmp_path)
    assert document["schema"] == "clusterbench.result/2"
    record, = document["records"]
    assert record["case"] == "info"
    assert record["outcome"] == "measured"
    host = document["run"]["hosts"][0]
    assert record["entities"] == [{"host": host, "kind": "host", "id": ""}]
    assert document["hosts"][0]["host"] == host
    assert stdout.decode().splitlines()[0] == host


def test_agrees_with_other_tools(tmp_path):
    document, _ = info(tmp_path)
    lscpu = {e["field"].rstrip(":"): e["data"] for e in json.loads(
        subprocess.check_output(["lscpu", "-J"], env={**os.environ, "LC_ALL": "C"}))["lscpu"]}
    cpu = part(document, "cpu")["attributes"]
    assert cpu["threads"] == os.cpu_count()
    if "Model name" in lscpu and "Socket(s)" in lscpu:
        assert cpu["model"] == lscpu["Model name"]
        assert cpu["sockets"] == int(lscpu["Socket(s)"])
        assert cpu["cores"] == int(lscpu["Core(s) per socket"]) * cpu["sockets"]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert part(document, "memory")["attributes"]["total_bytes"] == pages
    assert part(document, "system")["attributes"]["kernel"] == os.uname().release

    blocks = json.loads(subprocess.check_output(["lsblk", "-Jbdo", "NAME,SIZE,TYPE"]))
    expected = {b["name"]: int(b["size"]) for b in blocks["blockdevices"]
                if b["type"] == "disk" and int(b["size"]) > 0 and not b["name"].startswith("zram")}
    disks = {p["id"]: p["attributes"]["size_bytes"] for p in document["hosts"][0]["parts"]
             if p["kind"] == "disk"}
    assert {name: disks.get(name) for name in expected} == expected

    nics = {p["id"]: p["attributes"] for p in document["hosts"][0]["parts"] if p["kind"] == "nic"}
    for name in set(os.listdir("/sys/class/net")) - {"lo", "bonding_masters"}:
        assert nics[name]["mtu_bytes"] == int(pathlib.Path(f"/sys/class/net/{name}/mtu").read_text())


def test_described_machine(tmp_path):
    root = unpack("roce", tmp_path / "root")
    document, stdout = info(tmp_path, "--sysroot", str(root))
    port = part(document, "rdma", "mlx5_3")
    assert "rate_bits_per_second" not in port["attributes"]
    assert port["unavailable"]["rate_bits_per_second"] == "the port is DOWN"
    text = stdout.decode()
    slow = next(line for line in text.splitlines() if line.strip().startswith("mlx5_2"))
    assert "gen 4 ×8 (can gen 5 ×16)" in slow
    assert "400 Gb/s" in slow
    assert "the port is DOWN (mlx5_3)" in text


@pytest.mark.parametrize("hostile", ["\x1b]0;owned\x07\x1b[31mred", "<script>alert(1)</script>",
                                     "a\u202eb", "line\nline"])
def test_hostile_names_are_harmless_on_the_terminal(tmp_path, hostile):
    root = unpack("vm", tmp_path / "root")
    (root / "etc/os-release").write_text(f'PRETTY_NAME="{hostile}"\n')
    place(root, "/sys/class/nvme/nvme0/model", hostile)
    place(root, "/sys/block/vda/device/model", hostile)
    document, stdout = info(tmp_path, "--sysroot", str(root))
    assert part(document, "nvme")["attributes"]["model"] == hostile  # the document keeps the truth
    text = stdout.decode()
    assert not [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\u202e"]
    assert [line for line in text.splitlines() if line.strip().startswith("nvme0")]


def test_bytes_that_are_no_text(tmp_path):
    root = unpack("vm", tmp_path / "root")
    place(root, "/sys/class/nvme/nvme0/model", "x")
    (root / "sys/class/nvme/nvme0/model").write_bytes(b"\xff\xfe\x00model")
    _, stdout = info(tmp_path, "--sysroot", str(root))
    stdout.decode()  # valid UTF-8 whatever the device says


def test_missing_sysroot_gives_no_numbers(tmp_path):
    document, _ = info(tmp_path, "--sysroot", str(tmp_path / "nothing"))
    assert all(not p["attributes"] for p in document["hosts"][0]["parts"])


def test_quiet_prints_nothing(tmp_path):
    _, stdout = info(tmp_path, "--quiet")
    assert stdout == b""


def hosts_of_one_machine(tmp_path, roots):
    """Runs info with one rank a root, each rank under a host name of its own."""
    probe = subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("needs root for host names of its own: unshare --uts")
    for i, root in enumerate(roots):
        (tmp_path / f"n{i}").symlink_to(root)
    script = (f'h=n$OMPI_COMM_WORLD_RANK; exec unshare --uts sh -c "hostname $h; '
              f"exec {BIN} info --json {tmp_path}/info.json --sysroot {tmp_path}/$h\"")
    return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np",
                           str(len(roots)), "sh", "-c", script],
                          capture_output=True, timeout=120, check=True).stdout.decode()


@pytest.mark.usefixtures("under_mpirun")
def test_several_hosts_name_the_odd_one(tmp_path):
    good, slow = unpack("roce", tmp_path / "good"), unpack("roce", tmp_path / "slow")
    place(slow, "/sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)")
    text = hosts_of_one_machine(tmp_path, [good, good, slow])
    assert "n0, as the example of 3 hosts" in text
    lines = [line.split() for line in text.splitlines()]
    at = lines.index(["rdma.rate_bits_per_second"])
    assert lines[at + 1] == "2 hosts 400 Gb/s ×3, absent".split()
    assert lines[at + 2] == "n2 200 Gb/s, 400 Gb/s ×2, absent ← odd".split()
    assert "odd hosts, with the number of attributes: n2 (2)" in text
    hosts = json.loads((tmp_path / "info.json").read_text())["hosts"]
    assert [h["host"] for h in hosts] == ["n0", "n1", "n2"]


@pytest.mark.usefixtures("under_mpirun")
def test_equal_hosts_are_called_uniform(tmp_path):
    root = unpack("vm", tmp_path / "root")
    assert "✓ 2 hosts, uniform: " in hosts_of_one_machine(tmp_path, [root, root])


def test_list_has_info_first():
    out = subprocess.run([BIN, "list"], capture_output=True, text=True, timeout=60, check=True)
    assert re.search(r"^\s*info\b", out.stdout, re.M)
