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
  std::optional<double> value;  // nothing where the data was wrong
  std::optional<double> limit;
  bool limit_is_minimum = true;
  std::optional<Ceiling> ceiling = {};
  std::string at = {};               // the parameters of its record, "size 8G"
  std::vector<Message> detail = {};  // what a check or a comparison says
  std::string file = {};             // of the record
  bool failing = false;
  bool waived = false;      // it fails, and a waiver lets it pass
  bool wrong_data = false;  // a check failed: no severity makes it a warning
  double badness = 0;       // above 0 beyond the limit, as a share of it; the greatest is the worst
};

// Something that should have been measured and was not.
struct Gap {
  std::string host;  // whose measurement is absent; empty where it is not one host's
  Message what;      // with the next step
};

}  // namespace cb
