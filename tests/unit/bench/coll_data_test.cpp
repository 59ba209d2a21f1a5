// The closed forms against the plain loop over ranks that they replace.
#include "bench/collectives/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <type_traits>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

namespace {

// An average of integers is exact; of floats over a power of two, and not promised for 8 bits.
bool exact(const Terms& terms) {
  if (terms.reduction != Reduction::avg || terms.type < ElementType::float32) return true;
  return std::has_single_bit(terms.ranks) && terms.type != ElementType::fp8_e4m3 &&
         terms.type != ElementType::fp8_e5m2;
}

// The value of a small float, by the definition of its layout.
template <typename T>
double value_of(T x) {
  const int exponents = 8 * static_cast<int>(sizeof(T)) - 1 - T::kMantissa;
  const int field = (x.bits >> T::kMantissa) & ((1 << exponents) - 1);
  const double stored = x.bits & ((1 << T::kMantissa) - 1);
  const double size = std::ldexp(stored / (1 << T::kMantissa) + (field != 0 ? 1 : 0),
                                 std::max(field, 1) - T::kBias);
  return (x.bits >> (8 * sizeof(T) - 1)) != 0 ? -size : size;
}

// The number of the type that has this value; the test fails if there is none.
template <typename T>
T small_of(double value) {
  static const std::map<double, uint32_t> numbers = [] {
    std::map<double, uint32_t> out;
    for (uint32_t bits = 0; bits < (1U << (8 * sizeof(T))); ++bits)
      out.try_emplace(value_of(T{static_cast<decltype(T::bits)>(bits)}), bits);
    return out;
  }();
  const auto found = numbers.find(value);
  REQUIRE(found != numbers.end());
  return {static_cast<decltype(T::bits)>(found->second)};
}

// Small floats: the reduction in double, whose partial results must all be numbers of the type.
template <typename T>
std::vector<std::byte> reduce_small(const Terms& terms, size_t elements) {
  std::vector<double> whole(elements);
  std::vector<std::byte> one(elements * sizeof(T));
  for (uint64_t rank = 0; rank < terms.ranks; ++rank) {
    fill_terms(terms, rank, one);
    for (size_t i = 0; i < elements; ++i) {
      T x;
      std::memcpy(&x, one.data() + i * sizeof(T), sizeof(T));
      double& w = whole[i];
      const bool negated = terms.reduction == Reduction::mulsum && rank % 2 != 0;
      const double v = negated ? -value_of(x) : value_of(x);
      if (rank == 0)
        w = v;
      else if (terms.reduction == Reduction::prod)
        w *= v;
      else if (terms.reduction == Reduction::min)
        w = std::min(w, v);
      else if (terms.reduction == Reduction::max)
        w = std::max(w, v);
      else
        w += v;
      REQUIRE(std::abs(w) <= static_cast<double>(kernels::Holds<T>::largest));
    }
  }
  std::vector<std::byte> out;
  for (double w : whole) {
    if (terms.reduction == Reduction::avg) w /= static_cast<double>(terms.ranks);
    const T x = small_of<T>(w);
    const auto* bytes = reinterpret_cast<const std::byte*>(&x);
    out.insert(out.end(), bytes, bytes + sizeof(T));
  }
  return out;
}

template <typename T>
std::vector<std::byte> reduce_by_hand(const Terms& terms, size_t elements) {
  std::vector<T> whole(elements);
  std::vector<std::byte> one(elements * sizeof(T));
  for (uint64_t rank = 0; rank < terms.ranks; ++rank) {
    fill_terms(terms, rank, one);
    T factor{1};
    if (terms.reduction == Reduction::mulsum)
      std::memcpy(&factor, mulsum_factor(terms.type, rank).data(), sizeof(T));
    for (size_t i = 0; i < elements; ++i) {
      T x;
      std::memcpy(&x, one.data() + i * sizeof(T), sizeof(T));
      x = static_cast<T>(x * factor);
      T& w = whole[i];
      if (rank == 0)
        w = x;
      else if (terms.reduction == Reduction::sum || terms.reduction == Reduction::avg ||
               terms.reduction == Reduction::mulsum)
        w = static_cast<T>(w + x);
      else if (terms.reduction == Reduction::prod)
        w = static_cast<T>(w * x);
      else if (terms.reduction == Reduction::min)
        w = std::min(w, x);
      else
        w = std::max(w, x);
    }
  }
  if (terms.reduction == Reduction::avg) {
    for (T& w : whole) {
      if constexpr (std::is_integral_v<T>)
        w = static_cast<T>(static_cast<uint64_t>(w) / terms.ranks);
      else
        w /= static_cast<T>(terms.ranks);
    }
  }
  std::vector<std::byte> out(elements * sizeof(T));
  std::memcpy(out.data(), whole.data(), out.size());
  return out;
}

std::vector<std::byte> reduce_by_hand(const Terms& terms, size_t elements) {
  switch (terms.type) {
    case ElementType::int8:
      return reduce_by_hand<int8_t>(terms, elements);
    case ElementType::uint8:
      return reduce_by_hand<uint8_t>(terms, elements);
    case ElementType::int32:
      return reduce_by_hand<int32_t>(terms, elements);
    case ElementType::uint32:
      return reduce_by_hand<uint32_t>(terms, elements);
    case ElementType::int64:
      return reduce_by_hand<int64_t>(terms, elements);
    case ElementType::uint64:
      return reduce_by_hand<uint64_t>(terms, elements);
    case ElementType::float32:
      return reduce_by_hand<float>(terms, elements);
    case ElementType::float64:
      return reduce_by_hand<double>(terms, elements);
    case ElementType::float16:
      return reduce_small<kernels::Float16>(terms, elements);
    case ElementType::bfloat16:
      return reduce_small<kernels::BFloat16>(terms, elements);
    case ElementType::fp8_e4m3:
      return reduce_small<kernels::Fp8E4M3>(terms, elements);
    case ElementType::fp8_e5m2:
      return reduce_small<kernels::Fp8E5M2>(terms, elements);
  }
  std::abort();
}

}  // namespace

