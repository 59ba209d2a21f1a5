#include "core/profile_scope.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/profile_reader.h"

namespace cb {
namespace {

constexpr double kMaxScopeNumber = 4096;

// Reads a whole number that goes with one scope only, and that this scope must have.
int read_scope_number(ProfileReader& r, const Step& step, Scope of, const char* key, int least) {
  const auto number = r.number(key);
  if (step.scope != of) {
    if (number) r.problem(key, fmt::format("goes with the scope \"{}\" only", scope_name(of)));
    return 0;
  }
  if (number && *number >= least && *number <= kMaxScopeNumber &&
      *number == static_cast<int>(*number))
    return static_cast<int>(*number);
  r.problem(key, fmt::format("must be a whole number from {} to {}: the scope \"{}\" needs it",
                             least, kMaxScopeNumber, scope_name(of)));
  return least;
}

bool names_rail(const std::string& text) {
  return std::ranges::any_of(
      kRailWords, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// The keys of the step whose values name a rail.
std::vector<std::string> keys_with_rails(const Step& step) {
  std::vector<std::string> out;
  for (const auto& [name, values] : step.params) {
    if (std::ranges::any_of(values, names_rail)) out.push_back("params." + name);
  }
  for (const auto& [name, value] : step.env) {
    if (names_rail(value)) out.push_back("env." + name);
  }
  return out;
}

}  // namespace

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::host:
      return "host";
    case Scope::cluster:
      return "cluster";
    case Scope::pairs:
      return "pairs";
    case Scope::groups:
      return "groups";
    case Scope::rails:
      return "rails";
  }
  return "";
}

std::vector<std::string> scope_names() { return {"host", "cluster", "pairs", "groups", "rails"}; }

void read_scope(ProfileReader& r, Step& step) {
  const std::string name = r.one_of("scope", scope_names(), "host");
  for (const Scope scope : {Scope::cluster, Scope::pairs, Scope::groups, Scope::rails}) {
    if (name == scope_name(scope)) step.scope = scope;
  }
  step.group_size = read_scope_number(r, step, Scope::groups, "group_size", 2);
  step.rails = read_scope_number(r, step, Scope::rails, "rails", 1);
}

int least_hosts(const Step& step) {
  if (step.scope == Scope::pairs) return 2;
  return step.scope == Scope::groups ? step.group_size : 0;
}

void validate_scope(const Step& step, Problems& problems) {
  const std::vector<std::string> keys = keys_with_rails(step);
  const std::string where = fmt::format("steps[{}].", step.id);
  if (step.scope == Scope::rails && keys.empty())
    problems.add(where + "scope",
                 fmt::format("is rails, and no value of params and env has one of {}: every job "
                             "would measure the same",
                             fmt::join(kRailWords, ", ")));
  if (step.scope == Scope::rails) return;
  for (const std::string& key : keys)
    problems.add(where + key, "names a rail: that is replaced in a step of scope \"rails\" only");
}

}  // namespace cb
