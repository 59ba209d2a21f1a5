#include "import/modules/ethtool_fields.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "import/output_lines.h"

namespace cb {
namespace {

constexpr double kMilli = 1e-3;

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
    FlagName{"laser_rx_power", "rx_power"}, FlagName{"laser_tx_power", "tx_power"},
    FlagName{"laser_bias_current", "bias"}, FlagName{"module_temperature", "temperature"},
    FlagName{"module_voltage", "supply"}};
constexpr std::array kStateFlags{
    FlagName{"rx_loss_of_signal", "rx_loss"}, FlagName{"tx_loss_of_signal", "tx_loss"},
    FlagName{"tx_fault", "tx_fault"}, FlagName{"rx_loss_of_lock", "rx_unlocked"},
    FlagName{"tx_loss_of_lock", "tx_unlocked"}};

}  // namespace

std::string ethtool_name(std::string_view label) {
  const size_t lane = std::min(label.find("(Channel"), label.find("(Chan "));
  std::string out;
  for (const char c : label.substr(0, lane)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (letter)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::string EthtoolFields::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : std::string(trimmed(found->second.front()));
}

std::vector<double> EthtoolFields::numbers(const std::string& name, double unit) const {
  std::vector<double> out;
  const auto found = values_.find(name);
  if (found == values_.end()) return out;
  for (const std::string& value : found->second) {
    const auto number = leading_number(value);
    if (!number) throw Error(fmt::format("{} is no number: \"{}\"", name, value));
    out.push_back(*number * unit);
  }
  return out;
}

std::optional<double> EthtoolFields::number(const std::string& name, double unit) const {
  const std::vector<double> all = numbers(name, unit);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::optional<ModuleLimits> EthtoolFields::limits(const std::string& name, double unit) const {
  const auto of = [&](const char* which) { return number(name + which, unit); };
  const auto high_alarm = of("_high_alarm_threshold"), low_alarm = of("_low_alarm_threshold"),
             high_warning = of("_high_warning_threshold"),
             low_warning = of("_low_warning_threshold");
  if (!high_alarm || !low_alarm || !high_warning || !low_warning) return std::nullopt;
  return ModuleLimits{*high_alarm, *low_alarm, *high_warning, *low_warning};
}

std::vector<bool> EthtoolFields::flags(const std::string& name) const {
  std::vector<bool> out;
  const auto found = values_.find(name);
  if (found == values_.end()) return out;
  for (const std::string& value : found->second) {
    for (const std::string& one : listed(value)) out.push_back(is_on(one));
  }
  return out;
}

void EthtoolFields::add_lanes(OpticalModule& out) const {
  std::vector<double> receive = numbers("rcvr_signal_avg_optical_power", kMilli);
  if (receive.empty()) receive = numbers("rcvr_signal_oma", kMilli);
  const std::vector<double> send = numbers("transmit_avg_optical_power", kMilli);
  const std::vector<double> bias = numbers("laser_tx_bias_current", kMilli);
  out.lanes.resize(std::max({receive.size(), send.size(), bias.size()}));
  for (size_t i = 0; i < receive.size(); ++i) out.lanes[i].receive_watts = receive[i];
  for (size_t i = 0; i < send.size(); ++i) out.lanes[i].send_watts = send[i];
  for (size_t i = 0; i < bias.size(); ++i) out.lanes[i].bias_amperes = bias[i];
}

void EthtoolFields::add_flags(OpticalModule& out) const {
  for (const FlagName& flag : kStateFlags) {
    const std::vector<bool> lanes = flags(flag.name);
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i]) out.flags.push_back({flag.what, static_cast<int>(i) + 1, true});
    }
  }
  for (const FlagName& flag : kReadingFlags) {
    const std::string name = flag.name;
    const auto any = [&](const char* level, size_t lane) {
      for (const char* side : {"_high_", "_low_"}) {
        const std::vector<bool> lanes = flags(name + side + level);
        if (lane < lanes.size() && lanes[lane]) return true;
      }
      return false;
    };
    const bool of_lanes = name.starts_with("laser");
    for (size_t lane = 0; lane < (of_lanes ? out.lanes.size() : 1); ++lane) {
      const bool alarm = any("alarm", lane);
      if (alarm || any("warning", lane))
        out.flags.push_back({flag.what, of_lanes ? static_cast<int>(lane) + 1 : 0, alarm});
    }
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
