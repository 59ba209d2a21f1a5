// Files in which others have written down a subnet. Pure. Each reader throws UsageError with `file`
// and the line where it cannot read on.
#pragma once

#include <string>
#include <vector>

#include "model/fabric/net.h"

namespace cb {

// Reads a file of any kind that is known, by its content.
Net read_subnet(const std::string& text, const std::string& file);

// Joins what several files tell of one subnet: nodes by their GUID, links by their ends; what one
// does not know the other fills in. Where both know, the first stands.
Net join_nets(const std::vector<Net>& nets);

}  // namespace cb
