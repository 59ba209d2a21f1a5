// The state of every GPU as the driver knows it: what node health checks look at. Nothing is loaded
// and nothing is judged; a profile says what is required. docs/methods/gpu.md.
#include "bench/gpu/health.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/cases.h"
#include "core/param_builder.h"
#include "sys/os/deadline_call.h"
#include "sys/os/kernel_log.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "health",
      .device = "",
      .summary = "state of every GPU: ECC, row remapping, Xids, throttling, links, settings",
      .example = "clusterbench health --json h.json",
      .domain = "host",
      .needs = {.gpu = true},
      .params = {duration("patience")
                     .help("time limit for an answer of NVML")
                     .by_default("30s")
                     .range(0.1, 600)},
      .metrics = health_metrics(),
      .checks = {},
      .fault = {.why_not = said("fault.counters")},
  };
}

using Answer = std::variant<std::vector<GpuHealth>, nvml::Absent>;

Answer ask_nvml() {
  auto opened = nvml::open();
  if (auto* absent = std::get_if<nvml::Absent>(&opened)) return std::move(*absent);
  const auto& library = std::get<nvml::Library>(opened);
  std::vector<GpuHealth> out;
  for (nvml::Gpu& gpu : library.gpus()) {
    nvml::Readings readings = library.health(gpu);
    out.push_back({std::move(gpu), std::move(readings)});
  }
  return out;
}

Answer ask_in_time(const Context& context, double seconds) {
  const auto answer = call_with_deadline<Answer>(seconds, ask_nvml);
  if (!answer)
    throw Error(
        said("nvml.hangs_next", context.place.host, nvml::last_call(), fmt::format("{}", seconds)),
        ExitCode::deadline);
  return *answer;
}

// Every rank knows why some host cannot be asked, so that all end alike.
std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "health", .params = params};
  std::optional<nvml::Absent> absent;
  if (context.place.first_on_host()) {
    Answer answer = ask_in_time(context, params.number("patience"));
    if (auto* why = std::get_if<nvml::Absent>(&answer)) {
      absent = *why;
    } else {
      HostHealth health{.host = context.place.host,
                        .gpus = std::get<std::vector<GpuHealth>>(std::move(answer))};
      health.gpus_on_pci = static_cast<size_t>(std::ranges::count_if(
          context.inventory.all("gpu"),
          [](const Part* part) { return part->attributes.contains("pci_id"); }));
      if (const auto log = read_kernel_log(health.no_xids)) health.xids = parse_xids(*log);
      add_health(record, health);
    }
  }
  if (absent) record.outcome = Skipped{said("said.of", context.place.host, absent->reason)};
  return {std::move(record)};
}

}  // namespace

Case health_case() { return {describe(), run, {}, nvml_absence}; }

}  // namespace cb
