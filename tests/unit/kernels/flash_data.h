// Attention by the formulas in double precision, and how far a result of bf16's operands may be
// from it.
#pragma once

#include <device_executor/narrow.h>

#include "tests/unit/kernels/train_data.h"

namespace flash_data {

using on_executor::DeviceArray;
using train_data::at;

struct FlashSizes {
  std::int64_t batch, sequence, heads, kv_heads, dim;
  std::int64_t rows() const { return batch * sequence; }
  std::int64_t wide() const { return heads * dim; }
  std::int64_t stride() const { return (heads + 2 * kv_heads) * dim; }
};

inline std::uint16_t bfloat16_of(float value) {
  return static_cast<std::uint16_t>(
      device_executor::narrow_bits(value, device_executor::kBfloat16));
}
inline double value_of(std::uint16_t bits) {
  return device_executor::narrow_value(bits, device_executor::kBfloat16);
}

// Queries and keys are large enough that a row has keys that count and keys that do not.
struct FlashInput {
  DeviceArray<std::uint16_t> qkv;
  FlashInput(const FlashSizes& z, std::uint64_t seed) : qkv(at(z.rows() * z.stride()), "qkv") {
    for (std::int64_t i = 0; i < z.rows() * z.stride(); ++i) {
      const bool value = i % z.stride() >= (z.heads + z.kv_heads) * z.dim;
      qkv[at(i)] = bfloat16_of((value ? 1.0F : 2.0F) *
                               train_data::number(static_cast<std::uint64_t>(i), seed));
    }
  }
  // Element d of the query, key or value of a row; `part` counts heads, then kv heads twice.
  double of(const FlashSizes& z, std::int64_t row, std::int64_t part, std::int64_t d) const {
    return value_of(qkv[at(row * z.stride() + part * z.dim + d)]);
  }
};

// Probabilities of one row of one head, 0 for keys behind it, and the log of their sum.
struct FlashRow {
  std::vector<double> p;
  double log_sum = 0;
};
inline FlashRow flash_row(const FlashSizes& z, const FlashInput& in, std::int64_t batch,
                          std::int64_t row, std::int64_t head) {
  FlashRow out{std::vector<double>(at(z.sequence)), 0};
  const std::int64_t first = batch * z.sequence, kv = z.heads + head / (z.heads / z.kv_heads);
  double sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) {
    double score = 0;
    for (std::int64_t d = 0; d < z.dim; ++d)
      score += in.of(z, first + row, head, d) * in.of(z, first + j, kv, d);
    sum += out.p[at(j)] = std::exp(score / std::sqrt(static_cast<double>(z.dim)));
  }
  for (double& p : out.p) p /= sum;
  out.log_sum = std::log(sum);
  return out;
}

struct FlashForward {
  std::vector<double> out, out_limit, sums;
};
inline FlashForward flash_forward(const FlashSizes& z, const FlashInput& in) {
  FlashForward want;
  want.out.resize(at(z.rows() * z.wide()));
  want.out_limit.resize(want.out.size());
  want.sums.resize(at(z.rows() * z.heads));
  for (std::int64_t b = 0; b < z.batch; ++b)
    for (std::int64_t h = 0; h < z.heads; ++h)
      for (std::int64_t i = 0; i < z.sequence; ++i) {
        const FlashRow row = flash_row(z, in, b, i, h);
        const std::int64_t v = z.heads + z.kv_heads + h / (z.heads / z.kv_heads);
        want.sums[at((b * z.heads + h) * z.sequence + i)] = row.log_sum;
        for (std::int64_t d = 0; d < z.dim; ++d) {
          double sum = 0, sizes = 0;
          for (std::int64_t j = 0; j <= i; ++j) {
            const double each = row.p[at(j)] * in.of(z, b * z.sequence + j, v, d);
            sum += each;
            sizes += std::abs(each);
          }
          const std::size_t here = at((b * z.sequence + i) * z.wide() + h * z.dim + d);
          want.out[here] = sum;
          want.out_limit[here] = 0x1p-8 * sizes + 1e-5;
        }
      }
  return want;
}

// Whether a number is further from what is wanted than the limit; a NaN is from all but a NaN.
inline bool beyond(float got, double wanted, double limit) {
  if (std::isnan(wanted)) return !std::isnan(got);
  return !(std::abs(static_cast<double>(got) - wanted) <= limit);
}

// How many numbers are further from what is wanted than their limit.
inline std::size_t beyond(DeviceArray<float>& got, const std::vector<double>& wanted,
                          const std::vector<double>& limit) {
  std::size_t out = got.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i)
    out += beyond(got[i], wanted[i], limit[i]);
  return out;
}

}  // namespace flash_data
