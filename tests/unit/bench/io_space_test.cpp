#include "bench/storage/io/space.h"

#include <doctest/doctest.h>

using namespace cb::io;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// One rank that puts 100 MiB in 2 files on a filesystem of 1,000 MiB of which 400 are used.
SpaceNeed rank(const std::string& filesystem = "n1 1") {
  return {.filesystem = filesystem,
          .mount_point = "/data",
          .bytes = 100 * kMiB,
          .files = 2,
          .free_bytes = 600 * kMiB,
          .used_bytes = 400 * kMiB,
          .total_bytes = 1000 * kMiB};
}

}  // namespace

TEST_CASE("the ranks of one filesystem need room together, those of several do not") {
  CHECK(space_problems({rank()}, 0.95).empty());
  CHECK(space_problems({rank(), rank(), rank(), rank(), rank()}, 0.95).empty());
  const auto six = space_problems({rank(), rank(), rank(), rank(), rank(), rank()}, 1);
  REQUIRE(six.size() == 1);
  CHECK(six[0].text().find("/data has 600.0 MiB free, but 6 ranks need 622.0 MiB") == 0);
  CHECK(space_problems(
            {rank("n1 1"), rank("n1 1"), rank("n1 1"), rank("n2 1"), rank("n2 1"), rank("n2 1")},
            0.95)
            .empty());
}

TEST_CASE("the limit of filling, on both sides") {
  CHECK(space_problems({rank()}, 0.5).empty());
  const auto over = space_problems({rank()}, 0.499);
  REQUIRE(over.size() == 1);
  CHECK(over[0].text().find("/data would be 50.0 % full") == 0);
}

TEST_CASE("inodes, where a filesystem has a number of them") {
  SpaceNeed few = rank();
  few.free_files = 4;
  CHECK(space_problems({few, few}, 0.95).empty());
  few.free_files = 3;
  const auto short_of = space_problems({few, few}, 0.95);
  REQUIRE(short_of.size() == 1);
  CHECK(short_of[0].text().find("/data has 3 inodes free, but 2 ranks need 4") == 0);
}
