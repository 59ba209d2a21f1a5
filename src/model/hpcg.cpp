#include "model/hpcg.h"

namespace cb {
namespace {

double cube(int64_t edge) {
  const auto e = static_cast<double>(edge);
  return e * e * e;
}

// Times that the matrix of a level is passed in one iteration: each sweep two times, the product
// between them once, and on the finest level the product of CG itself.
double passes_of(int level) {
  const double cycle = level + 1 < kCgLevels ? 5 : 2;
  return cycle + (level == 0 ? 1 : 0);
}

// Reads and writes of vectors in one iteration, each of one element a point.
double vector_moves(int level) {
  const double sweeps = level + 1 < kCgLevels ? 2 : 1;
  double out = sweeps * 2 * 3;               // each half of a sweep: r and x read, x written
  if (level + 1 < kCgLevels) out += 2 + 1;   // x read, product written; x set to zero
  if (level == 0) out += 2 + 3 * 2 + 3 * 3;  // product, three dot products, three updates
  return out;
}

}  // namespace

int64_t cg_nonzeros(int64_t edge) {
  const int64_t line = 3 * edge - 2;
  return line * line * line;
}

double cg_operations(int64_t edge) {
  double out = 12 * cube(edge) + 2 * static_cast<double>(cg_nonzeros(edge));
  for (int level = 0; level < kCgLevels; ++level) {
    const auto nonzeros = static_cast<double>(cg_nonzeros(edge >> level));
    out += (level + 1 < kCgLevels ? 10 : 4) * nonzeros;
  }
  return out;
}

double cg_bytes(int64_t edge) {
  double out = 0;
  for (int level = 0; level < kCgLevels; ++level) {
    const int64_t e = edge >> level;
    out += 12 * passes_of(level) * static_cast<double>(cg_nonzeros(e)) +
           8 * vector_moves(level) * cube(e);
  }
  return out;
}

}  // namespace cb
