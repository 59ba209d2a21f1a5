// Reads what changes from moment to moment, counters, and critical events.
#include <algorithm>

#include "sys/gpu/nvml/ask.h"

namespace cb::nvml {

void read_remapped_rows(const Asker& a, Readings& out) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  const Said why = a.ask("nvmlDeviceGetRemappedRows", a.table().nvmlDeviceGetRemappedRows,
                         &corrected, &uncorrected, &pending, &failed);
  const std::array<std::pair<const char*, unsigned>, 4> all{
      {{"rows_remapped_correctable", corrected},
       {"rows_remapped_uncorrectable", uncorrected},
       {"row_remap_pending", pending},
       {"row_remap_failed", failed}}};
  for (const auto& [key, value] : all) {
    if (why.empty())
      out.values[key] = value;
    else
      out.unavailable[key] = why;
  }
}

std::optional<uint64_t> read_event_reasons(const Asker& a, Said& why) {
  unsigned long long bits = 0;
  const Table& t = a.table();
  // Drivers since 535 have the new name; the old one has the same bits.
  why = t.nvmlDeviceGetCurrentClocksEventReasons != nullptr
            ? a.ask("nvmlDeviceGetCurrentClocksEventReasons",
                    t.nvmlDeviceGetCurrentClocksEventReasons, &bits)
            : a.ask("nvmlDeviceGetCurrentClocksThrottleReasons",
                    t.nvmlDeviceGetCurrentClocksThrottleReasons, &bits);
  return why.empty() ? std::optional<uint64_t>(bits) : std::nullopt;
}

void read_temperatures(const Asker& a, Readings& out) {
  const Table& t = a.table();
  a.number<unsigned>(out, "temperature_celsius", "nvmlDeviceGetTemperature",
                     t.nvmlDeviceGetTemperature, 1, abi::kTemperatureGpu);
  a.field(out, "memory_temperature_celsius", abi::kFieldMemoryTemperature, 1);
}

namespace {

// Returns the errors of one link: by the counters up to Hopper, or by those of Blackwell, which
// does not support the former (nvml.h 13). Nothing, and sets `why`, if the GPU has neither.
std::optional<double> link_errors(const Asker& a, unsigned link, Said& why) {
  double sum = 0;
  for (const abi::NvLinkErrorCounter counter : {abi::kReplay, abi::kRecovery, abi::kCrcFlit}) {
    unsigned long long value = 0;
    why = a.ask("nvmlDeviceGetNvLinkErrorCounter", a.table().nvmlDeviceGetNvLinkErrorCounter, link,
                counter, &value);
    if (!why.empty()) break;
    sum += static_cast<double>(value);
  }
  if (why.empty()) return sum;
  Readings newer;
  a.fields(newer,
           {{"received", abi::kFieldLinkReceiveErrors, 1},
            {"integrity", abi::kFieldLinkIntegrityErrors, 1},
            {"recoveries", abi::kFieldLinkRecoveries, 1}},
           link);
  if (newer.values.empty()) return std::nullopt;
  double errors = 0;
  for (const auto& one : newer.values) errors += one.second;
  return errors;
}

}  // namespace

// A link that is down counts nothing. The first link that NVML refuses is beyond the last. The
// number of links that are up is told too: the sum does not show a link that went down.
void read_nvlink_errors(const Asker& a, Readings& out) {
  std::optional<double> all;
  double up = 0;
  Said why;
  for (unsigned link = 0; link < abi::kMaxNvLinks; ++link) {
    abi::EnableState state{};
    const Said problem =
        a.ask("nvmlDeviceGetNvLinkState", a.table().nvmlDeviceGetNvLinkState, link, &state);
    if (!problem.empty()) {
      if (link == 0) why = problem;
      break;
    }
    if (state != abi::kEnabled) continue;
    ++up;
    if (const auto errors = link_errors(a, link, why)) all = all.value_or(0) + *errors;
  }
  if (why.empty() || up > 0) out.values["nvlinks_active"] = up;
  if (all)
    out.values["nvlink_errors"] = *all;
  else
    out.unavailable["nvlink_errors"] = why.empty() ? said("nvml.no_link") : why;
}

Readings Library::now(const Gpu& gpu) const {
  Readings out;
  const Asker a(*table_, gpu);
  const Table& t = *table_;
  a.fields(out, {{"watts", abi::kFieldPowerInstant, 1e-3},
                 {"memory_temperature_celsius", abi::kFieldMemoryTemperature, 1}});
  // The field is the instantaneous power; nvmlDeviceGetPowerUsage, the fallback, averages over a
  // second on most GPUs.
  if (!out.values.contains("watts")) {
    if (a.number<unsigned>(out, "watts", "nvmlDeviceGetPowerUsage", t.nvmlDeviceGetPowerUsage,
                           1e-3))
      out.unavailable.erase("watts");
  }
  a.number<unsigned>(out, "temperature_celsius", "nvmlDeviceGetTemperature",
                     t.nvmlDeviceGetTemperature, 1, abi::kTemperatureGpu);
  a.number<unsigned>(out, "clock_hertz", "nvmlDeviceGetClockInfo", t.nvmlDeviceGetClockInfo, 1e6,
                     abi::kClockSm);
  a.number<unsigned>(out, "memory_clock_hertz", "nvmlDeviceGetClockInfo", t.nvmlDeviceGetClockInfo,
                     1e6, abi::kClockMemory);
  a.number<unsigned>(out, "pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration",
                     t.nvmlDeviceGetCurrPcieLinkGeneration, 1);
  a.number<unsigned>(out, "pcie_lanes", "nvmlDeviceGetCurrPcieLinkWidth",
                     t.nvmlDeviceGetCurrPcieLinkWidth, 1);
  Said why;
  if (const auto bits = read_event_reasons(a, why))
    out.values["event_reasons"] = static_cast<double>(*bits);
  else
    out.unavailable["event_reasons"] = why;
  return out;
}

