// How a GPU reaches the RDMA devices of its host, by the PCI tree.
#include <doctest/doctest.h>

#include "sys/inventory/collect.h"
#include "tree.h"

using namespace cb;
using cb::test::Tree;

namespace {

void link(const Tree& tree, const std::string& from, const std::string& to) {
  const auto path = tree.fs().resolve(from);
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::create_directory_symlink(tree.fs().resolve(to), path);
}

// A PCI function below these bridges, and its entry in /sys/bus.
std::string add_function(const Tree& tree, const std::string& bridges, const std::string& address,
                         const std::string& code, const std::string& node) {
  const std::string path = "/sys/devices/" + bridges + "/" + address;
  tree.add(path + "/class", code + "\n");
  tree.add(path + "/vendor", code.starts_with("0x03") ? "0x10de\n" : "0x15b3\n");
  tree.add(path + "/numa_node", node + "\n");
  link(tree, "/sys/bus/pci/devices/" + address, path);
  return path;
}

}  // namespace

TEST_CASE("RDMA devices seen from a GPU") {
  const Tree tree;
  // Root port 01.0 → switch 10:00.0 with ports 11:…; a second switch below the same one.
  const std::string port = "pci0000:00/0000:00:01.0/0000:10:00.0";
  add_function(tree, port + "/0000:11:00.0", "0000:12:00.0", "0x030200", "0");
  const auto nic = [&](const char* name, const std::string& bridges, const char* address,
                       const char* node) {
    link(tree, std::string("/sys/class/infiniband/") + name + "/device",
         add_function(tree, bridges, address, "0x020700", node));
  };
  nic("mlx5_0", port + "/0000:11:01.0", "0000:13:00.0", "0");
  nic("mlx5_1", port + "/0000:11:02.0/0000:14:00.0/0000:15:00.0", "0000:16:00.0", "0");
  nic("mlx5_2", "pci0000:00/0000:00:02.0", "0000:20:00.0", "0");
  nic("mlx5_3", "pci0000:40/0000:40:01.0", "0000:41:00.0", "0");
  nic("mlx5_4", "pci0000:80/0000:80:01.0", "0000:81:00.0", "1");
  const auto gpus = inventory::gpu_parts(tree.fs());
  REQUIRE(gpus.size() == 1);
  CHECK(text_of(&gpus[0], "nics") == "mlx5_0 PIX, mlx5_1 PXB, mlx5_2 PHB, mlx5_3 NODE, mlx5_4 SYS");
  CHECK(gpus[0].unavailable.contains("driver_version"));  // no driver in this tree
}

TEST_CASE("a GPU on a host without RDMA devices says nothing of them") {
  const Tree tree;
  add_function(tree, "pci0000:00/0000:00:01.0", "0000:12:00.0", "0x030200", "0");
  const auto gpus = inventory::gpu_parts(tree.fs());
  REQUIRE(gpus.size() == 1);
  CHECK_FALSE(gpus[0].attributes.contains("nics"));
}
