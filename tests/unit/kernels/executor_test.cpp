// What the executor of kernels finds, and that it does what a device does. The mistakes are in
// planted.cu.
#include "tests/unit/kernels/fault_of.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/device_executor/planted/planted.h"

using namespace planted;
using device_executor::DeviceArray;
using device_executor::Fault;
using device_executor::Settings;
using device_executor::WithSettings;
using fault_of_launch::contains;
using fault_of_launch::fault_of;
using fault_of_launch::kSeeds;

TEST_CASE("an access beyond an array names kernel, block, thread and place") {
  if (!device_executor::sees_accesses()) return;
  DeviceArray<int> data(60, "data"), other(64, "other");
  std::fill(data.begin(), data.end(), 1);
  std::fill(other.begin(), other.end(), 1);
  CHECK(fault_of(0, [&] { return launch_write_from(data.data(), 0, 60); }) == "");
  CHECK(
      fault_of(0, [&] { return launch_write_from(data.data(), 0, 61); }) ==
      "kernel write_from, block (0,0,0), thread (60,0,0) writes 4 bytes at byte 240 of data, which "
      "has 240 bytes");
  CHECK(fault_of(0, [&] { return launch_write_from(data.data(), -1, 4); }) ==
        "kernel write_from, block (0,0,0), thread (0,0,0) writes 4 bytes 4 bytes before the "
        "beginning of data, which has 240 bytes");
  CHECK(fault_of(0, [&] { return launch_read_from(data.data(), 0, other.data(), 60); }) == "");
  CHECK(contains(fault_of(0, [&] { return launch_read_from(data.data(), 57, other.data(), 4); }),
                 "thread (3,0,0) reads 4 bytes at byte 240 of data"));
  // Memory of the host is no kernel's.
  std::vector<int> host(64);
  CHECK(contains(fault_of(0, [&] { return launch_write_from(host.data(), 0, 1); }),
                 "thread (0,0,0) writes 4 bytes"));
}

TEST_CASE("an address that the type does not allow is seen beyond the end too") {
  if (!device_executor::sees_accesses()) return;
  DeviceArray<unsigned char> data(63, "data");
  CHECK(contains(
      fault_of(0, [&] { return launch_write_from(reinterpret_cast<int*>(data.data()), 0, 16); }),
      "thread (15,0,0) writes 4 bytes at byte 63 of data"));
}

TEST_CASE("a barrier that is missing is a race, in whatever order threads run") {
  DeviceArray<int> data(64, "data");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    std::iota(data.begin(), data.end(), 0);
    CHECK(fault_of(seed, [&] { return launch_rotate(data.data(), 64, true); }) == "");
    for (int i = 0; i < 64; ++i) CHECK(data[static_cast<std::size_t>(i)] == (i + 1) % 64);
    std::iota(data.begin(), data.end(), 0);
    CHECK(fault_of(seed, [&] { return launch_rotate_in_warp(data.data(), 64, true); }) == "");
    CHECK(data[63] == 32);
    if (!device_executor::sees_accesses()) continue;
    const auto missing = fault_of(seed, [&] { return launch_rotate(data.data(), 64, false); });
    CHECK(contains(missing, "kernel rotate, block (0,0,0), thread ("));
    const bool told = contains(missing, "without a barrier between the two") ||
                      contains(missing, "where no thread has written");
    CHECK(told);
    CHECK(contains(missing, "of the shared variable row"));
    CHECK(contains(fault_of(seed, [&] { return launch_rotate_in_warp(data.data(), 64, false); }),
                   "of the shared variable row"));
  }
}

TEST_CASE("shared memory that nobody has written is not read, and its end is its end") {
  if (!device_executor::sees_accesses()) return;
  DeviceArray<int> data(64, "data");
  std::iota(data.begin(), data.end(), 0);
  CHECK(fault_of(1, [&] { return launch_rotate_dynamic(data.data(), 64, 64); }) == "");
  CHECK(data[63] == 0);
  CHECK(
      contains(fault_of(0, [&] { return launch_rotate_dynamic(data.data(), 64, 63); }),
               "reads 4 bytes at byte 252 of the shared variable dynamic_shared(), which has 252"));
  CHECK(contains(fault_of(0, [&] { return launch_rotate(data.data(), 65, true); }),
                 "thread (64,0,0)"));
}