TEST_CASE("the expected result is what the ranks' terms reduce to, for every type and reduction") {
  for (size_t type = 0; type < element_type_names().size(); ++type) {
    for (size_t reduction = 0; reduction < reduction_names().size(); ++reduction) {
      for (const uint64_t ranks : {1, 2, 3, 4, 7, 16, 63, 64, 65, 127, 128, 200, 1024}) {
        const Terms terms{static_cast<ElementType>(type), static_cast<Reduction>(reduction), ranks,
                          ranks + 5};
        if (!exact(terms)) continue;
        CAPTURE(element_type_names()[type]);
        CAPTURE(reduction_names()[reduction]);
        CAPTURE(ranks);
        const auto wrong = verify_reduced(terms, 0, reduce_by_hand(terms, 97));
        CHECK_FALSE(wrong.has_value());
      }
    }
  }
}

namespace {

// Whether a library is found out that compares these values as if their type had, or lacked, a
// sign.
template <typename T, typename Taken>
bool sees_wrong_sign(ElementType type, Reduction reduction, uint64_t ranks) {
  const Terms terms{type, reduction, ranks, 3};
  std::vector<T> whole(1024), one(1024);
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    fill_terms(terms, rank, std::as_writable_bytes(std::span(one)));
    for (size_t i = 0; i < one.size(); ++i) {
      const bool less = static_cast<Taken>(one[i]) < static_cast<Taken>(whole[i]);
      if (rank == 0 || less == (reduction == Reduction::min)) whole[i] = one[i];
    }
  }
  return verify_reduced(terms, 0, std::as_bytes(std::span(whole))).has_value();
}

}  // namespace

TEST_CASE("a minimum or maximum that takes numbers with a sign for such without is seen") {
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    for (const uint64_t ranks : {2, 3, 64, 1000}) {
      CAPTURE(ranks);
      CHECK(sees_wrong_sign<uint8_t, int8_t>(ElementType::uint8, reduction, ranks));
      CHECK(sees_wrong_sign<uint32_t, int32_t>(ElementType::uint32, reduction, ranks));
      CHECK(sees_wrong_sign<uint64_t, int64_t>(ElementType::uint64, reduction, ranks));
      CHECK(sees_wrong_sign<int8_t, uint8_t>(ElementType::int8, reduction, ranks));
      CHECK(sees_wrong_sign<int32_t, uint32_t>(ElementType::int32, reduction, ranks));
      CHECK(sees_wrong_sign<int64_t, uint64_t>(ElementType::int64, reduction, ranks));
      CHECK_FALSE(sees_wrong_sign<uint32_t, uint32_t>(ElementType::uint32, reduction, ranks));
      CHECK_FALSE(sees_wrong_sign<int64_t, int64_t>(ElementType::int64, reduction, ranks));
    }
  }
}

TEST_CASE("a rank's data of the iteration before, or of another rank, are seen") {
  for (size_t reduction = 0; reduction < 2; ++reduction) {
    const Terms terms{ElementType::float32, static_cast<Reduction>(reduction), 4, 9};
    Terms stale = terms;
    stale.iteration = 8;
    CHECK(verify_reduced(terms, 0, reduce_by_hand(stale, 64)).has_value());
    Terms fewer = terms;
    fewer.ranks = 3;
    CHECK(verify_reduced(terms, 0, reduce_by_hand(fewer, 64)).has_value());
  }
}

TEST_CASE("verify_reduced counts wrong elements and names the first") {
  const Terms terms{ElementType::int32, Reduction::sum, 4, 1};
  auto data = reduce_by_hand(terms, 16);
  data[5 * 4] ^= std::byte{1};
  data[9 * 4 + 3] ^= std::byte{0x40};
  const auto wrong = verify_reduced(terms, 0, data).value();
  CHECK(wrong.count == 2);
  CHECK(wrong.first == 5);
  CHECK(wrong.text.text().find("expected") != std::string::npos);
}

