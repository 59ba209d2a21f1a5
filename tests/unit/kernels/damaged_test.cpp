// What the executor finds in real kernels that have one line changed
// (tests/device_executor/damaged.cmake).
#include "tests/unit/kernels/fault_of.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/fill_verify.h"
#include "kernels/hash.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "tests/device_executor/planted/planted.h"

using device_executor::DeviceArray;
using fault_of_launch::contains;
using fault_of_launch::fault_of;
using fault_of_launch::kSeeds;

TEST_CASE("the chain without its first, its second barrier or its atomic") {
  if (!device_executor::sees_accesses()) return;
  using namespace cb::kernels;
  DeviceArray<ChainResult> results(2, "results");
  const std::uint64_t wanted = chain_block_result(3);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    std::fill(results.begin(), results.end(), ChainResult{});
    CHECK(fault_of(seed, [&] { return launch_chain(results.data(), 2, 3, wanted, -1, nullptr); }) ==
          "");
    for (auto* launcher : {no_first_barrier_chain, no_second_barrier_chain, no_atomic_chain}) {
      const auto found =
          fault_of(seed, [&] { return launcher(results.data(), 2, 3, wanted, -1, nullptr); });
      CHECK(contains(found, "kernel chain, block ("));
      CHECK(contains(found, "of the shared variable sum"));
    }
  }
}

TEST_CASE("a fill of one word too many, and a march whose threads all write one word") {
  using namespace cb::kernels;
  DeviceArray<std::uint64_t> data(300, "data");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const auto beyond =
        fault_of(seed, [&] { return one_too_many_fill(data.data(), 2400, 1, nullptr); });
    if (device_executor::sees_accesses())
      CHECK(contains(beyond, "writes 8 bytes at byte 2400 of data, which has 2400 bytes"));
    else
      CHECK(beyond == "kernel fill: wrote beside data of 2400 bytes");
    if (!device_executor::sees_accesses()) return;
    CHECK(contains(fault_of(seed,
                            [&] {
                              return one_word_for_all_march_write(data.data(), 300, March::address,
                                                                  0, nullptr);
                            }),
                   "of data, which thread ("));
  }
}

TEST_CASE("a hash whose idle threads end before the shuffle") {
  using namespace cb::kernels;
  DeviceArray<std::uint64_t> data(300, "data");
  DeviceArray<HashResult> result(1, "result");
  std::iota(data.begin(), data.end(), std::uint64_t{0});
  CHECK(fault_of(0, [&] { return launch_hash(data.data(), 2400, 0, 0, result.data(), nullptr); }) ==
        "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    CHECK(contains(
        fault_of(seed,
                 [&] { return early_end_hash(data.data(), 2400, 0, 0, result.data(), nullptr); }),
        "does not come: thread ("));
}

TEST_CASE("gradients of all columns in one, and a sum that goes one element too far") {
  if (!device_executor::sees_accesses()) return;
  using namespace cb::kernels;
  DeviceArray<float> dout(2 * 70, "dout"), table(4 * 70, "table");
  DeviceArray<std::int32_t> tokens(2, "tokens");
  DeviceArray<double> parts(1, "parts"), out(1, "out");
  std::fill(dout.begin(), dout.end(), 1.0F);
  std::fill(table.begin(), table.end(), 0.0F);
  tokens[0] = 1;
  tokens[1] = 3;
  const TrainEmbedding e{tokens.data(), 2, 70, 0, 4};
  const auto embed = [&](auto* launcher) {
    return [&, launcher] { return launcher(dout.data(), table.data(), e, nullptr); };
  };
  const auto squares = [&](auto* launcher) {
    return [&, launcher] { return launcher(dout.data(), 140, parts.data(), out.data(), nullptr); };
  };
  CHECK(fault_of(0, embed(launch_train_embed_backward)) == "");
  CHECK(fault_of(0, squares(launch_train_squares)) == "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CHECK(contains(fault_of(seed, embed(one_column_train_embed_backward)),
                   "of table, which thread ("));
    CHECK(contains(fault_of(seed, squares(one_too_far_train_squares)),
                   "reads 4 bytes at byte 560 of dout, which has 560 bytes"));
  }
}

TEST_CASE("attention that does not wait for its scores, and one that sees a position too many") {
  if (!device_executor::sees_accesses()) return;
  using namespace cb::kernels;
  DeviceArray<float> q(8, "q"), cache(2 * 16, "cache"), out(8, "out"),
      parts(static_cast<std::size_t>(infer_attention_parts(1, 2, 4, 2)), "parts");
  std::fill(q.begin(), q.end(), 1.0F);
  std::fill(cache.begin(), cache.end(), 1.0F);
  const InferAttention a{
      q.data(), cache.data(), out.data(), parts.data(), nullptr, 1, 2, 2, 4, 16, 1, 2, 1.0F, false};
  const auto attend = [&](auto* launcher) {
    return [&, launcher] { return launcher(a, nullptr); };
  };
  CHECK(fault_of(0, attend(launch_infer_attention)) == "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CHECK(contains(fault_of(seed, attend(no_wait_for_scores_infer_attention)),
                   "of the shared variable scores"));
    CHECK(contains(fault_of(seed, attend(one_position_more_infer_attention)),
                   "of cache, which has 128 bytes"));
  }
}

