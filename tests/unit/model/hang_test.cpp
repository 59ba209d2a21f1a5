#include "model/hang.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// Four ranks on two hosts, all inside step 17 for three seconds.
std::vector<RankState> stuck() {
  std::vector<RankState> out;
  for (int r = 0; r < 4; ++r)
    out.push_back({.rank = r,
                   .host = r < 2 ? "n1" : "n2",
                   .note = "all_reduce 1M, sampling",
                   .entered = 17,
                   .left = 16,
                   .idle_seconds = 3,
                   .silent_seconds = 0.2});
  return out;
}

std::vector<int> absent(const std::vector<RankState>& ranks) {
  std::vector<int> out;
  for (const AbsentRank& a : diagnose_hang(ranks).absent) out.push_back(a.rank);
  return out;
}

}  // namespace

TEST_CASE("a rank that did not enter the step the others wait in did not arrive") {
  auto ranks = stuck();
  ranks[2].entered = 16;
  const HangDiagnosis d = diagnose_hang(ranks);
  REQUIRE(d.absent.size() == 1);
  CHECK(d.absent[0].rank == 2);
  CHECK(d.absent[0].host == "n2");
  CHECK(d.reason ==
        "n2 rank 2: is behind the others for 3.00 s, in all_reduce 1M, sampling, 16 steps done");
  REQUIRE(d.lines.size() == 2);
  CHECK(d.lines[0].starts_with("not there : n2 rank 2: "));
  CHECK(d.lines[1] ==
        "waiting   : ranks 0-1,3 on 2 hosts: all_reduce 1M, sampling, inside step 17");
}

TEST_CASE("a rank outside a step is to blame before those that wait for it inside an earlier one") {
  // The others have left a broadcast and wait in the next barrier; rank 3 still waits in it.
  auto ranks = stuck();
  ranks[0].entered = ranks[1].entered = 18;
  ranks[0].left = ranks[1].left = 17;
  ranks[2].left = 17;
  CHECK(absent(ranks) == std::vector<int>{2});
  ranks[2] = ranks[0];
  ranks[2].rank = 2;
  CHECK(absent(ranks) == std::vector<int>{3});
}

TEST_CASE("who has come where groups meet is behind nobody, and nobody is behind it") {
  for (const uint64_t steps : {5, 50}) {
    CAPTURE(steps);
    auto ranks = stuck();
    for (const size_t r : {2, 3}) {
      ranks[r].entered = ranks[r].left = steps;
      ranks[r].idle_seconds = 100;
      ranks[r].met = true;
    }
    CHECK(absent(ranks).empty());  // between ranks 0 and 1
    ranks[1].entered = 16;
    CHECK(absent(ranks) == std::vector<int>{1});
    ranks[0] = ranks[2];
    ranks[0].rank = 0;
    CHECK(absent(ranks) == std::vector<int>{1});  // the last one
    ranks[1].met = true;
    CHECK(absent(ranks).empty());
    CHECK(diagnose_hang(ranks).reason == said("hang.all_equal"));
  }
}

TEST_CASE("a lost rank is surer than a silent one, and that than one behind") {
  auto ranks = stuck();
  ranks[1].entered = 16;
  CHECK(absent(ranks) == std::vector<int>{1});
  ranks[3].silent_seconds = kSilentSeconds;
  CHECK(absent(ranks) == std::vector<int>{3});
  ranks[2].link = RankLink::lost;
  CHECK(absent(ranks) == std::vector<int>{2});
  CHECK(diagnose_hang(ranks).reason.text().find("the process or its host is gone") !=
        std::string::npos);
}

