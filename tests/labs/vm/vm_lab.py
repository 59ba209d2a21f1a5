"""An emulated machine for what this one lacks: RDMA (soft-RoCE), NVMe, null_blk, dm-flakey.

QEMU's own emulation boots Debian's kernel with the host's root directory as a read-only share below a writable overlay,
so every program built or installed here runs there as it is. Needs no KVM and no root disk. Emulated speed means nothing
in itself: compare tools within one boot.
"""

import fcntl
import lzma
import os
import platform
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Where programs are found in the guest, and no plugins of hwloc (OpenCL, X11, PCI): most of the libraries that each process
# of Open MPI and of ours would load, at an emulated processor's speed.
GUEST_ENVIRONMENT = "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HWLOC_PLUGINS_PATH=/nonexistent\n"

# What each kind of device needs; modprobe adds the rest. crc32_generic: rxe fails with "failed to add" without it.
BASE_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
RDMA_MODULES = ["virtio_net", "veth", "dummy", "crc32_generic", "ib_uverbs", "rdma_cm", "rdma_ucm", "ib_umad", "rdma_rxe",
                "sch_netem", "sch_tbf",
                "bridge"]
# Without tsc=reliable the kernel reads the time from an emulated HPET, whose every access stops the other processor too.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable"
STORAGE_MODULES = ["nvme", "null_blk", "dm-mod", "dm-flakey", "dm-delay", "loop", "ext4"]


@dataclass
class Result:
    rc: int
    stdout: str
    stderr: str
    console: str
    seconds: float
    directory: Path  # /lab of the guest: what the script left there

    def check(self):
        """Itself if the command ended well, else an AssertionError with all that is known."""
        if self.rc != 0:
            raise AssertionError(f"exit code {self.rc} in the emulated machine\n--- stdout\n{self.stdout}\n--- stderr\n"
                                 f"{self.stderr}\n--- console\n{self.console[-4000:]}")
        return self


