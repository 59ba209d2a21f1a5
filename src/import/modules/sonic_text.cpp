// SONiC's `show interfaces transceiver eeprom -d` and `sfputil show eeprom -d`: a block of lines
// for each port of the switch, "Ethernet0: SFP EEPROM detected" first. Values carry their units:
// "RX1Power: -0.4871dBm". What a module does not tell is left out, or N/A. Behind it or before it
// the same file may hold `show interfaces transceiver status`, whose blocks begin with
// "Ethernet0:".
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "import/modules/module_files.h"
#include "import/modules/sonic_status.h"
#include "import/output_lines.h"

namespace cb {
namespace {

constexpr double kSonicMilli = 1e-3;
constexpr double kSonicNoLight = -40;  // dBm: below the least step of a module, 0.1 µW
constexpr double kSonicMostLevel = 100;
constexpr int kSonicMostLanes = 32;
constexpr std::string_view kSonicHead = ": SFP EEPROM ";

enum class SonicQuantity { light, current, heat, supply };
struct SonicUnit {
  SonicQuantity of;
  std::string_view unit;
};
constexpr std::array kSonicUnits{
    SonicUnit{SonicQuantity::light, "dBm"}, SonicUnit{SonicQuantity::light, "mW"},
    SonicUnit{SonicQuantity::current, "mA"}, SonicUnit{SonicQuantity::heat, "C"},
    SonicUnit{SonicQuantity::supply, "Volts"}};

bool is_sonic_absent(std::string_view value) {
  return value.empty() || value == "N/A" || value == "Unknown";
}

double sonic_watts(double level) {
  return level <= kSonicNoLight ? 0 : kSonicMilli * std::pow(10.0, level / 10);
}

// The value in the unit of OpticalModule, by the unit that stands behind it.
double sonic_value(std::string_view name, std::string_view text, SonicQuantity of) {
  const auto unit = std::ranges::find_if(
      kSonicUnits, [&](const SonicUnit& u) { return u.of == of && text.ends_with(u.unit); });
  if (unit == kSonicUnits.end())
    throw Error(said("modules.no_unit", std::string(name), std::string(text)));
  const std::string_view digits = trimmed(text.substr(0, text.size() - unit->unit.size()));
  const bool level = unit->unit == "dBm";
  if (level && digits == "-inf") return 0;
  const auto number = printed_number(digits);
  const bool may_be_negative = level || of == SonicQuantity::heat;
  if (!number || !std::isfinite(number->value) || (number->value < 0 && !may_be_negative) ||
      (level && number->value > kSonicMostLevel))
    throw Error(said("modules.no_reading", std::string(name), std::string(text)));
  if (level) return sonic_watts(number->value);
  return of == SonicQuantity::light || of == SonicQuantity::current ? number->value * kSonicMilli
                                                                    : number->value;
}

// "RX1Power": what, and the lane; an SFP's "RXPower" is of lane 1. Lane 0: no such label.
struct SonicLaneName {
  std::string_view what;
  int lane = 0;
};
SonicLaneName sonic_lane(std::string_view name) {
  for (const std::string_view what : {"RXPower", "TXPower", "TXBias"}) {
    const std::string_view way = what.substr(0, 2), rest = what.substr(2);
    if (!name.starts_with(way) || !name.ends_with(rest) || name.size() < what.size()) continue;
    const std::string_view digits = name.substr(2, name.size() - what.size());
    const auto lane = digits.empty() ? std::optional<int64_t>(1) : printed_integer(digits);
    if (lane && *lane >= 1 && *lane <= kSonicMostLanes) return {what, static_cast<int>(*lane)};
  }
  return {};
}

// What is copper by the codes of SFF-8024 and SFF-8636, CMIS's technology and an SFP's cable.
bool is_sonic_copper(std::string_view name, std::string_view value) {
  const auto says = [&](std::string_view word) {
    return value.find(word) != std::string_view::npos;
  };
  if (name == "Media Interface Technology") return says("opper");
  if (name == "Application Advertisement") return says("Copper cable");
  if (name == "SFP+CableTechnology") return says("Passive");
  return name.find("ompliance") != std::string_view::npos && (says("opper") || says("BASE-CR"));
}

// The block of one port.
class SonicBlock {
 public:
  explicit SonicBlock(std::string port) : port_(std::move(port)) {}

