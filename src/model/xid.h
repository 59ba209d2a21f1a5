#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// What an Xid (the NVIDIA driver's error number) says about the GPU. Source: NVIDIA's Xid catalogue
// (docs.nvidia.com/deploy/xid-errors), and the lists in DCGM and by Azure of Xids that fail a node.
enum class XidKind {
  fatal,        // the GPU, its memory or a link failed: no later result counts
  suspicious,   // the GPU or the program may be at fault: a finding in a clean acceptance run
  application,  // the program is at fault
  unknown
};
XidKind classify_xid(uint64_t xid);

// Says what it means in a few words ("double-bit ECC error"); empty if the table lacks it.
Said xid_meaning(uint64_t xid);

struct LoggedXid {
  std::string pci_address;  // "0000:9b:00.0"
  uint64_t xid = 0;
};
// Returns the Xids in a kernel log, in order: "NVRM: Xid (PCI:0000:9b:00): 79, …".
std::vector<LoggedXid> parse_xids(std::string_view kernel_log);

}  // namespace cb
