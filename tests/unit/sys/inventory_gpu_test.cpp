// How a GPU reaches the RDMA devices of its host, by the PCI tree.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "pci_tree.h"
#include "sys/inventory/collect.h"

using namespace cb;
using cb::test::add_gpu;
using cb::test::add_nic;
using cb::test::Tree;

TEST_CASE("RDMA devices seen from a GPU") {
  const Tree tree;
  // Root port 01.0 → switch 10:00.0 with ports 11:…; a second switch below the same one.
  const std::string port = "pci0000:00/0000:00:01.0/0000:10:00.0";
  add_gpu(tree, port + "/0000:11:00.0", "0000:12:00.0", "0");
  add_nic(tree, "mlx5_0", port + "/0000:11:01.0", "0000:13:00.0", "0");
  add_nic(tree, "mlx5_1", port + "/0000:11:02.0/0000:14:00.0/0000:15:00.0", "0000:16:00.0", "0");
  add_nic(tree, "mlx5_2", "pci0000:00/0000:00:02.0", "0000:20:00.0", "0");
  add_nic(tree, "mlx5_3", "pci0000:40/0000:40:01.0", "0000:41:00.0", "0");
  add_nic(tree, "mlx5_4", "pci0000:80/0000:80:01.0", "0000:81:00.0", "1");
  const auto gpus = inventory::gpu_parts(tree.fs());
  REQUIRE(gpus.size() == 1);
  CHECK(text_of(&gpus[0], "nics") == "mlx5_0 PIX, mlx5_1 PXB, mlx5_2 PHB, mlx5_3 NODE, mlx5_4 SYS");
  CHECK(gpus[0].unavailable.contains("driver_version"));  // no driver in this tree
}

TEST_CASE("a GPU on a host without RDMA devices says nothing of them") {
  const Tree tree;
  add_gpu(tree, "pci0000:00/0000:00:01.0", "0000:12:00.0", "0");
  const auto gpus = inventory::gpu_parts(tree.fs());
  REQUIRE(gpus.size() == 1);
  CHECK_FALSE(gpus[0].attributes.contains("nics"));
}

TEST_CASE("the NVLink domain of a host: its GPUs and what IMEX has here") {
  const auto gpu = [](const char* id, const char* domain) {
    Part part{.kind = "gpu", .id = id};
    if (*domain != '\0') part.attributes["nvlink_domain"] = std::string(domain);
    return part;
  };
  const std::vector<Part> gpus{gpu("0000:01:00.0", "ab.3"), gpu("0000:02:00.0", "ab.3"),
                               gpu("0000:03:00.0", "")};
  const Tree tree;
  tree.add("/dev/nvidia-caps-imex-channels/channel0", "");
  tree.add("/etc/nvidia-imex/nodes_config.cfg", "# trays\n10.0.0.1\n\n10.0.0.2\r\n  10.0.0.3\n");
  const auto found = inventory::nvlink_domain_parts(tree.fs(), gpus);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "nvlink_domain");
  CHECK(found[0].id == "ab.3");
  CHECK(number_of(&found[0], "gpus") == 2);
  CHECK(number_of(&found[0], "imex_channels") == 1);
  CHECK(number_of(&found[0], "imex_nodes") == 3);
  const Tree bare;
  const auto without = inventory::nvlink_domain_parts(bare.fs(), gpus);
  CHECK(number_of(&without.at(0), "imex_channels") == 0);
  CHECK_FALSE(without.at(0).attributes.contains("imex_nodes"));
  CHECK(without.at(0).unavailable.contains("imex_nodes"));
  CHECK(inventory::nvlink_domain_parts(bare.fs(), {}).empty());
}

namespace {

Part gpu_of(const char* id, const char* model = "", const char* lost = "") {
  Part part{.kind = "gpu", .id = id};
  if (*model != '\0') part.attributes["model"] = std::string(model);
  if (*lost != '\0') part.unavailable["nvml"] = Said(lost);
  return part;
}

// "ID=MODEL" or "ID!REASON" of each, in order.
std::string told(std::vector<Part> gpus, const std::vector<Part>& by_nvml,
                 const Tree& tree = Tree()) {
  inventory::add_told_by_nvml(tree.fs(), gpus, by_nvml);
  std::string out;
  for (const Part& gpu : gpus) {
    out += (out.empty() ? "" : " ") + gpu.id;
    if (const auto model = text_of(&gpu, "model")) out += "=" + *model;
    if (gpu.unavailable.contains("nvml")) out += "!" + gpu.unavailable.at("nvml").text();
  }
  return out;
}

}  // namespace

