#include "bench/storage/io/workload.h"

#include <doctest/doctest.h>

using namespace cb;
using namespace cb::io;

TEST_CASE("a rank's share of a checkpoint is MLPerf Storage's total over its ranks") {
  CHECK(*checkpoint_bytes_per_rank("8B") == doctest::Approx(13.125e9));
  CHECK(*checkpoint_bytes_per_rank("70B") == doctest::Approx(14.25e9));
  CHECK(*checkpoint_bytes_per_rank("405B") == doctest::Approx(10.332e9).epsilon(0.001));
  CHECK(*checkpoint_bytes_per_rank("1T") == doctest::Approx(17.578e9).epsilon(0.001));
  CHECK_FALSE(checkpoint_bytes_per_rank(""));
}

TEST_CASE(
    "a workload sets access, block and queue; a given duration stays, a checkpoint has none") {
  Params params;
  params.set("rw", std::string("randwrite"));
  params.set("block-size", int64_t{4096});
  params.set("queue-depth", int64_t{1});
  params.set("duration", 7.0);
  CHECK(with_workload(params) == params);
  params.set("workload", std::string("kv-cache"));
  const Params kv = with_workload(params);
  CHECK(kv.text("rw") == "randrw");
  CHECK(kv.integer("block-size") == 1 << 20);
  CHECK(kv.number("duration") == 7);
  CHECK(queue_depths(kv) == std::vector<unsigned>{32});
  params.set("workload", std::string("checkpoint-write"));
  CHECK_FALSE(with_workload(params).has("duration"));
  params.set("workload", std::string("qd-sweep"));
  CHECK(queue_depths(with_workload(params)) == std::vector<unsigned>{1, 2, 4, 8, 16, 32, 64, 128});
}
