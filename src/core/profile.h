#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/catalogue.h"
#include "core/params.h"

// The profile, "clusterbench.profile/1": what to run and what to require of one kind of cluster.
// docs/guide/profile.md.
namespace cb {

// A text that a customer reads, in both languages.
struct LocalText {
  std::string en;
  std::string zh;
};

// Least number of hosts ("hosts"), or greatest ("hosts_at_most"), or least number of a kind of part
// on every host (Part::kind, as "gpu"). Unmet: the step or criterion is not applicable.
using Requirements = std::map<std::string, int>;

enum class Scope {
  host,    // a job of its own on every host: a lost host costs only itself
  cluster  // one job across all hosts
};

struct Step {
  std::string id;
  std::string case_name;
  GivenParams params = {};
  Scope scope = Scope::host;
  int ranks_per_host = 1;  // 0: as many as the host has slots
  std::map<std::string, std::string> env = {};
  double deadline_seconds = 600;
  Requirements needs = {};
  // No criterion judges its figures, and `why` says what it is for. Wrong data in it fails all the
  // same.
  bool informative = false;
  LocalText why = {};
};

enum class Severity { fail, warn };

// Where a threshold comes from.
struct Source {
  std::string kind;  // standard, vendor, measured, contract, practice
  LocalText ref;
  std::string date;  // YYYY, YYYY-MM or YYYY-MM-DD
};

// A metric of the step's records compared with limits (in the metric's unit); the worst entity
// decides.
struct MetricRule {
  std::string metric;
  GivenParams at = {};               // selects records by their params
  std::string statistic = "median";  // of the samples: min p05 median mean p95 p99 max
  std::optional<double> min = {};
  std::optional<double> max = {};
  std::optional<double> min_of_ceiling = {};  // share of the metric's ceiling
  // Shares of the median over all entities of the kind at the same point, three at least.
  std::optional<double> min_of_fleet = {};
  std::optional<double> max_of_fleet = {};
  // An earlier step of the same case: the limits are of how much the metric of the entity has grown
  // since. Empty: of the metric itself.
  std::string since = {};
  // Among the parts of one kind of each host at the same point, two at least: the greatest value
  // less the smallest in the metric's unit, and the greatest over the smallest.
  std::optional<double> max_spread_of_host = {};
  std::optional<double> max_ratio_of_host = {};

  // Of limits that were given with a unit ("100 GB/s"): key, unit. Empty: the metric's.
  std::map<std::string, std::string> units = {};

  bool compares_parts_of_host() const { return max_spread_of_host || max_ratio_of_host; }
};

// Every check of that name in the step's records has passed, and there is at least one.
struct CheckRule {
  std::string check;
  GivenParams at = {};
};

// The attributes are equal on all hosts: "kind.attribute", or "kind.count" for the number of parts.
struct UniformRule {
  std::vector<std::string> attributes;
};

// Every job of the step is done, every record measured, and no check failed that another criterion
// does not judge. No profile states it: it holds for every step.
struct StepRule {};

struct Criterion {
  std::string id;
  std::string step;
  std::string domain;  // host, compute, memory, interconnect, network, storage, stability
  LocalText title = {};
  std::variant<MetricRule, CheckRule, UniformRule, StepRule> rule = {};
  Severity severity = Severity::fail;
  LocalText why = {};
  Source source = {};
  Requirements needs = {};
};

struct ChecklistItem {
  std::string id;
  std::string domain;
  LocalText text;
};

struct Profile {
  std::string name;
  LocalText title;
  std::vector<Step> steps = {};
  std::vector<Criterion> criteria = {};
  std::vector<ChecklistItem> checklist = {};
  std::string resolved = {};  // the profile as JSON text with all bases merged in
  std::string sha256 = {};    // of `resolved`
};

// Text of the profile of that name, or nothing. Used for the profile asked for and for its bases.
using ProfileSource = std::function<std::optional<std::string>(const std::string& name)>;

// Loads `name` and its bases, merges (objects by key; steps, criteria and checklist by id, {"id":…,
// "remove": true} removes) and parses. Throws UsageError with every problem found: unknown keys
// with the nearest valid one, missing or wrong values, duplicate ids, base cycles. Names of cases
// and metrics are checked by validate_profile().
Profile load_profile(const std::string& name, const ProfileSource& source);

// As load_profile(), but problems inside the profile are added to `problems` and what could be read
// is returned, so that it can be validated as well and all problems be shown at once.
Profile read_profile(const std::string& name, const ProfileSource& source, Problems& problems);

// Parses a profile already resolved (as stored in a campaign). `source` names it in messages. Same
// errors.
Profile parse_resolved_profile(std::string_view text, const std::string& source);

// A step's id names files on every system that a campaign is copied to.
bool is_step_id(const std::string& id);
inline constexpr const char* kStepIdRule =
    "names files: letters, digits, '.', '_' and '-' only, none of '.' and '-' first, at most 100";

// Cases, params, metrics, checks, steps and units against the catalogue; physically impossible
// thresholds (a share of a ceiling above 1, an empty range) and steps that nothing judges are
// problems as well.
Problems validate_profile(const Profile& profile, const Catalogue& catalogue);

// The entry of the catalogue that a step runs (its "device" parameter selects among those of one
// name), or null.
const CaseInfo* case_of(const Step& step, const Catalogue& catalogue);

}  // namespace cb
