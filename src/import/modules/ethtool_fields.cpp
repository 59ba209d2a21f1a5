#include "import/modules/ethtool_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "import/output_lines.h"

namespace cb {
namespace {

constexpr double kMilli = 1e-3;
constexpr int kMostLanes = 32;  // four banks of eight (CMIS)

// The number that a value begins with: "0.8888 mW / -0.51 dBm", "0x03 (ModuleReady)".
std::optional<double> leading_number(const std::string& value) {
  if (value.starts_with("0x")) {
    try {
      return static_cast<double>(std::stoul(value.substr(2), nullptr, 16));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  const auto words = words_of(value);
  if (words.empty()) return std::nullopt;
  const auto number = printed_number(words.front());
  return number ? std::optional(number->value) : std::nullopt;
}

bool is_on(std::string_view value) {
  return value == "On" || value == "on" || value == "Yes" || value == "true";
}

// "[ Yes, Yes, No, No ]" or one value.
std::vector<std::string> listed(std::string_view value) {
  std::vector<std::string> out;
  std::string one;
  for (const char c : value) {
    if (c == ',' || c == ' ' || c == '[' || c == ']') {
      if (!one.empty()) out.push_back(one);
      one.clear();
    } else {
      one += c;
    }
  }
  if (!one.empty()) out.push_back(one);
  return out;
}

// "0x11 (QSFP28)" is "QSFP28".
std::string in_brackets(const std::string& value) {
  const size_t begin = value.find('('), end = value.rfind(')');
  return begin == std::string::npos || end < begin ? value
                                                   : value.substr(begin + 1, end - begin - 1);
}

struct FlagName {
  const char* name;  // as ethtool's, without high, low, alarm and warning
  const char* what;  // as ModuleFlag's
};
constexpr std::array kReadingFlags{
    FlagName{"laser_rx_power", "rx_power"},     FlagName{"laser_tx_power", "tx_power"},
    FlagName{"laser_output_power", "tx_power"},  // SFP's name of it
    FlagName{"laser_bias_current", "bias"},     FlagName{"module_temperature", "temperature"},
    FlagName{"module_voltage", "supply"}};
constexpr std::array kStateFlags{
    FlagName{"rx_loss_of_signal", "rx_loss"}, FlagName{"tx_loss_of_signal", "tx_loss"},
    FlagName{"tx_fault", "tx_fault"}, FlagName{"rx_loss_of_lock", "rx_unlocked"},
    FlagName{"tx_loss_of_lock", "tx_unlocked"}};

// The number behind "(Channel " or "(Chan " at the end of a label.
int channel_of(std::string_view words) {
  const size_t digit = words.find_first_of("0123456789");
  int out = 0;
  const bool read =
      digit != std::string_view::npos &&
      std::from_chars(words.data() + digit, words.data() + words.size(), out).ec == std::errc{};
  return read && out > 0 ? out : kMostLanes + 1;  // refused where it is read
}

}  // namespace

EthtoolName ethtool_name(std::string_view label) {
  const size_t lane = std::min(label.find("(Channel"), label.find("(Chan "));
  EthtoolName out;
  if (lane != std::string_view::npos) out.lane = channel_of(label.substr(lane));
  for (const char c : label.substr(0, lane)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c >= 'A' && c <= 'Z')
      out.name += static_cast<char>(c - 'A' + 'a');
    else if (letter)
      out.name += c;
    else if (!out.name.empty() && out.name.back() != '_')
      out.name += '_';
  }
  while (!out.name.empty() && out.name.back() == '_') out.name.pop_back();
  return out;
}

std::string EthtoolFields::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : std::string(trimmed(found->second.front().text));
}

std::map<int, double> EthtoolFields::numbers(const std::string& name, double unit) const {
  std::map<int, double> out;
  const auto found = values_.find(name);
  if (found == values_.end()) return out;
  const bool may_be_negative = unit != kMilli;  // light and current are not
  for (const LaneText& value : found->second) {
    const auto number = leading_number(value.text);
    if (!number) throw Error(fmt::format("{} is no number: \"{}\"", name, value.text));
    if (!std::isfinite(*number) || (*number < 0 && !may_be_negative))
      throw Error(fmt::format("{} cannot be: \"{}\"", name, value.text));
    if (value.lane > kMostLanes)
      throw Error(fmt::format("{} names no lane from 1 to {}", name, kMostLanes));
    if (!out.emplace(std::max(value.lane, 1), *number * unit).second)
      throw Error(fmt::format("{} stands there twice", name));
  }
  return out;
}

std::map<int, double> EthtoolFields::first_numbers(const std::vector<const char*>& names) const {
  for (const char* name : names) {
    std::map<int, double> out = numbers(name, kMilli);
    if (!out.empty()) return out;
  }
  return {};
}

std::optional<double> EthtoolFields::number(const std::string& name, double unit) const {
  const std::map<int, double> all = numbers(name, unit);
  return all.empty() ? std::nullopt : std::optional(all.begin()->second);
}

std::optional<ModuleLimits> EthtoolFields::limits(const std::string& name, double unit) const {
  const auto of = [&](const char* which) { return number(name + which, unit); };
  const auto high_alarm = of("_high_alarm_threshold"), low_alarm = of("_low_alarm_threshold"),
             high_warning = of("_high_warning_threshold"),
             low_warning = of("_low_warning_threshold");
  if (!high_alarm && !low_alarm && !high_warning && !low_warning) return std::nullopt;
  return ModuleLimits{high_alarm, low_alarm, high_warning, low_warning};
}

std::set<int> EthtoolFields::flags(const std::string& name) const {
  std::set<int> out;
  const auto found = values_.find(name);
  if (found == values_.end()) return out;
  for (const LaneText& value : found->second) {
    int lane = std::max(value.lane, 1);
    for (const std::string& one : listed(value.text)) {
      if (is_on(one)) out.insert(lane);
      ++lane;
    }
  }
  return out;
}

void EthtoolFields::add_lanes(OpticalModule& out) const {
  // The last names of each are those of an SFP, which has one lane.
  const auto receive =
      first_numbers({"rcvr_signal_avg_optical_power", "rcvr_signal_oma",
                     "receiver_signal_average_optical_power", "receiver_signal_oma"});
  const auto send = first_numbers({"transmit_avg_optical_power", "laser_output_power"});
  const auto bias = first_numbers({"laser_tx_bias_current", "laser_bias_current"});
  int lanes = 0;
  for (const auto* readings : {&receive, &send, &bias}) {
    if (!readings->empty()) lanes = std::max(lanes, readings->rbegin()->first);
  }
  out.lanes.resize(static_cast<size_t>(lanes));
  const auto lane_at = [&](int lane) -> ModuleLane& {
    return out.lanes[static_cast<size_t>(lane) - 1];
  };
  for (const auto& [lane, watts] : receive) lane_at(lane).receive_watts = watts;
  for (const auto& [lane, watts] : send) lane_at(lane).send_watts = watts;
  for (const auto& [lane, amperes] : bias) lane_at(lane).bias_amperes = amperes;
}

void EthtoolFields::add_flags(OpticalModule& out) const {
  for (const FlagName& flag : kStateFlags) {
    for (const int lane : flags(flag.name)) out.flags.push_back({flag.what, lane, true});
  }
  for (const FlagName& flag : kReadingFlags) {
    const std::string name = flag.name;
    std::map<int, bool> raised;  // by lane: an alarm
    for (const bool alarm : {false, true}) {
      for (const char* side : {"_high_", "_low_"}) {
        for (const int lane : flags(name + side + (alarm ? "alarm" : "warning")))
          raised[lane] = alarm;
      }
    }
    const bool of_lanes = name.starts_with("laser");
    for (const auto& [lane, alarm] : raised)
      out.flags.push_back({flag.what, of_lanes ? lane : 0, alarm});
  }
}

OpticalModule EthtoolFields::module() const {
  OpticalModule out{.kind = in_brackets(text("identifier")),
                    .vendor = text("vendor_name"),
                    .part_number = text("vendor_pn"),
                    .revision = text("vendor_rev"),
                    .serial = text("vendor_sn"),
                    .date = text("date_code"),
                    .firmware = text("active_firmware_version")};
  if (const auto state = number("module_state", 1)) out.state = static_cast<int>(*state);
  out.copper = text("transmitter_technology").find("opper") != std::string::npos;
  out.cmis = is_cmis_kind(out.kind);
  if (out.copper) return out;
  out.celsius = number("module_temperature", 1);
  out.volts = number("module_voltage", 1);
  add_lanes(out);
  add_flags(out);
  out.celsius_limits = limits("module_temperature", 1);
  out.volt_limits = limits("module_voltage", 1);
  out.receive_limits = limits("laser_rx_power", kMilli);
  out.send_limits = limits("laser_output_power", kMilli);
  out.bias_limits = limits("laser_bias_current", kMilli);
  return out;
}

}  // namespace cb
