// PCI functions and RDMA devices in a composed /sys.
#pragma once

#include <filesystem>
#include <string>

#include "tree.h"

namespace cb::test {

inline void link(const Tree& tree, const std::string& from, const std::string& to) {
  const auto path = tree.fs().resolve(from);
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::create_directory_symlink(tree.fs().resolve(to), path);
}

// A PCI function below these bridges, and its entry in /sys/bus. Its path.
inline std::string add_function(const Tree& tree, const std::string& bridges,
                                const std::string& address, const std::string& code,
                                const std::string& node) {
  const std::string path = "/sys/devices/" + bridges + "/" + address;
  tree.add(path + "/class", code + "\n");
  tree.add(path + "/vendor", code.starts_with("0x03") ? "0x10de\n" : "0x15b3\n");
  tree.add(path + "/numa_node", node + "\n");
  link(tree, "/sys/bus/pci/devices/" + address, path);
  return path;
}

// An NVIDIA GPU.
inline void add_gpu(const Tree& tree, const std::string& bridges, const std::string& address,
                    const std::string& node) {
  add_function(tree, bridges, address, "0x030200", node);
}

// An RDMA device of that name.
inline void add_nic(const Tree& tree, const std::string& name, const std::string& bridges,
                    const std::string& address, const std::string& node) {
  link(tree, "/sys/class/infiniband/" + name + "/device",
       add_function(tree, bridges, address, "0x020700", node));
}

}  // namespace cb::test
