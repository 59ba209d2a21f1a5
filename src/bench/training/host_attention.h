#pragma once

#include "bench/cpu/team.h"
#include "bench/training/backend.h"
#include "bench/training/host_backend.h"

namespace cb::training {

// Causal attention on host memory. A thread takes whole heads; of each it computes blocks of rows
// against the columns that these rows see, so that half of the scores are never computed. Kept are
// only the log sums: the backward computes the scores again (Dao et al., arXiv 2205.14135).
template <typename Real>
struct HostAttention {
  Team& team;
  const RowKernels<Real>& rows;
  const ThreadProduct<Real>& product;

  void forward(const Real* qkv, Real* out, Real* log_sums, const AttentionShape& shape) const;
  // Queries of `shape.sequence` tokens a sequence see the cache's past + sequence positions.
  void forward_cached(const Real* qkv, const Real* cache, Real* out,
                      const AttentionShape& shape) const;
  void backward(const Real* qkv, const Real* out, const Real* dout, const Real* log_sums,
                Real* dqkv, const AttentionShape& shape) const;
};

extern template struct HostAttention<float>;
extern template struct HostAttention<double>;

}  // namespace cb::training
