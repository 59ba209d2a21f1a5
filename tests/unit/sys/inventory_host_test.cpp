// Whole machines: what collect_inventory() says of the trees in tests/data/sysroot.
#include <algorithm>
#include <chrono>

#include <doctest/doctest.h>

#include "core/messages/texts.h"
#include "sys/inventory/inventory.h"
#include "tree.h"

using namespace cb;
using cb::test::Tree;

namespace {

std::string text(const HostInventory& host, const char* kind, const char* attribute,
                 const char* id = "") {
  return text_of(host.find(kind, id), attribute).value_or("absent");
}

bool has(const HostInventory& host, const char* kind, const char* attribute, const char* id = "") {
  return text_of(host.find(kind, id), attribute).has_value();
}

}  // namespace

TEST_CASE("HGX node: system, processors and memory") {
  const Tree tree("hgx");
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  CHECK(host.host == "n1");
  CHECK(text(host, "system", "kernel") == "5.15.0-105-generic");
  CHECK(text(host, "system", "distribution") == "Ubuntu 22.04.4 LTS");
  CHECK(text(host, "system", "product") == "HGX-8");
  CHECK(text(host, "system", "bios_version") == "2.1.6");
  CHECK(text(host, "system", "virtualisation") == "none");
  CHECK(text(host, "system", "transparent_hugepages") == "madvise");
  CHECK(text(host, "system", "numa_balancing") == "0");
  CHECK(text(host, "system", "swap_bytes") == "8589930496");
  // Only what changes performance is taken from the command line.
  CHECK(text(host, "system", "kernel_parameters") == "iommu=pt intel_iommu=on pci=realloc=off");
  CHECK(text(host, "iommu", "kernel_parameters") == "iommu=pt intel_iommu=on");
  CHECK(text(host, "iommu", "enabled") == "yes");
  CHECK(text(host, "iommu", "domain_types") == "identity");

  CHECK(text(host, "cpu", "model") == "Intel(R) Xeon(R) Platinum 8480+");
  CHECK(text(host, "cpu", "sockets") == "2");
  CHECK(text(host, "cpu", "cores") == "112");
  CHECK(text(host, "cpu", "threads") == "224");
  CHECK(text(host, "cpu", "smt") == "yes");
  CHECK(text(host, "cpu", "governor") == "performance");
  CHECK(text(host, "cpu", "max_hertz") == "3800000000");
  CHECK(text(host, "cpu", "boost") == "yes");
  CHECK(text(host, "cpu", "features") ==
        "avx2 fma avx512f avx512bw avx512vl avx512_vnni avx512_bf16 avx512_fp16 amx_tile amx_bf16 "
        "amx_int8");
  CHECK(text(host, "cache", "size_bytes", "L1d") == "49152");
  CHECK(text(host, "cache", "instances", "L2") == "112");
  CHECK(text(host, "cache", "instances", "L3") == "2");
  CHECK(text(host, "cache", "shared_by_threads", "L3") == "112");
  CHECK(text(host, "memory", "total_bytes") == "2164206592000");
  CHECK(text(host, "hugepages", "pages", "2M") == "1024");
  CHECK(text(host, "hugepages", "page_bytes", "1G") == "1073741824");
  REQUIRE(host.all("numa").size() == 2);
  CHECK(text(host, "numa", "cpus", "1") == "56-111,168-223");
  CHECK(text(host, "numa", "distances", "1") == "21 10");
  CHECK(text(host, "numa", "memory_bytes", "0") == "1081344000000");
}

