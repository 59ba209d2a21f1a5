#include "bench/collectives/moe/token_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "model/counter_random.h"

namespace cb::moe {
namespace {

// The integers that a token holds, and their codes.
constexpr std::array<int8_t, 8> kIntegers{1, 2, 3, 4, -1, -2, -3, -4};
constexpr std::array<uint8_t, 8> kFp8{0x38, 0x40, 0x44, 0x48, 0xb8, 0xc0, 0xc4, 0xc8};
constexpr std::array<uint16_t, 8> kBf16{0x3f80, 0x4000, 0x4040, 0x4080,
                                        0xbf80, 0xc000, 0xc040, 0xc080};
constexpr std::array<int8_t, 4> kFactors{1, 2, -1, -2};
constexpr std::array<float, 4> kScales{0.5F, 1, 2, 4};
constexpr size_t kPerWord = 16;  // elements of a random number; divides 128

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Exact for what is made here: the lower half of the bits is zero.
uint16_t to_bf16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

// E4M3: sign, four bits of exponent with bias 7, three of fraction; all ones is no number.
float from_fp8(int code) {
  const int exponent = (code >> 3) & 15, fraction = code & 7;
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  if (exponent == 15 && fraction == 7) return std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -9);
  return sign * std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
}

// Which of eight each element is.
template <typename Code, typename Table>
void fill_codes(uint64_t seed, const Table& table, std::span<Code> out) {
  for (size_t at = 0; at < out.size(); at += kPerWord) {
    uint64_t word = mixed(seed + at / kPerWord);
    for (size_t i = 0; i < kPerWord; ++i, word >>= 3) out[at + i] = table[word & 7];
  }
}

template <typename T>
T read(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof(T));
  return out;
}

}  // namespace

TokenData::TokenData(const TokenFormat& format, int experts, int top_k, uint64_t seed)
    : format_(format),
      experts_(experts),
      top_k_(top_k),
      seed_(seed),
      factors_(static_cast<size_t>(experts) * hidden()),
      fp8_(256) {
  for (size_t at = 0; at < factors_.size(); ++at)
    factors_[at] = kFactors[mixed(mixed(seed) + at) & 3];
  for (int code = 0; code < 256; ++code) fp8_[static_cast<size_t>(code)] = from_fp8(code);
}

uint64_t TokenData::seed_of(const TokenId& id) const {
  const uint64_t of_rank = mixed(mixed(seed_ ^ id.iteration) ^ static_cast<uint64_t>(id.rank));
  return mixed(of_rank ^ static_cast<uint64_t>(id.token));
}

void TokenData::elements(uint64_t seed, std::span<int8_t> out) const {
  fill_codes<int8_t>(seed, kIntegers, out);
}

float TokenData::scale(uint64_t seed, size_t block) const {
  if (format_.dispatch_bytes != 1) return 1;
  return kScales[mixed(~seed + block) & 3];
}

void TokenData::write_payload(const TokenId& id, std::byte* out) const {
  const uint64_t seed = seed_of(id);
  if (format_.dispatch_bytes == 2) {
    fill_codes<uint16_t>(seed, kBf16, {reinterpret_cast<uint16_t*>(out), hidden()});
    return;
  }
  fill_codes<uint8_t>(seed, kFp8, {reinterpret_cast<uint8_t*>(out), hidden()});
  for (size_t block = 0; block < static_cast<size_t>(format_.scales()); ++block) {
    const float value = scale(seed, block);
    std::memcpy(out + hidden() + 4 * block, &value, 4);
  }
}

TokenData::Label TokenData::expected_label(const TokenId& id,
                                           std::span<const int32_t> experts) const {
  Label out{id.rank, id.token, {experts.begin(), experts.end()}, {}};
  for (int i = 0; i < top_k_; ++i) {
    const bool here = experts[static_cast<size_t>(i)] >= 0;
    out.weights.push_back(here ? static_cast<float>(weight_of_place(i, top_k_)) : 0);
  }
  return out;
}