  const std::string& port() const { return port_; }
  bool has_section() const { return !section_.empty(); }

  void take(std::string_view name, std::string_view value) {
    if (name.ends_with("Values") || name == "MonitorData" || name == "ThresholdData") {
      section_ = name;
      ends_ = ends_ || name == "ModuleThresholdValues" || name == "ThresholdData";
    } else if (is_of_monitor(name)) {
      labels_.insert(std::string(name));
      if (!is_sonic_absent(value)) read(name, value);
    } else if (section_ == "ChannelMonitorValues") {
      throw Error(said("modules.no_label", std::string(name)));
    } else {
      copper_ = copper_ || is_sonic_copper(name, value);
      texts_.try_emplace(std::string(name), value);
    }
  }

  // True if a port's block stops before it has said everything: a file that was cut off. An empty
  // line behind it says that it is whole; else its last limits must stand there.
  bool is_cut_off(bool has_line_behind) const {
    const auto all = [&](const char* of) {
      return std::ranges::all_of(
          kSides, [&](const char* side) { return labels_.contains(std::string(of) + side); });
    };
    return !texts_.contains("Identifier") || !texts_.contains("Vendor PN") ||
           !texts_.contains("Vendor SN") || (has_section() && !ends_) ||
           (!has_line_behind && (!all("Temp") || !all("Vcc")));
  }

  // {1, 1} where the module does not tell it.
  SonicApplication application() const {
    const auto host = printed_integer(text("Host Lane Count")),
               media = printed_integer(text("Media Lane Count"));
    const auto is_count = [](const std::optional<int64_t>& n) {
      return n && *n > 0 && *n <= kSonicMostLanes;
    };
    if (!is_count(host) || !is_count(media)) return {};
    return {static_cast<int>(*host), static_cast<int>(*media)};
  }

  OpticalModule module() const {
    OpticalModule out{
        .kind = text("Identifier").substr(0, text("Identifier").find(' ')),
        .vendor = text("Vendor Name"),
        .part_number = text("Vendor PN"),
        .revision = text("Vendor Rev"),
        .serial = text("Vendor SN"),
        .date = text("Vendor Date Code(YYYY-MM-DD Lot)"),
        .firmware = text("Active Firmware"),
        .copper = copper_,
        .cmis = is_cmis_kind(text("Identifier")) || texts_.contains("Media Lane Count")};
    if (copper_) return out;
    out.celsius = value("Temperature");
    out.volts = value("Vcc");
    out.lanes = lanes();
    out.celsius_limits = limits("Temp");
    out.volt_limits = limits("Vcc");
    out.receive_limits = limits("RxPower");
    out.send_limits = limits("TxPower");
    out.bias_limits = limits("TxBias");
    return out;
  }

 private:
  static constexpr std::array kSides{"HighAlarm", "LowAlarm", "HighWarning", "LowWarning"};

  static std::optional<SonicQuantity> quantity_of(std::string_view name) {
    const std::string_view lane = sonic_lane(name).what;
    if (lane == "TXBias") return SonicQuantity::current;
    if (!lane.empty()) return SonicQuantity::light;
    if (name == "Temperature") return SonicQuantity::heat;
    if (name == "Vcc") return SonicQuantity::supply;
    const bool limit =
        std::ranges::any_of(kSides, [&](const char* s) { return name.ends_with(s); });
    if (!limit) return std::nullopt;
    if (name.starts_with("Temp")) return SonicQuantity::heat;
    if (name.starts_with("Vcc")) return SonicQuantity::supply;
    if (name.starts_with("TxBias")) return SonicQuantity::current;
    if (name.starts_with("RxPower") || name.starts_with("TxPower")) return SonicQuantity::light;
    return std::nullopt;
  }
  static bool is_of_monitor(std::string_view name) { return quantity_of(name).has_value(); }

