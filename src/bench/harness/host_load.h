#pragma once

#include <optional>
#include <vector>

#include "bench/harness/comm.h"
#include "core/result.h"
#include "sys/cpu/cpu_times.h"

namespace cb {

// Watches from its construction on how much of the hosts' processor time goes to programs that are
// not of this measurement.
class HostLoad {
 public:
  explicit HostLoad(const FsRoot& fs);

  // Collective. On rank 0: for every host where others took at least 2 % of the time (a quiet
  // system takes less), what they took and what there was, as deltas of every record with metrics
  // (model/disturbance.h). After less than a second, or where /proc/stat cannot be read,
  // nothing: the kernel counts in steps of 10 ms.
  void add_to(std::vector<Record>& records, Comm& comm, const RankMap& place) const;

 private:
  FsRoot fs_;
  std::optional<CpuTimes> first_;
  double own_first_ = 0;
  double began_ = 0;
};

}  // namespace cb
