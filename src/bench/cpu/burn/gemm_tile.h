// The kernel behind every instruction set: it keeps a tile of rows × vectors of c in registers
// while the inner index runs. One source file per instruction set includes it, each with its own
// Isa.
#pragma once

#include <cstddef>

namespace cb {

// Isa has: Vector, width (doubles), rows and vectors of a tile, load, store, broadcast, fma.
template <typename Isa, size_t Side>
void gemm_tiled(const double* a, const double* b, double* c) {
  static_assert(Side % Isa::rows == 0 && Side % (Isa::width * Isa::vectors) == 0);
  for (size_t i = 0; i < Side; i += Isa::rows) {
    for (size_t j = 0; j < Side; j += Isa::width * Isa::vectors) {
      typename Isa::Vector sum[Isa::rows][Isa::vectors];
      for (size_t r = 0; r < Isa::rows; ++r)
        for (size_t v = 0; v < Isa::vectors; ++v)
          sum[r][v] = Isa::load(c + (i + r) * Side + j + v * Isa::width);
      for (size_t k = 0; k < Side; ++k) {
        typename Isa::Vector row[Isa::vectors];
        for (size_t v = 0; v < Isa::vectors; ++v)
          row[v] = Isa::load(b + k * Side + j + v * Isa::width);
        for (size_t r = 0; r < Isa::rows; ++r) {
          const typename Isa::Vector x = Isa::broadcast(a[(i + r) * Side + k]);
          for (size_t v = 0; v < Isa::vectors; ++v) sum[r][v] = Isa::fma(x, row[v], sum[r][v]);
        }
      }
      for (size_t r = 0; r < Isa::rows; ++r)
        for (size_t v = 0; v < Isa::vectors; ++v)
          Isa::store(c + (i + r) * Side + j + v * Isa::width, sum[r][v]);
    }
  }
}

}  // namespace cb
