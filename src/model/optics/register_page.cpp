#include "model/optics/register_page.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cb {
namespace {

// Places of the page, in bytes; words of 16 bits are big-endian.
constexpr size_t kTechnologyAt = 0x00, kCableAt = 0x04, kKindAt = 0x06, kVendorAt = 0x14,
                 kPartAt = 0x24, kRevisionAt = 0x34, kFirmwareAt = 0x38, kSerialAt = 0x3c,
                 kHeatAt = 0x4c, kSupplyAt = 0x4e, kReceiveAt = 0x50, kSendAt = 0x60,
                 kBiasAt = 0x70, kHeatLimitsAt = 0x80, kSupplyLimitsAt = 0x84,
                 kReceiveLimitsAt = 0x88, kSendLimitsAt = 0x8c, kBiasLimitsAt = 0x90,
                 kStateAt = 0x94, kBiasScaleAt = 0x9a, kMonitorsAt = 0x9e, kPathsAt = 0xa0,
                 kDateAt = 0xb0;
constexpr double kPageCelsius = 1.0 / 256, kPageVolt = 1e-4, kPageMicro = 1e-6;
constexpr unsigned kPathActivated = 4;
constexpr int kPageDark = -40;  // decibels over a milliwatt

struct PageKind {
  const char* name;
  int lanes;
  bool cmis;
};
// By cable_identifier; C2C, CPO, OE and ELS are no modules of a port.
constexpr std::array<PageKind, 12> kPageKinds{{{"QSFP28", 4, false},
                                               {"QSFP+", 4, false},
                                               {"SFP28", 1, false},
                                               {"QSA", 1, false},
                                               {"", 0, false},
                                               {"SFP-DD", 2, true},
                                               {"QSFP-DD", 8, true},
                                               {"QSFP", 4, true},
                                               {"OSFP", 8, true},
                                               {"", 0, false},
                                               {"DSFP", 2, true},
                                               {"QSFP split", 4, false}}};

enum class PageMonitor : unsigned { heat, supply, send, receive, bias };

class PageReader {
 public:
  PageReader(const ModulePage& exact, const ModulePage& coarse) : p_(exact), coarse_(coarse) {}

  std::optional<OpticalModule> read() const {
    if (p_[kKindAt] >= kPageKinds.size() || kind().lanes == 0) return std::nullopt;
    if (text(p_, kSerialAt, 16) != text(coarse_, kSerialAt, 16)) return std::nullopt;
    OpticalModule out{.kind = kind().name,
                      .vendor = text(p_, kVendorAt, 16),
                      .part_number = text(p_, kPartAt, 16),
                      .revision = text(p_, kRevisionAt, 4),
                      .serial = text(p_, kSerialAt, 16),
                      .date = text(p_, kDateAt, 8),
                      .firmware = firmware(),
                      .copper = copper(),
                      .cmis = kind().cmis};
    if (out.part_number.empty() && out.serial.empty()) return std::nullopt;
    if (!out.copper) add_readings(out);
    return out;
  }

 private:
  const PageKind& kind() const { return kPageKinds.at(p_[kKindAt]); }

  static unsigned word(const ModulePage& page, size_t at) {
    return static_cast<unsigned>(page[at]) << 8U | page[at + 1];
  }
  static int signed_word(const ModulePage& page, size_t at) {
    return static_cast<int16_t>(word(page, at));
  }

