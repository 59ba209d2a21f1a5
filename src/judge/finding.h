#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/messages/texts.h"
#include "core/result.h"

namespace cb {

// One entity measured against a criterion's limit.
struct Finding {
  Entity entity;
  std::string unit;
  std::optional<double> value;  // nothing if the data was wrong
  std::optional<double> limit;
  bool limit_is_minimum = true;
  std::optional<Ceiling> ceiling = {};
  std::string at = {};               // the parameters of its record, "size 8G"
  std::vector<Message> detail = {};  // what a check or a comparison says
  std::string file = {};             // the record's file
  bool failing = false;
  bool waived = false;      // it fails, and a waiver lets it pass
  std::string waiver = {};  // id of that waiver
  bool wrong_data = false;  // a check failed: no severity makes it a warning
  bool waivable = true;     // false: a check of the data failed, which no waiver lets pass
  double badness = 0;       // how far beyond the limit, as a share of it; above 0 it fails
};

// Something that should have been measured and was not.
struct Gap {
  std::string host;        // host whose measurement is absent; empty if it is not one host's
  Message what;            // what is absent, and the next step
  std::string group = {};  // Job::group of the job that would close the gap, if it has one
};

}  // namespace cb
