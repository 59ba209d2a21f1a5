#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.h"
#include "model/moe.h"

namespace cb::moe {

// What a rank spoils of what it has received.
enum class FaultKind { element, token, expert, sum };
struct MoeFault {
  FaultKind kind = FaultKind::element;
  int rank = 0;
};
// Reads "token@2"; a number alone is an element of that rank.
std::optional<MoeFault> parse_moe_fault(std::string_view text);

// One record.
struct MoePoint {
  Router router;
  TokenFormat format;
  std::string routing;  // as it was asked for
  SamplePlan plan;
  int checks = 2;  // calls before and after the timing of which all is verified
  double idle_seconds = 0;
  std::optional<MoeFault> fault;
};

std::vector<ParamDef> moe_params();
// What is wrong whatever the number of ranks.
void check_moe(const Params& params, Problems& problems);
// Every number of tokens with every routing. Throws UsageError, on every rank alike.
std::vector<MoePoint> moe_points(const Params& params, int ranks);

}  // namespace cb::moe
