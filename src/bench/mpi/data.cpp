// Terms of a reduction: with h a hash of index and iteration, rank r contributes at offset
// (r + h) mod m, m = min(ranks, 64). Over all ranks the offsets are every residue in turn, so their
// sum and the number of odd ones are known without a loop over the ranks. A sum adds the offset to
// a base of the index; a product takes the offset as sign (signed types) or as power of 3 (unsigned
// ones, modulo 2^bits), and one rank a small factor; minimum and maximum are those of the offsets.
#include "bench/mpi/data.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "kernels/pattern.h"

namespace cb {
namespace {

using kernels::pattern_word;

constexpr uint64_t kMostOffsets = 64;

uint64_t seed_of(uint64_t rank, uint64_t iteration) {
  return pattern_word(rank, pattern_word(iteration, 0x636c7573746572));
}

size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(unknown_name(name, names));
  return static_cast<size_t>(found - names.begin());
}

// Uniform in [0, bound) from 32 random bits without a division; bound < 2^32.
uint64_t below(uint64_t random, uint64_t bound) { return ((random & 0xffffffff) * bound) >> 32; }

// Whole numbers up to here are exact in T, also as partial sums.
template <typename T>
constexpr uint64_t largest_exact() {
  if constexpr (std::is_floating_point_v<T>)
    return uint64_t{1} << std::numeric_limits<T>::digits;
  else
    return static_cast<uint64_t>(std::numeric_limits<T>::max());
}

// How many different offsets the ranks contribute: as many as keep the sum of all within T. Sums do
// not wrap on purpose: Open MPI's vectorised 8-bit sums saturate.
template <typename T>
uint64_t offsets_for(const Terms& t) {
  const uint64_t most = std::min(t.ranks, kMostOffsets);
  if (t.reduction != Reduction::sum) return most;
  return std::clamp<uint64_t>(largest_exact<T>() / t.ranks, 1, most);
}

template <typename T>
uint64_t largest_base(const Terms& t, uint64_t offsets) {
  const bool adds_up = t.reduction == Reduction::sum && offsets > 1;
  const uint64_t most = adds_up ? largest_exact<T>() / t.ranks : largest_exact<T>();
  return std::min<uint64_t>(most > offsets ? most - offsets : 0, (uint64_t{1} << 31) - 1);
}

uint64_t power_of_3(uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = 3; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return result;
}

template <typename T>
class Model {
 public:
  explicit Model(const Terms& t)
      : t_(t),
        offsets_(offsets_for<T>(t)),
        base_bound_(largest_base<T>(t, offsets_) + 1),
        seed_(pattern_word(t.iteration, 0x7265647563655f)) {
    for (uint64_t k = 0; k < offsets_; ++k) powers_[k] = power_of_3(k);
  }

  T term(uint64_t rank, uint64_t index) const {
    const uint64_t h = pattern_word(index, seed_);
    uint64_t offset = rank % offsets_ + shift(h);
    if (offset >= offsets_) offset -= offsets_;
    if (alone()) return static_cast<T>(rank == leader(h) ? base(h) : 0);
    if (t_.reduction != Reduction::prod) return static_cast<T>(base(h) + offset);
    const uint64_t factor = rank == leader(h) ? leader_factor(h) : 1;
    if constexpr (std::is_same_v<T, uint8_t>)
      return static_cast<T>(rank == (leader(h) + 1) % t_.ranks ? 3 * factor : factor);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(powers_[offset] * factor);
    else
      return static_cast<T>(static_cast<int64_t>(factor) * ((offset & 1) != 0 ? -1 : 1));
  }

  T reduced(uint64_t index) const {
    const uint64_t h = pattern_word(index, seed_);
    switch (t_.reduction) {
      case Reduction::sum:
        if (alone()) return static_cast<T>(base(h));
        return static_cast<T>(t_.ranks * base(h) + sum_of_offsets(shift(h)));
      case Reduction::min:
        return static_cast<T>(base(h));
      case Reduction::max:
        return static_cast<T>(base(h) + offsets_ - 1);
      case Reduction::prod:
        break;
    }
    if constexpr (std::is_same_v<T, uint8_t>)
      return static_cast<T>(3 * leader_factor(h));
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(power_of_3(sum_of_offsets(shift(h))) * leader_factor(h));
    else
      return static_cast<T>(static_cast<int64_t>(leader_factor(h)) *
                            ((odd_offsets(shift(h)) & 1) != 0 ? -1 : 1));
  }