def put_first(pid):
    """Before other work of this host, where that is allowed. Else each of the emulated processors waits for whole time
    slices (4 ms) of whatever else runs, in the middle of what the guest believes to be a few microseconds. The scheduler
    weighs sessions against each other (autogroup), so the machine has one of its own."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -15)
        Path(f"/proc/{pid}/autogroup").write_text("-15")
    except OSError:
        pass


@dataclass
class VmLab:
    """One directory of its own for the kernel, the first file system and the results of each boot."""

    directory: Path
    memory_mib: int = 3072
    cpus: int = 2
    modules: list = field(default_factory=lambda: RDMA_MODULES + STORAGE_MODULES)
    kernel_options: str = ""

    def missing(self):
        """Why the lab cannot exist here, or None."""
        if platform.machine() != "x86_64":
            return f"the lab boots an x86-64 kernel, this is {platform.machine()}"
        for tool in ("qemu-system-x86_64", "busybox", "dpkg", "modprobe", "depmod"):
            if shutil.which(tool, path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin") is None:
                return f"{tool} is not installed (ci/bootstrap.sh)"
        return None

    def run(self, script, timeout=240, nvme_mib=(), name="run"):
        """Boots, runs the bash script as root in the guest, powers off. `/lab` there is a directory of this boot."""
        lab = self.directory / f"{name}-{time.time_ns()}"
        lab.mkdir(parents=True)
        self._prepare(lab)
        (lab / "command.sh").write_text(GUEST_ENVIRONMENT + "cd /lab\n" + script)
        command = self._qemu(lab)
        for i, mib in enumerate(nvme_mib):
            disk = lab / f"nvme{i}.img"
            with open(disk, "wb") as image:
                image.truncate(mib << 20)
            command += ["-drive", f"file={disk},if=none,id=d{i},format=raw", "-device", f"nvme,drive=d{i},serial=cblab{i}"]
        started = time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as machine:
            put_first(machine.pid)
            try:
                console, _ = machine.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                machine.kill()
                console = machine.communicate()[0] + b"\nvm lab: killed at its deadline\n"
        (lab / "console.log").write_bytes(console)
        (lab / "initramfs").unlink()
        for i in range(len(nvme_mib)):
            (lab / f"nvme{i}.img").unlink()
        return self._result(lab, console, time.monotonic() - started)

    def _result(self, lab, console, seconds):
        def text(name):
            file = lab / name
            return file.read_text(errors="replace") if file.exists() else ""

        rc = text("rc").strip()
        return Result(int(rc) if rc else 125, text("stdout"), text("stderr"), console.decode(errors="replace"), seconds, lab)

    def _qemu(self, lab):
        share = "local,security_model=none,multidevs=remap"
        return ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(self.cpus), "-m",
                str(self.memory_mib), "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
                "-kernel", str(self._kernel()), "-initrd", str(lab / "initramfs"),
                "-append", f"{KERNEL_OPTIONS} {self.kernel_options}",
                "-fsdev", f"{share},path=/,readonly=on,id=host", "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
                "-fsdev", f"{share},path={lab},id=lab", "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab"]

    def _prepare(self, lab):
        """The kernel once, by whichever lab comes first; a first file system of its own for each boot."""
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.directory / "kernel.ready").exists():
                self._fetch_kernel()
                (self.directory / "kernel.ready").touch()
            if not self._kernel().exists():
                self._unpack_kernel()
        self._build_initramfs(lab)

    def _fetch_kernel(self):
        """Debian's newest kernel package, unpacked here: installing it would rebuild this machine's boot files."""
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=True).stdout
        package = re.search(r"Depends: (linux-image-\S+)", depends).group(1)
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", package], cwd=self.directory, check=True)
        archive = next(self.directory.glob("linux-image-*.deb"))
        subprocess.run(["dpkg", "-x", archive, self.directory / "kernel"], check=True)
        archive.unlink()
        if (self.directory / "kernel/usr/lib").is_dir():  # Debian 13
            (self.directory / "kernel/usr/lib").rename(self.directory / "kernel/lib")
        subprocess.run(["depmod", "-b", self.directory / "kernel", self._release()], check=True,
                       env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"})

    def _release(self):
        return next((self.directory / "kernel/lib/modules").iterdir()).name

    def _kernel(self):
        return self.directory / f"vmlinux-{self._release()}"

    def _unpack_kernel(self):
        """The kernel as it is in memory, which QEMU starts as well (PVH): unpacking itself would take it 3 s of each boot."""
        packed = next((self.directory / "kernel/boot").glob("vmlinuz-*")).read_bytes()
        start = packed.find(b"\xfd7zXZ\0")
        unpacked = lzma.LZMADecompressor().decompress(packed[start:]) if start >= 0 else packed
        part = self.directory / "vmlinux.part"
        part.write_bytes(unpacked)
        part.rename(self._kernel())

    def _module_files(self):
        """The modules and all that they need, as modprobe would load them."""
        files = set()
        for module in BASE_MODULES + self.modules:
            shown = subprocess.run(["/sbin/modprobe", "--show-depends", "--ignore-install", "-d", self.directory / "kernel",
                                    "-S", self._release(), module], capture_output=True, text=True, check=True).stdout
            files.update(line.split()[1] for line in shown.splitlines() if line.startswith("insmod "))
        return files

    def _build_initramfs(self, lab):
        tree = lab / "initramfs.d"
        (tree / "bin").mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
        shutil.copy(HERE / "init.sh", tree / "init")
        (tree / "init").chmod(0o755)
        (tree / "modules").write_text("\n".join(BASE_MODULES + self.modules) + "\n")
        # An interpreter path the kernel can find before busybox has installed its names.
        (tree / "bin/sh").symlink_to("busybox")
        kernel = self.directory / "kernel"
        for file in self._module_files():
            target = tree / Path(file).relative_to(kernel)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        modules = tree / "lib/modules" / self._release()
        for extra in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            shutil.copy(kernel / "lib/modules" / self._release() / extra, modules)
        subprocess.run(["/sbin/depmod", "-b", tree, self._release()], check=True)
        names = subprocess.run(["find", ".", "-print0"], cwd=tree, capture_output=True, check=True).stdout
        with open(lab / "initramfs", "wb") as out:
            subprocess.run(["busybox", "cpio", "-o", "-H", "newc", "-0"], cwd=tree, input=names, stdout=out,
                           stderr=subprocess.DEVNULL, check=True)
        shutil.rmtree(tree)


# What Open MPI needs in the guest, and what keeps it from loading components that it would not choose anyway. When a rank
# ends with a code other than 0, the mpirun of version 4 waits twice for odls_base_sigkill_timeout, 1 s unless set.
OPEN_MPI = """
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PMIX_MCA_psec=native PMIX_MCA_gds=hash OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_coll=basic,libnbc,self,tuned,inter OMPI_MCA_osc=rdma OMPI_MCA_op=^avx OMPI_MCA_shmem=mmap
case $(mpirun --version) in
  *'Open MPI) 4.'*)
    export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_plm=rsh OMPI_MCA_ras=^slurm,gridengine,simulator OMPI_MCA_schizo=ompi,orte OMPI_MCA_ess=hnp,env,pmi
    export OMPI_MCA_pmix=ext3x OMPI_MCA_rmaps=round_robin OMPI_MCA_odls_base_sigkill_timeout=0 ;;
  *) export PRTE_MCA_hwloc_default_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;;
esac
"""

# moving DEVICE: waits until a transfer is under way there, at most 60 s.
MOVING = """
moving() {
  local file=/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts before now
  read -r before <$file
  for _ in $(seq 300); do
    read -r now <$file
    [ $((now - before)) -gt 200 ] && return
    sleep 0.2
  done
}
"""

# Two soft-RoCE devices on one subnet, as two ends of a veth pair: rxe0 at 10.78.0.1 and rxe1 at 10.78.0.2.
SOFT_ROCE = """
ip -batch - <<'S'
link add v0 type veth peer name v1
addr add 10.78.0.1/24 dev v0
addr add 10.78.0.2/24 dev v1
link set v0 up
link set v1 up
S
echo 100000 >/proc/sys/net/core/netdev_max_backlog
echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
for device in all v0 v1; do echo 0 >/proc/sys/net/ipv4/conf/$device/rp_filter; done
rdma link add rxe0 type rxe netdev v0
rdma link add rxe1 type rxe netdev v1
"""

# Four soft-RoCE devices on one subnet, behind a bridge: rxe0 to rxe3 on v0 to v3, 10.79.0.1 to 10.79.0.4. arp_ignore:
# else every interface answers for every address of this machine.
SOFT_ROCE_FLEET = """
echo 100000 >/proc/sys/net/core/netdev_max_backlog
echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
{
  echo "link add br0 type bridge"
  echo "link set br0 up"
  for i in 0 1 2 3; do
    echo "link add v$i type veth peer name p$i"
    echo "link set p$i master br0 up"
    echo "addr add 10.79.0.$((i + 1))/24 dev v$i"
    echo "link set v$i up"
  done
} | ip -batch -
for device in all v0 v1 v2 v3; do echo 0 >/proc/sys/net/ipv4/conf/$device/rp_filter; done
for i in 0 1 2 3; do rdma link add rxe$i type rxe netdev v$i; done
"""
