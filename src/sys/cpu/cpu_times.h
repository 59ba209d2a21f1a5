#pragma once

#include <optional>

#include "sys/os/fs_root.h"

namespace cb {

// What all processors of a host have done since it started, in seconds of processor time.
struct CpuTimes {
  // Time of programs (user and nice), and time that the hypervisor took for other guests (steal).
  // Time in the kernel is left out: nobody can say for whom it worked.
  double user = 0;
  double capacity = 0;  // all time there was, including idle time
};

// Reads the first line of /proc/stat (proc_stat(5)); nothing if it cannot be read.
std::optional<CpuTimes> read_cpu_times(const FsRoot& fs);

// Returns the user time in seconds of this process and of its ended children (getrusage(2)).
double own_user_seconds();

}  // namespace cb
