#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.h"
#include "model/kv_transfer.h"

namespace cb::kv {

// What the receiving end of a rank's pair spoils of what has come.
enum class PageFaultKind { bitflip, swap, drop, twice };
struct PageFault {
  PageFaultKind kind = PageFaultKind::bitflip;
  int rank = 0;
  int64_t layer = 0;
};
// Reads "swap@2:5"; a number alone is a flipped bit at that rank's pair.
std::optional<PageFault> parse_page_fault(std::string_view text);

// One record.
struct KvPoint {
  CacheShape shape;
  std::string model;  // for messages
  bool scatter = true;
  bool join = false;
  bool pack = false;
  bool one_at_a_time = false;
  int window = 32;  // messages in flight
  uint64_t seed = 1;
  SamplePlan plan;
  std::optional<PageFault> fault;
  uint64_t most_of_message = kMostOfAMessage;  // bytes, the same on all ranks
  double transfer_deadline = 0;  // seconds, the same on all ranks; 0: the wire has none of its own
};

std::vector<ParamDef> kv_params();
// What is wrong whatever the number of ranks.
void check_kv(const Params& params, Problems& problems);
// Every prompt with every schedule. Throws UsageError, on every rank alike.
std::vector<KvPoint> kv_points(const Params& params, const std::vector<int>& host_of_rank);
// What the record of that point says of its parameters.
Params params_of_point(const Params& params, const KvPoint& point);

}  // namespace cb::kv
