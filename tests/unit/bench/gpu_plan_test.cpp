// What the GPU cases decide before and without a GPU.
#include <numeric>

#include <doctest/doctest.h>

#include "bench/gpu/burn_plan.h"
#include "bench/gpu/chase_cycle.h"
#include "bench/gpu/copy_points.h"
#include "bench/gpu/gemm_points.h"
#include "bench/gpu/gpu_plan.h"
#include "bench/registry.h"

using namespace cb;

namespace {

Params resolved(const char* name, const GivenParams& given) {
  Problems problems;
  Params out = resolve_params(find_case(name, "gpu")->info.params, given, problems);
  CHECK(problems.empty());
  return out;
}

}  // namespace

TEST_CASE("every GPU is driven by one rank, however the launcher shows them") {
  const std::vector<std::string> all{"a", "b", "c", "d"};
  using Shares = std::vector<std::vector<std::string>>;
  // One rank sees all; two ranks see all; each rank sees its own; a second host; a rank too many.
  CHECK(assign_gpus({{"n1", all}}) == Shares{all});
  CHECK(assign_gpus({{"n1", all}, {"n1", all}}) == Shares{{"a", "c"}, {"b", "d"}});
  CHECK(assign_gpus({{"n1", {"b"}}, {"n1", {"a"}}}) == Shares{{"b"}, {"a"}});
  CHECK(assign_gpus({{"n1", {"a"}}, {"n2", {"a"}}}) == Shares{{"a"}, {"a"}});
  CHECK(assign_gpus({{"n1", {"a"}}, {"n1", {"a"}}}) == Shares{{"a"}, {}});
  CHECK(assign_gpus({{"n1", {}}}) == Shares{{}});
}

TEST_CASE("buffers go round past the second-level cache") {
  constexpr int64_t l2 = 50 << 20, much = int64_t{1} << 40;
  CHECK(rotation_sets(400 << 20, l2, much) == 2);  // never fewer than two
  CHECK(rotation_sets(100 << 20, l2, much) == 2);
  CHECK(rotation_sets(10 << 20, l2, much) == 10);
  CHECK(rotation_sets((10 << 20) - 1, l2, much) == 11);
  CHECK(rotation_sets(400 << 20, l2, 500 << 20) == 1);
  CHECK(rotation_sets(400 << 20, l2, 300 << 20) == 0);
  CHECK(rotation_sets(0, l2, much) == 0);
}

TEST_CASE("the fastest algorithm by the median, without those that were refused") {
  const std::vector<std::vector<double>> times{{}, {3, 1, 3}, {2, 2, 9}, {2.5}};
  CHECK(fastest(times) == 2);
  CHECK(fastest(std::vector<std::vector<double>>{{}, {}}) == -1);
  CHECK(fastest(std::vector<std::vector<double>>{}) == -1);
}

TEST_CASE("repetitions fill the time asked for") {
  CHECK(repetitions(0.003, 0.02, 1000) == 7);
  CHECK(repetitions(1, 0.02, 1000) == 1);
  CHECK(repetitions(1e-9, 0.02, 1000) == 1000);
  CHECK(repetitions(0, 0.02, 1000) == 1000);
}

TEST_CASE("points of gemm") {
  const auto points =
      gemm_points(resolved("gemm", {{"dtype", {"bf16", "int8"}}, {"size", {"4096", "8192"}}}));
  REQUIRE(points.size() == 4);
  CHECK(points[1].dtype == "bf16");
  CHECK(points[1].k == 8192);
  CHECK(points[3].params.integer("size") == 8192);
  CHECK(points[3].params.text("dtype") == "int8");
  const auto one = gemm_points(resolved("gemm", {{"m", {"64"}}, {"n", {"128"}}, {"k", {"256"}}}));
  REQUIRE(one.size() == 1);
  CHECK(one[0].n == 128);
  CHECK_FALSE(one[0].params.has("size"));
  const auto search = gemm_points(resolved("gemm", {{"search", {"true"}}}));
  REQUIRE(search.size() == 1);
  CHECK(search[0].m == 0);
  for (const GemmShapeMnk& s : search_shapes()) {
    CHECK(s.m % 256 == 0);
    CHECK(s.n % 256 == 0);
    CHECK(s.k % 256 == 0);
  }
}

TEST_CASE("points of bandwidth: each operation with the parameters that matter to it") {
  const auto points =
      copy_points(resolved("bandwidth", {{"op", {"host_to_device", "triad", "peer_write"}},
                                         {"memory", {"pinned", "pageable"}},
                                         {"engine", {"ce", "sm"}}}));
  REQUIRE(points.size() == 5);
  CHECK(points[0].params.text("memory") == "pinned");
  CHECK(points[1].params.text("memory") == "pageable");
  CHECK_FALSE(points[0].params.has("engine"));
  CHECK(points[2].op.counted == 3);
  CHECK_FALSE(points[2].params.has("memory"));
  CHECK_FALSE(points[2].params.has("one-at-a-time"));
  CHECK(points[4].params.text("engine") == "sm");
  CHECK(points[0].bytes == int64_t{256} << 20);
  CHECK(points[2].bytes == int64_t{2} << 30);
}

TEST_CASE("pulses") {
  const auto pulse = parse_pulse("2:0.25");
  REQUIRE(pulse);
  CHECK(pulse->on_seconds() == 0.125);
  CHECK(pulse->period_seconds() == 0.5);
  for (const char* bad :
       {"", "2", "2:", ":0.5", "0:0.5", "2:0", "2:1", "2000:0.5", "x:0.5", "2:0.5:1"})
    CHECK_FALSE(parse_pulse(bad));
}

TEST_CASE("a random cycle visits every line once") {
  for (const uint64_t lines : {1U, 2U, 3U, 1000U}) {
    const auto next = random_cycle(lines, 42);
    std::vector<bool> seen(lines);
    uint64_t at = 0;
    for (uint64_t i = 0; i < lines; ++i) {
      CHECK_FALSE(seen[at]);
      seen[at] = true;
      at = next[at];
    }
    CHECK(at == 0);
    CHECK(follow(next, 0, lines) == 0);
    if (lines > 1) CHECK(follow(next, 0, 1) == next[0]);
  }
  CHECK(random_cycle(uint64_t{1000}, 1) != random_cycle(uint64_t{1000}, 2));
}

TEST_CASE("the results of a burn's products are whole words of eight bytes") {
  const auto problems = [](const char* phases, const char* size) {
    Problems out;
    Problems parsing;
    check_burn_plan(resolve_params(find_case("burn", "gpu")->info.params,
                                   {{"phase", {phases}}, {"size", {size}}}, parsing),
                    out);
    CHECK(parsing.empty());
    return out.list.size();
  };
  CHECK(problems("fp16", "10000") == 0);
  CHECK(problems("fp16", "10001") == 1);
  CHECK(problems("fp16", "10008") == 1);
  CHECK(problems("fp4", "10016") == 0);
  CHECK(problems("fp4", "10000") == 1);
  CHECK(problems("hbm", "10001") == 0);  // has no products
}