TEST_CASE("a single flipped bit in a single element is found, for every type and reduction") {
  for (size_t type = 0; type < element_type_names().size(); ++type) {
    for (size_t reduction = 0; reduction < reduction_names().size(); ++reduction) {
      const Terms terms{static_cast<ElementType>(type), static_cast<Reduction>(reduction), 8, 3};
      if (!exact(terms)) continue;
      CAPTURE(element_type_names()[type]);
      CAPTURE(reduction_names()[reduction]);
      const std::vector<std::byte> good = reduce_by_hand(terms, 33);
      const size_t width = element_bytes(terms.type);
      for (size_t bit = 0; bit < 8 * width; ++bit) {
        std::vector<std::byte> bad = good;
        bad[17 * width + bit / 8] ^= std::byte{1} << (bit % 8);
        const auto wrong = verify_reduced(terms, 0, bad);
        REQUIRE(wrong.has_value());
        CHECK(wrong->count == 1);
        CHECK(wrong->first == 17);
      }
    }
  }
}

TEST_CASE("averages of integers over no power of two: a rank that is missed is seen") {
  for (const ElementType type : {ElementType::int8, ElementType::uint32, ElementType::int64}) {
    const Terms six{type, Reduction::avg, 6, 4};
    CAPTURE(element_type_name(type));
    auto data = reduce_by_hand(six, 64);
    CHECK_FALSE(verify_reduced(six, 0, data).has_value());
    std::vector<std::byte> term(data.size());
    fill_terms(six, 2, term);
    const size_t width = element_bytes(type);
    // What five ranks would have given: the average less a sixth of the term that is missing. A
    // term below six may not show in it.
    uint64_t average = 0, missing = 0;
    size_t at = 64;
    while (missing < 6 && at-- > 0) std::memcpy(&missing, term.data() + at * width, width);
    REQUIRE(missing >= 6);
    std::memcpy(&average, data.data() + at * width, width);
    average -= missing / 6;
    std::memcpy(data.data() + at * width, &average, width);
    const auto wrong = verify_reduced(six, 0, data);
    REQUIRE(wrong.has_value());
    CHECK(wrong->first == at);
  }
}

TEST_CASE("a block that starts at another index has other data") {
  const Terms terms{ElementType::float64, Reduction::sum, 4, 1};
  const auto data = reduce_by_hand(terms, 16);
  const auto second = std::span(data).subspan(8 * 8);
  CHECK_FALSE(verify_reduced(terms, 8, second).has_value());
  CHECK(verify_reduced(terms, 0, second).has_value());
}

TEST_CASE("patterns differ by rank, iteration and place, and every byte is checked") {
  std::vector<std::byte> data(37);
  fill_pattern(data, 3, 7, 16);
  CHECK_FALSE(verify_pattern(data, 3, 7, 16, 1).has_value());
  CHECK(verify_pattern(data, 2, 7, 16, 1).has_value());
  CHECK(verify_pattern(data, 3, 6, 16, 1).has_value());
  CHECK(verify_pattern(data, 3, 7, 8, 1).has_value());
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] ^= std::byte{0x80};
    const auto wrong = verify_pattern(data, 3, 7, 16, 1);
    REQUIRE(wrong.has_value());
    CHECK(wrong->first == i);
    CHECK(wrong->count == 1);
    data[i] ^= std::byte{0x80};
  }
  data[13] ^= std::byte{1};
  CHECK(verify_pattern(data, 3, 7, 16, 4)->first == 3);
}

TEST_CASE("one-byte sums over any number of ranks stay within the type") {
  // Open MPI 4.1 saturates 8-bit sums where it has vector instructions for them.
  for (const uint64_t ranks : {2, 16, 64, 127, 300}) {
    const Terms terms{ElementType::int8, Reduction::sum, ranks, 2};
    std::vector<int> sums(64);
    std::vector<std::byte> one(64);
    std::set<int> values;
    for (uint64_t r = 0; r < ranks; ++r) {
      fill_terms(terms, r, one);
      for (size_t i = 0; i < 64; ++i) sums[i] += static_cast<int8_t>(one[i]);
    }
    for (const int s : sums) {
      CHECK(s <= 127);
      values.insert(s);
    }
    CHECK(values.size() > 3);
  }
}

TEST_CASE("names of types and reductions") {
  CHECK(element_type_of("float") == ElementType::float32);
  CHECK(element_bytes(element_type_of("double")) == 8);
  CHECK(element_bytes(element_type_of("uint8")) == 1);
  CHECK(reduction_of("max") == Reduction::max);
  CHECK_THROWS_AS(element_type_of("quarter"), Error);
  CHECK_THROWS_AS(reduction_of("mean"), Error);
}
