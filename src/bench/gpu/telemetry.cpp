#include "bench/gpu/telemetry.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bench/gpu/activity.h"
#include "bench/harness/telemetry.h"
#include "core/clock.h"
#include "model/gpu_sku.h"
#include "model/xid.h"
#include "sys/os/deadline_call.h"
#include "sys/os/left_behind.h"

namespace cb {
namespace {

struct Line {
  const char* name;
  const char* unit;
};
constexpr std::array kLines{Line{"watts", "watts"},
                            Line{"temperature_celsius", "celsius"},
                            Line{"memory_temperature_celsius", "celsius"},
                            Line{"clock_hertz", "hertz"},
                            Line{"memory_clock_hertz", "hertz"},
                            Line{"event_reasons", "bits"}};

const char* counter_unit(const std::string& name) {
  if (name == "energy_joules") return "joules";
  return name.ends_with("_seconds") ? "seconds" : "count";
}

constexpr double kUnitsSeconds = 0.2;  // between looks at the units: twice what the driver needs
constexpr double kErrorsSeconds = 1;   // between looks for uncorrectable errors
// A utilisation is of the driver's last sampling period: "between 1 second and 1/6 second,
// depending on the product" (NVML, nvmlUtilization_t).
constexpr double kUtilisationSeconds = 1;

constexpr uint64_t kThrottling =
    nvml::kHwSlowdown | nvml::kSwThermal | nvml::kHwThermal | nvml::kPowerBrake;

std::optional<double> value_of(const nvml::Readings& readings, const std::string& name) {
  const auto found = readings.values.find(name);
  return found == readings.values.end() ? std::nullopt : std::optional(found->second);
}

// NVML has told 255 % on purpose and by mistake. Two samples that are not taken at the same moment
// give some percent more than all.
constexpr double kMostShare = 1.05;

// Takes shares beyond the whole out of the readings.
void drop_impossible(nvml::Readings& readings, std::map<std::string, double>& impossible) {
  for (const ActivityName& one : kActivityNames) {
    if (std::string_view(one.unit) != "share") continue;
    const auto found = readings.values.find(one.name);
    if (found == readings.values.end() || found->second <= kMostShare) continue;
    impossible[one.name] = found->second;
    readings.values.erase(found);
  }
}

void add_sample(Samples& samples, const nvml::Readings& now, const char* name) {
  if (const auto value = value_of(now, name)) samples.add(*value);
}

}  // namespace

struct GpuTelemetry::State {
  struct One {
    nvml::Gpu gpu;
    // One meter for the time lines, on the thread; one for the windows, on the case's.
    std::unique_ptr<nvml::ActivityMeter> over_time = {}, over_window = {};
    std::optional<double> nvlink_bytes_per_second = {};
    std::array<BoundedSeries, kActivityNames.size()> activity = {};
    nvml::Readings first;
    std::optional<nvml::Readings> last = {};   // nothing if the counters were not read again
    std::optional<double> window_joules = {};  // counter when this GPU's window opened
    double window_start = 0;
    std::set<uint64_t> doubts = {};  // Xids that do not condemn the GPU
    std::array<BoundedSeries, kLines.size()> lines;
    GpuWindow window;
    Said fatal;
    bool answers = true;
  };

  State(const nvml::Library& lib, std::vector<nvml::Gpu> list, double period_seconds)
      : library(lib), xids(lib, list), start(monotonic_seconds()), period(period_seconds) {
    for (nvml::Gpu& gpu : list) {
      One one;
      one.gpu = std::move(gpu);
      one.first = library.counters(one.gpu);
      one.over_time = std::make_unique<nvml::ActivityMeter>(library, one.gpu);
      one.over_window = std::make_unique<nvml::ActivityMeter>(library, one.gpu);
      if (const GpuSku* sku = find_gpu_sku(one.gpu.name, one.gpu.memory_bytes))
        one.nvlink_bytes_per_second = sku->nvlink_bytes_per_second;
      gpus.push_back(std::move(one));
    }
  }

  // Looks at every GPU once. Asks NVML without the lock, so that nobody waits for a stuck driver.
  void look() {
    for (One& one : gpus) {
      const nvml::Readings now = library.now(one.gpu);
      const double at = monotonic_seconds() - start;
      const std::lock_guard lock(mutex);
      take(one, now, at);
    }
    const std::vector<nvml::XidEvent> events = xids.take();
    const std::lock_guard lock(mutex);
    for (const nvml::XidEvent& event : events) note_xid(event);
  }

