#include "bench/harness/comm.h"

#include <atomic>

#include <doctest/doctest.h>

#include "tests/unit/bench/thread_comm.h"

using namespace cb;

TEST_CASE("ranks learn where all of them are") {
  ThreadGroup group(5);
  std::vector<RankMap> places(5);
  const char* hosts[] = {"b", "a", "b", "c", "a"};
  group.run([&](Comm& comm) {
    const auto r = static_cast<size_t>(comm.rank());
    places[r] = locate_ranks(comm, hosts[r]);
  });
  for (const RankMap& p : places) {
    CHECK(p.hosts == std::vector<std::string>{"b", "a", "c"});
    CHECK(p.host_of_rank == std::vector<int>{0, 1, 0, 2, 1});
  }
  CHECK(places[2].host == "b");
  CHECK(places[2].local_rank == 1);
  CHECK(places[2].local_size == 2);
  CHECK_FALSE(places[2].first_on_host());
  CHECK(places[3].first_on_host());
  CHECK(places[3].local_size == 1);
}

TEST_CASE("problems of any rank are thrown by all, each once") {
  ThreadGroup group(4);
  std::vector<std::string> said(4);
  group.run([&](Comm& comm) {
    Problems mine;
    if (comm.rank() == 1) mine.add("--size", "too much for n1");
    if (comm.rank() >= 2) mine.add("--size", "too much for n2");
    try {
      throw_agreed(comm, "clusterbench x", mine);
    } catch (const UsageError& e) {
      said[static_cast<size_t>(comm.rank())] = e.what();
    }
  });
  for (const std::string& s : said)
    CHECK(s == "clusterbench x: 2 problems\n  --size  too much for n1\n  --size  too much for n2");
}

TEST_CASE("no problem, no throw") {
  ThreadGroup group(3);
  std::atomic<int> through{0};
  group.run([&](Comm& comm) {
    throw_agreed(comm, "x", {});
    ++through;
  });
  CHECK(through == 3);
}
