// Figures of several campaigns beside one another, without a verdict: an InfiniBand cluster and a
// RoCE one, two offers, two sites.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/measured.h"

namespace cb {

// What one campaign says: of its entities' medians.
struct SideFigure {
  double typical = 0;  // their median
  double worst = 0;
  std::string worst_entity;
  size_t entities = 0;
  std::optional<double> share_of_ceiling = {};  // of the worst entity
};

struct SideRow {
  std::string case_name;
  std::string point;  // "op write, size 1M": the parameters by which the case's records differ
  std::string metric;
  std::string entity_kind;
  std::string unit;
  Better better = Better::higher;
  std::vector<std::optional<SideFigure>> figures;  // one for each campaign; nothing: not measured
};

// A parameter of a case that has one value within each campaign and not the same in all; or its
// numbers of ranks and hosts, or a variable of its environment ("env NAME").
struct SideDifference {
  std::string case_name, param;
  std::vector<std::string> values;  // one for each campaign; empty: not given
};

struct SideBySide {
  std::vector<SideRow> rows;  // in the order of the first campaign that has them
  std::vector<SideDifference> differences;
};

// Records belong together if case, scope, metric, kind of entity and those parameters are equal by
// which the case's records differ within a campaign; where two steps of a campaign are equal in all
// that, also the step's name. `campaigns` has the groups of each one.
SideBySide side_by_side(const std::vector<std::vector<MetricGroup>>& campaigns);

}  // namespace cb
