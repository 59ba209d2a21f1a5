#include "campaign/fault_search.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace cb {
namespace {

// The value of --inject-fault by which a case plants one fault in each point.
constexpr const char* kInEveryPoint = "-1";

bool is_in_every_point(const Step& step) {
  const auto given = step.params.find("inject-fault");
  return given != step.params.end() && given->second == std::vector<std::string>{kInEveryPoint};
}

// What one point says of the fault; empty: nothing.
struct Point {
  std::string found_by = {};
  bool is_missed = false;
  Said unmeasured = {};
};

Point look_at(const Record& record, const FaultPlan& plan) {
  if (const auto* e = std::get_if<Errored>(&record.outcome))
    return {.unmeasured = said("said.of", e->where, e->what)};
  Point out;
  for (const Check& check : record.checks) {
    const bool looks = std::ranges::find(plan.checks, check.name) != plan.checks.end();
    if (looks && !check.passed) return {.found_by = check.name};
    if (looks) out.is_missed = true;
    if (!looks && !check.passed) out.unmeasured = said("proof.other_failed", check.name);
  }
  if (!out.unmeasured.empty()) out.is_missed = false;
  return out;
}

Said first_unmeasured(const std::vector<Point>& points) {
  const auto found =
      std::ranges::find_if(points, [](const Point& p) { return !p.unmeasured.empty(); });
  return found == points.end() ? Said() : found->unmeasured;
}

Said first_skipped(const Document& document) {
  for (const Record& record : document.records) {
    if (const auto* s = std::get_if<Skipped>(&record.outcome)) return s->reason;
  }
  return {};
}

void not_shown(const Said& why, bool blind, Proof& proof) {
  proof.state = ProofState::not_shown;
  proof.check.clear();
  proof.blind = blind;
  proof.reason = why;
}

}  // namespace

void search_fault(const Document& document, const Step& step, const FaultPlan& plan, Proof& proof) {
  std::vector<Point> points;
  for (const Record& record : document.records) points.push_back(look_at(record, plan));
  const bool everywhere = is_in_every_point(step);
  const Said unmeasured = first_unmeasured(points);
  const auto found =
      std::ranges::find_if(points, [](const Point& p) { return !p.found_by.empty(); });

  if (everywhere && std::ranges::any_of(points, &Point::is_missed)) {
    not_shown(said("proof.point_missed"), true, proof);
  } else if (found != points.end() && (!everywhere || unmeasured.empty())) {
    proof.state = ProofState::shown;
    proof.check = found->found_by;
  } else if (!unmeasured.empty()) {
    not_shown(unmeasured, false, proof);
  } else if (const Said skipped = first_skipped(document); !skipped.empty()) {
    not_shown(skipped, false, proof);
  } else if (points.empty()) {
    not_shown(said("proof.no_record"), false, proof);
  } else {
    not_shown(said("proof.no_check_failed"), true, proof);
  }
}

}  // namespace cb
