#include "model/optics/audit.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "core/stats.h"
#include "model/optics/limits.h"

namespace cb {
namespace {

constexpr int kReady = 3;
constexpr double kMoreCelsius = 10, kLessDecibels = 3, kMoreBias = 1.3;

bool has_light(const ModuleLane& lane) {
  return lane.send_watts.value_or(0) > 0 || lane.receive_watts.value_or(0) > 0;
}

// The least light received over the lanes that send.
std::optional<double> weakest(const OpticalModule& module) {
  std::optional<double> out;
  for (const ModuleLane& lane : module.lanes) {
    if (has_light(lane) && lane.receive_watts)
      out = std::min(out.value_or(*lane.receive_watts), *lane.receive_watts);
  }
  return out;
}

std::optional<double> strongest_bias(const OpticalModule& module) {
  std::optional<double> out;
  for (const ModuleLane& lane : module.lanes) {
    if (lane.bias_amperes) out = std::max(out.value_or(0), *lane.bias_amperes);
  }
  return out;
}

// Copper without a microcontroller has an identity and nothing else.
bool measures_heat(const OpticalModule& o) { return !o.copper || (o.celsius && o.celsius_limits); }
bool has_state(const OpticalModule& o) { return !o.copper || o.state; }
bool has_lanes(const OpticalModule& o) { return !o.copper; }

Said next_of(ModuleQuantity of) {
  switch (of) {
    case ModuleQuantity::heat:
      return said("optics.next_heat");
    case ModuleQuantity::supply:
      return said("optics.next_supply");
    case ModuleQuantity::bias:
      return said("optics.next_bias");
    default:
      return said("optics.next_module");
  }
}

Said past_text(bool alarm, ModuleQuantity of, const std::string& name, const std::string& what) {
  if (of == ModuleQuantity::light)
    return alarm ? said("optics.alarm", name, what) : said("optics.warning", name, what);
  return alarm ? said("optics.alarm_next", name, what, next_of(of))
               : said("optics.warning_next", name, what, next_of(of));
}

class ModuleAuditor {
 public:
  explicit ModuleAuditor(const std::vector<FittedModule>& modules) : modules_(modules) {}

  ModuleAudit run() {
    each(
        "module_alarm", [&](const FittedModule& m) { return limits(m, true); }, measures_heat);
    each(
        "module_warning", [&](const FittedModule& m) { return limits(m, false); }, measures_heat);
    each(
        "module_state", [&](const FittedModule& m) { return state(m); }, has_state);
    each(
        "lane_spread", [&](const FittedModule& m) { return spread(m); }, has_lanes);
    each("error_rate", [&](const FittedModule& m) { return errors(m); });
    each("uncorrectable", [&](const FittedModule& m) {
      return counted(m, m.uncorrectable_blocks, "optics.uncorrectable");
    });
    each("flaps", [&](const FittedModule& m) { return counted(m, m.link_downs, "optics.flaps"); });
    outliers();
    return std::move(out_);
  }

 private:
  static std::string name_of(const FittedModule& m) { return m.host + " " + m.port; }

  // Asks every module; each finding is added here. False: this one could not be read for it. Where
  // the kind `concerns` no module at all, nothing was judged.
  void each(const std::string& kind, const std::function<bool(const FittedModule&)>& ask,
            bool (*concerns)(const OpticalModule&) = nullptr) {
    kind_ = kind;
    bool all = true, any = false;
    for (const FittedModule& m : modules_) {
      any = any || concerns == nullptr || (m.module && concerns(*m.module));
      all = ask(m) && all;
    }
    if (all && any) out_.judged.insert(kind);
  }

  void add(const FittedModule& m, Said what) {
    out_.findings.push_back({kind_, m.host, m.port, std::move(what)});
  }

  // What a module does tell is compared, also where it leaves other values out. One finding for
  // each quantity: it says what to do next.
  bool limits(const FittedModule& m, bool alarm) {
    if (!m.module) return false;
    std::map<ModuleQuantity, std::string> wrong;
    for (const PastLimit& one : past_limits(*m.module, alarm)) {
      std::string& text = wrong[one.of];
      text += (text.empty() ? "" : ", ") + one.text;
    }
    for (const auto& [of, text] : wrong) add(m, past_text(alarm, of, name_of(m), text));
    return tells_values(*m.module, alarm);
  }

  bool state(const FittedModule& m) {
    if (!m.module) return false;
    const OpticalModule& o = *m.module;
    if (!o.state) return tells_state(o);
    if (*o.state != kReady) add(m, said("optics.state", name_of(m), *o.state));
    for (const int lane : o.inactive_lanes) {
      if (o.lanes[static_cast<size_t>(lane) - 1].send_watts.value_or(0) > 0)
        add(m, said("optics.lane_state", name_of(m), lane));
    }
    return true;
  }

  // The first lane in use that receives nothing where another one receives light.
  static int dark_lane(const OpticalModule& o) {
    int out = 0;
    bool light = false;
    for (size_t i = 0; i < o.lanes.size(); ++i) {
      const int lane = static_cast<int>(i) + 1;
      const auto received = o.lanes[i].receive_watts;
      light = light || received.value_or(0) > 0;
      if (out == 0 && received && *received <= 0 && is_lane_used(o, lane)) out = lane;
    }
    return light ? out : 0;
  }

  bool spread(const FittedModule& m) {
    if (!m.module) return false;
    if (m.module->copper) return true;
    const auto decibels = lane_spread(*m.module);
    if (const int dark = dark_lane(*m.module); dark > 0)
      add(m, said("optics.dark", name_of(m), dark));
    else if (decibels && *decibels > kMostSpread)
      add(m, said("optics.spread", name_of(m), fmt::format("{:.1f}", *decibels)));
    return tells_lanes(*m.module);
  }

