#pragma once

#include <cstdint>
#include <string>

namespace cb::tcp {

enum class ZeroCopy { automatic, on, off };

// How transfers are to be made, the same on both ends. docs/methods/tcp.md says what each means.
struct Spec {
  bool latency = false;
  bool two_way = false;
  uint64_t bytes = 131072;  // a message: one call of send()
  int streams = 1;          // connections per transfer
  double seconds = 5;       // of all repetitions together, warm-up not counted
  int repetitions = 10;     // equal parts of that time, one sample of bandwidth each
  bool own_rate = false;    // two-way: an end's figure is of what arrives at it, not of both
  bool verify = false;
  bool corrupt = false;  // test hook: this end spoils a byte of what it received
  bool spin = false;     // latency: ask again and again instead of sleeping
  ZeroCopy zero_copy = ZeroCopy::automatic;
  uint64_t buffer_bytes = 0;  // of both sockets; 0: the kernel tunes them
};

// Below this size of a message pinning its pages costs more than copying it (kernel's
// Documentation/networking/msg_zerocopy.rst: effective above around 10 KB).
constexpr uint64_t kZeroCopyFromBytes = 16384;

// The warm-up lets the congestion window grow and, with --zero-copy auto, tries both ways of
// sending: shares of the measuring time.
constexpr double kWarmShare = 0.1;
constexpr double kTrialShare = 0.1;

inline bool tries_zero_copy(const Spec& spec) {
  return spec.zero_copy == ZeroCopy::automatic && !spec.verify && !spec.latency &&
         spec.bytes >= kZeroCopyFromBytes;
}
inline double warm_up_seconds(const Spec& spec) {
  return spec.seconds * (kWarmShare + (tries_zero_copy(spec) ? 2 * kTrialShare : 0));
}

}  // namespace cb::tcp
