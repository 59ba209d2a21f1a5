#include "bench/collectives/moe/routes.h"

namespace cb::moe {

void mask_experts(const Router& router, int rank, std::span<const int32_t> experts,
                  std::span<int32_t> out) {
  for (size_t i = 0; i < experts.size(); ++i)
    out[i] = router.rank_of(experts[i]) == rank ? experts[i] : -1;
}

// Every rank routes the tokens of all ranks, so that what comes is known without being told.
Routes::Routes(const Router& all, int self) : router(all), rank(self), copies(all.ranks) {
  const auto k = static_cast<size_t>(router.top_k);
  incoming.resize(static_cast<size_t>(router.ranks));
  for (int from = 0; from < router.ranks; ++from) {
    Sent theirs = route(router, from);
    for (int to = 0; to < router.ranks; ++to)
      copies.at(from, to) = static_cast<int64_t>(theirs.tokens[static_cast<size_t>(to)].size());
    for (const int32_t token : theirs.tokens[static_cast<size_t>(rank)]) {
      Incoming row{token, std::vector<int32_t>(k)};
      mask_experts(router, rank, {theirs.experts.data() + static_cast<size_t>(token) * k, k},
                   row.experts);
      incoming[static_cast<size_t>(from)].push_back(std::move(row));
    }
    if (from == rank) sent = std::move(theirs);
  }
}

size_t Routes::rows_out() const {
  size_t all = 0;
  for (const auto& tokens : sent.tokens) all += tokens.size();
  return all;
}

size_t Routes::rows_in() const {
  size_t all = 0;
  for (const auto& rows : incoming) all += rows.size();
  return all;
}

}  // namespace cb::moe
