#pragma once

#include <functional>
#include <memory>

#include "bench/cpu/team.h"
#include "bench/training/backend.h"

namespace cb::training {

// A product on the calling thread; several threads call it at the same time.
template <typename Real>
using ThreadProduct = std::function<void(const Product<Real>&)>;

// Computes on the team's threads. `product` may be empty: the own loops multiply then.
template <typename Real>
std::unique_ptr<Backend<Real>> host_backend(Team& team, ThreadProduct<Real> product = {});

extern template std::unique_ptr<Backend<float>> host_backend(Team&, ThreadProduct<float>);
extern template std::unique_ptr<Backend<double>> host_backend(Team&, ThreadProduct<double>);

// Threads in rows and in columns of C that pack the least for an m × n product; rows · columns =
// threads.
struct Grid {
  int rows = 1;
  int columns = 1;
};
Grid product_grid(int64_t m, int64_t n, int threads);

}  // namespace cb::training
