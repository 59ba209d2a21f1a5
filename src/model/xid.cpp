#include "model/xid.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/units.h"

namespace cb {
namespace {

struct Row {
  uint64_t xid;
  XidKind kind;
  std::string_view meaning;
};

using enum XidKind;
constexpr std::array kRows{
    Row{13, application, "graphics engine exception"},
    Row{31, suspicious, "memory page fault"},
    Row{32, suspicious, "invalid or corrupted push buffer"},
    Row{38, suspicious, "driver firmware error"},
    Row{43, application, "GPU stopped processing of one program"},
    Row{45, application, "preemptive cleanup of a program"},
    Row{46, fatal, "GPU stopped processing"},
    Row{48, fatal, "double-bit ECC error"},
    Row{54, fatal, "auxiliary power is not connected"},
    Row{62, fatal, "internal micro-controller halt"},
    Row{63, suspicious, "row remapping or page retirement: reset and repeat"},
    Row{64, fatal, "row remapping or page retirement failed"},
    Row{69, application, "graphics engine class error"},
    Row{74, fatal, "NVLink error"},
    Row{79, fatal, "GPU has fallen off the bus"},
    Row{92, fatal, "high rate of single-bit ECC errors"},
    Row{94, fatal, "contained ECC error"},
    Row{95, fatal, "uncontained ECC error"},
    Row{109, fatal, "context switch timeout"},
    Row{110, fatal, "security fault"},
    Row{119, fatal, "GSP does not answer"},
    Row{120, fatal, "GSP error"},
    Row{121, suspicious, "C2C link error, corrected"},
    Row{136, fatal, "link training failed"},
    Row{137, suspicious, "NVLink privilege error"},
    Row{140, fatal, "unrecovered ECC error"},
    Row{143, fatal, "GPU initialisation failed"},
    Row{144, fatal, "NVLink error (SAW)"},
    Row{145, fatal, "NVLink error (RLW)"},
    Row{146, fatal, "NVLink error (TLW)"},
    Row{147, fatal, "NVLink error (TREX)"},
    Row{148, fatal, "NVLink error (NVLPW)"},
    Row{149, fatal, "NVLink error (NETIR)"},
    Row{150, fatal, "NVLink error (MSE)"},
    Row{154, suspicious, "recovery action changed"},
    Row{155, fatal, "NVLink software error"},
    Row{156, fatal, "resource retirement event"},
    Row{157, fatal, "resource retirement failed"},
    Row{158, fatal, "fatal timeout"},
    Row{167, fatal, "PCIe fatal timeout"},
    Row{168, fatal, "reduced memory capacity"},
    Row{169, fatal, "SEC2 halt"},
    Row{171, fatal, "uncorrectable DRAM error"},
    Row{172, fatal, "uncorrectable SRAM error"},
};

const Row* find(uint64_t xid) {
  const auto* found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.xid == xid; });
  return found == kRows.end() ? nullptr : found;
}

bool is_address(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isxdigit(c) != 0 || c == ':';
  });
}

}  // namespace

XidKind classify_xid(uint64_t xid) {
  const Row* row = find(xid);
  return row == nullptr ? unknown : row->kind;
}

std::string_view xid_meaning(uint64_t xid) {
  const Row* row = find(xid);
  return row == nullptr ? "" : row->meaning;
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
