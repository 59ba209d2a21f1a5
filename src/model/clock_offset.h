// Which host's clock is wrong, told from the clocks of all hosts. Pure; docs/methods/preflight.md.
#pragma once

#include <optional>
#include <span>

namespace cb {

// How far `own` is from the middle of `all`, in seconds: offsets of the hosts' clocks from any one
// clock, `own` among them. An even number of clocks has two in the middle, and the distance is that
// from the further one: where two halves disagree, nobody knows which half is right, and both are
// named. Nothing with fewer than two clocks: a clock is not compared with itself.
std::optional<double> clock_distance_seconds(double own, std::span<const double> all);

}  // namespace cb
