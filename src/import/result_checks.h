#pragma once

#include <optional>

#include "import/output_lines.h"
#include "import/program_output.h"

// The checks that several programs' results share.
namespace cb {

// What an output says about one solution.
struct PrintedResidual {
  std::optional<PrintedNumber> value = {};  // nothing: no line about it
  bool passed = false;                      // what the program says
  std::optional<double> threshold = {};     // what the program compared with; nothing: not printed
};

// "residual": there is one, it is a number below 16, the program says that it passed, and it
// compared with 16. A threshold of zero or less makes HPL skip the solution's check and count the
// test as passed.
Check residual_check(const PrintedResidual& residual);

// "rate": operations over the printed time are the printed rate, within what printing rounds.
Check rate_check(double operations, const PrintedNumber& seconds, const PrintedNumber& rate);

// "output": passed if `why` is empty.
Check output_check(Said why);

}  // namespace cb
