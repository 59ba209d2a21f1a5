#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cb::verbs {

// What an end tells the other one so that they can connect.
struct Address {
  uint16_t lid = 0;
  bool global = false;  // true: use the GID (RoCE, or InfiniBand across subnets)
  std::array<uint8_t, 16> gid = {};
  uint32_t mtu = 0;  // bytes
  uint32_t sequence = 0;
  uint32_t key = 0;
  uint64_t out = 0;  // where the peer may read
  uint64_t in = 0;   // where the peer may write
  int reads = 0;     // reads and atomics that this end accepts at once
  uint32_t control = 0;
  std::vector<uint32_t> pairs = {};
  bool ethernet = false;
  std::string name = {};  // "n1 mlx5_0"

  std::string text() const;  // one line
  // Throws Error if malformed.
  static Address parse(const std::string& text);
};

}  // namespace cb::verbs
