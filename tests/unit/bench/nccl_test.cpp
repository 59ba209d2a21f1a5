// What of the nccl case needs no GPU and no ranks: the environment, the map of ranks, RAS's answer.
#include <cstdlib>

#include <doctest/doctest.h>

#include "bench/collectives/nccl/environment.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/collectives/nccl/ras.h"

using namespace cb;
using namespace cb::nccl;

TEST_CASE("each transport leaves no other way inside a host") {
  CHECK(transport_environment("net").at("NCCL_P2P_DISABLE") == "1");
  CHECK(transport_environment("net").at("NCCL_SHM_DISABLE") == "1");
  CHECK(transport_environment("shm").at("NCCL_P2P_DISABLE") == "1");
  CHECK_FALSE(transport_environment("shm").contains("NCCL_SHM_DISABLE"));
  CHECK(transport_environment("p2p").at("NCCL_SHM_DISABLE") == "1");
  CHECK(to_text(transport_environment("shm")) == "NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=1");
}

TEST_CASE("a variable that the user has set otherwise is a problem, an equal one is not") {
  ::setenv("CB_TEST_NCCL_A", "1", 1);
  Problems problems;
  apply({{"CB_TEST_NCCL_A", "1"}, {"CB_TEST_NCCL_B", "x"}}, problems);
  CHECK(problems.empty());
  CHECK(std::string(std::getenv("CB_TEST_NCCL_B")) == "x");
  apply({{"CB_TEST_NCCL_A", "0"}}, problems);
  REQUIRE(problems.list.size() == 1);
  CHECK(std::string(std::getenv("CB_TEST_NCCL_A")) == "1");
}

TEST_CASE("the map of ranks: shared GPUs, none left, unequal numbers") {
  const auto problems_of = [](const std::vector<RankDevices>& ranks) {
    Problems problems;
    check_rank_map(ranks, problems);
    return problems.list.size();
  };
  CHECK(problems_of(
            {{"a", {"u0"}, {"GPU 0"}}, {"a", {"u1"}, {"GPU 1"}}, {"b", {"u2"}, {"GPU 0"}}}) == 0);
  CHECK(problems_of({{"a", {"u0"}, {"GPU 0"}}, {"a", {"u0"}, {"GPU 0"}}}) == 1);
  CHECK(problems_of({{"a", {"u0"}, {"GPU 0"}}, {"a", {}, {}}}) == 1);
  CHECK(problems_of({{"a", {"u0", "u1"}, {"GPU 0", "GPU 1"}}, {"b", {"u2"}, {"GPU 0"}}}) == 1);
  CHECK(problems_of({{"a", {""}, {"host memory"}}, {"a", {""}, {"host memory"}}}) == 0);
  CHECK(rank_map_text({{"a", {"u0", "u1"}, {"GPU 0", "GPU 1"}}, {"b", {"u2"}, {"GPU 0"}}}, 2) ==
        "rank 0: a GPU 0; rank 1: a GPU 1; and 1 more");
}

TEST_CASE("the map of ranks says which NICs are nearest, and nothing where none is known") {
  const std::vector<RankDevices> ranks{
      {"a", {"u0", "u1"}, {"GPU 0", "GPU 1"}, {"mlx5_0 (PIX), mlx5_1 (PIX)", std::nullopt}},
      {"b", {"u2"}, {"GPU 0"}, {"mlx5_0 (NODE)"}}};
  CHECK(rank_map_text(ranks, 9) ==
        "rank 0: a GPU 0, nearest NICs mlx5_0 (PIX), mlx5_1 (PIX); rank 1: a GPU 1; "
        "rank 2: b GPU 0, nearest NICs mlx5_0 (NODE)");
  CHECK(nearest_nics_text(ranks, 9) == "rank 0: mlx5_0 (PIX), mlx5_1 (PIX); rank 2: mlx5_0 (NODE)");
  CHECK(nearest_nics_text(ranks, 1) == "rank 0: mlx5_0 (PIX), mlx5_1 (PIX); and 2 more");
  CHECK_FALSE(nearest_nics_text({{"a", {"u0"}, {"GPU 0"}, {std::nullopt}}}, 9));
  CHECK_FALSE(nearest_nics_text({{"a", {""}, {"host memory"}}}, 9));
}

TEST_CASE("of RAS's answer the trouble is told") {
  CHECK(ras_trouble("NCCL version 2.28.9\nGroup summary\n\nErrors\n======\nRank 3 is missing\n") ==
        "Errors\n======\nRank 3 is missing\n");
  CHECK(ras_trouble("NCCL version 2.28.9\nNo Errors here\n").empty());
  CHECK(ras_trouble("").empty());
}
