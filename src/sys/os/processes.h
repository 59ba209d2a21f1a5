#pragma once

#include <string>

namespace cb {

// Kills every process of this user (root: of any user) on this host whose command line has the
// argument `name` followed by `value`, this one excepted. Returns how many it killed. So what a job
// left behind is found by a path that no other job has.
int kill_processes_with(const std::string& name, const std::string& value);

}  // namespace cb
