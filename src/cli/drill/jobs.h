// The measurements of a drill, as words of our own command line.
#pragma once

#include <string>
#include <vector>

#include "cli/drill/drills.h"

namespace cb {

bool is_storage(const Drill& drill);
bool is_gpu(const Drill& drill);

// Of a rate before and after the fault. `part` is the directory of a drill of storage.
std::vector<std::string> short_job(const Drill& drill, const std::string& part);
// During the fault: it goes on for `seconds`, or until its watchdog speaks.
std::vector<std::string> long_job(const Drill& drill, const std::string& part, double seconds);
// Names a slow host.
std::vector<std::string> locate_job();

}  // namespace cb
