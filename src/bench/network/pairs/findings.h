#pragma once

#include <vector>

#include "bench/network/pairs/survey.h"
#include "core/result.h"
#include "model/locate.h"

// From readings of pairs to what the record of `locate` says.
namespace cb {

// Names of units and of their rails, for entities and messages.
struct FleetNames {
  std::vector<Unit> units;
  std::vector<std::string> rails = {};   // empty where there is one rail without a name
  std::string rail_kind = "nic";         // or "gpu"
  std::vector<std::string> leaves = {};  // by number; empty where leaves are not known
};

// What the locator takes: every reading that has a value, latencies as their inverse, so that more
// is better.
std::vector<PairSample> to_samples(const std::vector<PairReading>& readings, PairMeasure measure);

// Pairs of which some reading failed although both ends answer others: to be measured again.
std::vector<HostPair> failed_pairs(const std::vector<PairReading>& readings);

// One metric per directed pair and rail with the values of all its readings.
void add_pair_metrics(Record& record, const FleetNames& names,
                      const std::vector<PairReading>& readings, PairMeasure measure);

// One failed check no_suspect per suspect, behind those that the record has already, the worst
// first: units of which every pair failed, pairs
// that failed more often than not although both ends answer others, then the slow ones. One passed
// check if there is none of them. Its detail begins with kind and name: "host node03: sends 48 % of
// …".
void add_findings(Record& record, const FleetNames& names, const std::vector<PairReading>& readings,
                  const Located& located);

}  // namespace cb
