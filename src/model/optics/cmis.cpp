// CMIS 5.x: lower memory, pages 00 (identity), 01 (units), 02 (limits), 11 (lanes of bank 0), 20-27
// and 2F (VDM: error rates before correction). Eight lanes. VDM is read without freezing it, which
// would be a write: a value may be of the interval that runs.
#include "model/optics/bytes.h"

namespace cb {
namespace {

constexpr int kCmisLanes = 8;
constexpr unsigned kActivated = 4;
constexpr unsigned kMediaBer = 15, kHostBer = 16;  // types of observables, table 8-135

// Byte of a flag, one bit a lane.
struct LaneFlag {
  size_t byte;
  const char* what;
  bool alarm;
};
constexpr LaneFlag kLaneFlags[] = {
    {135, "tx_fault", true},    {136, "tx_loss", true},  {137, "tx_unlocked", true},
    {139, "tx_power", true},    {140, "tx_power", true}, {141, "tx_power", false},
    {142, "tx_power", false},   {143, "bias", true},     {144, "bias", true},
    {145, "bias", false},       {146, "bias", false},    {147, "rx_loss", true},
    {148, "rx_unlocked", true}, {149, "rx_power", true}, {150, "rx_power", true},
    {151, "rx_power", false},   {152, "rx_power", false}};

void read_lane_flags(const ModuleBytes& page11, OpticalModule& out) {
  for (const LaneFlag& flag : kLaneFlags) {
    for (int lane = 0; lane < kCmisLanes; ++lane) {
      if (page11.bit(flag.byte, static_cast<unsigned>(lane)))
        out.flags.push_back({flag.what, lane + 1, flag.alarm});
    }
  }
}

void read_module_flags(const ModuleBytes& lower, OpticalModule& out) {
  // Byte 9: temperature in bits 0-3, supply in bits 4-7; each high alarm, low alarm, high warning,
  // low warning.
  const auto flags = [&](unsigned first, const char* what) {
    const bool alarm = lower.bit(9, first) || lower.bit(9, first + 1);
    const bool warning = lower.bit(9, first + 2) || lower.bit(9, first + 3);
    if (alarm || warning) out.flags.push_back({what, 0, alarm});
  };
  flags(0, "temperature");
  flags(4, "supply");
}

void read_lanes(const ModuleBytes& page11, double bias_unit, OpticalModule& out) {
  for (size_t lane = 0; lane < kCmisLanes; ++lane) {
    const unsigned pair = page11.at(128 + lane / 2);
    const unsigned state = lane % 2 == 0 ? pair & 0xf : pair >> 4;
    if (state != kActivated) out.inactive_lanes.push_back(static_cast<int>(lane) + 1);
    out.lanes.push_back({.receive_watts = page11.word(186 + 2 * lane) * kWatt,
                         .send_watts = page11.word(154 + 2 * lane) * kWatt,
                         .bias_amperes = page11.word(170 + 2 * lane) * bias_unit});
  }
}

// A page of descriptors (0x20 + g) and one of values (0x24 + g) for each group; 64 observables of
// two bytes in each.
void read_observables(const ModuleMemory& memory, OpticalModule& out) {
  constexpr int kGroups = 4;
  constexpr size_t kEach = 64;
  for (int group = 0; group < kGroups; ++group) {
    const ModuleBytes what(memory.page(0x20 + group), 128), value(memory.page(0x24 + group), 128);
    if (!what.there() || !value.there()) continue;
    for (size_t i = 0; i < kEach; ++i) {
      const unsigned type = what.at(129 + 2 * i);
      const size_t lane = what.at(128 + 2 * i) & 0xf;
      if (lane >= out.lanes.size()) continue;
      if (type == kMediaBer) out.lanes[lane].media_ber = cmis_f16(value.word(128 + 2 * i));
      if (type == kHostBer) out.lanes[lane].host_ber = cmis_f16(value.word(128 + 2 * i));
    }
  }
}

// Page 01 byte 160, bits 4-3: the unit of bias is 2 µA times 1, 2 or 4.
double bias_unit_of(const ModuleBytes& page1) {
  return kAmpere * static_cast<double>(1U << (page1.at(160) >> 3 & 3U));
}

}  // namespace

OpticalModule decode_cmis(const ModuleMemory& memory) {
  const ModuleBytes lower(memory.lower, 0), page0(memory.page(0), 128), page1(memory.page(1), 128),
      page2(memory.page(2), 128), page11(memory.page(0x11), 128);
  OpticalModule out{.vendor = page0.text(129, 16),
                    .part_number = page0.text(148, 16),
                    .revision = page0.text(164, 2),
                    .serial = page0.text(166, 16),
                    .date = page0.text(182, 8)};
  // Media interface technology, byte 212: 0x10 and 0x11 are tunable lasers of the C and L band.
  const unsigned technology = page0.at(212);
  out.copper = (technology >= 0x0a && technology <= 0x0f) || technology >= 0x12;
  if (lower.bit(2, 7)) return out;  // flat memory: a cable without a microcontroller
  out.cmis = true;
  out.state = static_cast<int>(lower.at(3) >> 1 & 7U);
  out.firmware = std::to_string(lower.at(39)) + "." + std::to_string(lower.at(40));
  out.celsius = lower.signed_word(14) * kCelsius;
  out.volts = lower.word(16) * kVolt;
  read_module_flags(lower, out);
  const double bias_unit = bias_unit_of(page1);
  if (page2.there()) {
    out.celsius_limits = page2.signed_limits(128, kCelsius);
    out.volt_limits = page2.limits(136, kVolt);
    out.send_limits = page2.limits(176, kWatt);
    out.bias_limits = page2.limits(184, bias_unit);
    out.receive_limits = page2.limits(192, kWatt);
  }
  if (page11.there() && !out.copper) {
    read_lanes(page11, bias_unit, out);
    read_lane_flags(page11, out);
  }
  read_observables(memory, out);
  return out;
}

}  // namespace cb