  // Padded with blanks behind or zeros before.
  static std::string text(const ModulePage& page, size_t at, size_t length) {
    std::string out;
    for (size_t i = at; i < at + length; ++i) {
      const auto c = static_cast<char>(page[i]);
      if (c == '\0' && out.empty()) continue;
      if (c == '\0') break;
      out += c < ' ' || c > '~' ? '?' : c;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

  std::string firmware() const {
    const unsigned free = word(p_, kFirmwareAt + 2);
    if (p_[kFirmwareAt] == 0 && p_[kFirmwareAt + 1] == 0 && free == 0) return "";
    return fmt::format("{}.{}.{}", unsigned{p_[kFirmwareAt]}, unsigned{p_[kFirmwareAt + 1]}, free);
  }

  // Passive or linear copper; a twisted pair; an active cable by the technology of its kind.
  bool copper() const {
    constexpr unsigned kPassive = 3, kTwisted = 5;
    const unsigned cable = p_[kCableAt] >> 4U, technology = p_[kTechnologyAt];
    if (cable == kPassive || cable == kTwisted) return true;
    if (kind().cmis) return technology >= 0x0a && technology != 0x10 && technology != 0x11;
    return kind().lanes == 4 && technology >> 4U >= 0x0a;
  }

  // Firmware that tells of no monitors at all has none, or does not tell: a quantity is then there
  // where anything of it is set.
  bool has(PageMonitor monitor, size_t value_at, size_t bytes, size_t limits_at) const {
    const unsigned all = p_[kMonitorsAt] & 0x1fU;
    if (all != 0) return (all >> static_cast<unsigned>(monitor) & 1U) != 0;
    const auto any = [&](size_t at, size_t count) {
      const auto begin = p_.begin() + static_cast<std::ptrdiff_t>(at);
      return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                         [](uint8_t b) { return b != 0; });
    };
    return any(value_at, bytes) || any(limits_at, 4);
  }
  size_t lane_bytes() const { return 2 * static_cast<size_t>(kind().lanes); }

  // The high limit stands first. Warnings are not told.
  static std::optional<ModuleLimits> limits(double high, double low) {
    if (high <= low) return std::nullopt;
    return ModuleLimits{.high_alarm = high, .low_alarm = low};
  }

  // Firmware that knows microwatts answers the limits with other numbers than in decibels. Without
  // limits nothing shows which of them the readings are.
  enum class Unit { unknown, decibels, microwatts };
  Unit unit() const {
    const auto limits_of = [](const ModulePage& page) {
      return std::vector<uint8_t>(page.begin() + kReceiveLimitsAt, page.begin() + kBiasLimitsAt);
    };
    const auto exact = limits_of(p_);
    if (exact != limits_of(coarse_)) return Unit::microwatts;
    const bool none = std::ranges::all_of(exact, [](uint8_t b) { return b == 0; });
    return none ? Unit::unknown : Unit::decibels;
  }

  double watts(size_t at) const {
    if (unit() == Unit::microwatts) return word(p_, at) * kPageMicro;
    const int level = signed_word(p_, at);
    return level <= kPageDark ? 0 : 1e-3 * std::pow(10.0, level / 10.0);
  }
  std::optional<ModuleLimits> light_limits(size_t at) const {
    if (unit() != Unit::microwatts) return std::nullopt;
    return limits(word(p_, at) * kPageMicro, word(p_, at + 2) * kPageMicro);
  }

  // In amperes a step: 2 µA, by the factor of CMIS; 0 for a factor that there is not.
  double bias_step() const {
    const unsigned scale = p_[kBiasScaleAt] >> 2U & 3U;
    return scale == 3 ? 0 : 2 * kPageMicro * (1U << scale);
  }

  void add_readings(OpticalModule& out) const {
    const auto words = [&](size_t at, double unit) {
      return limits(word(p_, at) * unit, word(p_, at + 2) * unit);
    };
    if (has(PageMonitor::heat, kHeatAt, 2, kHeatLimitsAt)) {
      out.celsius = signed_word(p_, kHeatAt) * kPageCelsius;
      out.celsius_limits = limits(signed_word(p_, kHeatLimitsAt) * kPageCelsius,
                                  signed_word(p_, kHeatLimitsAt + 2) * kPageCelsius);
    }
    if (has(PageMonitor::supply, kSupplyAt, 2, kSupplyLimitsAt)) {
      out.volts = word(p_, kSupplyAt) * kPageVolt;
      out.volt_limits = words(kSupplyLimitsAt, kPageVolt);
    }
    add_lanes(out);
    out.receive_limits = light_limits(kReceiveLimitsAt);
    out.send_limits = light_limits(kSendLimitsAt);
    if (bias_step() > 0) out.bias_limits = words(kBiasLimitsAt, bias_step());
    if (kind().cmis) add_states(out);
  }

  void add_lanes(OpticalModule& out) const {
    const bool light = unit() != Unit::unknown,
               receive =
                   light && has(PageMonitor::receive, kReceiveAt, lane_bytes(), kReceiveLimitsAt),
               send = light && has(PageMonitor::send, kSendAt, lane_bytes(), kSendLimitsAt),
               bias = has(PageMonitor::bias, kBiasAt, lane_bytes(), kBiasLimitsAt);
    out.lanes.resize(receive || send || bias ? static_cast<size_t>(kind().lanes) : 0);
    out.bias_unread = bias && bias_step() == 0;
    for (size_t i = 0; i < out.lanes.size(); ++i) {
      if (receive) out.lanes[i].receive_watts = watts(kReceiveAt + 2 * i);
      if (send) out.lanes[i].send_watts = watts(kSendAt + 2 * i);
      if (bias && bias_step() > 0)
        out.lanes[i].bias_amperes = word(p_, kBiasAt + 2 * i) * bias_step();
    }
  }

  // Of lanes whose state is 0 nothing is told.
  void add_states(OpticalModule& out) const {
    const unsigned state = p_[kStateAt] >> 5U;
    if (state != 0) out.state = static_cast<int>(state);
    for (size_t i = 0; i < out.lanes.size(); ++i) {
      const unsigned both = p_[kPathsAt + i / 2], path = i % 2 == 0 ? both >> 4U : both & 0x0fU;
      if (path != 0 && path != kPathActivated)
        out.inactive_lanes.push_back(static_cast<int>(i) + 1);
    }
  }

  const ModulePage& p_;
  const ModulePage& coarse_;
};

}  // namespace

bool is_plugged(const ModulePage& page) {
  constexpr unsigned kUnplugged = 4;
  return page[kCableAt] >> 4U != kUnplugged;
}

std::optional<OpticalModule> decode_module_page(const ModulePage& exact, const ModulePage& coarse) {
  return PageReader(exact, coarse).read();
}

}  // namespace cb
