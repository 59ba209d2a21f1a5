#include "model/xid.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/units.h"

namespace cb {
namespace {

struct XidRow {
  uint64_t xid;
  XidKind kind;
};

using enum XidKind;
constexpr std::array kXids{
    XidRow{13, application}, XidRow{31, suspicious},  XidRow{32, suspicious},
    XidRow{38, suspicious},  XidRow{43, application}, XidRow{45, application},
    XidRow{46, fatal},       XidRow{48, fatal},       XidRow{54, fatal},
    XidRow{62, fatal},       XidRow{63, suspicious},  XidRow{64, fatal},
    XidRow{69, application}, XidRow{74, fatal},       XidRow{79, fatal},
    XidRow{92, fatal},       XidRow{94, fatal},       XidRow{95, fatal},
    XidRow{109, fatal},      XidRow{110, fatal},      XidRow{119, fatal},
    XidRow{120, fatal},      XidRow{121, suspicious}, XidRow{136, fatal},
    XidRow{137, suspicious}, XidRow{140, fatal},      XidRow{143, fatal},
    XidRow{144, fatal},      XidRow{145, fatal},      XidRow{146, fatal},
    XidRow{147, fatal},      XidRow{148, fatal},      XidRow{149, fatal},
    XidRow{150, fatal},      XidRow{154, suspicious}, XidRow{155, fatal},
    XidRow{156, fatal},      XidRow{157, fatal},      XidRow{158, fatal},
    XidRow{167, fatal},      XidRow{168, fatal},      XidRow{169, fatal},
    XidRow{171, fatal},      XidRow{172, fatal},
};

const XidRow* find_xid(uint64_t xid) {
  const auto* found =
      std::find_if(kXids.begin(), kXids.end(), [&](const XidRow& r) { return r.xid == xid; });
  return found == kXids.end() ? nullptr : found;
}

bool is_address(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isxdigit(c) != 0 || c == ':';
  });
}

}  // namespace

XidKind classify_xid(uint64_t xid) {
  const XidRow* row = find_xid(xid);
  return row == nullptr ? unknown : row->kind;
}

Said xid_meaning(uint64_t xid) {
  const std::string id = "xid." + std::to_string(xid);
  return find_xid(xid) == nullptr ? Said() : said(id);
}

std::vector<LoggedXid> parse_xids(std::string_view kernel_log) {
  constexpr std::string_view kStart = "NVRM: Xid (PCI:";
  std::vector<LoggedXid> out;
  for (size_t at = kernel_log.find(kStart); at != std::string_view::npos;
       at = kernel_log.find(kStart, at + 1)) {
    std::string_view rest = kernel_log.substr(at + kStart.size());
    const size_t close = rest.find("): ");
    if (close == std::string_view::npos || !is_address(rest.substr(0, close))) continue;
    std::string address(rest.substr(0, close));
    rest.remove_prefix(close + 3);
    const auto xid = parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (!xid) continue;
    std::transform(address.begin(), address.end(), address.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.push_back({address + ".0", static_cast<uint64_t>(*xid)});
  }
  return out;
}

}  // namespace cb
