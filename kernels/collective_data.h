// The data of collectives, the same on host and device: what a rank contributes to a reduction, and
// what the reduction over all ranks must give. docs/methods/collectives-data.md.
//
// Let h be a hash of index and iteration. Rank r contributes at offset (r + h) mod m. Over all
// ranks the offsets are every residue in turn, so their sum and the number of odd ones are known
// without a loop over the ranks.
//   sum: adds the offset to a base of the index.
//   product: uses the offset as sign (signed types) or as power of 3 (unsigned types, modulo
//     2^bits); one rank also contributes a small factor.
//   minimum, maximum: those of the offsets. In every second element the base is just below the
//     change of the sign bit.
//   average: the sum divided by the ranks, without the remainder (integers) or over a power of two
//     (floats).
//   sum whose terms each rank multiplies first: odd ranks contribute the negative term and the
//     factor −1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/fill_verify.h"
#include "kernels/pattern.h"

namespace cb::kernels {

enum class Element : int {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  float16,
  bfloat16,
  fp8_e4m3,
  fp8_e5m2
};
enum class Reduce : int { sum, prod, min, max, avg, mulsum };

// One rank's terms of a reduction over `ranks` ranks.
struct Terms {
  Element type = Element::float32;
  Reduce reduction = Reduce::sum;
  std::uint64_t ranks = 1;
  std::uint64_t iteration = 0;
};

// A float with few bits, stored as its bits: sign, exponent, `Mantissa` stored bits.
template <typename Bits, int Mantissa, int ExponentBias>
struct SmallFloat {
  Bits bits = 0;
  static constexpr int kMantissa = Mantissa;
  static constexpr int kBias = ExponentBias;
};
using Float16 = SmallFloat<std::uint16_t, 10, 15>;
using BFloat16 = SmallFloat<std::uint16_t, 7, 127>;
using Fp8E4M3 = SmallFloat<std::uint8_t, 3, 7>;
using Fp8E5M2 = SmallFloat<std::uint8_t, 2, 15>;

// How a type represents whole numbers. All numbers up to `largest` are exact, also as partial sums.
// make(value, halvings) returns value / 2^halvings, which the caller knows to be a number of the
// type; integers are not halved.
template <typename T>
struct Holds;

template <typename T, std::uint64_t Largest, bool Float = false>
struct HoldsPlain {
  static constexpr std::uint64_t largest = Largest;
  static constexpr bool is_unsigned = static_cast<T>(-1) > T{0};
  static constexpr bool is_float = Float;
  CB_HOST_DEVICE static T make(std::int64_t value, int halvings) {
    if constexpr (Float)
      return static_cast<T>(value) / static_cast<T>(std::uint64_t{1} << halvings);
    else
      return static_cast<T>(value);
  }
  // A value beyond the range of int64_t wraps, as products of unsigned numbers do.
  CB_HOST_DEVICE static T signed_value(std::int64_t value) { return static_cast<T>(value); }
};

template <>
struct Holds<std::int8_t> : HoldsPlain<std::int8_t, 127> {};
template <>
struct Holds<std::uint8_t> : HoldsPlain<std::uint8_t, 255> {};
template <>
struct Holds<std::int32_t> : HoldsPlain<std::int32_t, 0x7fffffff> {};
template <>
struct Holds<std::uint32_t> : HoldsPlain<std::uint32_t, 0xffffffff> {};
template <>
struct Holds<std::int64_t> : HoldsPlain<std::int64_t, 0x7fffffffffffffff> {};
template <>
struct Holds<std::uint64_t> : HoldsPlain<std::uint64_t, 0xffffffffffffffff> {};
template <>
struct Holds<float> : HoldsPlain<float, std::uint64_t{1} << 24, true> {};
template <>
struct Holds<double> : HoldsPlain<double, std::uint64_t{1} << 53, true> {};

template <typename Bits, int Mantissa, int ExponentBias>
struct Holds<SmallFloat<Bits, Mantissa, ExponentBias>> {
  using T = SmallFloat<Bits, Mantissa, ExponentBias>;
  static constexpr std::uint64_t largest = std::uint64_t{1} << (Mantissa + 1);
  static constexpr bool is_unsigned = false;
  static constexpr bool is_float = true;
  CB_HOST_DEVICE static T make(std::int64_t value, int halvings) {
    if (value == 0) return T{};
    const std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
    int exponent = 0;
    while ((magnitude >> exponent) > 1) ++exponent;
    const std::uint64_t stored = ((magnitude << Mantissa) >> exponent) - (1U << Mantissa);
    const auto field = static_cast<std::uint64_t>(exponent - halvings + ExponentBias);
    const std::uint64_t sign = value < 0 ? std::uint64_t{1} << (8 * sizeof(Bits) - 1) : 0;
    return T{static_cast<Bits>(sign | field << Mantissa | stored)};
  }
  CB_HOST_DEVICE static T signed_value(std::int64_t value) { return make(value, 0); }
};

// Returns a uniform number in [0, bound) from 32 random bits without a division; bound < 2^32.
CB_HOST_DEVICE constexpr std::uint64_t below(std::uint64_t random, std::uint64_t bound) {
  return ((random & 0xffffffff) * bound) >> 32;
}

CB_HOST_DEVICE constexpr std::uint64_t power_of_3(std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t square = 3; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return result;
}

template <typename T>
class TermModel {
 public:
  CB_HOST_DEVICE explicit TermModel(const Terms& t)
      : t_(t),
        adds_(t.reduction == Reduce::sum || t.reduction == Reduce::avg ||
              t.reduction == Reduce::mulsum),
        offsets_(offsets_for()),
        base_bound_(largest_base() + 1),
        compares_(t.reduction == Reduce::min || t.reduction == Reduce::max),
        seed_(pattern_word(t.iteration, 0x7265647563655f)) {
    if (t.reduction == Reduce::avg)
      while ((std::uint64_t{1} << halvings_) < t.ranks) ++halvings_;
  }

