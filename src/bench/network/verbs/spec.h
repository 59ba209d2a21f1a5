#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cb::verbs {

enum class Verb { write, read, send, fetch_add, compare_swap };
enum class Service { rc, uc, ud };

bool is_atomic(Verb verb);
// Read and atomics: the initiator sees the whole round trip; write and send are halved.
bool is_round_trip(Verb verb);

// How transfers are to be made, the same on both ends. docs/methods/verbs.md says what each
// means.
struct Spec {
  Verb verb = Verb::write;
  Service service = Service::rc;
  uint64_t bytes = 65536;
  bool two_way = false;
  bool latency = false;
  int qps = 1;
  int depth = 128;                       // send requests in flight per queue pair
  int post_list = 1;                     // requests per post
  int moderation = 100;                  // one completion for so many requests
  std::optional<int> inline_bytes = {};  // absent: as much as the device takes, for latency only
  int mtu = 0;                           // 0: the smaller of both ports' active ones
  int service_level = 0;
  int traffic_class = 0;
  int outstanding_reads = 0;            // 0: as many as both devices allow
  std::optional<int> ack_timeout = {};  // exponent, 4.096 µs × 2^x; absent: by the device
  bool gpu_memory = false;
  std::optional<int> gpu =
      {};  // CUDA's number; of gpu_memory: the one nearest the NIC unless given
  bool relaxed_ordering = false;
  bool events = false;
  std::optional<int> gid_index = {};
  uint64_t iterations = 0;  // per repetition and queue pair; 0: by time
  double seconds = 1;       // of all repetitions together
  int repetitions = 1;      // of bandwidth
  bool verify = true;
  bool corrupt = false;  // test hook: this end spoils a byte of what it received
};

}  // namespace cb::verbs