TEST_CASE("HGX node: GPUs, NVSwitches, RDMA ports, NVMe, mounts, limits and software") {
  const Tree tree("hgx");
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  REQUIRE(host.all("gpu").size() == 8);
  CHECK(host.all("nvswitch").size() == 4);
  CHECK(host.all("gpu")[1]->id == "0000:43:00.0");  // hexadecimal order, as the driver counts
  CHECK(host.all("gpu")[7]->id == "0000:df:00.0");
  CHECK(text(host, "gpu", "model") == "NVIDIA H100 80GB HBM3");
  CHECK(text(host, "gpu", "pci_id") == "10de:2330");
  CHECK(text(host, "gpu", "pcie_generation") == "5");
  CHECK(text(host, "gpu", "pcie_lanes") == "16");
  CHECK(text(host, "gpu", "numa_node", "0000:9d:00.0") == "1");
  CHECK(text(host, "gpu", "driver_version") == "550.54.15");
  CHECK(text(host, "gpu", "vbios") == "96.00.89.00.01");

  REQUIRE(host.all("rdma").size() == 8);
  CHECK(text(host, "rdma", "state", "mlx5_7") == "ACTIVE");
  CHECK(text(host, "rdma", "rate_bits_per_second", "mlx5_7") == "400000000000");
  CHECK(text(host, "rdma", "link", "mlx5_7") == "4X NDR");
  CHECK(text(host, "rdma", "link_layer", "mlx5_7") == "InfiniBand");
  CHECK(text(host, "rdma", "firmware", "mlx5_7") == "28.39.1002");
  CHECK(text(host, "rdma", "board_id", "mlx5_7") == "MT_0000000838");
  CHECK(text(host, "rdma", "gid_count", "mlx5_7") == "1");
  CHECK(text(host, "rdma", "netdev", "mlx5_7") == "ibp7s0");
  CHECK(text(host, "rdma", "numa_node", "mlx5_7") == "1");
  CHECK(text(host, "rdma", "port", "mlx5_7") == "1");
  CHECK(text(host, "rdma", "driver", "mlx5_7") == "mlx5_core");

  CHECK(host.find("nic", "lo") == nullptr);
  CHECK(text(host, "nic", "virtual", "docker0") == "yes");
  CHECK(text(host, "nic", "type", "docker0") == "bridge");
  CHECK(text(host, "nic", "virtual", "ibp0s0") == "no");
  CHECK(text(host, "nic", "type", "ibp0s0") == "infiniband");
  CHECK(text(host, "nic", "driver_version", "ibp0s0") == "24.01-0.3.3");
  CHECK(text(host, "nic", "pcie_max_generation", "ibp0s0") == "5");

  REQUIRE(host.all("nvme").size() == 2);
  CHECK(text(host, "nvme", "model", "nvme1") == "SAMSUNG MZWLO3T8HCLS-00A07");
  CHECK(text(host, "nvme", "serial", "nvme1") == "SERIAL1");
  CHECK(text(host, "nvme", "firmware", "nvme1") == "OPPA4B5Q");
  CHECK(text(host, "nvme", "size_bytes", "nvme1") == "3840755982336");
  CHECK(text(host, "nvme", "pcie_lanes", "nvme1") == "4");
  CHECK(text(host, "disk", "scheduler", "nvme0n1") == "none");
  CHECK(text(host, "disk", "rotational", "nvme0n1") == "no");

  REQUIRE(host.all("mount").size() == 2);  // no pseudo file system, bind mount or container layer
  CHECK(text(host, "mount", "type", "/") == "ext4");
  CHECK(text(host, "mount", "options", "/mnt/my share") == "ro,vers=4.2,nconnect=16");
  CHECK(text(host, "mount", "read_only", "/mnt/my share") == "yes");
  CHECK_FALSE(has(host, "mount", "size_bytes", "/"));  // a tree has no file systems to ask

  CHECK(text(host, "limits", "memlock_bytes") == "unlimited");
  CHECK(number_of(host.find("limits"), "open_files") == 1048576);
  CHECK(text(host, "driver", "version", "nvidia") == "550.54.15");
  CHECK(text(host, "driver", "source_version", "nvidia_peermem") == "0123456789ABCDEF0123456");
  CHECK(text(host, "library", "version", "nccl") == "2.28.9");
  CHECK(text(host, "library", "version", "openblas") == "0.3.21");
  CHECK(text(host, "library", "file", "ucx") == "libucp.so.0.0.0");
  CHECK_FALSE(has(host, "library", "version", "ucx"));  // digits that are not the release
  CHECK(host.find("library", "glibc") == nullptr);      // that of another machine is not this one's
  CHECK_FALSE(has(host, "clock", "synchronised"));
}

TEST_CASE("RoCE node: a link that trained down and a port that is down") {
  const Tree tree("roce");
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  REQUIRE(host.all("rdma").size() == 4);
  CHECK(text(host, "rdma", "pcie_generation", "mlx5_1") == "5");
  CHECK(text(host, "rdma", "pcie_lanes", "mlx5_1") == "16");
  CHECK(text(host, "rdma", "pcie_generation", "mlx5_2") == "4");
  CHECK(text(host, "rdma", "pcie_lanes", "mlx5_2") == "8");
  CHECK(text(host, "rdma", "pcie_max_generation", "mlx5_2") == "5");
  CHECK(text(host, "rdma", "pcie_max_lanes", "mlx5_2") == "16");
  CHECK(text(host, "rdma", "gid_count", "mlx5_0") == "4");

  const Part* down = host.find("rdma", "mlx5_3");
  CHECK(text_of(down, "state") == "DOWN");
  CHECK(text_of(down, "physical_state") == "Disabled");
  CHECK_FALSE(text_of(down, "rate_bits_per_second"));  // the 40 Gb/sec there mean nothing
  CHECK(down->unavailable.at("rate_bits_per_second") == "the port is DOWN");
  const Part* nic = host.find("nic", "eth3");
  CHECK_FALSE(text_of(nic, "rate_bits_per_second"));
  CHECK(nic->unavailable.at("rate_bits_per_second") == "the link is down");
  CHECK(number_of(host.find("nic", "eth0"), "rate_bits_per_second") == 400e9);
  CHECK(host.find("gpu") == nullptr);
  CHECK(host.find("nvme") == nullptr);
}

