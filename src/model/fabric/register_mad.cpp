#include "model/fabric/register_mad.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr uint32_t kPortMap = 0x500a, kPortDiagnostics = 0x5031;
constexpr uint8_t kModuleInformation = 3;
constexpr size_t kAnswerAt = 36, kPageAt = kAnswerAt + 8;
static_assert(kPageAt + kModulePageBytes <= kMadBytes);

// The first word of both registers: bits 16 to 23 and, above them, 12 and 13 of the local port.
std::array<uint8_t, 8> select_port(int local_port) {
  const auto port = static_cast<unsigned>(local_port);
  return {0, static_cast<uint8_t>(port), static_cast<uint8_t>((port >> 8U & 3U) << 4U)};
}
bool is_about(const Mad& mad, int local_port) {
  const int told = mad[kAnswerAt + 1] | (mad[kAnswerAt + 2] >> 4U & 3U) << 8U;
  return told == local_port;
}

MadQuestion ask_register(uint16_t lid, uint32_t number, uint64_t key) {
  return {.of = MadClass::vendor,
          .attribute = MadAttribute::access_register,
          .modifier = number,
          .lid = lid,
          .key = key};
}

}  // namespace

bool offers_registers(const Mad& general_info) {
  // The capability mask is 0x80 bytes behind the key: bit 20 of its first word.
  constexpr size_t kMaskAt = 24 + 8 + 0x80;
  return (general_info[kMaskAt + 1] & 0x10U) != 0;
}

MadQuestion ask_port_map(uint16_t lid, int local_port, uint64_t key) {
  MadQuestion out = ask_register(lid, kPortMap, key);
  out.select = select_port(local_port);
  return out;
}

std::optional<int> decode_port_map(const Mad& mad, int local_port) {
  if (!is_about(mad, local_port)) return std::nullopt;
  return (mad[kAnswerAt + 2] & 3U) << 8U | mad[kAnswerAt + 3];
}

MadQuestion ask_module_page(uint16_t lid, int local_port, LightUnit unit, uint64_t key) {
  MadQuestion out = ask_register(lid, kPortDiagnostics, key);
  out.select = select_port(local_port);
  out.select[4] = static_cast<uint8_t>(static_cast<unsigned>(unit) << 5U);
  out.select[7] = kModuleInformation;
  return out;
}

std::optional<ModulePage> decode_module_page_of(const Mad& mad, int local_port) {
  if (!is_about(mad, local_port) || mad[kAnswerAt + 7] != kModuleInformation) return std::nullopt;
  ModulePage out;
  std::copy_n(mad.begin() + kPageAt, out.size(), out.begin());
  return out;
}

bool is_register_busy(uint16_t status) { return status == 1; }

std::string register_status_text(uint16_t status) {
  switch (status) {
    case 0x01:
      return "busy";
    case 0x04:
      return "class not supported";
    case 0x0c:
      return "method not supported";
    case 0x14:
      return "register not supported";
    case 0x1c:
      return "bad parameter";
    default:
      return fmt::format("status 0x{:04x}", status);
  }
}

}  // namespace cb
