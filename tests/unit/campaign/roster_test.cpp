// Who takes part in a campaign after hosts were taken out, replaced and let back.
#include "campaign/roster.h"

#include <doctest/doctest.h>

#include "campaign/directory.h"
#include "campaign/journal.h"

using namespace cb;

namespace {

using RosterNames = std::vector<std::string>;

Roster three_and_two() { return {{{"a", 2}, {"b", 2}, {"c", 2}}, {{"s", 2}, {"t", 4}}}; }

ExcludedHost gone(const std::string& host, const std::string& by = "") {
  return {.host = host, .step = "x", .job = "001-x@" + host, .attempt = 1, .by = by};
}

}  // namespace

TEST_CASE("a spare takes the place of a host, in its order and once") {
  Roster r = three_and_two();
  CHECK(names_of(r.active()) == RosterNames{"a", "b", "c"});
  CHECK(r.next_spare() == "s");
  r.take_out(gone("b", "s"));
  CHECK(names_of(r.active()) == RosterNames{"a", "s", "c"});
  CHECK(names_of(r.all()) == RosterNames{"a", "b", "c", "s"});
  CHECK(r.is_replaced("b"));
  CHECK(r.next_spare() == "t");
  r.take_out(gone("s", "t"));  // a spare may be bad too
  CHECK(names_of(r.active()) == RosterNames{"a", "t", "c"});
  CHECK(r.active()[1].slots == 4);
  CHECK_FALSE(r.next_spare());
  r.take_out(gone("a"));
  CHECK(names_of(r.active()) == RosterNames{"t", "c"});
  CHECK(r.excluded().size() == 3);
}

TEST_CASE("a host that nobody replaced comes back to its own place") {
  Roster r = three_and_two();
  r.take_out(gone("a"));
  r.take_out(gone("b", "s"));
  r.let_back("a");
  r.let_back("nobody");
  CHECK(names_of(r.active()) == RosterNames{"a", "s", "c"});
  REQUIRE(r.excluded().size() == 1);
  CHECK(r.out("b")->by == "s");
  CHECK(r.out("a") == nullptr);
}

TEST_CASE("a host that was replaced comes back as the last spare, and stays replaced") {
  Roster r = three_and_two();
  r.take_out(gone("b", "s"));
  r.let_back("b");
  r.let_back("b");  // once
  CHECK(names_of(r.active()) == RosterNames{"a", "s", "c"});
  CHECK_FALSE(r.takes_part("b"));
  CHECK(r.is_replaced("b"));
  CHECK(r.is_waiting("b"));
  CHECK(r.next_spare() == "t");
  r.take_out(gone("a", "t"));
  CHECK(r.next_spare() == "b");
  r.take_out(gone("c", "b"));
  CHECK(names_of(r.active()) == RosterNames{"t", "s", "b"});
  CHECK(names_of(r.all()) == RosterNames{"a", "b", "c", "s", "t"});
  CHECK(r.takes_part("b"));
  CHECK_FALSE(r.is_waiting("b"));
  CHECK_FALSE(r.next_spare());
  CHECK(r.excluded().size() == 3);  // that b was replaced once is not forgotten
  r.take_out(gone("b"));
  CHECK_FALSE(r.takes_part("b"));
  CHECK(r.excluded().size() == 4);
}

TEST_CASE("who has and had the places of a group") {
  Roster r = three_and_two();
  CHECK(names_of(r.at({0, 2})) == RosterNames{"a", "c"});
  r.take_out(gone("c", "s"));
  r.take_out(gone("s", "t"));
  r.take_out(gone("a"));
  CHECK(names_of(r.at({0, 2})) == RosterNames{"t"});
  CHECK(r.occupants({2}) == RosterNames{"c", "s", "t"});
  CHECK(r.occupants({0, 1}) == RosterNames{"a", "b"});
  CHECK(r.places() == 3);
  CHECK(names_of(r.hosts_of({.host = "b"})) == RosterNames{"b"});
  CHECK(names_of(r.hosts_of({.places = {1, 2}})) == RosterNames{"b", "t"});
  CHECK(names_of(r.hosts_of({})) == RosterNames{"b", "t"});
}

TEST_CASE("the journal cannot take out whom nothing speaks against, nor call spares out of turn") {
  CampaignFile file;
  file.hosts = {{"a", 1}, {"b", 1}, {"c", 1}};
  file.spares = {{"s", 1}, {"t", 1}};
  const auto roster_after = [&](const ExcludedHost& out, JobState state, int failed_checks) {
    Journal j;
    j.jobs[out.job] = {{.job = out.job, .attempt = 1},
                       {.job = out.job,
                        .ended = true,
                        .attempt = 1,
                        .state = state,
                        .bad = {.failed_checks = failed_checks}}};
    j.roster = {{.back = false, .out = out}};
    std::vector<Said> warnings;
    const Roster r = read_roster(file, j, warnings);
    return std::pair(names_of(r.active()), warnings);
  };
  CHECK(roster_after(gone("b", "s"), JobState::failed, 0).first == RosterNames{"a", "s", "c"});
  CHECK(roster_after(gone("b", "s"), JobState::done, 1).first == RosterNames{"a", "s", "c"});
  // Good figures that somebody would like to see replaced.
  auto [names, warnings] = roster_after(gone("b", "s"), JobState::done, 0);
  CHECK(names == RosterNames{"a", "b", "c"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].text().find("shows no trouble") != std::string::npos);
  CHECK(roster_after(gone("b", "t"), JobState::failed, 0).second.size() == 1);
  CHECK(roster_after(gone("d", "s"), JobState::failed, 0).second.size() == 1);
  CHECK(roster_after(gone("s", "t"), JobState::failed, 0).second.size() == 1);
}
