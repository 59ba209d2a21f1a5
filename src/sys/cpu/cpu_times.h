#pragma once

#include <optional>

#include "sys/os/fs_root.h"

namespace cb {

// What all processors of a host have done since it started, in seconds of processor time.
struct CpuTimes {
  // By programs (user and nice), and stolen by the hypervisor for other guests. What the kernel did
  // is left out: it cannot be told for whom.
  double user = 0;
  double capacity = 0;  // all time there was, idle included
};

// From the first line of /proc/stat (proc_stat(5)); nothing where it cannot be read.
std::optional<CpuTimes> read_cpu_times(const FsRoot& fs);

// User time in seconds of this process and of its children that have ended (getrusage(2)).
double own_user_seconds();

}  // namespace cb
