#include "bench/storage/io/device_watch.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/clock.h"

namespace cb::io {
namespace {

constexpr double kSectorBytes = 512;  // the unit of the stat file on every device

struct Count {
  const char* name;
  const char* unit;
  double nvme::SmartLog::*value;
};
// The counters that a reader of a report looks for after a run.
constexpr Count kCounts[] = {
    {"nvme_data_read", "bytes", &nvme::SmartLog::read_bytes},
    {"nvme_data_written", "bytes", &nvme::SmartLog::written_bytes},
    {"nvme_media_errors", "count", &nvme::SmartLog::media_errors},
    {"nvme_error_log_entries", "count", &nvme::SmartLog::error_log_entries},
    {"nvme_unsafe_shutdowns", "count", &nvme::SmartLog::unsafe_shutdowns},
    {"nvme_temperature", "celsius", &nvme::SmartLog::temperature_celsius},
    {"nvme_warning_temperature_time", "seconds", &nvme::SmartLog::warning_temperature_seconds},
    {"nvme_critical_temperature_time", "seconds", &nvme::SmartLog::critical_temperature_seconds},
    {"nvme_light_throttle_time", "seconds", &nvme::SmartLog::light_throttle_seconds},
    {"nvme_heavy_throttle_time", "seconds", &nvme::SmartLog::heavy_throttle_seconds},
};

std::string link_text(const nvme::Link& link) {
  return fmt::format("{} x{} of {} x{}", link.speed, link.width, link.max_speed, link.max_width);
}

double share(unsigned percent) { return percent / 100.0; }

}  // namespace

std::optional<BlockStat> BlockStat::read(const FsRoot& fs, block::Number number) {
  std::istringstream in(fs.text("/sys/dev/block/" + to_text(number) + "/stat").value_or(""));
  double v[11];
  for (double& value : v) {
    if (!(in >> value)) return std::nullopt;
  }
  return BlockStat{.read_ios = v[0],
                   .read_bytes = v[2] * kSectorBytes,
                   .write_ios = v[4],
                   .written_bytes = v[6] * kSectorBytes,
                   .busy_seconds = v[9] / 1e3,
                   .request_seconds = v[10] / 1e3};
}

DeviceWatch::DeviceWatch(const FsRoot& fs, std::vector<block::Device> disks,
                         nvme::AdminCommand send, double period_seconds)
    : fs_(fs), send_(std::move(send)), period_(period_seconds), start_(monotonic_seconds()) {
  for (block::Device& device : disks) {
    Disk disk{.device = std::move(device)};
    for (const std::string& name : nvme::controllers_of(fs_, disk.device))
      disk.controllers.push_back({.name = name,
                                  .before = nvme::read_smart(name, send_),
                                  .link_before = nvme::link_of(fs_, name)});
    disk.first = disk.last = BlockStat::read(fs_, disk.device.number);
    disk.last_at = monotonic_seconds();
    disks_.push_back(std::move(disk));
  }
  if (!disks_.empty()) thread_ = std::thread([this] { loop(); });
}

DeviceWatch::~DeviceWatch() { stop(); }

void DeviceWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  take();
  for (Disk& disk : disks_) {
    for (Controller& c : disk.controllers) {
      c.after = nvme::read_smart(c.name, send_);
      c.link_after = nvme::link_of(fs_, c.name);
    }
  }
}

void DeviceWatch::loop() {
  std::unique_lock lock(mutex_);
  while (
      !wake_.wait_for(lock, std::chrono::duration<double>(period_), [this] { return stopping_; })) {
    lock.unlock();
    take();
    lock.lock();
  }
}

void DeviceWatch::take() {
  for (Disk& disk : disks_) {
    const auto now = BlockStat::read(fs_, disk.device.number);
    const double at = monotonic_seconds(), elapsed = at - disk.last_at;
    // The kernel counts in milliseconds: a shorter interval says nothing.
    if (now && disk.last && elapsed >= period_ / 2) {
      const double busy = (now->busy_seconds - disk.last->busy_seconds) / elapsed;
      disk.utilisation.add(at - start_, std::min(busy, 1.0));
      disk.queue.add(at - start_, (now->request_seconds - disk.last->request_seconds) / elapsed);
    }
    disk.answers = now.has_value();
    if (!now) continue;
    disk.last = now;
    disk.last_at = at;
  }
}

