// How a GPU reaches the RDMA devices of its host, by the PCI tree.
#include <doctest/doctest.h>

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
