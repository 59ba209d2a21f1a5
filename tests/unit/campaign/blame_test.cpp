// Whom an attempt speaks against.
#include "campaign/blame.h"

#include <doctest/doctest.h>

#include "model/hang.h"

using namespace cb;

namespace {

RunInfo hung(const Said& diagnosis) {
  RunInfo run{.hosts = {"a", "b", "c"}};
  run.partial = said("said.of", said("hang.deadline", "5 s"), diagnosis);
  return run;
}

}  // namespace

TEST_CASE("the watchdogs' last words name the hosts of the ranks that did not arrive") {
  std::vector<RankState> ranks;
  for (int i = 0; i < 6; ++i)
    ranks.push_back(
        {.rank = i, .host = std::string(1, static_cast<char>('a' + i / 2)), .note = "x"});
  ranks[4].silent_seconds = ranks[5].silent_seconds = 9;
  CHECK(suspects_of(hung(diagnose_hang(ranks).reason)) == std::vector<std::string>{"c"});
  ranks[4].silent_seconds = ranks[5].silent_seconds = 0;
  CHECK(suspects_of(hung(diagnose_hang(ranks).reason)).empty());  // all are equally far
  ranks[2].link = RankLink::lost;
  CHECK(suspects_of(hung(diagnose_hang(ranks).reason)) == std::vector<std::string>{"b"});
}

TEST_CASE("the host of a rank that its MPI may have ended is no suspect") {
  std::vector<RankState> ranks;
  for (int i = 0; i < 3; ++i)
    ranks.push_back({.rank = i, .host = std::string(1, static_cast<char>('a' + i)), .note = "x"});
  ranks[1].link = ranks[2].link = RankLink::lost;
  ranks[2].lost_seconds = 0.2;
  ranks[1].lost_seconds = 0.1;
  CHECK(suspects_of(hung(diagnose_hang(ranks).reason)) == std::vector<std::string>{"c"});
  ranks[1].lost_seconds = 0.2;  // nobody knows which was first
  CHECK(suspects_of(hung(diagnose_hang(ranks).reason)) == std::vector<std::string>{"b", "c"});
}

TEST_CASE("a name that is no host of the run, or stands elsewhere, is no suspect") {
  CHECK(suspects_of(hung(said("said.of", "d rank 3", said("hang.never")))).empty());
  CHECK(suspects_of(hung(said("hang.behind", "5 s", "a"))).empty());
  CHECK(suspects_of({.hosts = {"a"}}).empty());
}

TEST_CASE("what makes a host bad, and when it is the step's fault") {
  CHECK(has_failed(JobState::deadline, nullptr));
  CHECK(has_failed(JobState::failed, nullptr));
  CHECK_FALSE(has_failed(JobState::missing, nullptr));
  CHECK_FALSE(has_failed(JobState::not_applicable, nullptr));
  Document d;
  d.records = {{.entities = {{"a", "host", ""}}, .checks = {{.name = "data", .passed = true}}}};
  CHECK_FALSE(has_failed(JobState::done, &d));
  d.records[0].checks[0].passed = false;
  CHECK(has_failed(JobState::done, &d));
  d.records = {{.outcome = Skipped{"no such part"}}};
  CHECK_FALSE(has_failed(JobState::done, &d));
  CHECK_FALSE(too_many_to_blame(1, 2));
  CHECK(too_many_to_blame(2, 3));
}