TEST_CASE("a GPU that NVML has lost is the one of PCI of which it tells nothing else") {
  const std::vector<Part> pci{gpu_of("0000:01:00.0"), gpu_of("0000:02:00.0"),
                              gpu_of("0000:03:00.0")};
  CHECK(told(pci, {gpu_of("0000:01:00.0", "H20"), gpu_of("nvml 1", "", "lost"),
                   gpu_of("0000:03:00.0", "H20")}) ==
        "0000:01:00.0=H20 0000:02:00.0!lost 0000:03:00.0=H20");
  CHECK(told(pci, {gpu_of("nvml 0", "", "lost"), gpu_of("0000:02:00.0", "H20"),
                   gpu_of("nvml 2", "", "gone")}) ==
        "0000:01:00.0!lost 0000:02:00.0=H20 0000:03:00.0!gone");
}

TEST_CASE("a lost GPU of a host where PCI has others that are not NVML's is not guessed") {
  const std::string may = "NVML tells no address of a GPU, which may be this one: lost";
  CHECK(told({gpu_of("0000:01:00.0"), gpu_of("0000:02:00.0")}, {gpu_of("nvml 0", "", "lost")}) ==
        "0000:01:00.0!" + may + " 0000:02:00.0!" + may);
}

TEST_CASE("a GPU that NVML does not list says why: a container may not have been given it") {
  const std::vector<Part> pci{gpu_of("0000:01:00.0"), gpu_of("0000:02:00.0")};
  const std::string lacks = "NVML does not list this GPU";
  const std::string not_given = lacks + ", and no device file of it may be opened here";
  CHECK(told(pci, {gpu_of("0000:01:00.0", "H20")}) == "0000:01:00.0=H20 0000:02:00.0!" + not_given);
  CHECK(told(pci, {}) == "0000:01:00.0!" + not_given + " 0000:02:00.0!" + not_given);
  const Tree tree;
  const std::string facts = "/proc/driver/nvidia/gpus/0000:02:00.0/information";
  tree.add(facts, "Model: \t\t NVIDIA H20\nDevice Minor: \t 1\nGPU Excluded:\t No\n");
  tree.add("/dev/nvidia0", "");
  CHECK(told(pci, {gpu_of("0000:01:00.0", "H20")}, tree) ==
        "0000:01:00.0=H20 0000:02:00.0!" + not_given);
  tree.add("/dev/nvidia1", "");
  CHECK(told(pci, {gpu_of("0000:01:00.0", "H20")}, tree) ==
        "0000:01:00.0=H20 0000:02:00.0!" + lacks +
            ", although its device file /dev/nvidia1 may be opened here");
  tree.add(facts, "Device Minor: \t 1\nGPU Excluded:\t Yes\n");
  CHECK(told(pci, {gpu_of("0000:01:00.0", "H20")}, tree) ==
        "0000:01:00.0=H20 0000:02:00.0!" + lacks +
            ": the driver nvidia is told to leave it out (NVreg_ExcludedGpus)");
}

TEST_CASE("GPUs of virtual machines and of other drivers are not taken for one that is lost") {
  std::vector<Part> pci{gpu_of("0000:01:00.0"), gpu_of("0000:02:00.0"), gpu_of("0000:03:00.0"),
                        gpu_of("0000:04:00.4")};
  pci[1].attributes["kernel_driver"] = std::string("vfio-pci");
  pci[2].attributes["kernel_driver"] = std::string("nouveau");
  pci[3].attributes["kernel_driver"] = std::string("nvidia");
  const Tree tree;
  link(tree, "/sys/bus/pci/devices/0000:04:00.4/physfn", "/sys/devices/0000:04:00.0");
  tree.add("/sys/devices/0000:04:00.0/class", "0x030200\n");
  const std::string lacks = "NVML does not list this GPU: ";
  CHECK(told(pci, {gpu_of("nvml 0", "", "lost")}, tree) ==
        "0000:01:00.0!lost 0000:02:00.0!" + lacks +
            "the kernel's driver vfio-pci keeps it for virtual machines 0000:03:00.0!" + lacks +
            "the kernel's driver of it is nouveau 0000:04:00.4!" + lacks +
            "it is a virtual function, for virtual machines");
}

TEST_CASE("a GPU that PCI does not show is counted, whether NVML has lost it or not") {
  CHECK(told({}, {gpu_of("0000:01:00.0", "H20"), gpu_of("nvml 1", "", "lost")}) ==
        "0000:01:00.0=H20 nvml 1!lost");
}
