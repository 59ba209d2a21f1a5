#include "bench/gpu/vote.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

TEST_CASE("the majority of equal GPUs decides, and the one that differs is told") {
  const Golden g =
      vote({{"n1:0", "H20", 7}, {"n1:1", "H20", 7}, {"n1:2", "H20", 9}, {"n2:0", "H20", 7}});
  CHECK(g.by_kind.at("H20") == 7);
  CHECK(g.undecided.empty());
  CHECK(g.alone.empty());
}

TEST_CASE("kinds are apart") {
  const Golden g = vote({{"a", "H20", 1}, {"b", "H20", 1}, {"c", "H200", 2}, {"d", "H200", 2}});
  CHECK(g.by_kind.at("H20") == 1);
  CHECK(g.by_kind.at("H200") == 2);
}

TEST_CASE("no majority is no golden") {
  CHECK(vote({{"a", "H20", 1}, {"b", "H20", 2}}).by_kind.empty());
  CHECK(vote({{"a", "H20", 1}, {"b", "H20", 2}}).undecided.contains("H20"));
  const Golden half =
      vote({{"a", "x", 1}, {"b", "x", 1}, {"c", "x", 2}, {"d", "x", 3}});  // half is no majority
  CHECK(half.by_kind.empty());
  CHECK(vote({}).by_kind.empty());
}

TEST_CASE("one GPU alone is compared with itself, and that is said") {
  const Golden g = vote({{"a", "H20", 5}});
  CHECK(g.by_kind.at("H20") == 5);
  CHECK(g.alone == std::vector<std::string>{"H20"});
}

TEST_CASE("stored hashes come back, and what is none is refused") {
  const std::map<std::string, uint64_t> hashes{{"NVIDIA H20 78 bf16", 0xfedcba9876543210U},
                                               {"other", 0}};
  CHECK(golden_from_text(golden_to_text(hashes), "g.json") == hashes);
  CHECK_THROWS_AS(golden_from_text("", "g.json"), UsageError);
  CHECK_THROWS_AS(golden_from_text("{}", "g.json"), UsageError);
  CHECK_THROWS_AS(golden_from_text(R"({"schema":"clusterbench.golden/2","hashes":{}})", "g.json"),
                  UsageError);
  CHECK_THROWS_AS(
      golden_from_text(R"({"schema":"clusterbench.golden/1","hashes":{"x":"12"}})", "g.json"),
      UsageError);
  CHECK_THROWS_AS(
      golden_from_text(R"({"schema":"clusterbench.golden/1","hashes":{"x":5}})", "g.json"),
      UsageError);
}

TEST_CASE("a wrong word leads to the element and its bits") {
  // bf16, 8192 rows: four elements a word; word 2048 begins column 1.
  const WrongPlace p = locate_wrong(2048 + 32, 0x0000200000000000U, 0, 16, 8192);
  CHECK(p.row == 4 * 32 + 2);
  CHECK(p.column == 1);
  CHECK(p.bits == 0x2000);
  CHECK(to_text(p) == "row 130 column 1 (tile 1,0 of 128×128), bit 13");
  const WrongPlace wide = locate_wrong(10, 5, 6, 64, 8);
  CHECK(wide.row == 2);
  CHECK(wide.column == 1);
  CHECK(to_text(wide) == "row 2 column 1 (tile 0,0 of 128×128), bits 0 1");
}
