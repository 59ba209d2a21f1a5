#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// What an Xid (the NVIDIA driver's error number) says about the GPU. Source: NVIDIA's Xid catalogue
// (docs.nvidia.com/deploy/xid-errors), with DCGM's and Azure's lists of those that fail a node.
enum class XidKind {
  fatal,        // the GPU, its memory or a link: no result after it counts
  suspicious,   // may be the GPU's or the program's: in a clean acceptance run a finding
  application,  // a program's own fault
  unknown
};
XidKind classify_xid(uint64_t xid);

// What it means, in a few words ("double-bit ECC error"); empty if not in the table.
Said xid_meaning(uint64_t xid);

struct LoggedXid {
  std::string pci_address;  // "0000:9b:00.0"
  uint64_t xid = 0;
};
// The Xids in a kernel log, in order: "NVRM: Xid (PCI:0000:9b:00): 79, …".
std::vector<LoggedXid> parse_xids(std::string_view kernel_log);

}  // namespace cb