void TokenData::write_label(const TokenId& id, std::span<const int32_t> experts,
                            std::byte* row) const {
  std::byte* at = row + format_.dispatch_payload();
  const auto put = [&](auto value) {
    std::memcpy(at, &value, 4);
    at += 4;
  };
  put(int32_t{id.rank});
  put(id.token);
  for (const int32_t e : experts) put(e);
  for (int i = 0; i < top_k_; ++i) {
    const bool here = experts[static_cast<size_t>(i)] >= 0;
    put(here ? static_cast<float>(weight_of_place(i, top_k_)) : 0.0F);
  }
  std::fill(at, row + row_bytes(), std::byte{0});
}

TokenData::Label TokenData::label(const std::byte* row) const {
  const std::byte* at = row + format_.dispatch_payload();
  const auto k = static_cast<size_t>(top_k_);
  Label out{read<int32_t>(at), read<int32_t>(at + 4), {}, {}};
  for (size_t i = 0; i < k; ++i) out.experts.push_back(read<int32_t>(at + 8 + 4 * i));
  for (size_t i = 0; i < k; ++i) out.weights.push_back(read<float>(at + 8 + 4 * (k + i)));
  return out;
}

void TokenData::decode(const std::byte* row, std::span<float> out) const {
  if (format_.dispatch_bytes == 2) {
    const auto* codes = reinterpret_cast<const uint16_t*>(row);
    std::transform(codes, codes + hidden(), out.begin(), from_bf16);
    return;
  }
  const auto* codes = reinterpret_cast<const uint8_t*>(row);
  constexpr auto kBlock = static_cast<size_t>(TokenFormat::kScaled);
  for (size_t at = 0; at < hidden(); at += kBlock) {
    const auto value = read<float>(row + hidden() + 4 * (at / kBlock));
    for (size_t i = 0; i < kBlock; ++i) out[at + i] = value * fp8_[codes[at + i]];
  }
}

void TokenData::apply_experts(const std::byte* row, std::byte* out) const {
  std::vector<float> x(hidden()), sum(hidden());
  decode(row, x);
  const Label told = label(row);
  for (size_t i = 0; i < told.experts.size(); ++i) {
    const int32_t e = told.experts[i];
    if (e < 0 || e >= experts_) continue;
    const std::span<const int8_t> f = factors(e);
    for (size_t j = 0; j < x.size(); ++j)
      sum[j] += told.weights[i] * static_cast<float>(f[j]) * x[j];
  }
  if (format_.combine_bytes == 4)
    std::memcpy(out, sum.data(), 4 * sum.size());
  else
    std::transform(sum.begin(), sum.end(), reinterpret_cast<uint16_t*>(out), to_bf16);
}

void TokenData::add(const std::byte* row, std::span<float> sum) const {
  if (format_.combine_bytes == 4) {
    const auto* values = reinterpret_cast<const float*>(row);
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += values[j];
    return;
  }
  const auto* values = reinterpret_cast<const uint16_t*>(row);
  for (size_t j = 0; j < sum.size(); ++j) sum[j] += from_bf16(values[j]);
}

void TokenData::expected_sum(const TokenId& id, std::span<const int32_t> experts,
                             std::span<float> sum) const {
  const uint64_t seed = seed_of(id);
  std::vector<int8_t> x(hidden());
  std::vector<int32_t> factor(hidden());
  elements(seed, x);
  for (int i = 0; i < top_k_; ++i) {
    const std::span<const int8_t> f = factors(experts[static_cast<size_t>(i)]);
    const int weight = weight_of_place(i, top_k_);
    for (size_t j = 0; j < factor.size(); ++j) factor[j] += weight * f[j];
  }
  constexpr auto kBlock = static_cast<size_t>(TokenFormat::kScaled);
  for (size_t at = 0; at < sum.size(); at += kBlock) {
    const float value = scale(seed, at / kBlock);
    for (size_t j = at; j < at + kBlock; ++j) sum[j] = static_cast<float>(factor[j] * x[j]) * value;
  }
}

}  // namespace cb::moe
