// Kernels that move memory, against loops on the host.
#include <algorithm>
#include <cstring>

#include "kernels/stream.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

// The grid has two blocks of 512 threads with four words each in flight: below, at and beyond one
// round of 4096.
constexpr std::size_t kWords[] = {0, 1, 511, 3073, 4096, 4097, 9000};

}  // namespace

TEST_CASE("a copy copies all of it and nothing else") {
  for (const std::size_t words : kWords) {
    CAPTURE(words);
    in_every_order([&] {
      DeviceArray<std::uint64_t> from(2 * words, "from"), to(2 * words, "to");
      for (std::size_t i = 0; i < 2 * words; ++i) from[i] = pattern_word(i, 1);
      REQUIRE(launch_copy(to.data(), from.data(), 16 * words, nullptr) == 0);
      CHECK(std::equal(from.begin(), from.end(), to.begin()));
    });
  }
  CHECK(launch_copy(nullptr, nullptr, 17, nullptr) == 1);  // cudaErrorInvalidValue
}

TEST_CASE("the triad, each way over memory, to the last bit") {
  for (const std::size_t pairs : kWords) {
    CAPTURE(pairs);
    const std::size_t elements = 2 * pairs;
    in_every_order([&] {
      DeviceArray<double> a(elements, "a"), b(elements, "b"), c(elements, "c");
      DeviceArray<TriadResult> result(1, "result");
      REQUIRE(launch_triad_fill(b.data(), c.data(), elements, 5, nullptr) == 0);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < elements; ++i)
        wrong += b[i] != triad_element(i, 5) || c[i] != triad_element(i, 6);
      CHECK(wrong == 0);
      for (int way = 0; way < sweeps; ++way) {
        CAPTURE(way);
        std::memset(a.data(), 0xff, elements * sizeof(double));
        REQUIRE(launch_triad(a.data(), b.data(), c.data(), elements, static_cast<Sweep>(way),
                             nullptr) == 0);
        REQUIRE(launch_triad_check(a.data(), elements, 5, result.data(), nullptr) == 0);
        CHECK(result[0].wrong == 0);
        CHECK(result[0].first == ~std::uint64_t{0});
        for (std::size_t i = 0; i < elements; ++i) wrong += a[i] != triad_result(i, 5);
        CHECK(wrong == 0);
      }
      if (elements < 1000) return;
      a[700] = 0;
      a[900] = 0;
      REQUIRE(launch_triad_check(a.data(), elements, 5, result.data(), nullptr) == 0);
      CHECK(result[0].wrong == 2);
      CHECK(result[0].first == 700);
    });
  }
  CHECK(launch_triad(nullptr, nullptr, nullptr, 3, Sweep::swept, nullptr) == 1);
}

TEST_CASE("a read adds up every word") {
  for (const std::size_t words : kWords) {
    CAPTURE(words);
    in_every_order([&] {
      DeviceArray<std::uint64_t> from(2 * words, "from"), sum(1, "sum");
      std::uint64_t wanted = 7;
      for (std::size_t i = 0; i < 2 * words; ++i) wanted += from[i] = pattern_word(i, 2);
      sum[0] = 7;
      REQUIRE(launch_read(from.data(), 16 * words, sum.data(), nullptr) == 0);
      CHECK(sum[0] == wanted);
    });
  }
  CHECK(launch_read(nullptr, 8, nullptr, nullptr) == 1);
}

TEST_CASE("a chase goes on where it ended") {
  constexpr std::size_t words = chase_line_bytes / 8;
  DeviceArray<std::uint64_t> lines(4 * words, "lines"), at(1, "at");
  for (std::uint64_t i = 0; i < 4; ++i) lines[i * words] = (i + 3) % 4;
  at[0] = 0;
  for (int i = 0; i < 2; ++i) REQUIRE(launch_chase(lines.data(), 3, at.data(), nullptr) == 0);
  CHECK(at[0] == 2);
  REQUIRE(launch_chase(lines.data(), 0, at.data(), nullptr) == 0);
  CHECK(at[0] == 2);
}
