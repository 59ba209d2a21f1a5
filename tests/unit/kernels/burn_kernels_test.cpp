// What the kernels of the burn compute, on the host.
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"

using namespace cb::kernels;

TEST_CASE("march patterns: each bit of a word is both 0 and 1 in some step") {
  for (int t = 0; t < march_tests; ++t) {
    const auto test = static_cast<March>(t);
    CAPTURE(t);
    std::uint64_t ones = 0, zeros = 0;
    for (std::uint64_t step = 0; step < march_steps(test); ++step) {
      for (const bool inverted : {false, true}) {
        const std::uint64_t word = march_word(test, step, 1234567, inverted);
        CHECK(march_word(test, step, 1234567, !inverted) == ~word);
        ones |= word;
        zeros |= ~word;
      }
    }
    if (!march_turns(test)) continue;  // each bit is both over the words, not in each of them
    CHECK(ones == ~std::uint64_t{0});
    CHECK(zeros == ~std::uint64_t{0});
  }
}

TEST_CASE("march patterns by value") {
  CHECK(march_word(March::address, 0, 77, false) == 77);
  CHECK(march_word(March::walking_one, 0, 0, false) == 1);
  CHECK(march_word(March::walking_one, 3, 62, false) == 2);
  CHECK(march_word(March::solid, 0, 9, true) == ~std::uint64_t{0});
  CHECK(march_word(March::checkered, 0, 9, true) == 0xaaaaaaaaaaaaaaaaU);
  CHECK(march_word(March::modulo_20, 7, 27, false) == 0xccccccccccccccccU);
  CHECK(march_word(March::modulo_20, 7, 28, false) == 0x3333333333333333U);
  CHECK(march_word(March::bit_fade, 0, 9, true) == ~std::uint64_t{0});
  CHECK(march_word(March::block_move, 0, 9, false) == pattern_word(9, 101));
  CHECK_FALSE(march_turns(March::block_move));
  // Two words of the address test never hold the same: a wrong address line is seen.
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(march_word(March::address, 0, i, false));
  CHECK(seen.size() == 1000);
}

TEST_CASE("the chain is the same everywhere and different for each thread") {
  CHECK(chain_block_result(100) == chain_block_result(100));
  CHECK(chain_block_result(100) != chain_block_result(101));
  std::set<std::uint64_t> results;
  for (unsigned t = 0; t < chain_threads; ++t) results.insert(chain_result(t, 1000));
  CHECK(results.size() == chain_threads);
}

TEST_CASE("the triad's values are to the last bit what one fused multiply-add gives") {
  const double b = triad_element(5, 1), c = triad_element(5, 2);
  CHECK(triad_result(5, 1) == std::fma(3.0, c, b));
  CHECK(b >= 0);
  CHECK(b < 1);
  CHECK(triad_element(5, 1) != triad_element(6, 1));
}

// Walking one has 64 of the 90 steps; a minute of burn on 141 GB ended within it.
TEST_CASE("a march takes a step of every test first, and each of its steps once") {
  std::vector<int> steps(march_tests, 0);
  MarchStep now;
  int taken = 0;
  do {
    CHECK(now.step == static_cast<std::uint64_t>(steps[static_cast<size_t>(now.test)]++));
    if (taken < march_tests) CHECK(static_cast<int>(now.test) == taken);
    ++taken;
    now = march_next(now);
  } while (now.test != March::address || now.step != 0);
  CHECK(taken == 90);
  for (int test = 0; test < march_tests; ++test)
    CHECK(static_cast<std::uint64_t>(steps[static_cast<size_t>(test)]) ==
          march_steps(static_cast<March>(test)));
}
