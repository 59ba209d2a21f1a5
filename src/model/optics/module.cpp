#include "model/optics/module.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/optics/bytes.h"

namespace cb {
namespace {

// Identifiers of SFF-8024, table 4-1.
struct ModuleKind {
  unsigned identifier;
  const char* name;
  bool cmis;
};
constexpr std::array kModuleKinds{ModuleKind{0x0d, "QSFP+", false},
                                  ModuleKind{0x11, "QSFP28", false},
                                  ModuleKind{0x18, "QSFP-DD", true}, ModuleKind{0x19, "OSFP", true},
                                  ModuleKind{0x1e, "QSFP", true}};

const ModuleKind* kind_of(std::string_view lower) {
  if (lower.empty()) return nullptr;
  const auto found =
      std::ranges::find(kModuleKinds, static_cast<unsigned>(static_cast<unsigned char>(lower[0])),
                        &ModuleKind::identifier);
  return found == kModuleKinds.end() ? nullptr : &*found;
}

}  // namespace

std::string_view ModuleMemory::page(int number, int bank) const {
  const auto found = pages.find({bank, number});
  return found == pages.end() ? std::string_view() : std::string_view(found->second);
}

std::string ModuleBytes::text(size_t number, size_t length) const {
  std::string out;
  for (size_t i = 0; i < length; ++i) {
    const auto c = static_cast<char>(at(number + i));
    if (c == '\0') break;
    out += c < ' ' || c > '~' ? '?' : c;
  }
  const size_t end = out.find_last_not_of(' ');
  return end == std::string::npos ? "" : out.substr(0, end + 1);
}

std::vector<std::pair<int, int>> pages_to_read(std::string_view lower) {
  const ModuleKind* kind = kind_of(lower);
  if (kind == nullptr) return {};
  const ModuleBytes bytes(lower, 0);
  const bool flat = kind->cmis ? bytes.bit(2, 7) : bytes.bit(2, 2);
  if (flat) return {{0, 0}};
  if (!kind->cmis) return {{0, 0}, {0, 3}};
  return {{0, 0},    {0, 1},    {0, 2},    {0, 0x11}, {0, 0x20}, {0, 0x21}, {0, 0x22},
          {0, 0x23}, {0, 0x24}, {0, 0x25}, {0, 0x26}, {0, 0x27}, {0, 0x2f}};
}

std::optional<OpticalModule> decode_module(const ModuleMemory& memory) {
  constexpr size_t kPage = 128;
  const ModuleKind* kind = kind_of(memory.lower);
  if (kind == nullptr || memory.lower.size() < kPage || memory.page(0).size() < kPage)
    return std::nullopt;
  OpticalModule out = kind->cmis ? decode_cmis(memory) : decode_sff8636(memory);
  out.kind = kind->name;
  return out;
}

double cmis_f16(unsigned word) {
  return static_cast<double>(word & 0x7ff) * std::pow(10.0, static_cast<double>(word >> 11) - 24);
}

bool is_cmis_kind(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords{"-DD", "OSFP", "DSFP", "CMIS"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

std::optional<double> dbm(double watts) {
  if (watts <= 0) return std::nullopt;
  return 10 * std::log10(watts / 1e-3);
}

}  // namespace cb
