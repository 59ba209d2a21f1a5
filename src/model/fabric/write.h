// A subnet as texts that others read. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/fabric/findings.h"

namespace cb {

// As `ibnetdiscover` prints it: what read_ibnetdiscover() reads, and --leaf-map of other cases.
std::string ibnetdiscover_text(const Net& net);

// As Graphviz reads it: switches by tier, and the links of hosts with one line a host and leaf. A
// link or device that a finding names is red.
std::string dot_text(const Net& net, const NetShape& shape,
                     const std::vector<NetFinding>& findings);

}  // namespace cb
