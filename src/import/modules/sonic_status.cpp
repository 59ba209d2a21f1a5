#include "import/modules/sonic_status.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/error.h"
#include "import/output_lines.h"

namespace cb {
namespace {

struct StatusLabel {
  std::string_view begin, what;
};
// With the number of a lane behind it.
constexpr std::array kStatusFaults{
    StatusLabel{"Tx fault flag on media lane ", "tx_fault"},
    StatusLabel{"Rx loss of signal flag on media lane ", "rx_loss"},
    StatusLabel{"Tx loss of signal flag on host lane ", "tx_loss"},
    StatusLabel{"Tx clock and data recovery loss of lock on host lane ", "tx_unlocked"},
    StatusLabel{"Rx clock and data recovery loss of lock on media lane ", "rx_unlocked"}};
// With " high alarm flag" and its like behind it, and of lanes " on lane " and the number.
constexpr std::array kStatusReadings{
    StatusLabel{"Temperature", "temperature"}, StatusLabel{"Vcc", "supply"},
    StatusLabel{"Rx power", "rx_power"}, StatusLabel{"Tx power", "tx_power"},
    StatusLabel{"Tx bias", "bias"}};
constexpr std::string_view kStatusState = "Current module state";
constexpr int kStatusReady = 3;
constexpr std::string_view kStatusPath = "Data path state indicator on host lane ";
constexpr std::array<std::string_view, 5> kStatusStates{
    "ModuleLowPwr", "ModulePwrUp", "ModuleReady", "ModulePwrDn", "ModuleFault"};

bool is_status_absent(std::string_view value) { return value.empty() || value == "N/A"; }

bool is_status_raised(std::string_view name, std::string_view value) {
  if (value == "True") return true;
  if (value != "False" && !is_status_absent(value))
    throw Error(said("modules.no_reading", std::string(name), std::string(value)));
  return false;
}

// The lane behind `begin`; 0 where the name is another one.
int status_lane(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin)) return 0;
  const auto lane = printed_integer(name.substr(begin.size()));
  return lane && *lane >= 1 && *lane <= 32 ? static_cast<int>(*lane) : 0;
}

struct StatusFlag {
  std::string what;
  int lane = 0;
  bool alarm = true;
};

// A label that is in no table, and says by its words that it is one: "Module firmware fault". It
// keeps its name, with the lane in it.
std::optional<StatusFlag> unlisted_flag(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (!has(" flag") && !name.ends_with(" fault") && !has("loss of ")) return std::nullopt;
  return {{std::string(name), 0, !has("warning")}};
}

std::optional<StatusFlag> status_flag(std::string_view name) {
  for (const StatusLabel& label : kStatusFaults) {
    if (const int lane = status_lane(name, label.begin); lane > 0)
      return {{std::string(label.what), lane}};
  }
  for (const StatusLabel& label : kStatusReadings) {
    if (!name.starts_with(label.begin)) continue;
    std::string_view rest = name.substr(label.begin.size());
    for (const std::string_view side : {" high", " low"}) {
      for (const std::string_view kind : {" alarm flag", " warning flag"}) {
        if (!rest.starts_with(side) || !rest.substr(side.size()).starts_with(kind)) continue;
        rest.remove_prefix(side.size() + kind.size());
        return {{std::string(label.what), rest.empty() ? 0 : status_lane(rest, " on lane "),
                 kind == " alarm flag"}};
      }
    }
  }
  return unlisted_flag(name);
}

// The media lanes of the data path that a host lane belongs to.
std::pair<int, int> media_lanes_of(int host_lane, const SonicApplication& of) {
  const int instance = (host_lane - 1) / of.host_lanes;
  return {instance * of.media_lanes + 1, (instance + 1) * of.media_lanes};
}

}  // namespace

bool is_sonic_status(std::string_view text) {
  return text.find(kStatusState) != std::string_view::npos ||
         text.find(" flag on media lane ") != std::string_view::npos;
}

void SonicStatus::take(std::string_view name, std::string_view value) {
  if (const auto flag = status_flag(name)) {
    there_ = true;
    if (!is_status_raised(name, value)) return;
    bool& alarm = raised_[{flag->what, flag->lane}];
    alarm = alarm || flag->alarm;
  } else if (const int lane = status_lane(name, kStatusPath); lane > 0) {
    there_ = true;
    if (!is_status_absent(value) && value != "DataPathActivated") inactive_.push_back(lane);
  } else if (name == kStatusState) {
    there_ = true;
    if (is_status_absent(value)) return;
    const auto found = std::ranges::find(kStatusStates, value);
    if (found == kStatusStates.end())
      throw Error(said("modules.no_reading", std::string(name), std::string(value)));
    state_ = static_cast<int>(found - kStatusStates.begin()) + 1;
  }
}

bool SonicStatus::is_faulty() const {
  return !raised_.empty() || state_.value_or(kStatusReady) != kStatusReady;
}

// Lanes of which no reading is told belong to no link.
void SonicStatus::add_to(OpticalModule& module, const SonicApplication& application) const {
  const auto is_there = [&](int lane) { return lane <= std::ssize(module.lanes); };
  module.state = state_;
  if (module.copper) return;
  for (const auto& [of, alarm] : raised_) {
    if (is_there(of.second) || module.lanes.empty())
      module.flags.push_back({of.first, of.second, alarm});
  }
  std::set<int> media;
  for (const int host_lane : inactive_) {
    const auto [first, last] = media_lanes_of(host_lane, application);
    for (int lane = first; lane <= last && is_there(lane); ++lane) media.insert(lane);
  }
  module.inactive_lanes.assign(media.begin(), media.end());
}

}  // namespace cb
