#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cb {

// Reads `length` bytes (at most 128, none across byte 128) of the memory of the module of that
// interface by ethtool's netlink. Needs CAP_NET_ADMIN. Throws Error with the kernel's reason.
std::string read_module_bytes(const std::string& interface, int bank, int page, unsigned offset,
                              unsigned length);

// Running totals of forward error correction (`ethtool --show-fec -I`); absent: not offered.
struct FecCounts {
  std::optional<uint64_t> corrected_blocks = {}, uncorrectable_blocks = {}, corrected_bits = {};
};
// Throws Error with the kernel's reason. Needs no rights.
FecCounts read_fec_counts(const std::string& interface);

}  // namespace cb