TEST_CASE("a barrier to which not every thread comes") {
  CHECK(fault_of(0, [] { return launch_barrier_of_some(96, 96); }) == "");
  CHECK(
      contains(fault_of(0, [] { return launch_barrier_of_some(95, 96); }),
               "kernel barrier_of_some, block (0,0,0): thread (94,0,0) waits in __syncthreads() at "
               "planted.cu:"));
  CHECK(contains(fault_of(0, [] { return launch_barrier_of_some(95, 96); }),
                 "as 95 of 96 threads do; thread (95,0,0) has ended"));
  DeviceArray<int> data(64);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto found =
        fault_of(seed, [&] { return launch_barrier_in_each_branch(data.data(), 64); });
    CHECK(contains(found, "waits in __syncthreads() at planted.cu:"));
    CHECK(contains(found, ", but thread ("));
  }
}

TEST_CASE("a shuffle to which a lane does not come, or that reads a lane beside its mask") {
  DeviceArray<int> data(64);
  std::iota(data.begin(), data.end(), 0);
  CHECK(fault_of(0, [&] { return launch_shuffle_of_some(data.data(), ~0U, 32, 32); }) == "");
  CHECK(data[6] == 7);
  CHECK(fault_of(0, [&] { return launch_shuffle_of_some(data.data(), 0xffU, 8, 32); }) == "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto found =
        fault_of(seed, [&] { return launch_shuffle_of_some(data.data(), ~0U, 16, 32); });
    CHECK(contains(found, "waits in a shuffle at planted.cu:"));
    CHECK(contains(found,
                   "for lanes 0xffffffff, and lane 16 does not come: thread (16,0,0) has ended"));
  }
  // A block of 24 threads has no lane 24.
  CHECK(contains(fault_of(0, [&] { return launch_shuffle_of_some(data.data(), ~0U, 24, 24); }),
                 "and lane 24 does not come: no such thread"));
  CHECK(contains(fault_of(0, [&] { return launch_shuffle_of_some(data.data(), 0x7U, 4, 32); }),
                 "which the mask 0x00000007"));
  CHECK(fault_of(0, [&] { return launch_shuffle_from(data.data(), 0xf0U, 5); }) == "");
  CHECK(contains(fault_of(0, [&] { return launch_shuffle_from(data.data(), 0xf0U, 3); }),
                 "with lane 3, which the mask 0x000000f0 does not name"));
  const auto mixed = fault_of(0, [&] { return launch_shuffle_and_vote(data.data()); });
  CHECK(contains(mixed, "waits in a shuffle"));
  CHECK(contains(mixed, "waits in __any_sync()"));
}

TEST_CASE("shuffles, votes and reductions by hand") {
  DeviceArray<unsigned> out(32 * words_of_lane, "out");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::fill(out.begin(), out.end(), 99U);
    REQUIRE(fault_of(seed, [&] { return launch_words(out.data()); }) == "");
    for (unsigned lane = 0; lane < 32; ++lane) {
      CAPTURE(lane);
      const unsigned* mine = out.data() + lane * words_of_lane;
      CHECK(mine[0] == 5);
      CHECK(mine[1] == lane / 8 * 8 + 1);  // 9 modulo 8
      CHECK(mine[2] == (lane < 3 ? lane : lane - 3));
      CHECK(mine[3] == (lane % 8 < 3 ? lane : lane - 3));
      CHECK(mine[4] == (lane > 27 ? lane : lane + 4));
      CHECK(mine[5] == (lane % 16 > 11 ? lane : lane + 4));
      CHECK(mine[6] == (lane + 16) % 32);
      // Groups of eight: an earlier group may be read, a later one may not (PTX ISA, shfl.sync).
      CHECK(mine[7] == ((lane ^ 12U) > lane / 8 * 8 + 7 ? lane : (lane ^ 12U)));
      CHECK(mine[8] == 0x49249249U);
      CHECK(mine[9] == 1);
      CHECK(mine[10] == 0);
      CHECK(mine[11] == 15U << lane / 4 * 4);
      CHECK(mine[12] == 496);
      CHECK(mine[13] == 31);
      CHECK(mine[14] == ~0U);
      CHECK(mine[15] == 10);
      CHECK(mine[16] == (lane % 2 == 0 ? 0x55555500U : 0));
    }
  }
}

