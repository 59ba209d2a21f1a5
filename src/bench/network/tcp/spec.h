#pragma once

#include <cstdint>
#include <string>

namespace cb::tcp {

enum class ZeroCopy { automatic, on, off };

// How to make transfers; the same on both ends. docs/methods/tcp.md explains each option.
struct Spec {
  bool latency = false;
  bool two_way = false;
  uint64_t bytes = 131072;  // bytes of a message: one call of send()
  int streams = 1;          // connections per transfer
  double seconds = 5;       // duration of all repetitions together, without warm-up
  int repetitions = 10;     // equal parts of that time; each gives one sample of bandwidth
  bool own_rate = false;    // two-way: the figure of an end is what arrives at it, not the sum
  bool verify = false;
  bool corrupt = false;  // test hook: this end spoils a byte that it received
  bool spin = false;     // latency: poll instead of sleeping
  ZeroCopy zero_copy = ZeroCopy::automatic;
  double loss = 0;            // bandwidth: share of what arrives that the receiving end throws away
  uint64_t buffer_bytes = 0;  // buffer size of both sockets; 0: the kernel tunes it
};

// Messages shorter than this are copied: pinning their pages costs more than copying (kernel's
// Documentation/networking/msg_zerocopy.rst: effective above around 10 KB).
constexpr uint64_t kZeroCopyFromBytes = 16384;

// Shares of the measuring time. The warm-up lets the congestion window grow. With --zero-copy auto,
// two trials follow, one for each way of sending.
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
