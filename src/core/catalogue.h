#pragma once

#include <string>
#include <vector>

#include "core/messages/said.h"
#include "core/params.h"

namespace cb {

enum class Better { higher, lower };

// A metric that a case can produce. The unit is one that format_value() knows.
struct MetricDef {
  std::string name;
  std::string unit;
  Better better = Better::higher;
  std::string help;
};

// What a case needs; what is missing makes it skipped with the reason.
struct Needs {
  int ranks = 1;  // at least
  bool gpu = false;
  bool directory = false;
};

// Where nobody would look at spoilt data: a parameter with one of these values; with none, given at
// all.
struct Blind {
  std::string param;
  std::vector<std::string> values;
  Said why;
};

// How a case shows that its check can fail: with --inject-fault it spoils its own data where a real
// fault would. `run --prove` makes a short job of it.
struct FaultPlan {
  Said planted = {};                     // what is spoilt; empty: no fault can be planted
  Said why_not = {};                     // then why
  std::vector<std::string> checks = {};  // one of them has to fail
  GivenParams brief = {};                // makes the job short, where the step allows it
  double point_seconds = 1;              // about, that a point of the short job takes
  std::vector<Blind> blind = {};
};

// What is known of a case without being able to run it: the profile's validation, `list`, help and
// completion read this.
struct CaseInfo {
  std::string name;
  std::string device;  // "cpu", "gpu", or empty where the case has no --device
  std::string summary;
  std::string example;  // one command line for --help
  std::string
      domain;  // where the report shows it: host, compute, memory, network, storage, stability
  Needs needs = {};
  std::vector<ParamDef> params = {};
  std::vector<MetricDef> metrics = {};
  std::vector<std::string> checks = {};
  FaultPlan fault = {};
  // Facts that its table shows where some record has them.
  std::vector<std::string> fact_columns = {};
  bool prints_suspects = false;  // one line "suspect: …" per failed finding, or "suspects: none"
  // No case for users: not in lists, help and suggestions, and refused in profiles.
  bool hidden = false;
  bool prints_inventory = false;  // its table is what the hosts consist of and where they differ
};

using Catalogue = std::vector<CaseInfo>;

// The entry of that name and device (device empty: the first of that name); null if there is none.
const CaseInfo* find_case(const Catalogue& catalogue, std::string_view name,
                          std::string_view device = {});

}  // namespace cb