  void read(std::string_view name, std::string_view value) {
    const double number = sonic_value(name, value, *quantity_of(name));
    const SonicLaneName of = sonic_lane(name);
    const bool fresh = of.lane > 0 ? lanes_[of.lane].emplace(of.what, number).second
                                   : values_.emplace(std::string(name), number).second;
    if (!fresh) throw Error(said("modules.label_twice", std::string(name), port_));
  }

  std::string text(const char* name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() || is_sonic_absent(found->second) ? "" : found->second;
  }
  std::optional<double> value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<ModuleLimits> limits(const std::string& of) const {
    const ModuleLimits out{value(of + "HighAlarm"), value(of + "LowAlarm"),
                           value(of + "HighWarning"), value(of + "LowWarning")};
    const bool any = out.high_alarm || out.low_alarm || out.high_warning || out.low_warning;
    return any ? std::optional(out) : std::nullopt;
  }

  std::vector<ModuleLane> lanes() const {
    std::vector<ModuleLane> out;
    const auto at = [](const auto& of, std::string_view what) {
      const auto found = of.find(what);
      return found == of.end() ? std::nullopt : std::optional(found->second);
    };
    for (const auto& [lane, of] : lanes_) {
      out.resize(static_cast<size_t>(lane));
      out.back() = {at(of, "RXPower"), at(of, "TXPower"), at(of, "TXBias")};
    }
    // A module of four fibres tells of eight lanes: those behind the fibres that are dark both ways
    // belong to no link.
    const auto dark = [](const ModuleLane& lane) {
      return lane.receive_watts.value_or(0) <= 0 && lane.send_watts.value_or(0) <= 0 &&
             lane.bias_amperes.value_or(0) <= 0;
    };
    while (std::ssize(out) > most_lanes(out.size()) && dark(out.back())) out.pop_back();
    return out;
  }

  // Media lanes that can belong to a link: the lane count is of one application, of which as many
  // stand side by side as the module has host lanes for.
  int most_lanes(size_t told) const {
    if (!texts_.contains("Media Lane Count")) return kSonicMostLanes;
    const SonicApplication one = application();
    return std::max(1, host_lanes(static_cast<int>(told)) / one.host_lanes) * one.media_lanes;
  }
  int host_lanes(int told) const {
    const std::string kind = text("Identifier");
    if (kind.starts_with("QSFP-DD") || kind.starts_with("OSFP")) return 8;
    if (kind.starts_with("QSFP")) return 4;
    return kind.starts_with("SFP-DD") || kind.starts_with("DSFP") ? 2 : told;
  }

  std::string port_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, double, std::less<>> values_;
  std::map<int, std::map<std::string_view, double, std::less<>>> lanes_;
  std::set<std::string, std::less<>> labels_;  // of readings and limits, also of those that are N/A
  std::string section_;                        // the last one that began
  bool ends_ = false, copper_ = false;
};

class SonicReader {
 public:
  explicit SonicReader(const std::string& file) : file_(file) {}

  std::vector<FittedModule> read(std::string_view text, const std::string& host) {
    for (const OutputLine& line : output_lines(text, "")) {
      number_ = line.number;
      take(line.text);
    }
    if (ports_.empty()) refuse_foreign(text);
    refuse_cut_off(text);
    std::vector<FittedModule> out;
    for (const SonicBlock& block : blocks_) {
      out.push_back({.host = host, .port = block.port(), .module = block.module()});
      const auto status = statuses_.find(block.port());
      if (status != statuses_.end()) status->second.add_to(*out.back().module, block.application());
    }
    add_lone_statuses(host, out);
    return out;
  }