 private:
  // A type too narrow for the sum over all ranks: one rank an element contributes, the others zero.
  bool alone() const { return t_.reduction == Reduction::sum && offsets_ == 1; }
  uint64_t base(uint64_t h) const { return below(h, base_bound_); }
  uint64_t shift(uint64_t h) const { return below(h >> 32, offsets_); }
  uint64_t leader(uint64_t h) const { return below(h >> 16, t_.ranks); }
  static uint64_t leader_factor(uint64_t h) { return 2 + (h >> 60) % 6; }

  // Ranks 0 … ranks-1 run through all offsets in turn, starting at `from`, the last round cut short
  // after `rest`, of which `run` come before the wrap.
  uint64_t sum_of_offsets(uint64_t from) const {
    const uint64_t rest = t_.ranks % offsets_;
    const uint64_t run = std::min(rest, offsets_ - from);
    const auto triangle = [](uint64_t n) { return n == 0 ? 0 : n * (n - 1) / 2; };
    return t_.ranks / offsets_ * triangle(offsets_) + run * from + triangle(run) +
           triangle(rest - run);
  }
  uint64_t odd_offsets(uint64_t from) const {
    const uint64_t rest = t_.ranks % offsets_;
    const uint64_t run = std::min(rest, offsets_ - from);
    return t_.ranks / offsets_ * (offsets_ / 2) + (from + run) / 2 - from / 2 + (rest - run) / 2;
  }

  Terms t_;
  uint64_t offsets_;
  uint64_t base_bound_;
  uint64_t seed_;
  uint64_t powers_[kMostOffsets] = {};
};

// Calls `with` with a value of the C++ type.
template <typename With>
auto dispatch(ElementType type, With with) {
  switch (type) {
    case ElementType::int8:
      return with(int8_t{});
    case ElementType::uint8:
      return with(uint8_t{});
    case ElementType::int32:
      return with(int32_t{});
    case ElementType::uint32:
      return with(uint32_t{});
    case ElementType::int64:
      return with(int64_t{});
    case ElementType::uint64:
      return with(uint64_t{});
    case ElementType::float32:
      return with(float{});
    case ElementType::float64:
      break;
  }
  return with(double{});
}

}  // namespace

const std::vector<std::string>& element_type_names() {
  static const std::vector<std::string> names{"int8",  "uint8",  "int32", "uint32",
                                              "int64", "uint64", "float", "double"};
  return names;
}

const std::vector<std::string>& reduction_names() {
  static const std::vector<std::string> names{"sum", "prod", "min", "max"};
  return names;
}

ElementType element_type_of(std::string_view name) {
  return static_cast<ElementType>(index_in(element_type_names(), name));
}

Reduction reduction_of(std::string_view name) {
  return static_cast<Reduction>(index_in(reduction_names(), name));
}

uint64_t element_bytes(ElementType type) {
  return dispatch(type, [](auto zero) -> uint64_t { return sizeof(zero); });
}

void fill_pattern(std::span<std::byte> out, uint64_t rank, uint64_t iteration,
                  uint64_t first_byte) {
  const uint64_t seed = seed_of(rank, iteration);
  for (size_t at = 0; at < out.size(); at += 8) {
    const uint64_t word = pattern_word((first_byte + at) / 8, seed);
    std::memcpy(out.data() + at, &word, std::min<size_t>(8, out.size() - at));
  }
}

std::optional<Mismatch> verify_pattern(std::span<const std::byte> in, uint64_t rank,
                                       uint64_t iteration, uint64_t first_byte,
                                       uint64_t bytes_per_element) {
  const uint64_t seed = seed_of(rank, iteration);
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
        wrong = {0, (at + e) / bytes_per_element, fmt::format("got {:#x}, expected {:#x}", g, x)};
      ++wrong->count;
    }
  }
  return wrong;
}

void fill_terms(const Terms& terms, uint64_t rank, std::span<std::byte> out) {
  dispatch(terms.type, [&](auto zero) {
    using T = decltype(zero);
    const Model<T> model(terms);
    for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
      const T value = model.term(rank, i);
      std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

std::optional<Mismatch> verify_reduced(const Terms& terms, uint64_t first_index,
                                       std::span<const std::byte> in) {
  return dispatch(terms.type, [&](auto zero) {
    using T = decltype(zero);
    const Model<T> model(terms);
    std::optional<Mismatch> wrong;
    for (size_t i = 0; i < in.size() / sizeof(T); ++i) {
      T got;
      std::memcpy(&got, in.data() + i * sizeof(T), sizeof(T));
      const T expected = model.reduced(first_index + i);
      if (std::memcmp(&got, &expected, sizeof(T)) == 0) [[likely]]
        continue;
      if (!wrong) wrong = {0, i, fmt::format("got {}, expected {}", +got, +expected)};
      ++wrong->count;
    }
    return wrong;
  });
}

}  // namespace cb
