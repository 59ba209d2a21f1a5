// Memory modules, from the firmware's list: SMBIOS structures of type 17 (DMTF DSP0134, 7.18).
#include <map>

#include <fmt/format.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"

namespace cb::inventory {
namespace {

constexpr const char* kTable = "/sys/firmware/dmi/tables/DMI";
constexpr unsigned kMemoryDevice = 17, kEnd = 127;
constexpr size_t kHeader = 4;

// One structure without its texts. A field beyond its end reads as 0, since older versions are
// shorter.
struct Structure {
  std::string_view bytes;

  unsigned byte(size_t at) const {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
  }
  unsigned word(size_t at) const {
    return at + 1 < bytes.size() ? byte(at) | byte(at + 1) << 8 : 0;
  }
  unsigned long long_word(size_t at) const {
    return at + 3 < bytes.size() ? word(at) | static_cast<unsigned long>(word(at + 2)) << 16 : 0;
  }
};

// Returns bytes: 0 for an empty slot, nothing if the firmware does not know.
std::optional<int64_t> module_bytes(const Structure& s) {
  constexpr unsigned kUnknown = 0xffff, kLarge = 0x7fff, kInKibibytes = 0x8000;
  const unsigned size = s.word(0x0c);
  if (size == kUnknown) return std::nullopt;
  if (size == kLarge) return static_cast<int64_t>(s.long_word(0x1c) & 0x7fffffff) << 20;
  if ((size & kInKibibytes) != 0) return static_cast<int64_t>(size & kLarge) << 10;
  return static_cast<int64_t>(size) << 20;
}

// Returns megatransfers per second; 0 if unknown.
unsigned long transfers(const Structure& s, size_t at, size_t extended) {
  const unsigned value = s.word(at);
  return value == 0xffff ? s.long_word(extended) : value;
}

std::string_view type_name(unsigned type) {
  switch (type) {
    case 0x18:
      return "DDR3";
    case 0x1a:
      return "DDR4";
    case 0x1e:
      return "LPDDR4";
    case 0x20:
      return "HBM";
    case 0x21:
      return "HBM2";
    case 0x22:
      return "DDR5";
    case 0x23:
      return "LPDDR5";
    case 0x24:
      return "HBM3";
    default:
      return "";
  }
}

// "64G DDR5 4800 MT/s, used at 4400".
std::string module_text(const Structure& s, int64_t bytes) {
  std::string out = format_size(bytes);
  if (const auto type = type_name(s.byte(0x12)); !type.empty()) out += fmt::format(" {}", type);
  const unsigned long rated = transfers(s, 0x15, 0x54), used = transfers(s, 0x20, 0x58);
  if (rated != 0) out += fmt::format(" {} MT/s", rated);
  if (used != 0 && used != rated)
    out += rated == 0 ? fmt::format(" {} MT/s", used) : fmt::format(", used at {}", used);
  return out;
}

// Removes the next structure with its texts from the front of `rest` and returns it. Empty at the
// end of the table, or if the table is damaged.
Structure next_structure(std::string_view& rest) {
  const Structure none;
  if (rest.size() < kHeader) return none;
  const auto length = static_cast<unsigned char>(rest[1]);
  if (length < kHeader || length > rest.size()) return none;
  const Structure out{rest.substr(0, length)};
  const size_t end = rest.find(std::string_view("\0\0", 2), length);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
  return out;
}

}  // namespace

void add_modules(Part& part, const FsRoot& fs) {
  const auto table = fs.text(kTable);
  if (!table) {
    if (fs.exists(kTable)) part.unavailable["modules"] = said("inventory.needs_root", kTable);
    return;
  }
  std::map<std::string, int> kinds;
  int empty = 0, seen = 0;
  std::string_view rest = *table;
  for (Structure s = next_structure(rest); !s.bytes.empty(); s = next_structure(rest)) {
    if (s.byte(0) == kEnd) break;
    if (s.byte(0) != kMemoryDevice) continue;
    ++seen;
    const auto bytes = module_bytes(s);
    if (bytes == 0)
      ++empty;
    else
      ++kinds[bytes ? module_text(s, *bytes) : "?"];
  }
  if (seen == 0) return;
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{}{} × {}", text.empty() ? "" : "; ", count, kind);
  put_text(part, "modules", text);
  put_integer(part, "empty_slots", empty);
}

}  // namespace cb::inventory
