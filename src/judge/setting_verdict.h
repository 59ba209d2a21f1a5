#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/env_sweep.h"
#include "judge/verdict.h"

// Decides whether a setting of the collective library does what it is bought for: how much faster
// it makes a point, and whether the library's own log proves that it was on and off. Pure.
// docs/methods/compare-settings.md.
namespace cb {

// A setting that is a variable of the library, and the metric of `nccl` that proves it.
struct SettingRule {
  std::string id;             // "sharp"
  std::string variable;       // NCCL_COLLNET_ENABLE
  std::string off, on;        // its values
  std::string proof;          // metric: 0 on every part where it is off
  bool on_every_part = true;  // where it is on: 1 on every part, or above 0 on some part
  std::optional<double> least_ratio = {};  // of the figure with it over that without; or not asked
};

// nvls, sharp, pxn, registered, gdr.
const std::vector<SettingRule>& known_settings();

// What the records of one side say of the setting.
enum class SettingProof {
  shown,    // as it was set
  refuted,  // the library did not do as it was set
  untold    // some job or record has no such metric
};
const char* proof_name(SettingProof proof);  // "shown", "refuted", "untold"

// One setting at one point. `off` and `on` are medians of the jobs' figures of the worst part.
struct SettingPoint {
  Params params;
  std::optional<double> off = {}, on = {};
  std::optional<double> ratio = {};           // how much better with it: geometric mean over blocks
  std::optional<double> low = {}, high = {};  // 95 % interval of the ratio, of two blocks or more
  std::optional<double> control = {};         // what the A/A control differs by, as a share
  size_t figures = 0;                         // jobs that gave one, of all the setting's jobs
  SettingProof proof_off = SettingProof::untold, proof_on = SettingProof::untold;
  State state = State::incomplete;
  Message why;
};

struct SettingVerdict {
  SettingRule rule;
  std::vector<SettingPoint> points;
  // fail if a point fails, else incomplete if one is or there is none; else pass.
  State state() const;
};

// Combination 0 of the runs is off, 1 is on. Points come in the order in which they first occur.
// A point passes if every job gave a figure, the log proves both sides, the whole interval of the
// ratio is at or above the one that is asked, and the control differs by less than the lead. Where
// the log says that the library did not take what was set, it fails if a ratio is asked. Whatever
// is not proved or not measured is incomplete.
SettingVerdict judge_setting(const SettingRule& rule, const std::vector<SweepRun>& runs,
                             const MetricDef& metric);

// fail, incomplete or pass of all settings; incomplete without any.
State overall(const std::vector<SettingVerdict>& verdicts);

}  // namespace cb
