#include "model/moe.h"

#include <algorithm>
#include <charconv>

#include "model/counter_random.h"

namespace cb::moe {
namespace {

constexpr double kDefaultShare = 0.5;

uint64_t of_token(const Routing& routing, int rank, int64_t token) {
  return mixed(mixed(routing.seed ^ static_cast<uint64_t>(rank)) ^ static_cast<uint64_t>(token));
}

// Keeps the highest scores seen, the highest first. Of equal scores the lower expert stays.
void choose_best(uint64_t token, int experts, std::span<int32_t> out) {
  constexpr size_t kMost = 64;
  uint64_t best[kMost] = {};
  size_t kept = 0;
  for (int e = 0; e < experts; ++e) {
    const uint64_t score = mixed(token + static_cast<uint64_t>(e));
    if (kept == out.size() && score <= best[kept - 1]) continue;
    size_t place = kept < out.size() ? kept++ : kept - 1;
    for (; place > 0 && best[place - 1] < score; --place) {
      best[place] = best[place - 1];
      out[place] = out[place - 1];
    }
    best[place] = score;
    out[place] = e;
  }
}

void take_larger(Bottleneck& most, int64_t sent, int64_t received) {
  most.sent = std::max(most.sent, sent);
  most.received = std::max(most.received, received);
}

}  // namespace

std::optional<Routing> parse_routing(std::string_view text) {
  if (text == "balanced") return Routing{.kind = RoutingKind::balanced};
  if (text == "random") return Routing{.kind = RoutingKind::random};
  if (!text.starts_with("skewed")) return std::nullopt;
  Routing out{.kind = RoutingKind::skewed, .share = kDefaultShare};
  text.remove_prefix(6);
  if (text.empty()) return out;
  if (text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.share);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(out.share >= 0 && out.share <= 1)) return std::nullopt;
  return out;
}

void Router::choose(int rank, int64_t token, std::span<int32_t> out) const {
  if (routing.kind == RoutingKind::balanced) {
    const int step = experts / top_k;
    const int64_t first = (rank * tokens + token) % step;
    for (int i = 0; i < top_k; ++i)
      out[static_cast<size_t>(i)] = static_cast<int32_t>(first + i * step);
    return;
  }
  const uint64_t drawn = of_token(routing, rank, token);
  if (routing.kind == RoutingKind::skewed && unit_of(mixed(~drawn)) < routing.share) {
    for (int i = 0; i < top_k; ++i) out[static_cast<size_t>(i)] = i;
    return;
  }
  choose_best(drawn, experts, out);
}

Sent route(const Router& router, int rank) {
  const auto k = static_cast<size_t>(router.top_k);
  Sent out{.experts = std::vector<int32_t>(static_cast<size_t>(router.tokens) * k),
           .tokens = std::vector<std::vector<int32_t>>(static_cast<size_t>(router.ranks))};
  for (int64_t t = 0; t < router.tokens; ++t) {
    const std::span<int32_t> mine(out.experts.data() + static_cast<size_t>(t) * k, k);
    router.choose(rank, t, mine);
    for (const int32_t e : mine) {
      std::vector<int32_t>& there = out.tokens[static_cast<size_t>(router.rank_of(e))];
      if (there.empty() || there.back() != t) there.push_back(static_cast<int32_t>(t));
    }
  }
  return out;
}

Bottleneck busiest_rank(const Copies& copies) {
  Bottleneck most;
  for (int r = 0; r < copies.ranks(); ++r) {
    int64_t sent = 0, received = 0;
    for (int other = 0; other < copies.ranks(); ++other) {
      if (other == r) continue;
      sent += copies.at(r, other);
      received += copies.at(other, r);
    }
    take_larger(most, sent, received);
  }
  return most;
}

Bottleneck busiest_host(const Copies& copies, std::span<const int> host_of_rank) {
  const int hosts = 1 + *std::max_element(host_of_rank.begin(), host_of_rank.end());
  std::vector<int64_t> sent(static_cast<size_t>(hosts)), received(sent.size());
  for (int from = 0; from < copies.ranks(); ++from) {
    for (int to = 0; to < copies.ranks(); ++to) {
      const auto here = static_cast<size_t>(host_of_rank[static_cast<size_t>(from)]);
      const auto there = static_cast<size_t>(host_of_rank[static_cast<size_t>(to)]);
      if (here == there) continue;
      sent[here] += copies.at(from, to);
      received[there] += copies.at(from, to);
    }
  }
  Bottleneck most;
  for (size_t h = 0; h < sent.size(); ++h) take_larger(most, sent[h], received[h]);
  return most;
}

Load load(const Copies& copies) {
  Load out;
  int64_t most = -1, all = 0;
  for (int to = 0; to < copies.ranks(); ++to) {
    int64_t received = 0;
    for (int from = 0; from < copies.ranks(); ++from) received += copies.at(from, to);
    all += received;
    if (received <= most) continue;
    most = received;
    out.busiest = to;
  }
  out.mean = static_cast<double>(all) / copies.ranks();
  out.imbalance = static_cast<double>(most) / out.mean;
  return out;
}

}  // namespace cb::moe
