#include "bench/storage/io/device_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <linux/nvme_ioctl.h>

#include "../sys/block_tree.h"
#include "core/clock.h"

using namespace cb;
using namespace cb::io;
using cb::test::BlockTree;

namespace {

// One NVMe disk, its counters and what its controller answers.
struct WatchedMachine : BlockTree {
  WatchedMachine() {
    disk("nvme0n1", "259:0");
    std::filesystem::create_directory_symlink("../../nvme/nvme0",
                                              fs().resolve(dir("nvme0n1") + "/device"));
    stat(0, 0, 0, 0, 0, 0);
    link("4");
  }
  void stat(int reads, int read_sectors, int writes, int write_sectors, int busy_ms,
            int queue_ms) const {
    add(dir("nvme0n1") + "/stat", fmt(reads) + "0 " + fmt(read_sectors) + "0 " + fmt(writes) +
                                      "0 " + fmt(write_sectors) + "0 0 " + fmt(busy_ms) +
                                      fmt(queue_ms) + "0 0 0 0\n");
  }
  void link(const std::string& width) const {
    const std::string dir = "/sys/class/nvme/nvme0/device/";
    add(dir + "current_link_speed", "32.0 GT/s PCIe\n");
    add(dir + "current_link_width", width + "\n");
    add(dir + "max_link_speed", "32.0 GT/s PCIe\n");
    add(dir + "max_link_width", "4\n");
  }
  std::vector<block::Device> disks() const { return {*block::find(fs(), "nvme0n1")}; }
  static std::string fmt(int value) { return std::to_string(value) + " "; }
};

// A controller whose media errors and warnings the test sets.
struct Controller {
  int media_errors = 3;
  int warning = 0;
  int result = 0;
  nvme::AdminCommand sender() {
    return [this](const std::string&, nvme_passthru_cmd& c) {
      auto* page = reinterpret_cast<unsigned char*>(c.addr);
      page[0] = static_cast<unsigned char>(warning);
      page[160] = static_cast<unsigned char>(media_errors);
      return result;
    };
  }
};

const Metric* metric(const Record& record, const std::string& name) {
  for (const Metric& m : record.metrics) {
    if (m.name == name) return &m;
  }
  return nullptr;
}

const Delta* delta(const Record& record, const std::string& name) {
  for (const Delta& d : record.telemetry.deltas) {
    if (d.name == name) return &d;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("counters of the disk, before and after") {
  const WatchedMachine m;
  m.stat(10, 80, 5, 16, 100, 200);
  Controller controller;
  DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 3600);
  m.stat(110, 880, 7, 48, 600, 2200);
  watch.stop();
  Record record;
  watch.add_to(record, "n1");
  REQUIRE(delta(record, "device_read"));
  CHECK(delta(record, "device_read")->before == 80 * 512.0);
  CHECK(delta(record, "device_read")->after == 880 * 512.0);
  CHECK(delta(record, "device_reads")->after == 110);
  CHECK(delta(record, "device_written")->after == 48 * 512.0);
  CHECK(delta(record, "device_writes")->before == 5);
  CHECK(record.entities[delta(record, "device_read")->entity] == Entity{"n1", "disk", "nvme0n1"});
  CHECK(record.telemetry.series.empty());  // no interval has passed
}

TEST_CASE("utilisation and queue over time") {
  const WatchedMachine m;
  Controller controller;
  DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 0.02);
  Record record;
  m.stat(100, 800, 0, 0, 1000000, 2000000);  // longer in use than time has passed
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // at least 20 ms between readings
  watch.stop();
  watch.add_to(record, "n1");
  REQUIRE(record.telemetry.series.size() == 2);
  const Series &busy = record.telemetry.series[0], &queue = record.telemetry.series[1];
  CHECK(busy.name == "device_utilisation");
  CHECK(busy.unit == "share");
  CHECK(*std::max_element(busy.values.begin(), busy.values.end()) == 1);
  CHECK(queue.name == "device_queue");
  CHECK(*std::max_element(queue.values.begin(), queue.values.end()) > 1);
  CHECK(busy.at.size() == busy.values.size());
}

TEST_CASE("new media errors and warnings are metrics of the disk") {
  const WatchedMachine m;
  Controller controller;
  DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 3600);
  controller.media_errors = 5;
  controller.warning = 0x04 | 0x08;
  watch.stop();
  Record record;
  watch.add_to(record, "n1");
  REQUIRE(metric(record, "media_errors"));
  CHECK(metric(record, "media_errors")->samples.summary().median == 2);
  CHECK(metric(record, "critical_warnings")->samples.summary().median == 2);
  CHECK(delta(record, "nvme_media_errors")->before == 3);
  CHECK(delta(record, "nvme_media_errors")->after == 5);
  CHECK(record.facts.at("smart nvme0") == "critical warning: reliability degraded, read-only");
}

TEST_CASE("without the right to read the log there is no number, and it is said") {
  const WatchedMachine m;
  Controller controller;
  controller.result = -EACCES;
  DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 3600);
  watch.stop();
  Record record;
  watch.add_to(record, "n1");
  CHECK(metric(record, "media_errors") == nullptr);
  CHECK(delta(record, "nvme_media_errors") == nullptr);
  CHECK(
      record.facts.at("smart nvme0").text().find("not read: /dev/nvme0 needs the rights of root") ==
      0);
  CHECK(delta(record, "device_read") != nullptr);  // which needs no rights
}

TEST_CASE("a link that is narrow or became so is told") {
  const WatchedMachine m;
  Controller controller;
  const auto notes = [&](const char* before, const char* after) {
    m.link(before);
    DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 3600);
    m.link(after);
    watch.stop();
    Record record;
    watch.add_to(record, "n1");
    return record.notes;
  };
  CHECK(notes("4", "4").empty());
  REQUIRE(notes("2", "2").size() == 1);
  CHECK(notes("2", "2")[0].text().find("runs at 32.0 GT/s PCIe x2 of 32.0 GT/s PCIe x4") !=
        std::string::npos);
  CHECK(notes("4", "1")[0].text().find("x4 of") < notes("4", "1")[0].text().find("x1 of"));
}

TEST_CASE("a disk that is gone") {
  const WatchedMachine m;
  Controller controller;
  DeviceWatch watch(m.fs(), m.disks(), controller.sender(), 3600);
  m.remove("/sys/class/block");
  controller.result = -ENODEV;
  watch.stop();
  Record record;
  watch.add_to(record, "n1");
  CHECK(record.facts.at("device_counters nvme0n1").text().find("end before") == 0);
  CHECK(record.facts.at("smart nvme0") == "not read: /dev/nvme0: No such device");
  CHECK(record.metrics.empty());
}

TEST_CASE("no disk, no counters, nothing invented") {
  Record record;
  DeviceWatch watch(FsRoot("/nonexistent"), {}, Controller().sender());
  watch.stop();
  watch.add_to(record, "n1");
  CHECK(record.entities.empty());
  CHECK_FALSE(BlockStat::read(FsRoot("/nonexistent"), {1, 2}));
}