 private:
  [[noreturn]] void refuse(const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", number_), why);
  }

  void refuse_foreign(std::string_view text) const {
    throw UsageError(file_, "line 1",
                     is_sonic_status(text)
                         ? said("modules.no_eeprom", kSonicCommand, kSonicStatusCommand)
                         : said("modules.no_sonic", kSonicCommand));
  }

  void refuse_cut_off(std::string_view text) const {
    const bool some = std::ranges::any_of(blocks_, &SonicBlock::has_section);
    const bool lacks = open_ && some && !blocks_.back().has_section();
    const bool line_behind = empty_ || !open_;
    if (!text.ends_with('\n') || lacks ||
        (!blocks_.empty() && blocks_.back().is_cut_off(line_behind)))
      throw UsageError(file_, "", said("fabric.cut_off"));
  }

  // A port that has a status and no block: what its status tells is judged, and it passes nothing.
  void add_lone_statuses(const std::string& host, std::vector<FittedModule>& out) const {
    for (const auto& [port, status] : statuses_) {
      if (!status.is_there() || ports_.contains(port)) continue;
      out.push_back(
          {.host = host, .port = port, .why_not = said("modules.status_alone", kSonicCommand)});
      if (!status.is_faulty()) continue;
      status.add_to(out.back().module.emplace(), {});
    }
  }

  void take(std::string_view line) {
    const std::string_view words = trimmed(line);
    empty_ = words.empty();
    if (empty_) return;
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (!indented) {
      head(words);
      return;
    }
    const size_t colon = std::min(words.find(':'), words.size());
    const std::string_view name = trimmed(words.substr(0, colon));
    const std::string_view value = trimmed(words.substr(std::min(colon + 1, words.size())));
    if (!open_ && status_ == nullptr && (name.starts_with("Vendor ") || name.ends_with("Values")))
      refuse(said("modules.no_port"));
    try {
      if (open_) blocks_.back().take(name, value);
      if (status_ != nullptr) status_->take(name, value);
    } catch (const Error& e) {
      refuse(e.said());
    }
  }

  // A port's first line opens its block; what else begins a line (a prompt) ends it.
  void head(std::string_view line) {
    open_ = false;
    status_ = nullptr;
    if (line.ends_with(':') && line.find(' ') == std::string_view::npos) {
      const auto [found, fresh] =
          statuses_.try_emplace(std::string(line.substr(0, line.size() - 1)));
      if (!fresh) refuse(said("modules.port_twice", found->first));
      status_ = &found->second;
    }
    const size_t at = line.find(kSonicHead);
    if (at == std::string_view::npos) return;
    if (line.substr(0, at).find(' ') != std::string_view::npos)
      refuse(said("modules.no_sonic", kSonicCommand));
    const std::string port(line.substr(0, at));
    if (!ports_.insert(port).second) refuse(said("modules.port_twice", port));
    open_ = line.substr(at + kSonicHead.size()) == "detected";  // else without a module, or RJ45
    if (open_) blocks_.emplace_back(port);
  }

  const std::string& file_;
  size_t number_ = 0;
  bool empty_ = false;             // the last line
  bool open_ = false;              // the last block of blocks_ goes on
  SonicStatus* status_ = nullptr;  // of statuses_: goes on
  std::vector<SonicBlock> blocks_;
  std::map<std::string, SonicStatus, std::less<>> statuses_;  // by port
  std::set<std::string> ports_;
};

}  // namespace

bool is_sonic_text(std::string_view text) {
  return text.find(kSonicHead) != std::string_view::npos || is_sonic_status(text);
}

std::vector<FittedModule> read_sonic_text(std::string_view text, const std::string& file,
                                          const std::string& host) {
  return SonicReader(file).read(text, host);
}

}  // namespace cb
