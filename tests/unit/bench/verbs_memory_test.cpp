// Which GPU is nearest to a NIC, and what is said where there is none.
#include "bench/verbs/memory.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "../sys/tree.h"

using namespace cb;

namespace {

// A device below bridges, as /sys shows it.
void place(const std::filesystem::path& root, const std::string& bridges,
           const std::string& address) {
  const auto at = root / "sys/devices" / bridges / address;
  std::filesystem::create_directories(at);
  std::filesystem::create_directories(root / "sys/bus/pci/devices");
  std::filesystem::create_directory_symlink(at, root / "sys/bus/pci/devices" / address);
}

}  // namespace

TEST_CASE("the GPU that shares most bridges with the NIC is the nearest") {
  const test::Tree tree;
  const FsRoot fs = tree.fs();
  const auto root = fs.resolve("/");
  place(root, "pci0000:00/0000:00:01.0", "0000:01:00.0");
  place(root, "pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0", "0000:83:00.0");
  place(root, "pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:04.0", "0000:84:00.0");
  place(root, "pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0", "0000:85:00.0");
  const std::vector<std::string> gpus{"0000:01:00.0", "0000:84:00.0", "0000:83:00.0"};
  CHECK(verbs::nearest_gpu(fs, "0000:85:00.0", gpus) == 2);
  CHECK(verbs::nearest_gpu(fs, "0000:01:00.0", gpus) == 0);
  // Nothing known: the first.
  CHECK(verbs::nearest_gpu(fs, std::nullopt, gpus) == 0);
  CHECK(verbs::nearest_gpu(fs, "0000:99:00.0", {"0000:98:00.0", "0000:97:00.0"}) == 0);
}

TEST_CASE("GPUs are there, or it is said why not and what to do") {
  const verbs::Gpus gpus = verbs::visible_gpus();
  CHECK(gpus.absent.empty() == !gpus.pci_addresses.empty());
  if (!gpus.absent.empty()) CHECK(gpus.absent.find("--memory host") != std::string::npos);
}
