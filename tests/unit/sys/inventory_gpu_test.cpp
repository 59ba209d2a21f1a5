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
