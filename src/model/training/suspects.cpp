#include "model/training/suspects.h"

#include <algorithm>
#include <map>

namespace cb::training {
namespace {

using Part = PlaceInStep::Part;

constexpr uint64_t kMicroBatch = uint64_t{1} << 32;  // places of one micro-batch are fewer

// Of the ranks at `members`, at one place of their traces: which differ from the majority, and
// whether there is one.
void compare_place(const std::vector<std::vector<TracePoint>>& traces,
                   const std::vector<int>& members, size_t at,
                   std::map<int, Suspect>& first_of_rank) {
  std::map<TracePoint, int> votes;
  const auto point = [&](int rank) {
    const auto& trace = traces[static_cast<size_t>(rank)];
    return at < trace.size() ? trace[at] : TracePoint{~uint64_t{0}, 0};
  };
  for (const int rank : members) ++votes[point(rank)];
  if (votes.size() < 2) return;
  const auto most = std::max_element(votes.begin(), votes.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const bool majority = 2 * most->second > static_cast<int>(members.size());
  uint64_t order = ~uint64_t{0};
  for (const auto& [value, count] : votes) order = std::min(order, value.order);
  for (const int rank : members) {
    if (majority && point(rank) == most->first) continue;
    first_of_rank.try_emplace(rank, Suspect{rank, order, majority});
  }
}

int replica_of(int rank, const Layout& l) { return rank / l.tensor % l.data; }

}  // namespace

uint64_t PlaceInStep::order(int64_t layers) const {
  int64_t at = 0;
  switch (part) {
    case Part::forward_attention:
      at = 2 * layer;
      break;
    case Part::forward_feed_forward:
      at = 2 * layer + 1;
      break;
    case Part::head:
      at = 2 * layers;
      break;
    case Part::backward_feed_forward:
      at = 2 * layers + 1 + 2 * (layers - 1 - layer);
      break;
    case Part::backward_attention:
      at = 2 * layers + 2 + 2 * (layers - 1 - layer);
      break;
    case Part::gradient:
      at = 4 * layers + 1 + (layers - layer);
      break;
    case Part::weights:
      at = 6 * layers + 4;
      break;
  }
  return static_cast<uint64_t>(micro_batch) * kMicroBatch + static_cast<uint64_t>(at);
}

PlaceInStep PlaceInStep::of_order(uint64_t order, int64_t layers) {
  const auto micro = static_cast<int64_t>(order / kMicroBatch);
  const auto at = static_cast<int64_t>(order % kMicroBatch);
  if (at < 2 * layers)
    return {at % 2 == 0 ? Part::forward_attention : Part::forward_feed_forward, at / 2, micro};
  if (at == 2 * layers) return {Part::head, layers, micro};
  if (at <= 4 * layers) {
    const int64_t back = at - 2 * layers - 1;
    return {back % 2 == 0 ? Part::backward_feed_forward : Part::backward_attention,
            layers - 1 - back / 2, micro};
  }
  if (at <= 5 * layers + 2) return {Part::gradient, layers - (at - 4 * layers - 1), micro};
  return {Part::weights, 0, micro};
}

Said PlaceInStep::name() const {
  switch (part) {
    case Part::forward_attention:
      return said("train.forward_attention", layer);
    case Part::forward_feed_forward:
      return said("train.forward_feed_forward", layer);
    case Part::head:
      return said("train.head");
    case Part::backward_feed_forward:
      return said("train.backward_feed_forward", layer);
    case Part::backward_attention:
      return said("train.backward_attention", layer);
    case Part::gradient:
      return layer < 0 ? said("train.gradient_embedding") : said("train.gradient", layer);
    case Part::weights:
      break;
  }
  return said("train.weights_or_moments");
}

std::vector<Suspect> find_different(const std::vector<std::vector<TracePoint>>& traces,
                                    const Layout& l) {
  std::map<int, Suspect> first_of_rank;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int tensor = 0; tensor < l.tensor; ++tensor) {
      std::vector<int> members;
      size_t longest = 0;
      for (int data = 0; data < l.data; ++data) {
        members.push_back(tensor + l.tensor * (data + l.data * stage));
        longest = std::max(longest, traces[static_cast<size_t>(members.back())].size());
      }
      for (size_t at = 0; at < longest; ++at) compare_place(traces, members, at, first_of_rank);
    }
  }
  std::map<int, Suspect> first_of_replica;
  for (const auto& [rank, suspect] : first_of_rank) {
    const auto [known, added] = first_of_replica.try_emplace(replica_of(rank, l), suspect);
    if (!added && suspect.order < known->second.order) known->second = suspect;
  }
  std::vector<Suspect> out;
  for (const auto& [replica, suspect] : first_of_replica) out.push_back(suspect);
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<uint64_t> first_difference(const std::vector<TracePoint>& a,
                                         const std::vector<TracePoint>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) return std::min(a[i].order, b[i].order);
  if (a.size() == b.size()) return std::nullopt;
  return (a.size() > b.size() ? a : b)[std::min(a.size(), b.size())].order;
}

std::vector<Straggler> find_stragglers(const std::vector<double>& seconds, const Layout& l,
                                       double limit) {
  std::vector<Straggler> out;
  const auto members = static_cast<size_t>(l.tensor * l.data);
  if (members < 2) return out;
  for (size_t begin = 0; begin < seconds.size(); begin += members) {
    std::vector<double> sorted(seconds.begin() + static_cast<std::ptrdiff_t>(begin),
                               seconds.begin() + static_cast<std::ptrdiff_t>(begin + members));
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[(members - 1) / 2];
    for (size_t rank = begin; rank < begin + members; ++rank)
      if (median > 0 && seconds[rank] > limit * median)
        out.push_back({static_cast<int>(rank), seconds[rank] / median});
  }
  return out;
}

}  // namespace cb::training
