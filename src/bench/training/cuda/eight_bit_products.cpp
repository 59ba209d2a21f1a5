#include "bench/training/cuda/eight_bit_products.h"

namespace cb::training {
namespace {

constexpr int64_t kUnitA = 0, kUnitB = 1, kFirstOfWeights = 2;

// A layer's three products: of the forward, of the gradients of its input, of those of its weights.
bool is_forward(const cublaslt::RowMajorProduct& p) { return p.transpose_b; }
bool is_of_weights(const cublaslt::RowMajorProduct& p) { return p.transpose_a; }

std::uint8_t* bytes_of(uint16_t* room) { return reinterpret_cast<std::uint8_t*>(room); }

}  // namespace

EightBitProducts::Operand EightBitProducts::operand_a(const cublaslt::RowMajorProduct& p) {
  return {static_cast<const float*>(p.a), p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k,
          p.lda};
}

EightBitProducts::Operand EightBitProducts::operand_b(const cublaslt::RowMajorProduct& p) {
  return {static_cast<const float*>(p.b), p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n,
          p.ldb};
}

bool EightBitProducts::multiply(const cublaslt::RowMajorProduct& p) {
  const auto takes = [](const Operand& o) {
    return kernels::train_takes_eight(
        {o.data, nullptr, nullptr, nullptr, o.rows, o.columns, o.leading, false});
  };
  if (p.batch != 1 || (p.transpose_a && p.transpose_b) || !takes(operand_a(p)) ||
      !takes(operand_b(p)))
    return false;
  const Eight a = prepared_a(p), b = prepared_b(p);
  cublaslt::RowMajorProduct eight = p;
  eight.a = p.transpose_a ? a.turned : a.plain;
  eight.b = p.transpose_b ? b.plain : b.turned;
  eight.lda = eight.ldb = p.k;
  eight.transpose_a = false;
  eight.transpose_b = true;
  eight.eight = {&a.unit->unit, &b.unit->unit, !is_forward(p)};
  products_.queue_product(eight);
  held_.behind = p.c == p.a ? 0 : queue_.queued_in_all();
  return true;
}

// A gradient is an operand of two products, one behind the other: of one as it stands, of the other
// turned.
EightBitProducts::Eight EightBitProducts::prepared_a(const cublaslt::RowMajorProduct& p) {
  const Operand a = operand_a(p);
  if (held_.operand == a && held_.behind == queue_.queued_in_all()) return held_.eight;
  std::uint8_t* const room = bytes_of(products_.room_a(a.count()));
  std::uint8_t* const turned = is_forward(p) ? nullptr : room + a.count();
  held_ = {a, rounded(a, room, turned, unit_at(kUnitA), !is_forward(p))};
  return held_.eight;
}

EightBitProducts::Eight EightBitProducts::prepared_b(const cublaslt::RowMajorProduct& p) {
  const Operand b = operand_b(p);
  if (!is_of_weights(p)) {
    if (const Eight kept = weights_of(b); kept.unit != nullptr) return kept;
  }
  std::uint8_t* const room = bytes_of(products_.room_b(b.count()));
  return rounded(b, is_forward(p) ? room : nullptr, is_forward(p) ? nullptr : room, unit_at(kUnitB),
                 false);
}

// Nothing where they are not kept.
EightBitProducts::Eight EightBitProducts::weights_of(const Operand& matrix) {
  constexpr auto kForm = NarrowWeights::Form::eight_twice;
  if (matrix.leading != matrix.columns) return {};
  const auto as_kept = [&](const uint16_t* place, int64_t slot) {
    const auto* plain = reinterpret_cast<const std::uint8_t*>(place);
    return Eight{plain, plain + matrix.count(), unit_at(slot)};
  };
  const auto known = slots_.find(matrix.data);
  if (known != slots_.end()) {
    if (const uint16_t* kept = weights_.of(matrix.data, matrix.count(), kForm))
      return as_kept(kept, known->second);
  }
  const int64_t slot =
      known != slots_.end() ? known->second : kFirstOfWeights + static_cast<int64_t>(slots_.size());
  if (slot >= kUnits) return {};
  uint16_t* const place = weights_.take_place(matrix.data, matrix.count(), kForm);
  if (place == nullptr) return {};
  slots_[matrix.data] = slot;
  std::uint8_t* const plain = bytes_of(place);
  return rounded(matrix, plain, plain + matrix.count(), unit_at(slot), false);
}

EightBitProducts::Eight EightBitProducts::rounded(const Operand& from, std::uint8_t* plain,
                                                  std::uint8_t* turned, kernels::TrainUnit* unit,
                                                  bool gradient) {
  queue_.launched(kernels::launch_train_eight({from.data, plain, turned, unit, from.rows,
                                               from.columns, from.leading, gradient},
                                              queue_.stream().handle()),
                  "train_eight");
  return {plain, turned, unit};
}

}  // namespace cb::training
