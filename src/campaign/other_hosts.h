#pragma once

#include <set>
#include <string>

#include "campaign/journal.h"
#include "campaign/launcher.h"

namespace cb {

// The attempts of a job that left a document, and that the same program ran on another set of hosts
// than the last one that counts: before a host went, came back or was replaced.
std::set<int> attempts_on_other_hosts(const std::string& job, const Journal& journal,
                                      Launcher launcher);

}  // namespace cb