void DeviceWatch::add_to(Record& record, const std::string& host) const {
  for (const Disk& disk : disks_) {
    const size_t entity = record.entity({host, "disk", disk.device.name});
    add_counters(record, entity, disk);
    add_health(record, entity, disk);
  }
}

void DeviceWatch::add_counters(Record& record, size_t entity, const Disk& disk) const {
  if (!disk.answers) record.facts["device_counters " + disk.device.name] = said("io.counters_end");
  if (!disk.first || !disk.last) return;
  const auto delta = [&](const char* name, const char* unit, double BlockStat::*value) {
    record.telemetry.deltas.push_back({name, unit, entity, *disk.first.*value, *disk.last.*value});
  };
  delta("device_read", "bytes", &BlockStat::read_bytes);
  delta("device_written", "bytes", &BlockStat::written_bytes);
  delta("device_reads", "count", &BlockStat::read_ios);
  delta("device_writes", "count", &BlockStat::write_ios);
  if (disk.utilisation.at().empty()) return;
  record.telemetry.series.push_back(
      {"device_utilisation", "share", entity, disk.utilisation.at(), disk.utilisation.values()});
  record.telemetry.series.push_back(
      {"device_queue", "requests", entity, disk.queue.at(), disk.queue.values()});
}

void DeviceWatch::add_health(Record& record, size_t entity, const Disk& disk) const {
  double errors = 0;
  unsigned warnings = 0;
  size_t read = 0;
  for (const Controller& c : disk.controllers) {
    add_link(record, disk, c);
    if (!c.before.value || !c.after.value) {
      record.facts["smart " + c.name] =
          said("io.smart_not_read", c.before.value ? c.after.why : c.before.why);
      continue;
    }
    ++read;
    const nvme::SmartLog &before = *c.before.value, &after = *c.after.value;
    errors += after.media_errors - before.media_errors;
    warnings |= after.critical_warning;
    for (const Count& count : kCounts)
      record.telemetry.deltas.push_back(
          {count.name, count.unit, entity, before.*count.value, after.*count.value});
    record.telemetry.deltas.push_back({"nvme_available_spare", "share", entity,
                                       share(before.available_spare_percent),
                                       share(after.available_spare_percent)});
    record.telemetry.deltas.push_back({"nvme_endurance_used", "share", entity,
                                       share(before.percentage_used),
                                       share(after.percentage_used)});
    record.facts["smart " + c.name] =
        after.critical_warning == 0
            ? said("smart.no_warning")
            : said("io.smart_warning", nvme::critical_warning_text(after.critical_warning));
  }
  if (read == 0 || read != disk.controllers.size()) return;
  record.add("media_errors", entity, {errors});
  record.add("critical_warnings", entity, {static_cast<double>(__builtin_popcount(warnings))});
}

void DeviceWatch::add_link(Record& record, const Disk& disk, const Controller& c) const {
  if (!c.link_before || !c.link_after) return;
  record.facts["pcie " + c.name] = link_text(*c.link_after);
  if (*c.link_before != *c.link_after)
    record.notes.push_back(said("io.link_changed", disk.device.name, c.name,
                                link_text(*c.link_before), link_text(*c.link_after)));
  else if (c.link_after->below_maximum())
    record.notes.push_back(
        said("io.link_slow", disk.device.name, c.name, link_text(*c.link_after)));
}

std::vector<block::Device> disks_of(const FsRoot& fs, int fd, const std::string& mount_source) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return {};
  const dev_t number = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
  auto device = block::find(fs, block::Number{major(number), minor(number)});
  // The numbers that btrfs and others show belong to no device.
  if (!device && !S_ISBLK(st.st_mode)) device = block::find_path(fs, mount_source);
  return device ? block::disks_below(fs, *device) : std::vector<block::Device>{};
}

}  // namespace cb::io
