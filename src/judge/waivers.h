#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cb {

// A failing criterion that the customer accepts for a while. Waivers have a file of their own
// ("clusterbench.waivers/1").
struct Waiver {
  std::string id;
  std::string criterion;  // id of the criterion
  std::string scope;      // glob over entity names, "node012:*"
  std::string reason;
  std::string approver;
  std::string ticket;
  double limit = 0;     // a value beyond this still fails; in the metric's unit
  std::string expires;  // YYYY-MM-DD, the last day on which it is valid
  std::string unit;     // the limit's unit, if the file gives one
};

// Throws UsageError with every problem: unknown keys, missing approver, ticket, limit or expiry.
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& source);

}  // namespace cb
