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
#include "core/profile_expect.h"

// The profile, "clusterbench.profile/1": what to run on one kind of cluster, and what to require of
// it. docs/guide/profile.md.
namespace cb {

// A text that a customer reads, in both languages.
struct LocalText {
  std::string en;
  std::string zh;
};

// Least number of hosts ("hosts"), greatest number of hosts ("hosts_at_most"), or least number of
// parts of a kind on every host (Part::kind, such as "gpu"). If they are unmet, the step or
// criterion is not applicable.
using Requirements = std::map<std::string, int>;

enum class Scope {
  host,     // one job for each host: a lost host costs only its own job
  cluster,  // one job across all hosts
  pairs,    // one job for each pair of hosts, in the rounds of a tournament
  groups,   // one job for each group of `group_size` hosts that are neighbours in the list of hosts
  rails     // one job across all hosts for each of `rails` rails, one after the other
};
const char* scope_name(Scope scope);  // "host", "cluster", …
std::vector<std::string> scope_names();

struct Step {
  std::string id;
  std::string case_name;
  GivenParams params = {};
  Scope scope = Scope::host;
  int group_size = 0;      // of scope groups, from 2
  int rails = 0;           // of scope rails: number of rails that every host has, from 1
  int ranks_per_host = 1;  // 0: the number of slots of the host
  std::map<std::string, std::string> env = {};
  double deadline_seconds = 600;
  // A job that has said nothing until then has not started and is stopped. 0: only the deadline.
  double start_deadline_seconds = 0;
  double stall_seconds = 0;  // without progress for this time it ends itself; 0: the case's own
  // How often a job is started again, in one run, that failed or ran past its deadline.
  int retries = 0;
  bool retry_failed = true, retry_deadline = true;
  Requirements needs = {};
  // No criterion judges its figures, and `why` says what the step is for. Its wrong data still
  // fails.
  bool informative = false;
  LocalText why = {};
};

enum class Severity { fail, warn };

// The origin of a threshold.
struct Source {
  std::string kind;  // standard, vendor, measured, contract, practice
  LocalText ref;
  std::string date;  // YYYY, YYYY-MM or YYYY-MM-DD
};

// Compares a metric of the step's records with limits in the metric's unit. The worst entity
// decides.
struct MetricRule {
  std::string metric;
  GivenParams at = {};               // selects records by their parameters
  std::string statistic = "median";  // statistic of the samples: min p05 median mean p95 p99 max
  std::optional<double> min = {};
  std::optional<double> max = {};
  std::optional<double> min_of_ceiling = {};  // share of the metric's ceiling
  // Shares of the median over all entities of the kind at the same point, which must be at least
  // three.
  std::optional<double> min_of_fleet = {};
  std::optional<double> max_of_fleet = {};
  // An earlier step of the same case: the limits apply to the growth of each entity's metric since
  // then. Empty: they apply to the metric itself.
  std::string since = {};
  // Compare the parts of one kind of each host at the same point, which must be at least two: the
  // greatest value minus the smallest in the metric's unit, and the greatest over the smallest.
  std::optional<double> max_spread_of_host = {};
  std::optional<double> max_ratio_of_host = {};

  // Key → unit of limits that were given with a unit ("100 GB/s"); empty: the metric's unit.
  std::map<std::string, std::string> units = {};

