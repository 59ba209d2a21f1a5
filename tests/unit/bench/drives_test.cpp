#include "bench/storage/drives.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <linux/nvme_ioctl.h>

using namespace cb;

namespace {

// /sys/class/nvme of a machine, below a directory of its own.
class DriveTree {
 public:
  DriveTree() {
    char name[] = "/tmp/cb_drives_XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~DriveTree() { std::filesystem::remove_all(root_); }
  DriveTree(const DriveTree&) = delete;
  DriveTree& operator=(const DriveTree&) = delete;

  void drive(const std::string& name, const std::string& state, const std::string& speed,
             const std::string& width) const {
    const std::string dir = "/sys/class/nvme/" + name;
    write(dir + "/state", state);
    write(dir + "/device/current_link_speed", speed);
    write(dir + "/device/max_link_speed", "16.0 GT/s PCIe");
    write(dir + "/device/current_link_width", width);
    write(dir + "/device/max_link_width", "4");
  }
  FsRoot fs() const { return FsRoot(root_); }

 private:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::filesystem::path root_;
};

int no_rights(const std::string&, nvme_passthru_cmd&) { return -EACCES; }

// A log page with 97 % of the spare, 6 % of the life used, three media errors and "read-only".
int worn(const std::string&, nvme_passthru_cmd& command) {
  auto* page = reinterpret_cast<unsigned char*>(command.addr);
  page[0] = 8;
  page[3] = 97;
  page[5] = 6;
  page[160] = 3;
  return 0;
}

double value(const Record& record, const char* metric, const char* drive) {
  for (size_t i = 0; i < record.entities.size(); ++i) {
    if (record.entities[i].id != drive) continue;
    const Metric* found = record.find(metric, i);
    return found == nullptr ? -1 : found->samples.summary().median;
  }
  return -2;
}

}  // namespace

TEST_CASE("each drive's link is compared with what the drive can") {
  const DriveTree machine;
  machine.drive("nvme0", "live", "16.0 GT/s PCIe", "4");
  machine.drive("nvme1", "live", "8.0 GT/s PCIe", "2");
  machine.drive("nvme2", "dead", "16.0 GT/s PCIe", "4");
  Record record;
  io::add_drives(record, machine.fs(), "n1", no_rights);
  CHECK(value(record, "drives_live", "") == 2);
  CHECK(value(record, "pcie_lanes_share", "nvme0") == 1);
  CHECK(value(record, "pcie_generation_share", "nvme0") == 1);
  CHECK(value(record, "pcie_lanes_share", "nvme1") == 0.5);
  CHECK(value(record, "pcie_generation_share", "nvme1") == 0.75);
  // What only root may read is absent, with the reason.
  CHECK(value(record, "critical_warnings", "nvme0") == -1);
  CHECK(
      record.facts.at("smart nvme0").text().find("not read: /dev/nvme0 needs the rights of root") ==
      0);
}

TEST_CASE("spare, wear, errors and warnings come from the drive's own log") {
  const DriveTree machine;
  machine.drive("nvme0", "live", "16.0 GT/s PCIe", "4");
  Record record;
  io::add_drives(record, machine.fs(), "n1", worn);
  CHECK(value(record, "available_spare_share", "nvme0") == 0.97);
  CHECK(value(record, "endurance_used_share", "nvme0") == 0.06);
  CHECK(value(record, "media_errors_total", "nvme0") == 3);
  CHECK(value(record, "critical_warnings", "nvme0") == 1);
  CHECK(record.facts.at("smart nvme0") == "critical warning: read-only");
}
