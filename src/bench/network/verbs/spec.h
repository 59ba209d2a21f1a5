#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cb::verbs {

enum class Verb { write, read, send, fetch_add, compare_swap };
enum class Service { rc, uc, ud };

bool is_atomic(Verb verb);
// Read and atomics: the initiator sees a whole round trip. Figures of write and send are half of
// one.
bool is_round_trip(Verb verb);

// How to make transfers; the same on both ends. docs/methods/verbs.md explains each option.
struct Spec {
  Verb verb = Verb::write;
  Service service = Service::rc;
  uint64_t bytes = 65536;
  bool two_way = false;
  bool latency = false;
  int qps = 1;
  int depth = 128;                       // send requests in flight per queue pair
  int post_list = 1;                     // requests per post
  int moderation = 100;                  // requests per completion
  std::optional<int> inline_bytes = {};  // absent: what the device takes, for latency only
  int mtu = 0;                           // 0: the smaller of both ports' active MTUs
  int service_level = 0;
  int traffic_class = 0;
  int outstanding_reads = 0;            // 0: the most that both devices allow
  std::optional<int> ack_timeout = {};  // exponent: 4.096 µs × 2^x; absent: depends on the device
  bool gpu_memory = false;
  std::optional<int> gpu = {};  // CUDA's number; absent with gpu_memory: nearest to the NIC
  bool relaxed_ordering = false;
  bool events = false;
  std::optional<int> gid_index = {};
  uint64_t iterations = 0;  // messages per repetition and queue pair; 0: by time
  double seconds = 1;       // duration of all repetitions together
  int repetitions = 1;      // repetitions of bandwidth
  bool verify = true;
  bool corrupt = false;  // test hook: this end spoils a byte that it received
};

// True if data arrives in the memory of that end of a pair and is compared: the peer wrote or sent
// it, or this end read it.
bool is_target(const Spec& spec, bool sends);

}  // namespace cb::verbs
