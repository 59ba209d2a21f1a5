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

TEST_CASE("only a host that nobody replaced comes back, to its own place") {
  Roster r = three_and_two();
  r.take_out(gone("a"));
  r.take_out(gone("b", "s"));
  r.let_back("b");
  r.let_back("a");
  r.let_back("nobody");
  CHECK(names_of(r.active()) == RosterNames{"a", "s", "c"});
  REQUIRE(r.excluded().size() == 1);
  CHECK(r.out("b")->by == "s");
  CHECK(r.out("a") == nullptr);
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
