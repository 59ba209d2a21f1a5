#pragma once

#include <vector>

#include "model/moe.h"

namespace cb::moe {

// A token that comes to this rank: by which sender and with which experts of this rank.
struct Incoming {
  int32_t token = 0;
  std::vector<int32_t> experts;  // top_k: −1 where the expert is on another rank
};

// All that the routing says of one rank's part in dispatch and combine.
struct Routes {
  Routes(const Router& router, int rank);

  Router router;
  int rank;
  Sent sent;                                    // of this rank
  std::vector<std::vector<Incoming>> incoming;  // by sending rank, tokens ascending
  Copies copies;                                // of all ranks

  size_t rows_out() const;  // that this rank sends, to itself too
  size_t rows_in() const;
  std::span<const int32_t> experts_of(size_t token) const {
    const auto k = static_cast<size_t>(router.top_k);
    return {sent.experts.data() + token * k, k};
  }
};

// Writes the experts that are on `rank`, and −1 for the others.
void mask_experts(const Router& router, int rank, std::span<const int32_t> experts,
                  std::span<int32_t> out);

}  // namespace cb::moe