TEST_CASE("of lost ranks the first is named first: an MPI may have ended the others") {
  auto ranks = stuck();
  ranks[3].host = "n3";
  ranks[2].link = ranks[3].link = RankLink::lost;
  ranks[2].lost_seconds = 0.30;
  ranks[3].lost_seconds = 0.35;
  HangDiagnosis d = diagnose_hang(ranks);
  CHECK(absent(ranks) == std::vector<int>{3, 2});
  CHECK(d.lines.at(0).find("the process or its host is gone") != std::string::npos);
  CHECK(d.lines.at(1).find("after that of the rank that was lost first") != std::string::npos);
  CHECK(hosts_at_fault(d) == std::vector<std::string>{"n3"});
  ranks[2].silent_seconds = 0.4 + kSilentSeconds;  // it was gone before
  CHECK(hosts_at_fault(diagnose_hang(ranks)) == std::vector<std::string>{"n3", "n2"});
  ranks[2].silent_seconds = 0.3;
  ranks[2].lost_seconds = ranks[3].lost_seconds;  // seen at the same time: nobody knows which
  d = diagnose_hang(ranks);
  CHECK(absent(ranks) == std::vector<int>{2, 3});
  CHECK(d.lines.at(1).find("the process or its host is gone") != std::string::npos);
  CHECK(hosts_at_fault(d) == std::vector<std::string>{"n2", "n3"});
}

TEST_CASE("ranks of one host that break one after the other were ended by nobody's MPI") {
  auto ranks = stuck();
  ranks[2].link = ranks[3].link = RankLink::lost;
  ranks[3].lost_seconds = 0.35;
  ranks[2].lost_seconds = 0.34;
  const HangDiagnosis d = diagnose_hang(ranks);
  CHECK(absent(ranks) == std::vector<int>{3, 2});
  CHECK(d.lines.at(1).find("the process or its host is gone") != std::string::npos);
  CHECK(hosts_at_fault(d) == std::vector<std::string>{"n2"});
}

TEST_CASE("ranks that failed keep their order, whichever ended first") {
  auto ranks = stuck();
  for (const size_t r : {1, 2}) ranks[r].failure = pack_said("no memory");
  ranks[2].link = RankLink::lost;
  ranks[2].lost_seconds = 0.2;
  CHECK(absent(ranks) == std::vector<int>{1, 2});
}

TEST_CASE("silence just below the bound is none") {
  auto ranks = stuck();
  ranks[3].silent_seconds = kSilentSeconds - 0.01;
  CHECK(absent(ranks).empty());
}

TEST_CASE("all equally far: the network between them is to blame, nobody is named") {
  const HangDiagnosis d = diagnose_hang(stuck());
  CHECK(d.absent.empty());
  CHECK(d.reason.text().find("look at the links") != std::string::npos);
  CHECK(d.lines == std::vector<std::string>{"waiting   : ranks 0-3 on 2 hosts: all_reduce 1M, "
                                            "sampling, inside step 17"});
}

TEST_CASE("who still moves is slower, not absent; and a deadline of work is no hang") {
  auto ranks = stuck();
  for (size_t r = 0; r < 4; ++r) {
    ranks[r].entered = ranks[r].left = 10 * (r + 1);
    ranks[r].idle_seconds = 0.1;
  }
  ranks[1].idle_seconds = 5;
  CHECK(absent(ranks) == std::vector<int>{1});
  ranks[1].idle_seconds = 0.2;
  ranks[0].idle_seconds = ranks[2].idle_seconds = ranks[3].idle_seconds = 0.2;
  ranks[3].left = ranks[3].entered = ranks[2].entered = ranks[1].entered = ranks[0].entered = 10;
  ranks[2].left = ranks[1].left = ranks[0].left = 10;
  CHECK(diagnose_hang(ranks).reason == "all ranks were still working");
}

TEST_CASE("ranks that ended and ranks that never connected are told apart") {
  auto ranks = stuck();
  ranks[0].link = RankLink::closed;
  ranks[1].link = RankLink::never;
  ranks[1].entered = ranks[1].left = 0;
  const HangDiagnosis d = diagnose_hang(ranks);
  REQUIRE(d.absent.size() == 1);
  CHECK(d.absent[0].rank == 1);
  CHECK(d.absent[0].why == "never reached rank 0 over TCP");
  CHECK(d.lines[1] == "waiting   : ranks 2-3 on n2: all_reduce 1M, sampling, inside step 17");
  CHECK(d.lines[2] == "waiting   : rank 0 on n1: ended");
}

TEST_CASE("ranges of ranks") {
  CHECK(rank_ranges({}).empty());
  CHECK(rank_ranges({3}) == "3");
  CHECK(rank_ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
}
