#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/telemetry.h"
#include "core/result.h"
#include "sys/storage/block.h"
#include "sys/storage/nvme.h"

namespace cb::io {

// A block device's counters (Documentation/block/stat.rst of the kernel).
struct BlockStat {
  double read_ios = 0, read_bytes = 0, write_ios = 0, written_bytes = 0;
  double busy_seconds = 0;     // time in which at least one request was in flight
  double request_seconds = 0;  // request time, summed over all requests in flight
  static std::optional<BlockStat> read(const FsRoot& fs, block::Number number);
};

// What the disks below a file say of themselves while it is measured. Read about every 400 ms:
// requests, bytes, the share of time in use and the requests in flight (as iostat's %util and
// aqu-sz). Read before and after: SMART log and PCIe link of NVMe devices.
class DeviceWatch {
 public:
  static constexpr double kPeriodSeconds = 0.4;

  DeviceWatch(const FsRoot& fs, std::vector<block::Device> disks,
              nvme::AdminCommand send = nvme::send_admin_command,
              double period_seconds = kPeriodSeconds);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Takes the last readings. Later calls do nothing.
  void stop();
  // Adds what was seen to a record: series, deltas, and for every disk whose SMART log could be
  // read the metrics media_errors (new ones) and critical_warnings (bits set). Facts say why
  // something is missing.
  void add_to(Record& record, const std::string& host) const;

 private:
  struct Controller {
    std::string name;
    nvme::Reading<nvme::SmartLog> before = {}, after = {};
    std::optional<nvme::Link> link_before = {}, link_after = {};
  };
  struct Disk {
    block::Device device;
    std::optional<BlockStat> first = {}, last = {};
    double last_at = 0;
    bool answers = true;
    BoundedSeries utilisation = {}, queue = {};
    std::vector<Controller> controllers = {};
  };
  void loop();
  void take();
  void add_counters(Record& record, size_t entity, const Disk& disk) const;
  void add_health(Record& record, size_t entity, const Disk& disk) const;
  void add_link(Record& record, const Disk& disk, const Controller& controller) const;

  FsRoot fs_;
  nvme::AdminCommand send_;
  double period_;
  double start_;
  std::vector<Disk> disks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

// The physical disks below an open file or block device. Empty where the filesystem names none
// (network, memory, overlay).
std::vector<block::Device> disks_of(const FsRoot& fs, int fd, const std::string& mount_source);

}  // namespace cb::io
