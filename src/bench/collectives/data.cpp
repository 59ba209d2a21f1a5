#include "bench/collectives/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace cb {
namespace {

using kernels::dispatch;
using kernels::pattern_word;
using kernels::TermModel;

size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(unknown_name(name, names));
  return static_cast<size_t>(found - names.begin());
}

// The value as text, for messages.
template <typename T>
std::string value_text(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", +value);
  } else {
    const int exponents = 8 * static_cast<int>(sizeof(T)) - 1 - T::kMantissa;
    const int field = (value.bits >> T::kMantissa) & ((1 << exponents) - 1);
    const double stored = value.bits & ((1 << T::kMantissa) - 1);
    const double fraction = stored / (1 << T::kMantissa) + (field == 0 ? 0 : 1);
    const double magnitude = std::ldexp(fraction, std::max(field, 1) - T::kBias);
    const bool negative = value.bits >> (8 * sizeof(T) - 1) != 0;
    return fmt::format("{}", negative ? -magnitude : magnitude);
  }
}

}  // namespace

const std::vector<std::string>& element_type_names() {
  // The names follow the order of the enumeration.
  static const std::vector<std::string> names{"int8",  "uint8",    "int32",  "uint32",
                                              "int64", "uint64",   "float",  "double",
                                              "half",  "bfloat16", "f8e4m3", "f8e5m2"};
  return names;
}

const std::vector<std::string>& reduction_names() {
  static const std::vector<std::string> names{"sum", "prod", "min", "max", "avg", "mulsum"};
  return names;
}

uint64_t pattern_seed(uint64_t rank, uint64_t iteration) {
  return pattern_word(rank, pattern_word(iteration, 0x636c7573746572));
}

ElementType element_type_of(std::string_view name) {
  return static_cast<ElementType>(index_in(element_type_names(), name));
}

Reduction reduction_of(std::string_view name) {
  return static_cast<Reduction>(index_in(reduction_names(), name));
}

const std::string& element_type_name(ElementType type) {
  return element_type_names().at(static_cast<size_t>(type));
}

const std::string& reduction_name(Reduction reduction) {
  return reduction_names().at(static_cast<size_t>(reduction));
}

uint64_t element_bytes(ElementType type) {
  return dispatch(type, [](auto zero) -> uint64_t { return sizeof(zero); });
}

void fill_pattern(std::span<std::byte> out, uint64_t rank, uint64_t iteration,
                  uint64_t first_byte) {
  const uint64_t seed = pattern_seed(rank, iteration);
  for (size_t at = 0; at < out.size(); at += 8) {
    const uint64_t word = pattern_word((first_byte + at) / 8, seed);
    std::memcpy(out.data() + at, &word, std::min<size_t>(8, out.size() - at));
  }
}

std::optional<Mismatch> verify_pattern(std::span<const std::byte> in, uint64_t rank,
                                       uint64_t iteration, uint64_t first_byte,
                                       uint64_t bytes_per_element) {
  const uint64_t seed = pattern_seed(rank, iteration);
  std::optional<Mismatch> wrong;
  for (size_t at = 0; at < in.size(); at += 8) {
    const uint64_t expected = pattern_word((first_byte + at) / 8, seed);
    uint64_t got = expected;
    const size_t bytes = std::min<size_t>(8, in.size() - at);
    std::memcpy(&got, in.data() + at, bytes);
    if (got == expected) [[likely]]
      continue;
    for (size_t e = 0; e < bytes; e += bytes_per_element) {
      const uint64_t width = std::min<uint64_t>(bytes_per_element, bytes - e) * 8;
      const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      const uint64_t g = (got >> (8 * e)) & mask;
      const uint64_t x = (expected >> (8 * e)) & mask;
      if (g == x) continue;
      if (!wrong)
        wrong = {0, (at + e) / bytes_per_element,
                 said("coll.got", fmt::format("{:#x}", g), fmt::format("{:#x}", x))};
      ++wrong->count;
    }
  }
  return wrong;
}

void fill_terms(const Terms& terms, uint64_t rank, std::span<std::byte> out) {
  dispatch(terms.type, [&](auto zero) {
    using T = decltype(zero);
    const TermModel<T> model(terms);
    for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
      const T value = model.term(rank, i);
      std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

std::vector<std::byte> mulsum_factor(ElementType type, uint64_t rank) {
  return dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    const T factor = TermModel<T>::multiplier(rank);
    std::vector<std::byte> out(sizeof(T));
    std::memcpy(out.data(), &factor, sizeof(T));
    return out;
  });
}

std::optional<Mismatch> verify_reduced(const Terms& terms, uint64_t first_index,
                                       std::span<const std::byte> in) {
  return dispatch(terms.type, [&](auto zero) {
    using T = decltype(zero);
    const TermModel<T> model(terms);
    std::optional<Mismatch> wrong;
    for (size_t i = 0; i < in.size() / sizeof(T); ++i) {
      T got;
      std::memcpy(&got, in.data() + i * sizeof(T), sizeof(T));
      const T expected = model.reduced(first_index + i);
      if (std::memcmp(&got, &expected, sizeof(T)) == 0) [[likely]]
        continue;
      if (!wrong) wrong = {0, i, said("coll.got", value_text(got), value_text(expected))};
      ++wrong->count;
    }
    return wrong;
  });
}

}  // namespace cb
