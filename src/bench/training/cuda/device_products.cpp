#include "bench/training/cuda/device_products.h"

#include "kernels/train.h"

namespace cb::training {
namespace {

void narrow(DeviceQueue& queue, const kernels::TrainNarrow& matrices) {
  queue.launched(kernels::launch_train_narrow(matrices, queue.stream().handle()), "train_narrow");
}

// Distances of what was rounded: no gaps, and all of a batch may share one matrix.
int64_t step_without_gaps(int64_t step, int64_t elements) { return step == 0 ? 0 : elements; }

}  // namespace

void DeviceProducts::multiply(cublaslt::RowMajorProduct p) {
  if (!bf16_) return queue_product(p);
  const auto* const a = static_cast<const float*>(p.a);
  p.a = rounded_a(p);
  p.b = rounded_b(p);
  p.bf16 = true;
  queue_product(p);
  rounded_a_.behind = p.c == a ? 0 : queue_.queued_in_all();
}

const void* DeviceProducts::rounded_a(cublaslt::RowMajorProduct& p) {
  const Operand a{p.a,    p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.step_a,
                  p.batch};
  if (rounded_a_.operand != a || rounded_a_.behind != queue_.queued_in_all())
    rounded_a_ = {a, rounded(room_a_, a)};
  p.lda = a.columns;
  p.step_a = step_without_gaps(a.step, a.rows * a.columns);
  return rounded_a_.data;
}

const void* DeviceProducts::rounded_b(cublaslt::RowMajorProduct& p) {
  const Operand b{p.b,    p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, p.step_b,
                  p.batch};
  const int64_t count = b.rows * b.columns;
  const auto* const from = static_cast<const float*>(b.data);
  if (const uint16_t* kept = weights_.of(from, count)) return kept;
  uint16_t* place = nullptr;
  if (b.leading == b.columns && b.batch == 1) place = weights_.take_place(from, count);
  if (place != nullptr) {
    narrow(queue_, {from, place, 1, b.rows, b.columns, b.columns, 0});
    return place;
  }
  p.ldb = b.columns;
  p.step_b = step_without_gaps(b.step, count);
  return rounded(room_b_, b);
}

const void* DeviceProducts::rounded(Scratch<uint16_t>& room, const Operand& from) {
  const int64_t matrices = from.step == 0 ? 1 : from.batch;
  uint16_t* to = room.of(matrices * from.rows * from.columns);
  narrow(queue_, {static_cast<const float*>(from.data), to, matrices, from.rows, from.columns,
                  from.leading, from.step});
  return to;
}

}  // namespace cb::training