TEST_CASE("rows that move before all are read, and a sweep over all colours at once") {
  if (!device_executor::sees_accesses()) return;
  using namespace cb::kernels;
  DeviceArray<double> a(64, "a"), top(40, "top");
  DeviceArray<std::int64_t> from(40, "from"), to(40, "to"), with(40, "with");
  std::fill(a.begin(), a.end(), 1.0);
  for (std::size_t j = 0; j < 40; ++j) {
    from[j] = static_cast<std::int64_t>(j);
    to[j] = -1;
    with[j] = 0;
  }
  from[3] = to[39] = 50;  // a thread reads the row that another one writes
  const LuExchange exchange{a.data(), 64, 1, 40, top.data(), {from.data(), to.data(), with.data()}};
  const auto move = [&](auto* launcher) {
    return [&, launcher] { return launcher(exchange, nullptr); };
  };
  DeviceArray<double> values(27 * 64, "values"), r(64, "r"), x(64, "x");
  DeviceArray<std::int32_t> columns(27 * 64, "columns");
  const CgMatrix matrix{{4}, values.data(), columns.data()};
  REQUIRE(launch_cg_build(matrix, nullptr) == 0);
  std::fill(r.begin(), r.end(), 1.0);
  std::fill(x.begin(), x.end(), 0.0);
  const auto sweep = [&](auto* launcher) {
    return [&, launcher] { return launcher(matrix, r.data(), x.data(), nullptr); };
  };
  CHECK(fault_of(0, move(launch_lu_move)) == "");
  CHECK(fault_of(0, sweep(launch_cg_sweep)) == "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CHECK(contains(fault_of(seed, move(no_meeting_lu_move)), "of a, which thread ("));
    CHECK(contains(fault_of(seed, sweep(all_colours_cg_sweep)), "of x, which thread ("));
  }
}

TEST_CASE("a narrow panel that overwrites a candidate, does not wait for a row, or lacks one") {
  using namespace cb::kernels;
  constexpr std::int64_t rows = 600, columns = 6;  // two blocks
  DeviceArray<double> a(rows * columns, "a");
  DeviceArray<std::int64_t> pivots(columns, "pivots");
  DeviceArray<LuSpace> space(1, "space");
  DeviceArray<std::int32_t> irregular(1, "irregular");
  irregular[0] = 0;
  const LuPanel panel{a.data(), rows, rows, columns, pivots.data(), space.data(), irregular.data()};
  const auto found = [&](std::uint64_t seed, auto* launcher) {
    std::memset(space.data(), 0, sizeof(LuSpace));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = lu_element(static_cast<std::int64_t>(i), 3);
    return fault_of(seed, [&] { return launcher(panel, 0, columns, nullptr); });
  };
  std::vector<double> right;
  bool overwritten = false;
  std::string unread;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    CHECK(found(seed, launch_lu_narrow) == "");
    right.assign(a.begin(), a.end());
    CHECK(contains(found(seed, one_missing_lu_narrow), "waits in await() at one_missing.cu:"));
    overwritten = found(seed, one_set_lu_narrow) != "" || overwritten ||
                  !std::equal(right.begin(), right.end(), a.begin());
    unread += found(seed, no_replaced_lu_narrow);
  }
  CHECK(overwritten);  // in some order
  if (!device_executor::sees_accesses()) return;
  CHECK(contains(unread, "of space, which thread ("));
}

TEST_CASE("a count of votes that the next round overwrites before all have read it") {
  if (!device_executor::sees_accesses()) return;
  using namespace cb::kernels;
  constexpr std::int64_t tokens = 600;
  DeviceArray<std::int32_t> experts(tokens, "experts"), places(tokens * 2, "places"),
      counts(2, "counts");
  for (std::size_t i = 0; i < experts.size(); ++i) experts[i] = static_cast<std::int32_t>(i % 2);
  const MoeRoutes routes{experts.data(), tokens, 1, 2, 1, places.data(), counts.data()};
  CHECK(fault_of(0, [&] { return launch_moe_places(routes, nullptr); }) == "");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    CHECK(contains(fault_of(seed, [&] { return no_last_barrier_moe_places(routes, nullptr); }),
                   "which thread ("));
}
