// Which places the jobs of a step on pairs, groups and rails have.
#include "campaign/step_groups.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

using namespace cb;

namespace {

Step step_of(Scope scope, int group_size = 0, int rails = 0) {
  return {.id = "s", .case_name = "x", .scope = scope, .group_size = group_size, .rails = rails};
}

// No two jobs of one turn have a host in common.
bool turns_are_disjoint(const std::vector<PlaceGroup>& groups) {
  std::set<std::pair<size_t, size_t>> used;
  return std::ranges::all_of(groups, [&](const PlaceGroup& g) {
    return std::ranges::all_of(g.places,
                               [&](size_t place) { return used.emplace(g.turn, place).second; });
  });
}

size_t turns_of(const std::vector<PlaceGroup>& groups) {
  std::set<size_t> turns;
  for (const PlaceGroup& g : groups) turns.insert(g.turn);
  return turns.size();
}

}  // namespace

TEST_CASE("each pair once, in rounds of a tournament") {
  for (const size_t hosts : {2, 3, 8, 9}) {
    const auto pairs = place_groups(step_of(Scope::pairs), hosts);
    CHECK(pairs.size() == hosts * (hosts - 1) / 2);
    CHECK(turns_of(pairs) == (hosts % 2 == 0 ? hosts - 1 : hosts));
    CHECK(turns_are_disjoint(pairs));
    std::set<std::vector<size_t>> all;
    for (const PlaceGroup& p : pairs) {
      CHECK(p.places.size() == 2);
      CHECK(p.places[0] < p.places[1]);
      all.insert(p.places);
    }
    CHECK(all.size() == pairs.size());
  }
  CHECK(place_groups(step_of(Scope::pairs), 2)[0].name == "pair-001-002");
  CHECK(place_groups(step_of(Scope::pairs), 1).empty());
}

TEST_CASE("groups are neighbours; what is left over makes a group of the full size") {
  const auto even = place_groups(step_of(Scope::groups, 4), 8);
  REQUIRE(even.size() == 2);
  CHECK(even[1].name == "group-02");
  CHECK(even[1].places == std::vector<size_t>{4, 5, 6, 7});
  CHECK(even[1].turn == 0);
  const auto odd = place_groups(step_of(Scope::groups, 4), 10);
  REQUIRE(odd.size() == 3);
  CHECK(odd[2].places == std::vector<size_t>{6, 7, 8, 9});
  CHECK(odd[2].turn == 1);
  CHECK(turns_are_disjoint(odd));
  CHECK(place_groups(step_of(Scope::groups, 4), 3).empty());
}

TEST_CASE("rails run on all places, one after the other") {
  const auto rails = place_groups(step_of(Scope::rails, 0, 3), 5);
  REQUIRE(rails.size() == 3);
  CHECK(rails[2].name == "rail-2");
  CHECK(rails[2].rail == 2);
  CHECK(rails[2].places.empty());
  CHECK(turns_of(rails) == 3);
  CHECK(place_groups(step_of(Scope::host), 5).empty());
  CHECK(place_groups(step_of(Scope::cluster), 5).empty());
}
