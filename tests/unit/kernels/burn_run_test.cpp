// Hashes, comparisons, memory tests and the chain of the SMs, against the same definitions on the
// host.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "kernels/hash.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

}  // namespace

TEST_CASE("hashes of device and host, and numbers that are not finite") {
  for (const std::size_t words :
       {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{1031}}) {
    CAPTURE(words);
    in_every_order([&] {
      DeviceArray<std::uint64_t> data(words, "data");
      DeviceArray<HashResult> result(1, "result");
      for (std::size_t i = 0; i < words; ++i) data[i] = pattern_word(i, 3) & 0x3f3f3f3f3f3f3f3fU;
      const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
      const auto hash = [&](int element_bits, int exponent_bits) {
        result[0] = {1, 1};
        REQUIRE(launch_hash(data.data(), words * 8, element_bits, exponent_bits, result.data(),
                            nullptr) == 0);
        CHECK(result[0].hash == hash_bytes(bytes, words * 8));
        return result[0].not_finite;
      };
      CHECK(hash(0, 0) == 0);
      CHECK(hash(16, 8) == 0);
      if (words < 100) return;
      data[17] = kNone;
      CHECK(hash(16, 8) == 4);  // as many as a word has of 16 bits
      CHECK(hash(32, 8) == 2);
      CHECK(hash(64, 11) == 1);
      CHECK(hash(64, 0) == 0);
    });
  }
  DeviceArray<HashResult> result(1);
  CHECK(launch_hash(nullptr, 7, 0, 0, result.data(), nullptr) == 1);  // cudaErrorInvalidValue
}

TEST_CASE("a comparison counts words and finds the first; damage changes one") {
  constexpr std::size_t words = 777;
  in_every_order([&] {
    DeviceArray<std::uint64_t> a(words, "a"), b(words, "b");
    DeviceArray<CompareResult> result(1, "result");
    for (std::size_t i = 0; i < words; ++i) a[i] = b[i] = pattern_word(i, 4);
    const auto compare = [&] {
      REQUIRE(launch_compare(a.data(), b.data(), words * 8, result.data(), nullptr) == 0);
      return result[0];
    };
    CHECK(compare().words == 0);
    CHECK(compare().first == kNone);
    REQUIRE(launch_damage(a.data(), 600, 13, false, nullptr) == 0);
    CHECK(a[600] == (b[600] ^ 0x2000U));
    REQUIRE(launch_damage(b.data(), 500, 0, true, nullptr) == 0);
    CHECK(b[500] == kNone);
    CHECK(compare().words == 2);
    CHECK(compare().first == 500);
  });
  DeviceArray<CompareResult> result(1);
  CHECK(launch_compare(nullptr, nullptr, 12, result.data(), nullptr) == 1);
  CHECK(find_kernels() == 0);
}

TEST_CASE("marches over clean memory and over a wrong bit") {
  for (const std::size_t words : {std::size_t{0}, std::size_t{1}, std::size_t{515}}) {
    in_every_order([&] {
      DeviceArray<std::uint64_t> data(words, "data");
      DeviceArray<MarchResult> result(1, "result");
      for (int t = 0; t < march_tests; ++t) {
        const auto test = static_cast<March>(t);
        if (!march_turns(test)) continue;
        CAPTURE(t);
        const std::uint64_t step = march_steps(test) - 1;
        result[0] = {0, kNone, 0};
        REQUIRE(launch_march_write(data.data(), words, test, step, nullptr) == 0);
        for (const bool inverted : {false, true})
          REQUIRE(launch_march_turn(data.data(), words, test, step, inverted, result.data(),
                                    nullptr) == 0);
        CHECK(result[0].wrong == 0);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < words; ++i) kept += data[i] == march_word(test, step, i, false);
        CHECK(kept == words);
        if (words < 400) continue;
        data[300] ^= 0x40;
        data[400] ^= 0x8000;
        REQUIRE(launch_march_turn(data.data(), words, test, step, false, result.data(), nullptr) ==
                0);
        CHECK(result[0].wrong == 2);
        CHECK(result[0].first == 300);
        CHECK(result[0].bits == 0x8040);
        CHECK(data[300] == march_word(test, step, 300, true));  // what was wrong is written anew
      }
    });
  }
}

TEST_CASE("moved memory is compared at its new places") {
  constexpr std::size_t words = 300;
  in_every_order([&] {
    DeviceArray<std::uint64_t> data(words, "data");
    DeviceArray<MarchResult> result(1, "result");
    for (std::size_t i = 0; i < words; ++i)
      data[i] = march_word(March::block_move, 0, (i + words - march_shift_words) % words, false);
    const auto compare = [&](std::uint64_t shift) {
      result[0] = {0, kNone, 0};
      REQUIRE(launch_march_compare(data.data(), words, March::block_move, 0, shift, result.data(),
                                   nullptr) == 0);
      return result[0];
    };
    CHECK(compare(march_shift_words).wrong == 0);
    CHECK(compare(0).wrong == words);
    data[4] ^= 0x40;
    CHECK(compare(march_shift_words).wrong == 1);
    CHECK(result[0].first == 4);
    CHECK(result[0].bits == 0x40);
    CHECK(launch_march_compare(data.data(), words, March::block_move, 0, words + 1, result.data(),
                               nullptr) == 1);
  });
}

TEST_CASE("the chain of every block, and the block that is damaged") {
  constexpr unsigned blocks = 5;
  constexpr std::uint32_t iterations = 20;
  const std::uint64_t wanted = chain_block_result(iterations);
  in_every_order([&] {
    DeviceArray<ChainResult> results(blocks, "results");
    std::fill(results.begin(), results.end(), ChainResult{});
    // What was wrong in the second of three launches is kept.
    for (const std::int64_t damaged : {-1, 3, -1})
      REQUIRE(launch_chain(results.data(), blocks, iterations, wanted, damaged, nullptr) == 0);
    std::set<std::uint32_t> multiprocessors;
    for (unsigned b = 0; b < blocks; ++b) {
      CAPTURE(b);
      CHECK((results[b].value == wanted) == (b != 3));
      CHECK(results[b].wrong == (b == 3 ? 1 : 0));
      multiprocessors.insert(results[b].sm);
    }
    // The damaged thread's bit 17 alone.
    const bool one_bit =
        results[3].value == wanted + 0x20000 || results[3].value == wanted - 0x20000;
    CHECK(one_bit);
    CHECK(multiprocessors == std::set<std::uint32_t>{0, 1, 2, 3});
  });
}

TEST_CASE("a spin lasts as long as it was told") {
  const auto begun = std::chrono::steady_clock::now();
  CHECK(launch_spin(0.05, nullptr) == 0);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - begun;
  CHECK(lasted.count() >= 0.05);
  const device_executor::WithSettings with({.deadline_seconds = 0.05});
  CHECK_THROWS_AS(launch_spin(60, nullptr), device_executor::Fault);
}
