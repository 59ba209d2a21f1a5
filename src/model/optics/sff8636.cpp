// SFF-8636, revision 2.11: lower memory, page 00 (identity) and page 03 (limits). Four lanes.
#include "model/optics/bytes.h"

namespace cb {
namespace {

constexpr int kQsfpLanes = 4;

// Four flags of a quantity: high alarm, low alarm, high warning, low warning from the given bit
// downwards.
void four_flags(const ModuleBytes& lower, size_t byte, unsigned top, const char* what, int lane,
                OpticalModule& out) {
  const bool alarm = lower.bit(byte, top) || lower.bit(byte, top - 1);
  const bool warning = lower.bit(byte, top - 2) || lower.bit(byte, top - 3);
  if (alarm || warning) out.flags.push_back({what, lane, alarm});
}

void read_qsfp_flags(const ModuleBytes& lower, OpticalModule& out) {
  for (int lane = 0; lane < kQsfpLanes; ++lane) {
    const auto bit = static_cast<unsigned>(lane);
    if (lower.bit(3, bit)) out.flags.push_back({"rx_loss", lane + 1, true});
    if (lower.bit(3, bit + 4)) out.flags.push_back({"tx_loss", lane + 1, true});
    if (lower.bit(4, bit)) out.flags.push_back({"tx_fault", lane + 1, true});
    if (lower.bit(5, bit)) out.flags.push_back({"rx_unlocked", lane + 1, true});
    if (lower.bit(5, bit + 4)) out.flags.push_back({"tx_unlocked", lane + 1, true});
    // Two lanes a byte, the first one in the upper half.
    const auto byte = static_cast<size_t>(lane / 2);
    const unsigned top = lane % 2 == 0 ? 7 : 3;
    four_flags(lower, 9 + byte, top, "rx_power", lane + 1, out);
    four_flags(lower, 11 + byte, top, "bias", lane + 1, out);
    four_flags(lower, 13 + byte, top, "tx_power", lane + 1, out);
  }
  four_flags(lower, 6, 7, "temperature", 0, out);
  four_flags(lower, 7, 7, "supply", 0, out);
}

void read_qsfp_limits(const ModuleBytes& page3, OpticalModule& out) {
  out.celsius_limits = page3.signed_limits(128, kCelsius);
  out.volt_limits = page3.limits(144, kVolt);
  out.receive_limits = page3.limits(176, kWatt);
  out.bias_limits = page3.limits(184, kAmpere);
  out.send_limits = page3.limits(192, kWatt);
}

}  // namespace

OpticalModule decode_sff8636(const ModuleMemory& memory) {
  const ModuleBytes lower(memory.lower, 0), page0(memory.page(0), 128), page3(memory.page(3), 128);
  OpticalModule out{.vendor = page0.text(148, 16),
                    .part_number = page0.text(168, 16),
                    .revision = page0.text(184, 2),
                    .serial = page0.text(196, 16),
                    .date = page0.text(212, 8)};
  // Transmitter technology, upper half of byte 147: from 10 on copper.
  out.copper = (page0.at(147) >> 4) >= 0x0a;
  if (lower.bit(2, 2) || out.copper) return out;  // flat memory: nothing is measured
  out.celsius = lower.signed_word(22) * kCelsius;
  out.volts = lower.word(26) * kVolt;
  for (size_t lane = 0; lane < kQsfpLanes; ++lane)
    out.lanes.push_back({.receive_watts = lower.word(34 + 2 * lane) * kWatt,
                         .send_watts = lower.word(50 + 2 * lane) * kWatt,
                         .bias_amperes = lower.word(42 + 2 * lane) * kAmpere});
  read_qsfp_flags(lower, out);
  if (page3.there()) read_qsfp_limits(page3, out);
  return out;
}

}  // namespace cb
