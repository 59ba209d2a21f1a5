#pragma once

#include <vector>

#include "bench/network/pairs/survey.h"
#include "core/result.h"
#include "model/locate.h"

// Turns readings of pairs into the record of `locate`.
namespace cb {

// Names of units and of their rails, for entities and messages.
struct FleetNames {
  std::vector<Unit> units;
  std::vector<std::string> rails = {};   // empty if there is one rail without a name
  std::string rail_kind = "nic";         // or "gpu"
  std::vector<std::string> leaves = {};  // by number; empty if leaves are unknown
};

// The samples for the locator: every reading that has a value. Latencies are inverted, so that more
// is better.
std::vector<PairSample> to_samples(const std::vector<PairReading>& readings, PairMeasure measure);

// Pairs with a failed reading whose ends both answer others: they are to be measured again.
std::vector<HostPair> failed_pairs(const std::vector<PairReading>& readings);

// Adds one metric per directed pair and rail, with the values of all its readings.
void add_pair_metrics(Record& record, const FleetNames& names,
                      const std::vector<PairReading>& readings, PairMeasure measure);

// Adds one failed check no_suspect per suspect, after the checks that the record has already. The
// worst come first: units whose pairs all failed; pairs that failed in more than half of their
// readings although both ends answer others; then slow ones. Adds one passed check if there is no
// suspect. The detail of a check begins with kind and name: "host node03: sends 48 % of …".
void add_findings(Record& record, const FleetNames& names, const std::vector<PairReading>& readings,
                  const Located& located);

}  // namespace cb