TEST_CASE("virtual machine: virtio devices, no DMI") {
  const Tree tree("vm");
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  CHECK(text(host, "system", "virtualisation") == "kvm");
  CHECK(host.find("system")->unavailable.contains("product"));
  CHECK(text(host, "cpu", "cores") == "2");
  CHECK(text(host, "cpu", "smt") == "no");
  CHECK(host.find("cpu")->unavailable.contains("governor"));
  CHECK(text(host, "cache", "instances", "L3") == "1");
  REQUIRE(host.all("nic").size() == 1);  // bonding_masters is no interface
  CHECK(text(host, "nic", "driver") == "virtio_net");
  CHECK(text(host, "nic", "pci_address") == "0000:00:03.0");  // behind the virtio bus
  CHECK_FALSE(has(host, "nic", "numa_node"));
  CHECK_FALSE(has(host, "nic", "pcie_generation"));
  REQUIRE(host.all("disk").size() == 1);
  CHECK(text(host, "disk", "size_bytes", "vda") == "274877906944");
  CHECK(text(host, "disk", "scheduler", "vda") == "mq-deadline");
  REQUIRE(host.all("mount").size() == 1);
  CHECK(host.find("rdma") == nullptr);
}

TEST_CASE("aarch64: the core's name from its numbers, a GPU without driver") {
  const Tree tree("grace");
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  CHECK(text(host, "cpu", "model") == "Arm Neoverse-V2");
  CHECK(text(host, "cpu", "features") == "asimd asimdhp asimddp sve sve2 bf16 i8mm svebf16");
  CHECK(text(host, "cpu", "threads") == "72");
  CHECK(text(host, "system", "architecture") == "aarch64");
  CHECK(text(host, "system", "virtualisation") == "none");
  CHECK(host.all("numa").size() == 2);
  CHECK_FALSE(has(host, "numa", "cpus", "1"));  // the GPU's memory has no processors
  CHECK(text(host, "gpu", "pci_id") == "10de:2348");
  CHECK(host.find("gpu")->unavailable.at("driver_version") == "the NVIDIA driver is not loaded");
}

TEST_CASE("every attribute has a name in both languages") {
  const auto check = [](const FsRoot& root) {
    for (const Part& part : collect_inventory(root, "n1").parts) {
      for (const auto& attribute : part.attributes)
        CHECK_MESSAGE(has_text("attribute." + attribute.first),
                      part.kind << " has an attribute " << attribute.first);
    }
  };
  for (const char* tree : {"hgx", "roce", "vm", "grace", "rdma_bnxt", "rdma_ib", "rdma_irdma",
                           "rdma_roce", "rdma_rxe"})
    check(Tree(tree).fs());
  check(FsRoot());
}

TEST_CASE("an unknown Arm core keeps its numbers") {
  const Tree tree("grace");
  tree.add("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x4e\nCPU part : 0x004\n\n");
  CHECK(text(collect_inventory(tree.fs(), "n"), "cpu", "model") ==
        "Arm implementer 0x4e part 0x004");
}

TEST_CASE("an empty or hostile root gives no number and no exception") {
  const Tree tree;
  for (const Part& part : collect_inventory(tree.fs(), "n1").parts) CHECK(part.attributes.empty());
  const Tree broken;
  broken.add("/proc/cpuinfo", std::string("\0\xff:\n:\n\n", 8));
  broken.add("/proc/meminfo", "MemTotal: 99999999999999999999 kB\n");
  broken.add("/sys/devices/system/cpu/online", "0-2000000000,x,-,5-");
  broken.add("/sys/class/net/eth0/operstate", "");
  broken.add("/sys/class/net/eth0/speed", "9223372036854775807\n");
  broken.add("/sys/bus/pci/devices/not-an-address/class", "0x030200\n");
  broken.add("/sys/class/infiniband/x/ports/1/rate", "inf Gb/sec (\n");
  broken.add("/sys/class/infiniband/x/ports/1/state", "4: ACTIVE\n");
  broken.add("/proc/self/mounts", "/dev/x\n\n/dev/y \\04 ext4 rw 0 0\n");
  broken.add("/proc/self/limits", "Max locked memory\nMax open files x\n");
  const HostInventory host = collect_inventory(broken.fs(), "n1");
  CHECK_FALSE(has(host, "memory", "total_bytes"));
  CHECK_FALSE(has(host, "nic", "rate_bits_per_second"));
  CHECK_FALSE(has(host, "rdma", "rate_bits_per_second"));
  CHECK(host.find("gpu") == nullptr);
  CHECK_FALSE(has(host, "limits", "open_files"));
  CHECK(host.find("inventory") == nullptr);  // no collector gave up
}

TEST_CASE("this machine is read within the start-up budget of a measurement") {
  const FsRoot machine;
  REQUIRE(machine.is_machine());
  HostInventory host;
  double least = 1e9;  // seconds
  for (int i = 0; i < 3 && least >= 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    host = collect_inventory(machine, host_name());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  MESSAGE("collected in ", least * 1000, " ms");
  CHECK(least < 2);  // catches a library that is loaded or a server that is asked
  CHECK(number_of(host.find("cpu"), "threads").value_or(0) >= 1);
  CHECK(number_of(host.find("memory"), "total_bytes").value_or(0) > 0);
  CHECK(has(host, "clock", "synchronised"));
  CHECK(text(host, "library", "version", "mpi") != "absent");
}
