#include "core/name_ranges.h"

#include <doctest/doctest.h>

using cb::name_ranges;

TEST_CASE("names that differ in one number are folded, and each name stands once") {
  CHECK(name_ranges({"node0003", "login", "node0001", "node0002", "node0007", "node0001"}) ==
        "login,node[0001-0003,0007]");
  CHECK(name_ranges({}).empty());
  CHECK(name_ranges({"n1"}) == "n1");
  CHECK(name_ranges({"login"}) == "login");
}

TEST_CASE("numbers of another width are other names") {
  CHECK(name_ranges({"n9", "n10", "n010"}) == "n9,n10,n010");
  CHECK(name_ranges({"n9", "n8", "n10", "n11"}) == "n[8-9],n[10-11]");
}

TEST_CASE("parts of hosts are folded by their host") {
  CHECK(name_ranges({"n1:5", "n2:5", "n4:5", "n1:6"}) == "n[1-2,4]:5,n1:6");
  CHECK(name_ranges({"n1 rank 3", "n2 rank 3"}) == "n[1-2] rank 3");
  CHECK(name_ranges({"n1-ib", "n2-ib"}) == "n[1-2]-ib");
  CHECK(name_ranges({"10.0.0.1", "10.0.0.2"}) == "10.0.0.[1-2]");
}

TEST_CASE("a number too long for arithmetic keeps its first digits in front") {
  CHECK(name_ranges({"n123456789012", "n123456789013"}) == "n123[456789012-456789013]");
}
