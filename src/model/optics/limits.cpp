#include "model/optics/limits.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace cb {
namespace {

struct LimitPair {
  std::optional<double> low = {}, high = {};
};

LimitPair limit_pair(const std::optional<ModuleLimits>& of, bool alarm) {
  if (!of) return {};
  return alarm ? LimitPair{of->low_alarm, of->high_alarm}
               : LimitPair{of->low_warning, of->high_warning};
}
bool is_told(const LimitPair& pair) { return pair.low && pair.high; }
bool is_set(const LimitPair& pair) { return is_told(pair) && (*pair.low != 0 || *pair.high != 0); }

bool is_past(double value, const LimitPair& pair) {
  if (is_told(pair) && !is_set(pair)) return false;
  return (pair.high && value > *pair.high) || (pair.low && value < *pair.low);
}

// By the words of ModuleFlag, and of programs whose labels stand in for them.
ModuleQuantity quantity_of_flag(std::string_view what) {
  const auto has = [&](std::string_view word) { return what.find(word) != std::string_view::npos; };
  if (has("emperature")) return ModuleQuantity::heat;
  if (has("supply")) return ModuleQuantity::supply;
  if (has("bias")) return ModuleQuantity::bias;
  return what.starts_with("rx") || has("power") ? ModuleQuantity::light : ModuleQuantity::module;
}

class LimitJudge {
 public:
  LimitJudge(const OpticalModule& module, bool alarm) : o_(module), alarm_(alarm) {}

  std::vector<PastLimit> run() {
    for (const ModuleFlag& flag : o_.flags) add_flag(flag);
    value(ModuleQuantity::heat, o_.celsius, o_.celsius_limits,
          [](double v) { return fmt::format("{:.1f} °C", v); });
    value(ModuleQuantity::supply, o_.volts, o_.volt_limits,
          [](double v) { return fmt::format("{:.2f} V", v); });
    for (int lane = 1; lane <= static_cast<int>(o_.lanes.size()); ++lane) {
      if (is_lane_used(o_, lane)) add_lane(lane);
    }
    return std::move(out_);
  }

 private:
  void add_flag(const ModuleFlag& flag) {
    const bool unused = flag.lane > 0 && static_cast<size_t>(flag.lane) <= o_.lanes.size() &&
                        !is_lane_used(o_, flag.lane);
    if (flag.alarm != alarm_ || unused) return;
    out_.push_back(
        {quantity_of_flag(flag.what),
         flag.lane == 0 ? flag.what : fmt::format("{} (lane {})", flag.what, flag.lane)});
  }

  template <typename Text>
  void value(ModuleQuantity of, const std::optional<double>& v,
             const std::optional<ModuleLimits>& limits, Text text) {
    if (!v || !is_past(*v, limit_pair(limits, alarm_))) return;
    if (alarm_ || !is_past(*v, limit_pair(limits, true))) out_.push_back({of, text(*v)});
  }

  void add_lane(int number) {
    const ModuleLane& lane = o_.lanes[static_cast<size_t>(number) - 1];
    value(ModuleQuantity::light, lane.receive_watts, o_.receive_limits,
          [&](double v) { return fmt::format("rx {} (lane {})", dbm_text(v), number); });
    value(ModuleQuantity::light, lane.send_watts, o_.send_limits,
          [&](double v) { return fmt::format("tx {} (lane {})", dbm_text(v), number); });
    value(ModuleQuantity::bias, lane.bias_amperes, o_.bias_limits,
          [&](double v) { return fmt::format("bias {:.1f} mA (lane {})", v * 1e3, number); });
  }

  const OpticalModule& o_;
  bool alarm_;
  std::vector<PastLimit> out_;
};

}  // namespace

std::vector<PastLimit> past_limits(const OpticalModule& module, bool alarm) {
  return LimitJudge(module, alarm).run();
}

// Light that is sent is compared where its limits are told: many modules set none, and some
// programs print none.
bool tells_limits(const OpticalModule& module, bool alarm) {
  const auto pair = [&](const std::optional<ModuleLimits>& of) { return limit_pair(of, alarm); };
  const bool bias = std::ranges::any_of(
      module.lanes, [](const ModuleLane& lane) { return lane.bias_amperes.has_value(); });
  return module.celsius && is_set(pair(module.celsius_limits)) &&
         is_set(pair(module.receive_limits)) && tells_lanes(module) && !module.bias_unread &&
         (!bias || is_told(pair(module.bias_limits))) &&
         (!module.volts || is_told(pair(module.volt_limits))) &&
         (!module.send_limits || is_told(pair(module.send_limits)));
}

bool tells_lanes(const OpticalModule& module) {
  const auto tells = [](const ModuleLane& lane) { return lane.receive_watts.has_value(); };
  return !module.lanes.empty() && std::ranges::all_of(module.lanes, tells);
}

bool is_lane_used(const OpticalModule& module, int lane) {
  const ModuleLane& of = module.lanes[static_cast<size_t>(lane) - 1];
  return of.send_watts.value_or(0) > 0 || !module.state ||
         std::ranges::find(module.inactive_lanes, lane) == module.inactive_lanes.end();
}

std::string dbm_text(double watts) {
  const auto level = dbm(watts);
  return level ? fmt::format("{:.1f} dBm", *level) : "0 mW";
}

}  // namespace cb
