#include "bench/storage/io/near_cpus.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

block::Device disk_on(std::optional<int> node) {
  block::Device out;
  out.numa_node = node;
  return out;
}

const Machine kTwoNodes{.cores = {{{0, 8}, 0}, {{1, 9}, 0}, {{4, 12}, 1}}, .nodes = {0, 1}};

}  // namespace

TEST_CASE("threads go to the node of the disk, and nowhere where that says nothing") {
  CHECK(io::near_cpus({disk_on(1)}, kTwoNodes) == std::vector<int>{4, 12});
  CHECK(io::near_cpus({disk_on(0), disk_on(0)}, kTwoNodes) == std::vector<int>{0, 8, 1, 9});
  CHECK(io::near_cpus({disk_on(0), disk_on(1)}, kTwoNodes).empty());
  CHECK(io::near_cpus({disk_on({})}, kTwoNodes).empty());
  CHECK(io::near_cpus({}, kTwoNodes).empty());
  CHECK(io::near_cpus({disk_on(0)}, {.cores = {{{0}, 0}}, .nodes = {0}}).empty());
}
