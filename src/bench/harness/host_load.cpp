#include "bench/harness/host_load.h"

#include <map>
#include <sstream>

#include <fmt/format.h>

#include "core/clock.h"
#include "model/disturbance.h"

namespace cb {
namespace {

constexpr double kMinSeconds = 1;
constexpr double kMinShare = 0.02;

struct Use {
  double all = 0;  // by programs and hypervisor
  double own = 0;  // by this measurement's processes
  double capacity = 0;
};

void add_deltas(Record& record, const std::string& host, const Use& use) {
  const size_t entity = record.entity({host, "host", ""});
  const double others = use.all - use.own;
  record.telemetry.deltas.push_back({std::string(kOthersCpuSeconds), "seconds", entity, 0, others});
  record.telemetry.deltas.push_back(
      {std::string(kHostCpuSeconds), "seconds", entity, 0, use.capacity});
}

}  // namespace

HostLoad::HostLoad(const FsRoot& fs) : fs_(fs) {
  if (!fs_.is_machine()) return;  // a captured tree says nothing of now
  first_ = read_cpu_times(fs_);
  own_first_ = own_user_seconds();
  began_ = monotonic_seconds();
}

void HostLoad::add_to(std::vector<Record>& records, Comm& comm, const RankMap& place) const {
  const bool long_enough = first_ && monotonic_seconds() - began_ >= kMinSeconds;
  const auto last = long_enough && place.first_on_host() ? read_cpu_times(fs_) : std::nullopt;
  const double all = last ? last->user - first_->user : 0;
  const double capacity = last ? last->capacity - first_->capacity : 0;
  const std::string mine =
      fmt::format("{} {} {}", all, capacity, first_ ? own_user_seconds() - own_first_ : 0);
  const std::vector<std::string> blobs = comm.gather(mine);
  std::map<std::string, Use> hosts;
  for (size_t rank = 0; rank < blobs.size(); ++rank) {
    Use& use = hosts[place.hosts.at(static_cast<size_t>(place.host_of_rank.at(rank)))];
    Use part;
    std::istringstream(blobs[rank]) >> part.all >> part.capacity >> part.own;
    use.all += part.all;
    use.capacity += part.capacity;
    use.own += part.own;
  }
  for (const auto& [host, use] : hosts) {
    if (use.capacity <= 0 || use.all - use.own < kMinShare * use.capacity) continue;
    for (Record& record : records) {
      if (record.measured() && !record.metrics.empty()) add_deltas(record, host, use);
    }
  }
}

}  // namespace cb
