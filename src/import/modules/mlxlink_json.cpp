// `mlxlink -m -c --json`: texts such as "1.886,1.989 [-10.41..6]": a value for each lane and the
// maker's alarm limits. -40 dBm stands for no light.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json/json_text.h"
#include "import/modules/module_files.h"
#include "import/output_lines.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr double kNoLight = -40;  // dBm
constexpr double kPerMilli = 1e-3;

constexpr double kMostLevel = 100;  // dBm: 10 MW. What is above is no reading.

double watts_of(double level) { return level <= kNoLight ? 0 : 1e-3 * std::pow(10.0, level / 10); }

// What says "not there" in a value's place; a reading is then absent.
bool is_absent(std::string_view value) { return value.empty() || value == "N/A"; }

struct LaneValues {
  std::vector<double> values;
  std::optional<std::pair<double, double>> limits;  // low, high
};

class MlxlinkReader {
 public:
  MlxlinkReader(const json& info, const std::string& file) : info_(info), file_(file) {}

  OpticalModule read() const {
    OpticalModule out{.kind = text("Identifier"),
                      .vendor = text("Vendor Name"),
                      .part_number = text("Vendor Part Number"),
                      .revision = text("Rev"),
                      .serial = text("Vendor Serial Number"),
                      .date = text("Manufacturing Date"),
                      .firmware = text("FW Version")};
    const std::string cable = text("Cable Technology") + text("Cable Type");
    out.copper = cable.find("opper") != std::string::npos;
    out.cmis = is_cmis_kind(out.kind);
    if (!out.copper) add_readings(out);
    return out;
  }

 private:
  std::string text(const char* name) const {
    const auto found = info_.find(name);
    if (found == info_.end() || !found->is_string()) return "";
    const auto value = found->get<std::string>();
    return is_absent(value) ? "" : value;
  }

  double number(const char* name, std::string_view word) const {
    const auto value = printed_number(trimmed(word));
    if (!value || !std::isfinite(value->value))
      throw UsageError(file_, name, said("modules.no_number", std::string(word)));
    return value->value;
  }

  // Light of each lane, in dBm.
  LaneValues levels(const char* name) const {
    LaneValues out = lanes(name);
    const auto refuse_beyond = [&](double level) {
      if (level > kMostLevel) throw UsageError(file_, name, said("modules.no_number", text(name)));
    };
    for (const double level : out.values) refuse_beyond(level);
    if (out.limits) refuse_beyond(std::max(out.limits->first, out.limits->second));
    return out;
  }

  LaneValues lanes(const char* name) const {
    LaneValues out;
    std::string_view rest;
    const std::string value = text(name);
    rest = value;
    const size_t bracket = rest.find('[');
    if (bracket != std::string_view::npos) {
      const std::string_view limits = rest.substr(bracket + 1);
      const size_t dots = limits.find(".."), end = limits.find(']');
      if (dots == std::string_view::npos || end == std::string_view::npos || end < dots)
        throw UsageError(file_, name, said("modules.no_number", value));
      out.limits = {number(name, limits.substr(0, dots)),
                    number(name, limits.substr(dots + 2, end - dots - 2))};
      rest = rest.substr(0, bracket);
    }
    if (trimmed(rest).empty()) return out;
    for (;;) {
      const size_t comma = rest.find(',');
      out.values.push_back(number(name, rest.substr(0, comma)));
      if (comma == std::string_view::npos) return out;
      rest.remove_prefix(comma + 1);
    }
  }

  // Only alarms are told.
  template <typename Convert>
  static std::optional<ModuleLimits> limits_of(const LaneValues& from, Convert convert) {
    if (!from.limits || from.limits->first == from.limits->second) return std::nullopt;
    return ModuleLimits{.high_alarm = convert(from.limits->second),
                        .low_alarm = convert(from.limits->first)};
  }

  void add_readings(OpticalModule& out) const {
    const auto same = [](double v) { return v; };
    const auto milli = [](double v) { return v * kPerMilli; };
    const LaneValues celsius = lanes("Temperature [C]"), volts = lanes("Voltage [mV]"),
                     bias = lanes("Bias Current [mA]"), receive = levels("Rx Power Current [dBm]"),
                     send = levels("Tx Power Current [dBm]");
    if (!celsius.values.empty()) out.celsius = celsius.values.front();
    if (!volts.values.empty()) out.volts = volts.values.front() * kPerMilli;
    out.lanes.resize(std::max({bias.values.size(), receive.values.size(), send.values.size()}));
    for (size_t i = 0; i < bias.values.size(); ++i)
      out.lanes[i].bias_amperes = bias.values[i] * kPerMilli;
    for (size_t i = 0; i < receive.values.size(); ++i)
      out.lanes[i].receive_watts = watts_of(receive.values[i]);
    for (size_t i = 0; i < send.values.size(); ++i)
      out.lanes[i].send_watts = watts_of(send.values[i]);
    out.celsius_limits = limits_of(celsius, same);
    out.volt_limits = limits_of(volts, milli);
    out.bias_limits = limits_of(bias, milli);
    out.receive_limits = limits_of(receive, watts_of);
    out.send_limits = limits_of(send, watts_of);
  }

  const json& info_;
  const std::string& file_;
};

// "3E-9"; 15E-255 says that there was none.
std::optional<double> raw_error_rate(const json& output, const std::string& file) {
  constexpr const char* kName = "Raw Physical BER";
  const auto counters = output.find("Physical Counters and BER Info");
  if (counters == output.end() || !counters->is_object()) return std::nullopt;
  const auto rate = counters->find(kName);
  if (rate == counters->end() || !rate->is_string()) return std::nullopt;
  const auto text = rate->get<std::string>();
  if (is_absent(text)) return std::nullopt;
  if (text.ends_with("E-255")) return 0.0;
  const auto number = printed_number(text);
  if (!number || !std::isfinite(number->value) || number->value < 0)
    throw UsageError(file, kName, said("modules.no_number", text));
  return number->value;
}

// What mlxlink prints although it failed is of an earlier read.
void refuse_failed(const json& root, const std::string& file) {
  const auto status = root.is_object() ? root.find("status") : root.end();
  if (!root.is_object() || status == root.end() || !status->is_object()) return;
  const auto code = status->find("code");
  if (code == status->end() || *code == 0) return;
  const auto message = status->find("message");
  const bool says = message != status->end() && message->is_string();
  throw UsageError(file, "status",
                   said("modules.failed", says ? message->get<std::string>() : code->dump()));
}

}  // namespace

OpticalModule read_mlxlink_json(std::string_view text, const std::string& file) {
  const json root = parse_json(text, file);
  refuse_failed(root, file);
  const json* at = &root;
  for (const char* name : {"result", "output"}) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end())
      throw UsageError(file, "", said("modules.no_mlxlink"));
    at = &*found;
  }
  const auto info = at->is_object() ? at->find("Module Info") : at->end();
  if (!at->is_object() || info == at->end() || !info->is_object())
    throw UsageError(file, "", said("modules.no_mlxlink"));
  OpticalModule out = MlxlinkReader(*info, file).read();
  out.media_ber = raw_error_rate(*at, file);
  return out;
}

}  // namespace cb
