#pragma once

#include "bench/cpu/lu.h"

namespace cb {

// Plain loops instead of a library. Products are of contiguous rows, solutions of contiguous
// columns, as the header says.
inline LuLibrary plain_loops() {
  return {[](const host_blas::Product<double>& p) {
            for (int64_t i = 0; i < p.shape.m; ++i)
              for (int64_t j = 0; j < p.shape.n; ++j) {
                double sum = 0;
                for (int64_t k = 0; k < p.shape.k; ++k)
                  sum += p.a[i * p.lda + k] * p.b[k * p.ldb + j];
                double& c = p.c[i * p.ldc + j];
                c = p.alpha * sum + p.beta * c;
              }
          },
          [](const host_blas::UnitLower& t) {
            for (int64_t c = 0; c < t.columns; ++c)
              for (int64_t i = 0; i < t.order; ++i)
                for (int64_t k = 0; k < i; ++k)
                  t.b[c * t.ldb + i] -= t.l[k * t.ldl + i] * t.b[c * t.ldb + k];
          }};
}

}  // namespace cb