  void take(One& one, const nvml::Readings& now, double at) {
    one.answers = !now.values.empty();
    for (size_t i = 0; i < kLines.size(); ++i) {
      if (const auto value = value_of(now, kLines[i].name)) one.lines[i].add(at, *value);
    }
    GpuWindow& w = one.window;
    if (!window_open) return;
    add_sample(w.watts, now, "watts");
    add_sample(w.clock_hertz, now, "clock_hertz");
    add_sample(w.memory_clock_hertz, now, "memory_clock_hertz");
    add_sample(w.temperature_celsius, now, "temperature_celsius");
    w.pcie_generation = value_of(now, "pcie_generation");
    w.pcie_lanes = value_of(now, "pcie_lanes");
    const auto reasons = value_of(now, "event_reasons");
    if (!reasons) return;
    const auto bits = static_cast<uint64_t>(*reasons);
    ++w.samples;
    if ((bits & kThrottling) != 0) ++w.throttled;
    if ((bits & nvml::kSwPowerCap) != 0) ++w.power_capped;
  }

  // What the units did since the last turn: slower than look(), since the driver refreshes these
  // counters every 100 ms.
  void look_at_units() {
    for (One& one : gpus) {
      nvml::Readings now = one.over_time->take().value_or(nvml::Readings());
      if (const auto share = library.utilisation(one.gpu)) now.values["gpu_utilisation"] = *share;
      const double at = monotonic_seconds() - start;
      const std::lock_guard lock(mutex);
      drop_impossible(now, one.window.impossible);
      for (size_t i = 0; i < kActivityNames.size(); ++i) {
        if (const auto value = value_of(now, kActivityNames[i].name))
          one.activity[i].add(at, *value);
      }
      add_utilisation(one, now);
    }
  }

  void add_utilisation(One& one, const nvml::Readings& now) const {
    if (!window_open) return;
    add_sample(one.window.utilisation, now, "gpu_utilisation");
    if (monotonic_seconds() - one.window_start >= kUtilisationSeconds)
      add_sample(one.window.utilisation_within, now, "gpu_utilisation");
  }

  void note_xid(const nvml::XidEvent& event) {
    const XidKind kind = classify_xid(event.xid);
    if (kind == XidKind::application) return;
    for (One& one : gpus) {
      if (one.gpu.index != event.gpu) continue;
      if (kind != XidKind::fatal)
        one.doubts.insert(event.xid);
      else if (one.fatal.empty())
        one.fatal = said("gpu.xid", event.xid, xid_meaning(event.xid));
    }
  }

  // An uncorrectable error condemns a GPU, as a fatal Xid does.
  void look_for_errors() {
    for (One& one : gpus) {
      const auto before = value_of(one.first, "ecc_uncorrected");
      if (!before) continue;  // this GPU does not count such errors
      const auto now = library.uncorrected_errors(one.gpu);
      const std::lock_guard lock(mutex);
      if (now && *now > *before && one.fatal.empty()) one.fatal = said("gpu.ecc", *now - *before);
    }
  }

  // A link that went down takes its errors out of their sum, which would hide it.
  static void note_links(One& one, const nvml::Readings& now) {
    const auto before = value_of(one.first, "nvlinks_active");
    const auto after = value_of(now, "nvlinks_active");
    if (before && after && *after < *before && one.fatal.empty())
      one.fatal = said("gpu.links_down", *before, *after);
  }

  // Asks each NVLink, which takes some hundred microseconds a call: call this when all measuring
  // has ended.
  void count() {
    look_for_errors();
    for (One& one : gpus) {
      nvml::Readings now = library.counters(one.gpu);
      const std::lock_guard lock(mutex);
      note_links(one, now);
      one.last = std::move(now);
    }
  }

  uint64_t turns_in(double seconds) const {
    return static_cast<uint64_t>(std::max(1.0, std::round(seconds / period)));
  }

  // The looks begin every period, however long each takes: 56 calls for eight GPUs are 17 ms.
  void loop() {
    double next = monotonic_seconds();
    std::unique_lock lock(mutex);
    for (uint64_t turn = 0; !stopping; ++turn) {
      lock.unlock();
      look();
      if (turn % turns_in(kErrorsSeconds) == 0) look_for_errors();
      if (turn % turns_in(kUnitsSeconds) == 0) look_at_units();
      const double now = monotonic_seconds();
      next = std::max(next + period, now);
      lock.lock();
      wake.wait_for(lock, std::chrono::duration<double>(next - now), [&] { return stopping; });
    }
    if (wanted) {
      lock.unlock();
      look();
      count();
      lock.lock();
    }
    ended = true;
    wake.notify_all();
  }

