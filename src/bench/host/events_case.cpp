// What the host has counted and logged against itself since it was booted: links that went down,
// errors of PCIe, memory and drives, throttling, and lines of the kernel's log. Reads, loads
// nothing and judges nothing; a soak compares one reading with the next. docs/methods/soak.md.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/cases.h"
#include "core/units.h"
#include "model/kernel_events.h"
#include "sys/os/kernel_log.h"
#include "sys/storage/nvme.h"

namespace cb {
namespace {

constexpr size_t kMaxKernelLines = 100;  // of each kind: the newest ones

CaseInfo describe() {
  const auto lower = Better::lower;
  return {
      .name = "events",
      .device = "",
      .summary = "what the host has counted and logged against itself: links, PCIe, memory, drives",
      .example = "clusterbench events --json e.json",
      .domain = "stability",
      .needs = {},
      .params = {},
      .metrics = {{"link_downs", "count", lower, "times that a link of a NIC went down"},
                  {"link_errors", "count", lower, "symbol, CRC and integrity errors of a link"},
                  {"pcie_corrected_errors", "count", lower, "that PCIe's error reporting counted"},
                  {"pcie_fatal_errors", "count", lower, "uncorrected, fatal or not"},
                  {"memory_corrected_errors", "count", lower, "that EDAC counted"},
                  {"memory_uncorrected_errors", "count", lower, "that EDAC counted"},
                  {"throttle_events", "count", lower, "times that a core was throttled for heat"},
                  {"drive_media_errors", "count", lower, "of an NVMe drive's SMART log"},
                  {"kernel_messages", "count", lower, "in the kernel's log"}},
      .checks = {},
      .fault = {.why_not = said("fault.counters")},
  };
}

class EventReader {
 public:
  EventReader(const FsRoot& fs, std::string host, Record& record)
      : fs_(fs), host_(std::move(host)), record_(record) {}

  void read() {
    read_interfaces();
    read_rdma();
    read_pcie();
    read_memory();
    read_throttling();
    read_drives();
    read_log();
  }

 private:
  void add(const char* metric, const char* kind, const std::string& id, double value) {
    record_.add(metric, record_.entity({host_, kind, id}), {value});
  }

  // The sum of those counters that are there; nothing if none is.
  std::optional<double> sum(const std::string& directory,
                            std::initializer_list<const char*> names) const {
    std::optional<double> out;
    for (const char* name : names) {
      if (const auto value = fs_.integer(directory + "/" + name))
        out = out.value_or(0) + static_cast<double>(*value);
    }
    return out;
  }

  // Interfaces of hardware; virtual ones go up and down with the programs that made them.
  void read_interfaces() {
    const std::string root = "/sys/class/net";
    for (const std::string& name : fs_.entries(root)) {
      const std::string directory = root + "/" + name;
      if (!fs_.exists(directory + "/device")) continue;
      if (const auto downs = fs_.integer(directory + "/carrier_down_count"))
        add("link_downs", "nic", name, static_cast<double>(*downs));
      if (const auto errors = sum(directory + "/statistics",
                                  {"rx_crc_errors", "rx_frame_errors", "tx_carrier_errors"}))
        add("link_errors", "nic", name, *errors);
    }
  }

  void read_rdma() {
    const std::string root = "/sys/class/infiniband";
    for (const std::string& name : fs_.entries(root)) {
      const std::vector<std::string> ports = fs_.entries(root + "/" + name + "/ports");
      for (const std::string& port : ports) {
        const std::string counters = root + "/" + name + "/ports/" + port + "/counters";
        const std::string id = ports.size() == 1 ? name : name + "/" + port;
        if (const auto downs = sum(counters, {"link_downed"})) add("link_downs", "nic", id, *downs);
        if (const auto errors =
                sum(counters, {"symbol_error", "link_error_recovery", "port_rcv_errors",
                               "local_link_integrity_errors", "excessive_buffer_overrun_errors"}))
          add("link_errors", "nic", id, *errors);
      }
    }
  }

  // The line "TOTAL_ERR_COR 12" of a device's file.
  std::optional<double> pcie_total(const std::string& file, const std::string& name) const {
    const auto text = fs_.text(file);
    if (!text) return std::nullopt;
    std::istringstream lines(*text);
    std::string word;
    double value = 0;
    while (lines >> word >> value) {
      if (word == name) return value;
    }
    return std::nullopt;
  }

  // Display and 3D controllers, network and InfiniBand controllers, NVMe.
  static bool is_measured_part(const std::string& pci_class) {
    return pci_class.starts_with("0x03") || pci_class.starts_with("0x02") ||
           pci_class.starts_with("0x0108") || pci_class.starts_with("0x0c06");
  }

