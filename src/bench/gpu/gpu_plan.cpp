#include "bench/gpu/gpu_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/stats.h"

namespace cb {

std::vector<std::vector<std::string>> assign_gpus(const std::vector<RankGpus>& ranks) {
  std::vector<std::vector<std::string>> out(ranks.size());
  std::vector<std::pair<std::string, std::string>> done;  // host, uuid
  for (const RankGpus& one : ranks) {
    for (const std::string& uuid : one.uuids) {
      if (std::ranges::find(done, std::pair(one.host, uuid)) != done.end()) continue;
      done.emplace_back(one.host, uuid);
      size_t best = ranks.size();
      for (size_t r = 0; r < ranks.size(); ++r) {
        const bool sees = ranks[r].host == one.host &&
                          std::ranges::find(ranks[r].uuids, uuid) != ranks[r].uuids.end();
        if (sees && (best == ranks.size() || out[r].size() < out[best].size())) best = r;
      }
      out[best].push_back(uuid);
    }
  }
  return out;
}

int64_t rotation_sets(int64_t bytes_per_set, int64_t l2_bytes, int64_t free_bytes) {
  if (bytes_per_set <= 0) return 0;
  const int64_t wanted = std::max<int64_t>(2, (2 * l2_bytes + bytes_per_set - 1) / bytes_per_set);
  return std::min(wanted, free_bytes / bytes_per_set);
}

int fastest(std::span<const std::vector<double>> times) {
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].empty()) continue;
    const double middle = median(times[i]);
    if (middle < least) {
      least = middle;
      best = static_cast<int>(i);
    }
  }
  return best;
}

int64_t repetitions(double seconds, double wanted_seconds, int64_t most) {
  if (!(seconds > 0)) return most;
  const double wanted = std::ceil(wanted_seconds / seconds);
  return wanted >= static_cast<double>(most) ? most
                                             : std::max<int64_t>(1, static_cast<int64_t>(wanted));
}

}  // namespace cb
