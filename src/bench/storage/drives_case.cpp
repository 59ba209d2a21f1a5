// The state of every NVMe drive: link, spare, wear, warnings. Nothing of its data is touched and
// nothing is judged; a profile says what is required. docs/methods/drives.md.
#include <cerrno>

#include "bench/cases.h"
#include "bench/storage/drives.h"

namespace cb {
namespace {

CaseInfo describe() {
  const auto lower = Better::lower, higher = Better::higher;
  return {
      .name = "drives",
      .device = "",
      .summary = "state of every NVMe drive: PCIe link, spare, wear, warnings (SMART: root only)",
      .example = "clusterbench drives --json d.json",
      .domain = "storage",
      .metrics = {{"drives_live", "count", higher, "NVMe controllers that the kernel calls live"},
                  {"pcie_lanes_share", "share", higher, "lanes in use over those that it has"},
                  {"pcie_generation_share", "share", higher,
                   "generation in use over the drive's and the slot's largest"},
                  {"available_spare_share", "share", higher, "spare blocks that are left"},
                  {"endurance_used_share", "share", lower,
                   "the drive's own estimate of its wear; above 1 past its rated life"},
                  {"media_errors_total", "count", lower, "running total"},
                  {"critical_warnings", "count", lower, "bits set in the SMART log"},
                  {"temperature_celsius", "celsius", lower, "of the whole drive, now"}},
      .fault = {.why_not = said("fault.counters")},
  };
}

// A described machine has no drive to ask.
int no_machine(const std::string&, nvme_passthru_cmd&) { return -ENODEV; }

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "drives", .params = params};
  if (!context.place.first_on_host()) return {std::move(record)};
  if (context.fs.entries("/sys/class/nvme").empty()) {
    record.outcome = Skipped{said("drives.none", context.place.host)};
    return {std::move(record)};
  }
  const nvme::AdminCommand send =
      context.fs.is_machine() ? nvme::AdminCommand(nvme::send_admin_command) : no_machine;
  io::add_drives(record, context.fs, context.place.host, send);
  return {std::move(record)};
}

}  // namespace

Case drives_case() { return {describe(), run}; }

}  // namespace cb
