// What a training step computes on a GPU besides matrix products, in fp32: the formulas are those
// of src/bench/training/row_kernels.h. Matrices are row-major. Sums are taken in an order that the
// sizes alone decide, so that a step repeats bit by bit. A NaN that goes in comes out.
#pragma once

#include <cstdint>

#include "kernels/hash.h"

namespace cb::kernels {

// y = x·gain·scale with scale = 1/√(mean(x²) + 1e-5) of each row.
struct TrainNorm {
  const float *x, *gain;
  float *y, *scale;
  std::int64_t rows, width;
};
int launch_train_norm(const TrainNorm& n, void* stream);

// Adds to dx and dgain. `parts`: room for train_norm_parts(rows)·width numbers.
struct TrainNormBackward {
  const float *dy, *x, *gain, *scale;
  float *dx, *dgain, *parts;
  std::int64_t rows, width;
};
constexpr std::int64_t train_norm_parts(std::int64_t rows) { return (rows + 63) / 64; }
int launch_train_norm_backward(const TrainNormBackward& n, void* stream);

// Turns each pair (i, i + dim/2) of the first `heads` heads of each row by the angle of its
// position, past + row mod sequence; direction −1 turns back. cosines, sines: dim/2 a position.
// Where `position` is given, what it holds on the device stands for `past`.
struct TrainRotation {
  float* x;
  const float *cosines, *sines;
  std::int64_t rows, sequence, past, heads, dim, stride;
  float direction;
  const float* position = nullptr;
};
int launch_train_rotate(const TrainRotation& r, void* stream);

// Copies `width` elements of each row to row / sequence · capacity + past + row mod sequence of
// `to`, whose rows are as long; `narrow`: rounded to bf16. `position` as above.
struct TrainRows {
  const float* from;
  void* to;
  std::int64_t rows, width, stride, sequence, past, capacity;
  const float* position = nullptr;
  bool narrow = false;
};
int launch_train_append(const TrainRows& r, void* stream);

// A row of gate_up is gate, then up; the backward replaces both by their gradients.
int launch_train_swiglu(const float* gate_up, float* out, std::int64_t rows, std::int64_t width,
                        void* stream);
int launch_train_swiglu_backward(const float* dout, float* gate_up, std::int64_t rows,
                                 std::int64_t width, void* stream);
int launch_train_add(float* to, const float* from, std::int64_t count, void* stream);

// Matrices rounded to bf16 (to nearest, ties to even; a NaN stays one), without gaps: `matrices` of
// them, `step` elements apart, whose rows are `leading` apart.
struct TrainNarrow {
  const float* from;
  std::uint16_t* to;
  std::int64_t matrices, rows, columns, leading, step;
};
int launch_train_narrow(const TrainNarrow& n, void* stream);

// A matrix in eight bits: rounded (to nearest, ties to even) to E4M3, or, if it is a gradient, to
// E5M2, after it was divided by `unit`: its largest element over 448 or 57344, so nothing
// saturates. An element that is not finite makes every product of the matrix so.
struct alignas(16) TrainUnit {
  float unit;             // what a 1 of eight bits stands for
  std::uint32_t largest;  // bits of the largest element's size
};
struct TrainEight {
  const float* from;     // rows × columns, `leading` elements apart
  std::uint8_t* plain;   // the same without gaps; may be null
  std::uint8_t* turned;  // columns × rows; may be null
  TrainUnit* unit;       // written
  std::int64_t rows, columns, leading;
  bool gradient;
};
// Whether the launcher takes it: sizes are multiples of 16, and 16 bytes can be moved at once.
inline bool train_takes_eight(const TrainEight& e) {
  constexpr std::int64_t most_rows = std::int64_t{65535} * 64;  // by the blocks of a grid
  const auto places = reinterpret_cast<std::uintptr_t>(e.from) |
                      reinterpret_cast<std::uintptr_t>(e.plain) |
                      reinterpret_cast<std::uintptr_t>(e.turned);
  return e.rows > 0 && e.rows <= most_rows && e.columns > 0 && (e.rows | e.columns) % 16 == 0 &&
         e.leading % 4 == 0 && places % 16 == 0;
}
int launch_train_eight(const TrainEight& e, void* stream);

// Scores of `heads` heads, one behind the other: rows × columns each, of which row i sees columns
// 0…first + i. Log sums of neighbouring heads are `sums_stride` apart.
struct TrainScores {
  float *scores, *log_sums;
  std::int64_t heads, rows, columns, first, sums_stride;
};
// Scores become probabilities, 0 beyond the diagonal; log_sums = log Σ exp(score).
int launch_train_softmax(const TrainScores& s, void* stream);
// The probabilities of scores whose log sums are known.
int launch_train_probabilities(const TrainScores& s, void* stream);
// dp becomes p·(dp − dot)·scale with dot = Σ out·dout of the row and head; rows of out and dout
// are `stride` apart, those of neighbouring heads `dim`.
struct TrainScoresBackward {
  float* dp;
  const float *p, *out, *dout;
  std::int64_t heads, rows, columns, dim, stride;
  float scale;
};
int launch_train_softmax_backward(const TrainScoresBackward& s, void* stream);

// Causal attention without scores in memory, for heads of 64 and 128 numbers. Operands are bf16,
// and probabilities are rounded to it; sums are fp32. `qkv`: a row has the queries of all heads,
// then the keys, then the values of all kv heads, aligned to 16 bytes; a row of `out` has all
// heads. log_sums = log Σ exp(score), heads × sequence of each sequence of the batch.
constexpr bool train_flash_takes(std::int64_t dim) { return dim == 64 || dim == 128; }
constexpr std::int64_t train_flash_longest = 65535 * 64;  // sequence
struct TrainFlash {
  const std::uint16_t* qkv;
  float *out, *log_sums;
  std::int64_t batch, sequence, heads, kv_heads, dim;
};
int launch_train_flash(const TrainFlash& f, void* stream);

// Its backward: writes each element of dqkv, whose rows are as those of qkv. `narrow` is room for
// dout rounded to bf16, `dots` for train_flash_dots() numbers, both aligned to 16 bytes.
struct TrainFlashBackward {
  const std::uint16_t* qkv;
  const float *out, *dout, *log_sums;
  float* dqkv;
  std::uint16_t* narrow;
  float* dots;
  std::int64_t batch, sequence, heads, kv_heads, dim;
};
constexpr std::int64_t train_flash_padded(std::int64_t sequence) {
  return (sequence + 127) / 128 * 128;
}
constexpr std::int64_t train_flash_dots(std::int64_t batch, std::int64_t sequence,
                                        std::int64_t heads) {
  return batch * heads * train_flash_padded(sequence) * 2;
}
int launch_train_flash_backward(const TrainFlashBackward& f, void* stream);

// Rows of a table that holds tokens first … first + count − 1; 0 for other tokens.
struct TrainEmbedding {
  const std::int32_t* tokens;
  std::int64_t rows, width, first, count;
};
int launch_train_embed(const float* table, float* out, const TrainEmbedding& e, void* stream);
// Adds each row to its token's row of the table, in the order of the rows.
int launch_train_embed_backward(const float* dout, float* dtable, const TrainEmbedding& e,
                                void* stream);

// Logits of `rows` rows over the part of the vocabulary first … first + width − 1.
struct TrainLogits {
  float* logits;
  const std::int32_t* targets;
  float *top, *sums, *at_target;
  std::int64_t rows, width, first;
};
int launch_train_row_max(const TrainLogits& l, void* stream);
// Logits become e^(logit − top), with their sums and the target's logit − top; 0 for other parts'.
int launch_train_exponentials(const TrainLogits& l, void* stream);
// They become factor·(softmax − one at the target).
int launch_train_logits_backward(const TrainLogits& l, float factor, void* stream);
// *out = Σ log(sums) − at_target.
int launch_train_cross_entropy(const TrainLogits& l, double* out, void* stream);

// Constants of one step, as src/bench/training/row_kernels.h has them after its divisions.
struct TrainAdam {
  float beta1, beta2, rate, root, epsilon, keep, scale;
};
struct TrainMoments {
  float* weights;
  const float* gradient;
  float *mean, *square;
  std::int64_t count;
};
int launch_train_adamw(const TrainMoments& m, const TrainAdam& a, void* stream);
// *out = Σ x². `parts`: room for train_sum_parts(count) numbers.
constexpr std::int64_t train_sum_parts(std::int64_t count) { return (count + 16383) / 16384; }
int launch_train_squares(const float* x, std::int64_t count, double* parts, double* out,
                         void* stream);
// hash_bytes() of the elements, zeros filling a last half word, and how many are not finite. x may
// stand at any element.
int launch_train_hash(const float* x, std::int64_t count, HashResult* result, void* stream);
// Changes the highest bit of the element's fraction, or makes it no number.
int launch_train_damage(float* element, bool no_number, void* stream);

// Normal numbers of a counter (Box & Muller 1958): element (i, j) depends on `stream_number` and
// its place (first_row + i, first_column + j) in the whole matrix alone.
struct TrainNormal {
  float* to;
  std::int64_t rows, columns, first_row, first_column, whole_columns;
  std::uint64_t stream_number;
  double deviation;
};
int launch_train_normal(const TrainNormal& n, void* stream);

}  // namespace cb::kernels
