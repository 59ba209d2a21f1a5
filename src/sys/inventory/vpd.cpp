#include "sys/inventory/vpd.h"

#include <algorithm>

#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"

namespace cb::inventory {
namespace {

constexpr unsigned kIdentifier = 0x82, kReadOnly = 0x90;  // large resource tags
constexpr size_t kTag = 3, kKeyword = 3;                  // bytes of each head

unsigned vpd_byte(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// The text up to its padding, without what no label has on it.
std::string label(std::string_view bytes) {
  std::string out(bytes.substr(0, bytes.find('\0')));
  std::erase_if(out, [](char c) { return c < ' ' || c > '~'; });
  return trimmed(out);
}

void read_keywords(std::string_view bytes, VitalProductData& out) {
  while (bytes.size() >= kKeyword) {
    const size_t length = vpd_byte(bytes, 2);
    if (kKeyword + length > bytes.size()) return;
    const std::string_view name = bytes.substr(0, 2), value = bytes.substr(kKeyword, length);
    if (name == "PN") out.part_number = label(value);
    if (name == "SN") out.serial = label(value);
    bytes.remove_prefix(kKeyword + length);
  }
}

}  // namespace

VitalProductData parse_vpd(std::string_view bytes) {
  VitalProductData out;
  while (bytes.size() >= kTag) {
    const unsigned tag = vpd_byte(bytes, 0);
    if ((tag & 0x80) == 0) return out;  // a small resource: the end
    const size_t length = vpd_byte(bytes, 1) | vpd_byte(bytes, 2) << 8;
    const std::string_view content = bytes.substr(kTag, length);
    if (tag == kIdentifier) out.product = label(content);
    if (tag == kReadOnly) read_keywords(content, out);
    bytes.remove_prefix(std::min(kTag + length, bytes.size()));
  }
  return out;
}

void put_vpd(Part& part, const FsRoot& fs, const std::string& address) {
  const std::string path = pci_path(address, "vpd");
  if (!fs.exists(path)) return;
  const auto bytes = fs.text(path);
  if (!bytes) {
    part.unavailable["serial"] = said("inventory.needs_root", path);
    return;
  }
  const VitalProductData data = parse_vpd(*bytes);
  put_text(part, "product", data.product);
  put_text(part, "part_number", data.part_number);
  put_text(part, "serial", data.serial);
}

}  // namespace cb::inventory
