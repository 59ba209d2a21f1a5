// Composes /sys/class/block and /sys/dev/block of machines for tests of what a device is used for.
#pragma once

#include <filesystem>
#include <string>

#include "tree.h"

namespace cb::test {

class BlockTree : public Tree {
 public:
  // A disk with 1 GiB.
  void disk(const std::string& name, const std::string& number, const std::string& serial = "") {
    place(name, name, number);
    if (!serial.empty()) add(dir(name) + "/device/serial", serial + "   \n");
  }
  void partition(const std::string& disk, const std::string& name, const std::string& number) {
    place(disk + "/" + name, name, number);
    add(dir(disk) + "/" + name + "/partition", "1\n");
    std::filesystem::create_directory_symlink(disk + "/" + name, on_disk(dir(name)));
  }
  // `upper` stands on `lower`: LVM, md, dm-crypt …
  void hold(const std::string& lower, const std::string& upper) {
    add(dir(lower) + "/holders/" + upper, "");
    add(dir(upper) + "/slaves/" + lower, "");
  }
  void mount(const std::string& number, const std::string& point, const std::string& source) {
    mounts_ +=
        "36 35 " + number + " / " + point + " rw,noatime shared:1 - ext4 " + source + " rw\n";
    add("/proc/self/mountinfo", mounts_);
  }
  void swap(const std::string& path, const std::string& type) {
    add("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n" + path + " " + type + " 1 0 -2\n");
  }
  static std::string dir(const std::string& name) { return "/sys/class/block/" + name; }

 private:
  std::filesystem::path on_disk(const std::string& path) const { return fs().resolve(path); }
  void place(const std::string& path, const std::string& name, const std::string& number) {
    add(dir(path) + "/dev", number + "\n");
    add(dir(path) + "/size", "2097152\n");
    add(dir(path) + "/ro", "0\n");
    const auto node = on_disk("/sys/dev/block/" + number);
    std::filesystem::create_directories(node.parent_path());
    std::filesystem::create_directory_symlink("../../class/block/" + name, node);
  }
  std::string mounts_;
};

}  // namespace cb::test
