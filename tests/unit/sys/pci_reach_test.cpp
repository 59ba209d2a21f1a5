// Which RDMA devices are nearest to a GPU and which GPU to a NIC, on composed trees of PCI bridges.
#include "sys/gpu/pci_reach.h"

#include <doctest/doctest.h>

#include "pci_tree.h"

using namespace cb;
using cb::test::add_gpu;
using cb::test::add_nic;
using cb::test::Tree;

namespace {

// "mlx5_0 PIX, mlx5_1 PIX"
std::string said(const std::vector<ReachedNic>& nics) {
  std::string out;
  for (const ReachedNic& n : nics)
    out += (out.empty() ? "" : ", ") + n.device + " " + pci_reach_name(n.reach);
  return out;
}

}  // namespace

TEST_CASE("two GPUs behind a switch each: the NICs beside them, all that are equally near") {
  const Tree tree;
  // A switch below each of two root ports of socket 0: a GPU and two NICs; a GPU and one NIC.
  const std::string first = "pci0000:10/0000:10:01.0/0000:11:00.0";
  const std::string second = "pci0000:20/0000:20:01.0/0000:21:00.0";
  add_gpu(tree, first + "/0000:12:00.0", "0000:13:00.0", "0");
  add_nic(tree, "mlx5_10", first + "/0000:12:01.0", "0000:14:00.0", "0");
  add_nic(tree, "mlx5_2", first + "/0000:12:02.0", "0000:15:00.0", "0");
  add_gpu(tree, second + "/0000:22:00.0", "0000:23:00.0", "0");
  add_nic(tree, "mlx5_0", second + "/0000:22:01.0", "0000:24:00.0", "0");
  CHECK(said(nearest_nics(tree.fs(), "0000:13:00.0")) == "mlx5_2 PIX, mlx5_10 PIX");
  CHECK(said(nearest_nics(tree.fs(), "0000:23:00.0")) == "mlx5_0 PIX");
  CHECK(said(reached_nics(tree.fs(), "0000:23:00.0")) == "mlx5_0 PIX, mlx5_2 NODE, mlx5_10 NODE");
}

TEST_CASE("what is nearest where no NIC is behind the GPU's switch") {
  const Tree tree;
  const std::string port = "pci0000:00/0000:00:01.0/0000:01:00.0";
  add_gpu(tree, port + "/0000:02:00.0", "0000:03:00.0", "0");
  const auto nearest = [&] { return said(nearest_nics(tree.fs(), "0000:03:00.0")); };
  add_nic(tree, "far_0", "pci0000:80/0000:80:01.0", "0000:81:00.0", "1");
  add_nic(tree, "far_1", "pci0000:90/0000:90:01.0", "0000:91:00.0", "-1");  // node unknown
  CHECK(nearest() == "far_0 SYS, far_1 SYS");
  add_nic(tree, "node_0", "pci0000:40/0000:40:01.0", "0000:41:00.0", "0");
  CHECK(nearest() == "node_0 NODE");
  add_nic(tree, "bridge_0", "pci0000:00/0000:00:02.0", "0000:05:00.0", "0");
  CHECK(nearest() == "bridge_0 PHB");
  // A second switch below the GPU's.
  add_nic(tree, "switches_0", port + "/0000:02:01.0/0000:06:00.0/0000:07:00.0", "0000:08:00.0",
          "0");
  CHECK(nearest() == "switches_0 PXB");
  add_nic(tree, "switch_0", port + "/0000:02:02.0", "0000:09:00.0", "0");
  CHECK(nearest() == "switch_0 PIX");
  // Both functions of a card, and no other.
  add_nic(tree, "switch_1", port + "/0000:02:02.0", "0000:09:00.1", "0");
  CHECK(nearest() == "switch_0 PIX, switch_1 PIX");
}

TEST_CASE("where nothing is known, no NIC is near") {
  const Tree tree;
  add_gpu(tree, "pci0000:00/0000:00:01.0", "0000:03:00.0", "0");
  CHECK(nearest_nics(tree.fs(), "0000:03:00.0").empty());  // no RDMA device
  // A soft-RoCE device is no PCI function.
  tree.add("/sys/class/infiniband/rxe0/node_type", "1: CA\n");
  CHECK(nearest_nics(tree.fs(), "0000:03:00.0").empty());
  add_nic(tree, "mlx5_0", "pci0000:00/0000:00:02.0", "0000:05:00.0", "0");
  CHECK(said(nearest_nics(tree.fs(), "0000:03:00.0")) == "mlx5_0 PHB");
  CHECK(nearest_nics(tree.fs(), "0000:04:00.0").empty());  // no such GPU
  CHECK(nearest_nics(tree.fs(), "").empty());
}

TEST_CASE("GPUs and NICs of the composed HGX node") {
  // It has no bridges: /sys/bus/pci/devices holds the functions themselves, so nothing is near.
  const Tree tree("hgx");
  CHECK(nearest_nics(tree.fs(), "0000:1b:00.0").empty());
}

TEST_CASE("the GPU that shares most bridges with a NIC is the nearest") {
  const Tree tree;
  const std::string port = "pci0000:80/0000:80:01.0/0000:81:00.0";
  add_gpu(tree, "pci0000:00/0000:00:01.0", "0000:01:00.0", "0");
  add_gpu(tree, port + "/0000:82:00.0", "0000:83:00.0", "1");
  add_gpu(tree, port + "/0000:82:04.0", "0000:84:00.0", "1");
  add_nic(tree, "mlx5_0", port + "/0000:82:00.0", "0000:85:00.0", "1");
  add_nic(tree, "mlx5_1", "pci0000:00/0000:00:01.0", "0000:02:00.0", "0");
  add_nic(tree, "mlx5_2", "pci0000:40/0000:40:01.0", "0000:41:00.0", "0");
  const std::vector<std::string> gpus{"0000:01:00.0", "0000:84:00.0", "0000:83:00.0"};
  const auto nearest = [&](const std::string& nic, const std::vector<std::string>& to) {
    return nearest_function(tree.fs(), nic, to);
  };
  CHECK(nearest("0000:85:00.0", gpus) == 2);
  CHECK(nearest("0000:02:00.0", gpus) == 0);
  // Of equals the first: behind other switches of the port, or other host bridges.
  CHECK(nearest("0000:85:00.0", {"0000:01:00.0", "0000:84:00.0"}) == 1);
  CHECK(nearest("0000:41:00.0", gpus) == 0);
  // One that /sys does not know is behind one that it does.
  CHECK(nearest("0000:41:00.0", {"0000:99:00.0", "0000:83:00.0"}) == 1);
  // Nothing known: the first.
  CHECK(nearest("", gpus) == 0);
  CHECK(nearest("0000:98:00.0", gpus) == 0);
  CHECK(nearest("0000:85:00.0", {"0000:99:00.0", "0000:97:00.0"}) == 0);
  CHECK(nearest("0000:85:00.0", {}) == 0);
}

TEST_CASE("a captured node without bridges: its first GPU is taken") {
  const Tree tree("hgx");
  CHECK(nearest_function(tree.fs(), "0000:1b:00.0", {"0000:3b:00.0", "0000:1b:00.0"}) == 0);
}
