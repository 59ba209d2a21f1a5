#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cb {

// A failing criterion that the customer accepts for a while, in a file of its own
// ("clusterbench.waivers/1").
struct Waiver {
  std::string id;
  std::string criterion;  // id of the criterion
  std::string scope;      // glob over entity names, "node012:*"
  std::string reason;
  std::string approver;
  std::string ticket;
  double limit = 0;     // still fails beyond this, in the metric's unit
  std::string expires;  // YYYY-MM-DD, the last day it holds
  std::string unit;     // of the limit, where the file gives one with it
};

// Throws UsageError with every problem: unknown keys, missing approver, ticket, limit or expiry.
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& source);

}  // namespace cb