  void read_pcie() {
    const std::string root = "/sys/bus/pci/devices";
    for (const std::string& address : fs_.entries(root)) {
      const std::string device = root + "/" + address;
      if (!is_measured_part(fs_.text(device + "/class").value_or(""))) continue;
      if (const auto n = pcie_total(device + "/aer_dev_correctable", "TOTAL_ERR_COR"))
        add("pcie_corrected_errors", "pcie", address, *n);
      const auto fatal = pcie_total(device + "/aer_dev_fatal", "TOTAL_ERR_FATAL");
      const auto nonfatal = pcie_total(device + "/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
      if (fatal || nonfatal)
        add("pcie_fatal_errors", "pcie", address, fatal.value_or(0) + nonfatal.value_or(0));
    }
  }

  void read_memory() {
    const std::string root = "/sys/devices/system/edac/mc";
    for (const std::string& name : fs_.entries(root)) {
      if (!name.starts_with("mc")) continue;
      if (const auto n = sum(root + "/" + name, {"ce_count"}))
        add("memory_corrected_errors", "memory", name, *n);
      if (const auto n = sum(root + "/" + name, {"ue_count"}))
        add("memory_uncorrected_errors", "memory", name, *n);
    }
  }

  void read_throttling() {
    const std::string root = "/sys/devices/system/cpu";
    std::optional<double> all;
    for (const std::string& name : fs_.entries(root)) {
      if (!name.starts_with("cpu")) continue;
      if (const auto n = sum(root + "/" + name + "/thermal_throttle", {"core_throttle_count"}))
        all = all.value_or(0) + *n;
    }
    if (all) add("throttle_events", "host", "", *all);
  }

  void read_drives() {
    if (!fs_.is_machine()) return;  // a captured tree has no drive to ask
    for (const std::string& name : fs_.entries("/sys/class/nvme")) {
      const auto smart = nvme::read_smart(name, nvme::send_admin_command);
      if (smart.value)
        add("drive_media_errors", "disk", name, smart.value->media_errors);
      else
        record_.notes.push_back(said("events.unread", host_, name, smart.why));
    }
  }

  // Of each kind the newest lines are told, so that many harmless ones hide no other.
  void read_log() {
    const std::string boot_id =
        fs_.text("/proc/sys/kernel/random/boot_id").value_or("").substr(0, 8);
    const auto boot = boot_seconds();
    if (!boot_id.empty() && boot)
      record_.notes.push_back(said("events.boot", host_, boot_id, time_text(*boot, 0)));
    std::string why;
    const auto log = read_kernel_log(why, fs_);
    if (!log || !boot) {
      if (log) why = "/proc/stat";
      record_.notes.push_back(said("events.unread", host_, "/dev/kmsg", why));
      return;
    }
    const KernelEvents events = kernel_events(*log);
    add("kernel_messages", "host", "", static_cast<double>(events.messages));
    if (events.messages > 0)
      record_.notes.push_back(said("events.log", host_, std::to_string(events.first),
                                   std::to_string(events.last),
                                   time_text(*boot, events.first_seconds)));
    tell_lines(events.lines, *boot, boot_id);
  }

  void tell_lines(const std::vector<KernelLine>& lines, int64_t boot, const std::string& boot_id) {
    std::map<std::string, size_t> left_out;
    for (const KernelLine& line : lines) ++left_out[line.kind];
    for (auto& [kind, n] : left_out) {
      n -= std::min(n, kMaxKernelLines);
      if (n > 0) record_.notes.push_back(said("events.left_out", host_, kind, n));
    }
    for (const KernelLine& line : lines) {
      size_t& skip = left_out[line.kind];
      if (skip > 0) {
        --skip;
        continue;
      }
      record_.notes.push_back(said("events.kernel", host_, line.kind, time_text(boot, line.seconds),
                                   fmt::format("{}:{}", boot_id, line.sequence), line.text));
    }
  }

  static std::string time_text(int64_t boot, double seconds) {
    const auto at = static_cast<std::time_t>(static_cast<double>(boot) + seconds);
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(at));
  }

  // When the host was booted, in seconds since 1970.
  std::optional<int64_t> boot_seconds() const {
    std::istringstream lines(fs_.text("/proc/stat").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("btime ")) return parse_integer(line.substr(6));
    }
    return std::nullopt;
  }

  const FsRoot& fs_;
  const std::string host_;
  Record& record_;
};

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "events", .params = params};
  record.entity({context.place.host, "host", ""});
  if (context.place.first_on_host()) EventReader(context.fs, context.place.host, record).read();
  return {std::move(record)};
}

}  // namespace

Case events_case() { return {describe(), run}; }

}  // namespace cb
