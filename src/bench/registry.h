#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// Every case, in the order in which it is listed. Explicit, so that nothing is dropped by the
// linker or left to chance.
const std::vector<Case>& all_cases();

// The same without the functions.
Catalogue catalogue();

const Case* find_case(std::string_view name, std::string_view device = {});

}  // namespace cb