  nvml::Library library;
  nvml::XidWatch xids;
  double start;
  double period;  // seconds between two looks
  std::vector<One> gpus;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false, ended = false, window_open = false;
  bool wanted = true;  // false: nobody takes what was seen, the record was given up
};

namespace {

using State = GpuTelemetry::State;

std::shared_ptr<State> first_look(const nvml::Library& library, std::vector<nvml::Gpu> gpus,
                                  double patience, double period) {
  const auto state = call_with_deadline<std::shared_ptr<State>>(
      patience, [library, gpus = std::move(gpus), period]() mutable {
        return std::make_shared<State>(library, std::move(gpus), period);
      });
  if (state) return *state;
  throw Error(said("nvml.hangs_here", nvml::last_call(), fmt::format("{}", patience)),
              ExitCode::deadline);
}

void add_series(Record& record, const State::One& one, size_t entity) {
  for (size_t i = 0; i < kLines.size(); ++i) {
    if (one.lines[i].at().empty()) continue;
    record.telemetry.series.push_back(
        {kLines[i].name, kLines[i].unit, entity, one.lines[i].at(), one.lines[i].values()});
  }
  for (size_t i = 0; i < kActivityNames.size(); ++i) {
    const BoundedSeries& line = one.activity[i];
    if (line.at().empty()) continue;
    record.telemetry.series.push_back(
        {kActivityNames[i].name, kActivityNames[i].unit, entity, line.at(), line.values()});
  }
}

void add_deltas(Record& record, const State::One& one, size_t entity) {
  if (!one.last) return;
  for (const auto& [name, before] : one.first.values) {
    if (name == "nvlinks_active") continue;  // a state: note_links() looks at it
    const auto after = value_of(*one.last, name);
    if (after && *after >= before)
      record.telemetry.deltas.push_back({name, counter_unit(name), entity, before, *after});
  }
}

void add_check(Record& record, const State::One& one, size_t entity, bool stuck,
               const std::string& host) {
  Said why = one.fatal;
  if (why.empty() && stuck) why = said("nvml.not_back_hangs", nvml::last_call());
  if (why.empty() && !one.answers) why = said("nvml.lost");
  record.checks.push_back(
      {.name = "gpu",
       .passed = why.empty(),
       .entity = entity,
       .detail =
           why.empty() ? Said() : said("gpu.trouble", host, one.gpu.index, one.gpu.uuid, why)});
}

}  // namespace

GpuTelemetry::GpuTelemetry(const nvml::Library& library, std::vector<nvml::Gpu> gpus,
                           double patience_seconds, double period_seconds)
    : state_(first_look(library, std::move(gpus), patience_seconds, period_seconds)) {
  run_left_behind([state = state_] { state->loop(); });
}

GpuTelemetry::~GpuTelemetry() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->wanted = false;
  state_->wake.notify_all();
}

// Energy and the units' counters are read here, not on the thread, so that they span exactly the
// window. Each GPU has a start time of its own: the calls come one after the other while all GPUs
// work.
void GpuTelemetry::open_window() {
  for (State::One& one : state_->gpus) {
    one.over_window->mark();
    const auto joules = state_->library.energy_joules(one.gpu);
    const std::lock_guard lock(state_->mutex);
    one.window = GpuWindow();
    one.window.nvlink_bytes_per_second = one.nvlink_bytes_per_second;
    one.window.no_units = one.over_window->absent();
    one.window_joules = joules;
    one.window_start = monotonic_seconds();
  }
  const std::lock_guard lock(state_->mutex);
  state_->window_open = true;
}

std::vector<GpuWindow> GpuTelemetry::close_window() {
  std::vector<GpuWindow> out;
  for (State::One& one : state_->gpus) {
    const auto joules = state_->library.energy_joules(one.gpu);
    std::optional<nvml::Readings> units = one.over_window->take();
    const std::lock_guard lock(state_->mutex);
    state_->window_open = false;
    GpuWindow window = std::exchange(one.window, GpuWindow());
    if (units) drop_impossible(*units, window.impossible);
    window.units = std::move(units);
    window.seconds = monotonic_seconds() - one.window_start;
    if (joules && one.window_joules && *joules >= *one.window_joules)
      window.energy_joules = *joules - *one.window_joules;
    out.push_back(std::move(window));
  }
  return out;
}

std::optional<Said> GpuTelemetry::fatal(size_t position) const {
  const std::lock_guard lock(state_->mutex);
  const Said& why = state_->gpus.at(position).fatal;
  return why.empty() ? std::nullopt : std::optional(why);
}

bool GpuTelemetry::any_fatal() const {
  const std::lock_guard lock(state_->mutex);
  for (const State::One& one : state_->gpus) {
    if (!one.fatal.empty()) return true;
  }
  return false;
}

void GpuTelemetry::stop(Record& record, const std::string& host) {
  constexpr auto kPatience = std::chrono::seconds(10);
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->wake.notify_all();
  const bool ended = state_->wake.wait_for(lock, kPatience, [&] { return state_->ended; });
  for (const State::One& one : state_->gpus) {
    const size_t entity = record.entity({host, "gpu", std::to_string(one.gpu.index)});
    add_series(record, one, entity);
    add_deltas(record, one, entity);
    add_check(record, one, entity, !ended, host);
    for (const uint64_t xid : one.doubts)
      record.notes.push_back(said("gpu.xid_doubt", host, one.gpu.index, xid, xid_meaning(xid)));
  }
}

}  // namespace cb