TEST_CASE("each thread of each block runs once, whatever the shape") {
  for (const auto& [blocks, threads] :
       {std::pair{dim3(3, 2, 2), dim3(5, 3, 2)}, std::pair{dim3(1), dim3(1)},
        std::pair{dim3(7), dim3(33)}, std::pair{dim3(1), dim3(1024)}}) {
    const std::size_t all =
        std::size_t{blocks.x} * blocks.y * blocks.z * threads.x * threads.y * threads.z;
    DeviceArray<unsigned> out(all);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      std::fill(out.begin(), out.end(), 0U);
      CHECK(fault_of(seed, [&, b = blocks, t = threads] {
              return launch_places(out.data(), b, t);
            }) == "");
      CHECK(std::all_of(out.begin(), out.end(), [](unsigned n) { return n == 1; }));
    }
  }
  // What no device takes: cudaErrorInvalidConfiguration.
  DeviceArray<unsigned> out(1);
  for (const auto& [blocks, threads] :
       {std::pair{dim3(0), dim3(1)}, std::pair{dim3(1), dim3(0)}, std::pair{dim3(1), dim3(1025)},
        std::pair{dim3(1), dim3(1, 1, 65)}, std::pair{dim3(1, 65536), dim3(1)}})
    CHECK(launch_places(out.data(), blocks, threads) == 9);
}

TEST_CASE("atomics add up between threads and blocks") {
  DeviceArray<int> values(7);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const int begin[] = {0, 0, 1000, -1, 0, ~0, 0};
    std::copy(std::begin(begin), std::end(begin), values.begin());
    REQUIRE(fault_of(seed, [&] { return launch_atomics(values.data(), 3, 50); }) == "");
    CHECK(values[0] == 150);
    CHECK(values[1] == -300);
    CHECK(values[2] == 0);
    CHECK(values[3] == 149);
    CHECK(values[4] == 255);
    CHECK(values[5] == ~255);
    CHECK(values[6] == 1);  // 0 ^ 1 ^ … ^ 149, since 149 leaves 1 modulo 4
  }
  DeviceArray<float> sum(1);
  DeviceArray<unsigned> owner(1);
  sum[0] = 0;
  owner[0] = 0;
  CHECK(fault_of(5, [&] { return launch_add_by_exchange(sum.data(), owner.data(), 40); }) == "");
  CHECK(sum[0] == 20);
}

TEST_CASE("what one block wrote another may read only if it was announced") {
  DeviceArray<int> in(16), parts(8, "parts"), sum(1);
  DeviceArray<unsigned> done(1);
  std::iota(in.begin(), in.end(), 0);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const bool announce : {true, false}) {
      done[0] = 0;
      const auto found = fault_of(seed, [&] {
        return launch_last_block_adds(in.data(), parts.data(), done.data(), sum.data(), announce,
                                      8);
      });
      if (announce) {
        CHECK(found == "");
        CHECK(sum[0] == 120);
      } else if (device_executor::sees_accesses()) {
        CHECK(contains(found, "of parts, which thread (0,0,0) of block "));
      }
    }
  }
}

TEST_CASE(
    "a block that waits for a later one is told of at the deadline, and the next launch is right") {
  DeviceArray<unsigned> flags(2);
  flags[0] = flags[1] = 0;
  const WithSettings with({.shuffled = true, .seed = 1, .deadline_seconds = 0.2});
  CHECK_THROWS_WITH_AS(launch_wait_for_next_block(flags.data()),
                       doctest::Contains("has not ended after 0.2"), Fault);
  DeviceArray<int> data(64);
  std::iota(data.begin(), data.end(), 0);
  CHECK(launch_rotate(data.data(), 64, true) == 0);
  CHECK(data[0] == 1);
}

TEST_CASE(
    "blocks that are launched together may wait for each other, and one that tells nothing is "
    "named") {
  constexpr unsigned blocks = 5;
  DeviceArray<int> in(blocks), parts(2 * blocks, "parts"), sums(blocks);
  DeviceArray<std::uint64_t> turns(blocks, "turns");
  std::iota(in.begin(), in.end(), 1);
  const auto found = [&](std::uint64_t seed, unsigned silent, bool early, bool together) {
    std::fill(turns.begin(), turns.end(), std::uint64_t{0});
    std::fill(sums.begin(), sums.end(), 0);
    return fault_of(seed, [&] {
      return launch_add_together(in.data(), parts.data(), turns.data(), sums.data(), silent, early,
                                 together, blocks);
    });
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    CHECK(found(seed, blocks, false, true) == "");
    CHECK(std::all_of(sums.begin(), sums.end(), [](int sum) { return sum == 45; }));
    const auto deadlock = found(seed, 3, false, true);
    CHECK(contains(deadlock, "thread (3,0,0) waits in await() at planted.cu:"));
    CHECK(contains(deadlock, " for 2, but the word is 1 and nobody who could go on raises it"));
    CHECK(contains(found(seed, blocks, false, false), "waits in await() at planted.cu:"));
    if (device_executor::sees_accesses())
      CHECK(contains(found(seed, blocks, true, true), "of parts, which thread ("));
  }
  // What lay aside when the launch was given up is gone.
  CHECK(found(1, blocks, false, true) == "");
}