  bool compares_parts_of_host() const { return max_spread_of_host || max_ratio_of_host; }
};

// Every check with that name in the step's records has passed, and there is at least one.
struct CheckRule {
  std::string check;
  GivenParams at = {};
};

// The attributes are equal on all hosts: "kind.attribute", or "kind.count" for the number of parts.
struct UniformRule {
  std::vector<std::string> attributes;
};

// Every job of the step is done, every record is measured, and no check failed that no other
// criterion judges. No profile states this rule: it applies to every step.
struct StepRule {};

// Judges a soak as a whole: docs/methods/soak.md. A criterion of this kind without a step is of the
// soak's first step.
struct SoakRule {
  enum class Kind {
    interruptions,  // number of cycles' jobs that ended badly, at most `limit`
    mtbi,           // mean time between interruptions, at least `limit` seconds
    decay,          // share of a metric that was lost over the soak, at most `limit`
    events          // number of events of the kinds or classes in `of`, at most `limit`
  };
  Kind kind = Kind::interruptions;
  double limit = 0;
  double confidence = 0.95;  // of what mtbi and decay claim
  // mtbi: the time of all hosts together counts (a host's time between its interruptions), not the
  // time of the cluster.
  bool per_host = false;
  std::string metric = {};  // decay
  GivenParams at = {};      // decay: selects records by their parameters
  std::vector<std::string> of = {};
};
// Hosts that were taken out while the campaign ran are those that the contract lets go. No profile
// states this rule: it applies to Profile::delivery.
struct DeliveryRule {};

struct Criterion {
  std::string id;
  std::string step;
  std::string domain;  // host, compute, memory, interconnect, network, storage, stability
  LocalText title = {};
  std::variant<MetricRule, CheckRule, UniformRule, StepRule, SoakRule, DeliveryRule, ExpectRule>
      rule = {};
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

// Steps that are run again and again. Every cycle of a step is a job of its own, so that a crash
// costs one cycle.
struct Soak {
  std::vector<std::string> steps = {};  // ids, neighbours in the profile and in its order
  double for_seconds = 0;
  double every_seconds = 0;  // a cycle begins at least this long after the one before it

  size_t cycles() const;  // for_seconds over every_seconds, rounded up
  bool has(const std::string& step) const;
};
inline constexpr size_t kMaxCycles = 10000;
// What the contract says about hosts that are taken out while the campaign runs.
struct Delivery {
  int hosts = 0;             // number of hosts that are delivered
  int replaced_at_most = 0;  // number of hosts that spares may replace
  LocalText why = {};
  Source source = {};
};

struct Profile {
  std::string name;
  LocalText title;
  std::vector<Step> steps = {};
  std::vector<Criterion> criteria = {};
  std::vector<ChecklistItem> checklist = {};
  std::optional<Soak> soak = {};
  std::optional<Delivery> delivery = {};  // nothing: no host may be taken out
  std::string resolved = {};              // the profile with all bases merged in, as JSON text
  std::string sha256 = {};                // of `resolved`
};

// Returns the text of the profile with that name, or nothing. Used for the requested profile and
// for its bases.
using ProfileSource = std::function<std::optional<std::string>(const std::string& name)>;

// Loads `name` and its bases, merges them (objects by key; steps, criteria and checklist by id;
// {"id":…, "remove": true} removes) and parses the result. Throws UsageError with every problem
// found: unknown keys with the nearest valid one, missing or wrong values, duplicate ids, cycles of
// bases. validate_profile() checks the names of cases and metrics.
Profile load_profile(const std::string& name, const ProfileSource& source);

// Does the same as load_profile(), but adds problems inside the profile to `problems` and returns
// what it could read. The caller can then validate that too and show all problems at once.
Profile read_profile(const std::string& name, const ProfileSource& source, Problems& problems);

// Parses a profile that is already resolved (as stored in a campaign). `source` names it in
// messages. Throws the same errors.
Profile parse_resolved_profile(std::string_view text, const std::string& source);

// True if the text can be a step's id, which names files on every system that a campaign is copied
// to.
bool is_step_id(const std::string& id);
inline constexpr const char* kStepIdRule =
    "names files: letters, digits, '.', '_' and '-' only, none of '.' and '-' first, at most 100";

// Checks cases, parameters, metrics, checks, steps and units against the catalogue. Also reports
// physically impossible thresholds (a share of a ceiling above 1, an empty range) and steps that no
// criterion judges.
Problems validate_profile(const Profile& profile, const Catalogue& catalogue);

// Returns the entry of the catalogue that a step runs, or null. The step's "device" parameter
// selects among entries with the same name.
const CaseInfo* case_of(const Step& step, const Catalogue& catalogue);

}  // namespace cb
