#pragma once

#include <string>
#include <vector>

#include "core/messages/said.h"
#include "core/params.h"

namespace cb {

enum class Better { higher, lower };

// A metric that a case can produce. format_value() must know its unit.
struct MetricDef {
  std::string name;
  std::string unit;
  Better better = Better::higher;
  std::string help;
};

// What a case needs. If something is missing, the case is skipped with the reason.
struct Needs {
  int ranks = 1;  // least number of ranks
  bool gpu = false;
  bool directory = false;
};

// A parameter with which no check looks at spoilt data: if it has one of `values`, or if it is
// given at all when `values` is empty. The first of a list that applies decides; one without a
// reason says that a check looks whatever those behind it say.
struct Blind {
  std::string param;
  std::vector<std::string> values;
  Said why;
};

// How a case shows that its check can fail: with --inject-fault it spoils its own data at the place
// of a real fault. `run --prove` makes a short job of it.
struct FaultPlan {
  Said planted = {};                     // what is spoilt; empty: no fault can be planted
  Said why_not = {};                     // why no fault can be planted
  std::vector<std::string> checks = {};  // names of checks, one of which must fail
  GivenParams brief = {};                // make the job short, if the step allows it
  double point_seconds = 1;              // approximate duration of one point of the short job
  std::vector<Blind> blind = {};
  std::string at = "0";  // what --inject-fault takes: a rank, if it is no choice
};

// The side of compare-transports on which a case's records stand.
enum class TransportSide { none, rdma, tcp };

// What is known about a case that may not be able to run here. The profile's validation, `list`,
// help and completion read it.
struct CaseInfo {
  std::string name;
  std::string device;  // "cpu", "gpu"; empty if the case has no --device
  std::string summary;
  std::string example;  // one command line, shown by --help
  std::string domain;   // section of the report: host, compute, memory, network, storage, stability
  Needs needs = {};
  std::vector<ParamDef> params = {};
  std::vector<MetricDef> metrics = {};
  std::vector<std::string> checks = {};
  FaultPlan fault = {};
  // Facts that the case's table shows if a record has them.
  std::vector<std::string> fact_columns = {};
  bool prints_suspects = false;  // one line "suspect: …" per failed finding, or "suspects: none"
  // Not for users: absent from lists, help and suggestions, and refused in profiles.
  bool hidden = false;
  bool prints_inventory = false;  // its table is the hosts' parts and their differences
  // A campaign's first step of it says what the hosts have, and which cannot be reached.
  bool learns_hosts = false;
  TransportSide transport = TransportSide::none;
  // The parameters that name a point in a table: "write 1M", "8 streams".
  std::vector<std::string> label_params = {};
};

using Catalogue = std::vector<CaseInfo>;

// Returns the entry with this name and device, or null. An empty device means the first entry with
// that name.
const CaseInfo* find_case(const Catalogue& catalogue, std::string_view name,
                          std::string_view device = {});

}  // namespace cb
