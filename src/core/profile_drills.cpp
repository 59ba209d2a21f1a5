#include "core/profile_drills.h"

namespace cb {
namespace {

constexpr std::string_view kDrillPrefix = "drill:";

}  // namespace

std::string drill_step(std::string_view drill) {
  return std::string(kDrillPrefix) + std::string(drill);
}

bool is_drill_step(std::string_view step) { return step.starts_with(kDrillPrefix); }

const std::vector<std::string>& known_drills() {
  static const std::vector<std::string> drills{"stop-rank",  "kill-rank", "slow-link",
                                               "cut-link",   "fill-disk", "fake-xid",
                                               "pull-optic", "power-feed"};
  return drills;
}

const CaseInfo& drill_info() {
  static const CaseInfo info{.name = "drill",
                             .metrics = {{"rate_before", "bytes_per_second", Better::higher},
                                         {"rate_during", "bytes_per_second", Better::higher},
                                         {"rate_after", "bytes_per_second", Better::higher},
                                         {"time_to_detection_seconds", "seconds", Better::lower},
                                         {"time_to_recovery_seconds", "seconds", Better::lower}},
                             .checks = {"detected", "named", "restored", "recovered", "survived"}};
  return info;
}

}  // namespace cb
