#include "model/collectives.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

TEST_CASE("bus factors of nccl-tests for 1, 2, 3, 8 and 1024 ranks") {
  struct Row {
    Collective collective;
    double n1, n2, n3, n8, n1024;
  };
  const Row rows[] = {
      {Collective::all_reduce, 0, 1, 4.0 / 3, 1.75, 2046.0 / 1024},
      {Collective::all_gather, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::reduce_scatter, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::alltoall, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::broadcast, 1, 1, 1, 1, 1},
      {Collective::reduce, 1, 1, 1, 1, 1},
      {Collective::sendrecv, 1, 1, 1, 1, 1},
      {Collective::alltoallv, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::gather, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::scatter, 0, 0.5, 2.0 / 3, 0.875, 1023.0 / 1024},
      {Collective::pingpong, 1, 1, 1, 1, 1},
      {Collective::pair_one_way, 1, 1, 1, 1, 1},
      {Collective::pair_two_way, 1, 1, 1, 1, 1},
  };
  for (const Row& r : rows) {
    CAPTURE(collective_name(r.collective));
    CHECK(bus_factor(r.collective, 1) == r.n1);
    CHECK(bus_factor(r.collective, 2) == r.n2);
    CHECK(bus_factor(r.collective, 3) == doctest::Approx(r.n3).epsilon(1e-15));
    CHECK(bus_factor(r.collective, 8) == r.n8);
    CHECK(bus_factor(r.collective, 1024) == doctest::Approx(r.n1024).epsilon(1e-15));
  }
  CHECK_THROWS_AS(bus_factor(Collective::all_reduce, 0), Error);
}

TEST_CASE("no bus factor passes its limit for any number of ranks up to 1024") {
  for (uint64_t n = 1; n <= 1024; ++n) {
    const auto ranks = static_cast<double>(n);
    CHECK(bus_factor(Collective::all_reduce, n) * ranks == doctest::Approx(2 * (ranks - 1)));
    CHECK(bus_factor(Collective::all_gather, n) * ranks == doctest::Approx(ranks - 1));
    CHECK(bus_factor(Collective::all_reduce, n) < 2);
  }
}

TEST_CASE("size is the buffer for all_reduce, broadcast, reduce, sendrecv and pingpong") {
  for (const auto c : {Collective::all_reduce, Collective::broadcast, Collective::reduce,
                       Collective::sendrecv, Collective::pingpong}) {
    const auto size = collective_size(c, 4096, 4, 3).value();
    CHECK(size.block == 1024);
    CHECK(size.send == 1024);
    CHECK(size.receive == 1024);
    CHECK(size.bytes == 4096);
  }
  CHECK(collective_size(Collective::all_reduce, 4099, 4, 3)->bytes == 4096);
}

TEST_CASE("size is the total for all_gather, reduce_scatter and alltoall, in blocks of 16 bytes") {
  // 4096 B of float over 3 ranks: 1024 / 3 = 341 elements, rounded down to a multiple of 4: 340.
  const auto gather = collective_size(Collective::all_gather, 4096, 4, 3).value();
  CHECK(gather.block == 340);
  CHECK(gather.send == 340);
  CHECK(gather.receive == 1020);
  CHECK(gather.bytes == 4080);
  const auto scatter = collective_size(Collective::reduce_scatter, 4096, 4, 3).value();
  CHECK(scatter.send == 1020);
  CHECK(scatter.receive == 340);
  CHECK(scatter.bytes == 4080);
  const auto alltoall = collective_size(Collective::alltoall, 4096, 8, 1024);
  CHECK_FALSE(alltoall.has_value());  // 512 doubles for 1024 ranks
  CHECK(collective_size(Collective::alltoall, 16384, 8, 1024)->block == 2);
  CHECK_FALSE(collective_size(Collective::alltoall, 16383, 8, 1024).has_value());
  CHECK(collective_size(Collective::all_gather, 64, 1, 4)->block == 16);
  CHECK_FALSE(collective_size(Collective::all_gather, 63, 1, 4).has_value());
}

TEST_CASE("gather and scatter have one whole buffer and one block") {
  const auto gather = collective_size(Collective::gather, 4096, 4, 3).value();
  CHECK(gather.send == 340);
  CHECK(gather.receive == 1020);
  CHECK(gather.bytes == 4080);
  const auto scatter = collective_size(Collective::scatter, 4096, 4, 3).value();
  CHECK(scatter.send == 1020);
  CHECK(scatter.receive == 340);
}