  bool errors(const FittedModule& m) {
    const auto rate = error_rate(m);
    if (!rate) return false;
    if (*rate > kMostErrors)
      add(m, said("optics.errors", name_of(m), fmt::format("{:.1e}", *rate),
                  fmt::format("{:.0e}", kMostErrors)));
    return true;
  }

  bool counted(const FittedModule& m, const std::optional<double>& count, const char* id) {
    if (!count || *count < 0 || m.window_seconds <= 0) return false;
    if (*count == 0) return true;
    const std::string number = fmt::format("{:.0f}", *count);
    const std::string seconds = fmt::format("{:.0f}", m.window_seconds);
    if (std::string_view(id) == "optics.flaps")
      add(m, said("optics.flaps", name_of(m), number, seconds));
    else
      add(m, said("optics.uncorrectable", name_of(m), number, seconds));
    return true;
  }

  void outliers() {
    kind_ = "module_outlier";
    std::map<std::string, std::vector<const FittedModule*>> parts;
    for (const FittedModule& m : modules_) {
      if (m.module && !m.module->copper && m.module->celsius)
        parts[m.module->part_number].push_back(&m);
    }
    bool any = false;
    for (const auto& [part, fleet] : parts) {
      if (fleet.size() < kEnoughModules) continue;
      any = true;
      outliers_of(part, fleet);
    }
    const bool all_read =
        std::ranges::all_of(modules_, [](const FittedModule& m) { return m.module.has_value(); });
    if (any && all_read) out_.judged.insert(kind_);
  }

  using Figure = std::function<std::optional<double>(const OpticalModule&)>;
  static std::optional<double> fleet_median(const std::vector<const FittedModule*>& fleet,
                                            const Figure& figure) {
    std::vector<double> values;
    for (const FittedModule* m : fleet) {
      if (const auto v = figure(*m->module)) values.push_back(*v);
    }
    return values.size() < kEnoughModules ? std::nullopt : std::optional(median(values));
  }

  void outliers_of(const std::string& part, const std::vector<const FittedModule*>& fleet) {
    const Figure heat = [](const OpticalModule& o) { return o.celsius; };
    const auto celsius = fleet_median(fleet, heat);
    const auto light = fleet_median(fleet, weakest), bias = fleet_median(fleet, strongest_bias);
    for (const FittedModule* m : fleet) {
      const auto received = weakest(*m->module), driven = strongest_bias(*m->module);
      if (celsius && *m->module->celsius > *celsius + kMoreCelsius)
        add(*m, said("optics.hot", name_of(*m), fmt::format("{:.0f}", *m->module->celsius),
                     fmt::format("{:.0f}", *celsius), part));
      if (light && received && *light > 0) {
        const auto own = dbm(*received), theirs = dbm(*light);
        if (theirs && (!own || *own < *theirs - kLessDecibels))
          add(*m, said("optics.dim", name_of(*m), dbm_text(*received), dbm_text(*light), part));
      }
      if (bias && driven && *driven > kMoreBias * *bias)
        add(*m, said("optics.bias", name_of(*m), fmt::format("{:.1f}", *driven * 1e3),
                     fmt::format("{:.1f}", *bias * 1e3), part));
    }
  }

  const std::vector<FittedModule>& modules_;
  std::string kind_;
  ModuleAudit out_;
};

}  // namespace

ModuleAudit audit_modules(const std::vector<FittedModule>& modules) {
  return ModuleAuditor(modules).run();
}

std::vector<std::string> module_kinds() {
  return {"module_alarm", "module_warning", "module_state", "lane_spread",
          "error_rate",   "uncorrectable",  "flaps",        "module_outlier"};
}

bool tells_values(const OpticalModule& module, bool alarm) {
  return module.copper || (tells_limits(module, true) && (alarm || tells_limits(module, false)));
}

bool tells_state(const OpticalModule& module) {
  return module.state || !module.cmis || module.copper;
}

std::optional<double> lane_spread(const OpticalModule& module) {
  std::optional<double> most, least;
  for (const ModuleLane& lane : module.lanes) {
    const auto level = dbm(lane.receive_watts.value_or(0));
    if (!level) continue;
    most = std::max(most.value_or(*level), *level);
    least = std::min(least.value_or(*level), *level);
  }
  return most ? std::optional(*most - *least) : std::nullopt;
}

std::optional<double> receive_margin(const OpticalModule& module) {
  const auto light = weakest(module);
  if (!light || !module.receive_limits) return std::nullopt;
  const auto own = dbm(*light), limit = dbm(module.receive_limits->low_warning.value_or(0));
  if (!own || !limit) return std::nullopt;
  return *own - *limit;
}

std::optional<double> error_rate(const FittedModule& fitted) {
  std::optional<double> out;
  if (fitted.module) {
    out = fitted.module->media_ber;
    for (const ModuleLane& lane : fitted.module->lanes) {
      if (lane.media_ber) out = std::max(out.value_or(0), *lane.media_ber);
    }
  }
  if (out) return out;
  if (!fitted.corrected_bits || !fitted.bits_per_second || fitted.window_seconds <= 0)
    return std::nullopt;
  return *fitted.corrected_bits / (*fitted.bits_per_second * fitted.window_seconds);
}

std::optional<double> shown_error_rate(const FittedModule& fitted) {
  if (!fitted.corrected_bits || !fitted.bits_per_second || fitted.window_seconds <= 0)
    return std::nullopt;
  return 3 / (*fitted.bits_per_second * fitted.window_seconds);
}

}  // namespace cb