  CB_HOST_DEVICE T term(std::uint64_t rank, std::uint64_t index) const {
    const std::uint64_t h = pattern_word(index, seed_);
    std::uint64_t offset = rank % offsets_ + shift(h);
    if (offset >= offsets_) offset -= offsets_;
    if (alone()) return summand(rank, rank == leader(h) ? base(h) : 0);
    if (t_.reduction != Reduce::prod) return summand(rank, base(h) + offset);
    const std::uint64_t factor = rank == leader(h) ? leader_factor(h) : 1;
    if constexpr (kNarrowUnsigned)
      return whole(rank == (leader(h) + 1) % t_.ranks ? 3 * factor : factor);
    else if constexpr (Holds<T>::is_unsigned)
      return whole(power_of_3(offset) * factor);
    else
      return with_sign(factor, offset);
  }

  // Returns the factor by which a rank multiplies its terms before they are added (mulsum).
  CB_HOST_DEVICE static T multiplier(std::uint64_t rank) {
    return Holds<T>::signed_value(rank % 2 == 0 ? 1 : -1);
  }

  CB_HOST_DEVICE T reduced(std::uint64_t index) const {
    const std::uint64_t h = pattern_word(index, seed_);
    switch (t_.reduction) {
      case Reduce::sum:
      case Reduce::avg:
      case Reduce::mulsum:
        if (alone()) return of_sum(base(h));
        return of_sum(t_.ranks * base(h) + sum_of_offsets(shift(h)));
      case Reduce::min:
        return whole(base(h));
      case Reduce::max:
        return whole(base(h) + offsets_ - 1);
      case Reduce::prod:
        break;
    }
    if constexpr (kNarrowUnsigned)
      return whole(3 * leader_factor(h));
    else if constexpr (Holds<T>::is_unsigned)
      return whole(power_of_3(sum_of_offsets(shift(h))) * leader_factor(h));
    else
      return with_sign(leader_factor(h), odd_offsets(shift(h)));
  }

 private:
  static constexpr std::uint64_t kMaxOffsets = 64;
  static constexpr std::uint64_t kSignChanges =
      Holds<T>::is_unsigned ? Holds<T>::largest / 2 + 1 : 0;
  static constexpr bool kNarrowUnsigned = Holds<T>::is_unsigned && sizeof(T) == 1;

  CB_HOST_DEVICE static T whole(std::uint64_t value, int halvings = 0) {
    return Holds<T>::make(static_cast<std::int64_t>(value), halvings);
  }
  // Turns the sum over all ranks into the result: the sum, or the average. NCCL adds integers and
  // then divides them, towards zero; it first multiplies floats by 1/n, which is exact for powers
  // of two.
  CB_HOST_DEVICE T of_sum(std::uint64_t sum) const {
    if constexpr (Holds<T>::is_float)
      return whole(sum, halvings_);
    else
      return whole(t_.reduction == Reduce::avg ? sum / t_.ranks : sum);
  }
  CB_HOST_DEVICE T summand(std::uint64_t rank, std::uint64_t value) const {
    if (t_.reduction == Reduce::mulsum && rank % 2 != 0)
      return Holds<T>::signed_value(-static_cast<std::int64_t>(value));
    return whole(value);
  }
  CB_HOST_DEVICE static T with_sign(std::uint64_t factor, std::uint64_t odd) {
    const auto magnitude = static_cast<std::int64_t>(factor);
    return Holds<T>::signed_value((odd & 1) != 0 ? -magnitude : magnitude);
  }

  CB_HOST_DEVICE static constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
  }