std::optional<double> Library::energy_joules(const Gpu& gpu) const {
  Readings out;
  return Asker(*table_, gpu)
      .number<unsigned long long>(out, "energy_joules", "nvmlDeviceGetTotalEnergyConsumption",
                                  table_->nvmlDeviceGetTotalEnergyConsumption, 1e-3);
}

std::optional<double> Library::uncorrected_errors(const Gpu& gpu) const {
  Readings out;
  return Asker(*table_, gpu)
      .number<unsigned long long>(out, "ecc_uncorrected", "nvmlDeviceGetTotalEccErrors",
                                  table_->nvmlDeviceGetTotalEccErrors, 1, abi::kUncorrected,
                                  abi::kVolatile);
}

Readings Library::counters(const Gpu& gpu) const {
  Readings out;
  const Asker a(*table_, gpu);
  const Table& t = *table_;
  a.number<unsigned long long>(out, "energy_joules", "nvmlDeviceGetTotalEnergyConsumption",
                               t.nvmlDeviceGetTotalEnergyConsumption, 1e-3);
  const char* ecc = "nvmlDeviceGetTotalEccErrors";
  a.number<unsigned long long>(out, "ecc_corrected", ecc, t.nvmlDeviceGetTotalEccErrors, 1,
                               abi::kCorrected, abi::kVolatile);
  a.number<unsigned long long>(out, "ecc_uncorrected", ecc, t.nvmlDeviceGetTotalEccErrors, 1,
                               abi::kUncorrected, abi::kVolatile);
  read_remapped_rows(a, out);
  for (const char* state : {"row_remap_pending", "row_remap_failed"}) {
    out.values.erase(state);  // these are states, not counters
    out.unavailable.erase(state);
  }
  a.fields(out, {{"power_cap_seconds", abi::kFieldPowerPolicy, 1e-9},
                 {"thermal_seconds", abi::kFieldThermalPolicy, 1e-9}});
  a.number<unsigned>(out, "pcie_replays", "nvmlDeviceGetPcieReplayCounter",
                     t.nvmlDeviceGetPcieReplayCounter, 1);
  read_nvlink_errors(a, out);
  return out;
}

std::optional<double> Library::power_limit_watts(const Gpu& gpu) const {
  Readings out;
  return Asker(*table_, gpu)
      .number<unsigned>(out, "limit", "nvmlDeviceGetEnforcedPowerLimit",
                        table_->nvmlDeviceGetEnforcedPowerLimit, 1e-3);
}

std::optional<double> Library::highest_memory_clock_hertz(const Gpu& gpu) const {
  Readings out;
  return Asker(*table_, gpu)
      .number<unsigned>(out, "clock", "nvmlDeviceGetMaxClockInfo",
                        table_->nvmlDeviceGetMaxClockInfo, 1e6, abi::kClockMemory);
}

XidWatch::XidWatch(const Library& library, const std::vector<Gpu>& gpus)
    : table_(library.table_), gpus_(gpus) {
  abi::EventSet set = nullptr;
  if (!call(*table_, -1, "nvmlEventSetCreate", table_->nvmlEventSetCreate, &set).empty()) return;
  bool any = false;
  for (const Gpu& gpu : gpus_) {
    if (gpu.handle == nullptr) continue;
    const Asker a(*table_, gpu);
    unsigned long long supported = 0;
    if (!a.ask("nvmlDeviceGetSupportedEventTypes", table_->nvmlDeviceGetSupportedEventTypes,
               &supported)
             .empty())
      continue;
    const unsigned long long wanted =
        supported & (abi::kXidCriticalError | abi::kDoubleBitEccError);
    if (wanted != 0 &&
        a.ask("nvmlDeviceRegisterEvents", table_->nvmlDeviceRegisterEvents, wanted, set).empty())
      any = true;
  }
  if (any)
    set_ = set;
  else if (table_->nvmlEventSetFree != nullptr)
    table_->nvmlEventSetFree(set);
}

XidWatch::~XidWatch() {
  if (set_ != nullptr && table_->nvmlEventSetFree != nullptr)
    table_->nvmlEventSetFree(static_cast<abi::EventSet>(set_));
}

std::vector<XidEvent> XidWatch::take() {
  std::vector<XidEvent> out;
  constexpr int kMax = 64;  // limits one call: a storm of errors must not hold up the sampler
  constexpr uint64_t kDoubleBitEcc = 48;
  for (int i = 0; set_ != nullptr && i < kMax; ++i) {
    abi::EventData data{};
    const Said why = call(*table_, -1, "nvmlEventSetWait_v2", table_->nvmlEventSetWait_v2,
                          static_cast<abi::EventSet>(set_), &data, 0U);
    if (!why.empty()) break;
    const auto gpu = std::find_if(gpus_.begin(), gpus_.end(),
                                  [&](const Gpu& g) { return g.handle == data.device; });
    if (gpu == gpus_.end()) continue;
    const bool xid = (data.type & abi::kXidCriticalError) != 0;
    out.push_back({gpu->index, xid ? data.data : kDoubleBitEcc});
  }
  return out;
}

}  // namespace cb::nvml
