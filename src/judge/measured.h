// The campaign's numbers, gathered by what they are about: one metric at one point of parameters,
// over all entities.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// Two keys are equal exactly if the parameters are equal.
std::string params_key(const Params& params);

struct MeasuredValue {
  const Record* record = nullptr;
  const Metric* metric = nullptr;
  const Entity* entity = nullptr;
  Summary summary;
  const RunInfo* run = nullptr;  // of the document that has it
};

struct MetricGroup {
  const Step* step = nullptr;
  const CaseInfo* info = nullptr;  // null if this version does not know the case
  std::string domain;
  std::string case_name;
  Params params;
  std::string metric;
  std::string unit;
  Better better = Better::higher;
  std::string entity_kind;
  std::vector<MeasuredValue> values;  // at least one; in the order of hosts
  size_t worst = 0;                   // index into values; the entity with the worst median
  size_t best = 0;
  double typical = 0;  // median of the entities' medians
};

// Groups come in the profile's order of steps, then as recorded. They point into the campaign and
// the catalogue.
std::vector<MetricGroup> gather_metrics(const Campaign& campaign, const Catalogue& catalogue);
// The same, and behind them the figures of drills: for a reader, and not for what compares the
// machine with others, since each tells of one fault.
std::vector<MetricGroup> gather_metrics_and_drills(const Campaign& campaign,
                                                   const Catalogue& catalogue);

// Groups that differ in one numeric parameter only, in ascending order of it.
struct Sweep {
  std::string key;
  bool is_bytes = false;
  std::vector<const MetricGroup*> points;
};

// Splits the groups of one step and metric into sweeps of at least three points and single points.
struct SweepsAndPoints {
  std::vector<Sweep> sweeps;
  std::vector<const MetricGroup*> points;
};
SweepsAndPoints find_sweeps(const std::vector<const MetricGroup*>& groups);

// Returns the domain in which a step is shown: that of its case; if this version does not know the
// case, that of the step's first criterion, else "host", of a drill "stability".
std::string domain_of(const Campaign& campaign, const Step& step, const Catalogue& catalogue);

const ParamDef* find_param(const CaseInfo* info, std::string_view name);

// "size 64M": formats the values by the parameter's type.
std::string param_text(const CaseInfo* info, const std::string& name,
                       const std::vector<ParamValue>& values);

}  // namespace cb