TEST_CASE("alltoallv: counts are symmetric, and the largest rank's share is the size") {
  for (const uint64_t ranks : {2, 3, 4, 5, 64, 1024}) {
    const uint64_t asked = 1 << 20;
    const auto size = collective_size(Collective::alltoallv, asked, 4, ranks).value();
    uint64_t most = 0;
    for (uint64_t from = 0; from < ranks; ++from) {
      uint64_t sum = 0;
      for (uint64_t to = 0; to < ranks; ++to) {
        CHECK(alltoallv_count(size.block, from, to) == alltoallv_count(size.block, to, from));
        sum += alltoallv_count(size.block, from, to);
      }
      most = std::max(most, sum);
    }
    CHECK(size.send == most);
    CHECK(size.receive == most);
    CHECK(size.bytes == 4 * most);
    CHECK(size.bytes <= asked);
  }
  // Half a block of every type is a multiple of 8 bytes, as the pattern of the data asks.
  for (const uint64_t width : {1, 4, 8})
    CHECK(collective_size(Collective::alltoallv, 99999, width, 3)->block * width % 16 == 0);
  CHECK_FALSE(collective_size(Collective::alltoallv, 64, 4, 4).has_value());
}

TEST_CASE("alltoallv of 1 MiB of float over 4 ranks, worked by hand") {
  // 65,536 floats a rank; two thirds in multiples of 4 are 43,688; a count is 1, 2 or 3 halves of
  // that. Rank 2 has 3 + 1 + 2 + 3 of them, the most.
  CHECK(alltoallv_count(43688, 1, 3) == 43688);
  CHECK(alltoallv_count(43688, 1, 1) == 65532);
  const auto size = collective_size(Collective::alltoallv, 1 << 20, 4, 4).value();
  CHECK(size.block == 43688);
  CHECK(size.send == 196596);
  CHECK(size.bytes == 786384);
  // 2 ranks with bytes of 8: the first has 1 + 2 halves, the second 2 + 3.
  CHECK(collective_size(Collective::alltoallv, 4096, 8, 2)->block == 170);
  CHECK(collective_size(Collective::alltoallv, 4096, 8, 2)->send == 425);
}

TEST_CASE("which collectives reduce, are of pairs, can work in place") {
  const auto those = [](bool (*is)(Collective)) {
    std::vector<std::string> out;
    for (const std::string& name : collective_names()) {
      if (is(collective_of(name))) out.push_back(name);
    }
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(those(reduces) == Names{"all_reduce", "reduce_scatter", "reduce"});
  CHECK(those(is_pairwise) == Names{"pingpong", "pair_one_way", "pair_two_way"});
  CHECK(those(has_in_place) == Names{"all_reduce", "all_gather", "reduce_scatter", "alltoall"});
}

TEST_CASE("a dip is a size that reaches less than 95 % of the one before") {
  const auto dips = find_size_dips({100, 200, 190, 189, 179.5, 300});
  REQUIRE(dips.size() == 1);
  CHECK(dips[0].index == 4);
  CHECK(dips[0].share == doctest::Approx(179.5 / 189));
  CHECK(find_size_dips({100, 95}).empty());
  CHECK(find_size_dips({100, 94.9}).size() == 1);
  CHECK(find_size_dips({100}).empty());
  CHECK(find_size_dips({}).empty());
}

TEST_CASE("nothing fits in less than an element") {
  CHECK(collective_size(Collective::broadcast, 8, 8, 2)->block == 1);
  CHECK_FALSE(collective_size(Collective::broadcast, 7, 8, 2).has_value());
}

TEST_CASE("algorithm and bus bandwidth of a worked example") {
  // 1 GiB all_reduce over 8 ranks in 5 ms: 214.7 GB/s, busbw 375.8 GB/s.
  const auto size = collective_size(Collective::all_reduce, 1 << 30, 4, 8).value();
  const double algorithm = algorithm_bandwidth(size, 0.005);
  CHECK(algorithm == doctest::Approx(214748364800.0));
  CHECK(algorithm * bus_factor(Collective::all_reduce, 8) == doctest::Approx(375809638400.0));
}

TEST_CASE("names are those of nccl-tests, both ways") {
  for (const std::string& name : collective_names())
    CHECK(collective_name(collective_of(name)) == name);
  CHECK(collective_of("reduce_scatter") == Collective::reduce_scatter);
  CHECK_THROWS_AS(collective_of("allreduce"), Error);
}

TEST_CASE("the smallest size of every collective is one that it can have, and no smaller one is") {
  for (const std::string& name : collective_names()) {
    for (const uint64_t width : {1, 4, 8}) {
      for (const uint64_t ranks : {2, 3, 7, 64}) {
        CAPTURE(name);
        CAPTURE(width);
        CAPTURE(ranks);
        const Collective c = collective_of(name);
        const uint64_t least = least_bytes(c, width, ranks);
        CHECK(collective_size(c, least, width, ranks).has_value());
        CHECK_FALSE(collective_size(c, least - 1, width, ranks).has_value());
      }
    }
  }
}
