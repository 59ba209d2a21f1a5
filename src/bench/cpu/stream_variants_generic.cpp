// STREAM's kernels as the compiler makes them, for processors for which we have no streaming
// stores.
#if !defined(__x86_64__)

#include "bench/cpu/stream_kernels.h"

namespace cb {
namespace {

void run(StreamOp op, const StreamArrays& x) {
  double* __restrict a = x.a;
  double* __restrict b = x.b;
  double* __restrict c = x.c;
  switch (op) {
    case StreamOp::copy:
      for (size_t i = 0; i < x.count; ++i) c[i] = a[i];
      break;
    case StreamOp::scale:
      for (size_t i = 0; i < x.count; ++i) b[i] = kStreamScalar * c[i];
      break;
    case StreamOp::add:
      for (size_t i = 0; i < x.count; ++i) c[i] = a[i] + b[i];
      break;
    case StreamOp::triad:
      for (size_t i = 0; i < x.count; ++i) a[i] = b[i] + kStreamScalar * c[i];
      break;
  }
}

bool always() { return true; }

}  // namespace

const std::vector<StreamVariant>& stream_variants() {
  static const std::vector<StreamVariant> variants{{"regular", "compiler", always, run}};
  return variants;
}

}  // namespace cb

#endif
