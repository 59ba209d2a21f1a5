#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "bench/network/pair_endpoint.h"
#include "core/params.h"
#include "model/schedule.h"

namespace cb::net {

// The parameters that all network cases share: --schedule, --rounds, --seed, --target, --leaf-map,
// --round-deadline.
std::vector<ParamDef> schedule_params();

// --direction of a bandwidth.
ParamDef direction_param();

// --size, --min-size, --max-size and --step-factor of messages, with what is measured unless given.
struct SweepTexts {
  const char* bandwidth;  // size
  const char* latency;    // size
  int64_t max;            // bytes
  const char* step_factor;
};
std::vector<ParamDef> sweep_params(const SweepTexts& texts);

// A leaf map that no schedule would look at is a mistake.
void check_schedule(const Params& params, Problems& problems);

// The params once for each value of --schedule, in the order given: what the records of that
// schedule hold. --leaf-map stays with bisection, which alone looks at it.
std::vector<Params> by_schedule(const Params& params);

// What is paired: the hosts; if there is but one host, its ranks. Rail r of a host is served by its
// rank r modulo their number.
struct Nodes {
  std::vector<std::vector<int>> ranks;  // of each node
  std::vector<std::string> names;
  std::vector<int> node_of_rank;
  std::vector<int> leaf = {};  // of each node, by number; empty: not known

  int count() const { return static_cast<int>(ranks.size()); }
  int rank_of(int node, int rail) const;
};
Nodes nodes_of(const RankMap& place);

// One transfer between NICs.
struct RailPair {
  int from = 0, to = 0;  // nodes
  int from_rail = 0, to_rail = 0;
};
using RailRound = std::vector<RailPair>;

// The rounds of the schedule named by the params over `rails` NICs of each node; with
// `one_rail_at_a_time` a round's rails become rounds of their own. Throws UsageError for a schedule
// that these nodes cannot have. The nodes' leaves, if known, are what bisection splits by. Of
// several values of --schedule only the first is looked at: see by_schedule().
std::vector<RailRound> plan_rounds(const Params& params, const Nodes& nodes, int rails,
                                   bool one_rail_at_a_time);

// The flow that --schedule victim watches: nodes that send and receive. Nothing for other
// schedules.
std::optional<HostPair> victim_flow(const Params& params, const Nodes& nodes);

// Throws the UsageError of any value of --schedule that these nodes cannot have, so that a wrong
// one is told before the others have been measured.
void require_schedules(const Params& params, const Nodes& nodes, int rails);

}  // namespace cb::net