  // Returns how many different offsets the ranks contribute: few enough that the sum of all fits
  // into T and leaves room for a base below the extreme. Sums must not wrap, because Open MPI's
  // vectorised 8-bit sums saturate.
  CB_HOST_DEVICE std::uint64_t offsets_for() const {
    const std::uint64_t most = smaller(t_.ranks, kMaxOffsets);
    const std::uint64_t room = adds_ ? Holds<T>::largest / t_.ranks : Holds<T>::largest / 2;
    return room < 1 ? 1 : smaller(room, most);
  }
  CB_HOST_DEVICE std::uint64_t largest_base() const {
    const std::uint64_t most =
        adds_ && offsets_ > 1 ? Holds<T>::largest / t_.ranks : Holds<T>::largest;
    return smaller(most > offsets_ ? most - offsets_ : 0, (std::uint64_t{1} << 31) - 1);
  }

  // True if the type is too narrow for the sum over all ranks: one rank contributes to an element,
  // the others contribute zero.
  CB_HOST_DEVICE bool alone() const { return adds_ && offsets_ == 1; }
  // Half of the compared elements are on both sides of the value where the sign bit changes. This
  // shows a library that takes unsigned numbers for signed ones, or the reverse.
  CB_HOST_DEVICE std::uint64_t base(std::uint64_t h) const {
    if (compares_ && offsets_ > 1 && (h & 1) != 0) return kSignChanges - 1 - below(h, offsets_ - 1);
    return below(h, base_bound_);
  }
  CB_HOST_DEVICE std::uint64_t shift(std::uint64_t h) const { return below(h >> 32, offsets_); }
  CB_HOST_DEVICE std::uint64_t leader(std::uint64_t h) const { return below(h >> 16, t_.ranks); }
  CB_HOST_DEVICE static std::uint64_t leader_factor(std::uint64_t h) { return 2 + (h >> 60) % 6; }

  // Ranks 0 … ranks-1 use all offsets in turn, beginning with `from`. The last round has only
  // `rest` offsets, of which `run` come before the wrap.
  CB_HOST_DEVICE std::uint64_t sum_of_offsets(std::uint64_t from) const {
    const std::uint64_t rest = t_.ranks % offsets_;
    const std::uint64_t run = smaller(rest, offsets_ - from);
    return t_.ranks / offsets_ * triangle(offsets_) + run * from + triangle(run) +
           triangle(rest - run);
  }
  CB_HOST_DEVICE std::uint64_t odd_offsets(std::uint64_t from) const {
    const std::uint64_t rest = t_.ranks % offsets_;
    const std::uint64_t run = smaller(rest, offsets_ - from);
    // Each whole round has offsets_ / 2 odd numbers.
    return t_.ranks / offsets_ * (offsets_ / 2) + (from + run) / 2 - from / 2 + (rest - run) / 2;
  }
  CB_HOST_DEVICE static std::uint64_t triangle(std::uint64_t n) {
    return n == 0 ? 0 : n * (n - 1) / 2;
  }

  Terms t_;
  bool adds_;
  std::uint64_t offsets_;
  std::uint64_t base_bound_;
  bool compares_;
  std::uint64_t seed_;
  int halvings_ = 0;
};

// Calls `with` with a value of the C++ type. Runs on the host only.
template <typename With>
auto dispatch(Element type, With with) {
  switch (type) {
    case Element::int8:
      return with(std::int8_t{});
    case Element::uint8:
      return with(std::uint8_t{});
    case Element::int32:
      return with(std::int32_t{});
    case Element::uint32:
      return with(std::uint32_t{});
    case Element::int64:
      return with(std::int64_t{});
    case Element::uint64:
      return with(std::uint64_t{});
    case Element::float32:
      return with(float{});
    case Element::float64:
      return with(double{});
    case Element::float16:
      return with(Float16{});
    case Element::bfloat16:
      return with(BFloat16{});
    case Element::fp8_e4m3:
      return with(Fp8E4M3{});
    case Element::fp8_e5m2:
      break;
  }
  return with(Fp8E5M2{});
}

// Launchers, as in fill_verify.h: they start work on the stream, return a cudaError_t and do not
// wait. Addresses are aligned to the element; those of words to 8 bytes.

// Writes `count` terms of rank `rank`, beginning with index 0.
int launch_fill_terms(const Terms& terms, std::uint64_t rank, void* out, std::uint64_t count,
                      void* stream);
// Compares `count` elements with the reduced ones, beginning with `first_index`; *result counts
// elements.
int launch_verify_terms(const Terms& terms, std::uint64_t first_index, const void* in,
                        std::uint64_t count, VerifyResult* result, void* stream);
// Writes the pattern `seed`, beginning with its word `first_word`.
int launch_fill_words(void* out, std::size_t bytes, std::uint64_t seed, std::uint64_t first_word,
                      void* stream);
// Compares memory with that pattern; *result counts elements of `element_bytes` (1, 2, 4 or 8).
// `bytes` must be a multiple of it.
int launch_verify_words(const void* in, std::size_t bytes, std::uint64_t seed,
                        std::uint64_t first_word, int element_bytes, VerifyResult* result,
                        void* stream);
// Compares `bytes` bytes with one value; *result counts bytes.
int launch_verify_byte(const void* in, std::size_t bytes, std::uint8_t value, VerifyResult* result,
                       void* stream);

}  // namespace cb::kernels
