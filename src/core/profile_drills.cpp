#include "core/profile_drills.h"

namespace cb {
namespace {

constexpr std::string_view kDrillPrefix = "drill:";

}  // namespace

std::string drill_step(std::string_view drill) {
  return std::string(kDrillPrefix) + std::string(drill);
}

bool is_drill_step(std::string_view step) { return step.starts_with(kDrillPrefix); }

std::string_view drill_of_step(std::string_view step) {
  return is_drill_step(step) ? step.substr(kDrillPrefix.size()) : std::string_view();
}

const std::vector<std::string>& known_drills() {
  static const std::vector<std::string> drills{"stop-rank",  "kill-rank", "slow-link",
                                               "cut-link",   "fill-disk", "fake-xid",
                                               "pull-optic", "power-feed"};
  return drills;
}

bool must_survive(std::string_view drill) { return drill == "power-feed"; }

CaseInfo drill_info(std::string_view drill) {
  CaseInfo out{.name = kDrillCase,
               .metrics = {{"rate_before", "bytes_per_second", Better::higher},
                           {"rate_after", "bytes_per_second", Better::higher},
                           {"time_to_recovery_seconds", "seconds", Better::lower}},
               .checks = {"restored", "recovered"}};
  if (must_survive(drill)) {
    out.checks.emplace_back("survived");
  } else {
    out.checks.insert(out.checks.end(), {"detected", "named"});
    out.metrics.push_back({"time_to_detection_seconds", "seconds", Better::lower});
  }
  // All other faults end the measurement, which then has no rate.
  if (must_survive(drill) || drill == "slow-link")
    out.metrics.push_back({"rate_during", "bytes_per_second", Better::higher});
  return out;
}

}  // namespace cb
