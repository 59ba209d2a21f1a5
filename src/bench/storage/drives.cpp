#include "bench/storage/drives.h"

#include <bit>
#include <cstdlib>

#include "sys/inventory/pci.h"

namespace cb::io {
namespace {

class DriveReport {
 public:
  DriveReport(Record& record, const FsRoot& fs, const std::string& host, const std::string& name)
      : record_(record), fs_(fs), name_(name), entity_(record.entity({host, "disk", name})) {}

  void add(const nvme::AdminCommand& send) {
    add_link();
    const nvme::Reading<nvme::SmartLog> smart = nvme::read_smart(name_, send);
    if (!smart.value) {
      record_.facts["smart " + name_] = said("io.smart_not_read", smart.why);
      return;
    }
    add_smart(*smart.value);
  }

 private:
  void add_link() {
    const auto link = nvme::link_of(fs_, name_);
    if (!link) {
      record_.facts["pcie " + name_] = said("drives.no_link");
      return;
    }
    share("pcie_lanes_share", lanes(link->width), lanes(link->max_width));
    share("pcie_generation_share", inventory::pcie_generation(link->speed),
          inventory::pcie_generation(link->max_speed));
  }

  void add_smart(const nvme::SmartLog& smart) {
    const auto warnings = static_cast<double>(std::popcount(smart.critical_warning));
    record_.add("available_spare_share", entity_, {smart.available_spare_percent / 100.0});
    record_.add("endurance_used_share", entity_, {smart.percentage_used / 100.0});
    record_.add("media_errors_total", entity_, {smart.media_errors});
    record_.add("critical_warnings", entity_, {warnings});
    record_.add("temperature_celsius", entity_, {smart.temperature_celsius});
    record_.facts["smart " + name_] =
        smart.critical_warning == 0
            ? said("smart.no_warning")
            : said("io.smart_warning", nvme::critical_warning_text(smart.critical_warning));
  }

  static std::optional<int64_t> lanes(const std::string& text) {
    const long long count = std::strtoll(text.c_str(), nullptr, 10);
    return count > 0 ? std::optional<int64_t>(count) : std::nullopt;
  }

  void share(const char* metric, std::optional<int64_t> now, std::optional<int64_t> most) {
    if (now && most && *most > 0)
      record_.add(metric, entity_, {static_cast<double>(*now) / static_cast<double>(*most)});
  }

  Record& record_;
  const FsRoot& fs_;
  const std::string& name_;
  size_t entity_;
};

}  // namespace

void add_drives(Record& record, const FsRoot& fs, const std::string& host,
                const nvme::AdminCommand& send) {
  const size_t whole = record.entity({host, "host", ""});
  double live = 0;
  for (const std::string& name : fs.entries("/sys/class/nvme")) {
    live += fs.text("/sys/class/nvme/" + name + "/state") == "live" ? 1 : 0;
    DriveReport(record, fs, host, name).add(send);
  }
  record.add("drives_live", whole, {live});
}

}  // namespace cb::io
