// Which rank spoils which point of a case that measures pairs.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/network/arrivals.h"
#include "bench/network/tcp/plan.h"
#include "bench/network/verbs/plan.h"
#include "case_runner.h"
#include "core/error.h"

using namespace cb;

namespace {

using Flags = std::vector<bool>;

struct Planted {
  std::map<int, Flags> of_rank = {};      // by point
  std::vector<std::string> refused = {};  // by rank; empty: not refused
};

// What each of so many hosts of one rank is told to spoil.
Planted plant(const char* at, std::vector<net::Arrivals> points, int ranks = 2) {
  Planted out;
  std::mutex mutex;
  const Case x = case_of([&](Context& context, const Params& given) -> std::vector<Record> {
    net::Nodes nodes;
    for (int i = 0; i < ranks; ++i) {
      nodes.ranks.push_back({i});
      nodes.names.push_back("n" + std::to_string(i));
    }
    const Flags flags = net::points_with_fault(context, given, points, nodes, 1);
    const std::lock_guard lock(mutex);
    out.of_rank[context.comm.rank()] = flags;
    return {good(context)};
  });
  Params given;
  given.set("inject-fault", int64_t{std::stoi(at)});
  out.refused = run_on(ranks, x, given).thrown;
  return out;
}

// Data to the second rank of the pair, to the first, to both.
std::vector<net::Arrivals> to_and_fro() {
  Problems problems;
  const Params pair = resolve_params(tcp::params(), {{"schedule", {"pair"}}}, problems);
  REQUIRE(problems.empty());
  return {{pair, false, true}, {pair, true, false}, {pair, true, true}};
}

}  // namespace

TEST_CASE("-1 spoils each point at the first rank at which data arrives, and there alone") {
  const Planted p = plant("-1", to_and_fro());
  CHECK(p.of_rank.at(0) == Flags{false, true, true});
  CHECK(p.of_rank.at(1) == Flags{true, false, false});
}

TEST_CASE("a rank that is named spoils every point, the others none") {
  const Planted first = plant("0", to_and_fro()), second = plant("1", to_and_fro());
  CHECK(first.of_rank.at(0) == Flags{true, true, true});
  CHECK(first.of_rank.at(1) == Flags{false, false, false});
  CHECK(second.of_rank.at(0) == Flags{false, false, false});
  CHECK(second.of_rank.at(1) == Flags{true, true, true});
}

TEST_CASE("a rank that is not there, or at which nothing arrives, is refused on every rank") {
  const Planted absent = plant("2", to_and_fro());
  CHECK(absent.of_rank.empty());
  // Of three hosts the third has no partner.
  const Planted idle = plant("2", to_and_fro(), 3);
  CHECK(idle.of_rank.empty());
  auto one_way = to_and_fro();
  one_way.resize(1);
  const Planted sender = plant("0", one_way);
  CHECK(sender.of_rank.empty());
  one_way[0].at_to = false;
  const Planted nowhere = plant("-1", one_way);
  CHECK(nowhere.of_rank.empty());
  for (const std::string& said : absent.refused)
    CHECK(said.find("there is no rank 2") != std::string::npos);
  for (const std::string& said : idle.refused)
    CHECK(said.find("rank 2 receives nothing that could be spoilt") != std::string::npos);
  for (const std::string& said : sender.refused)
    CHECK(said.find("rank 0 receives nothing that could be spoilt; ranks that do: 1") !=
          std::string::npos);
  for (const std::string& said : nowhere.refused)
    CHECK(said.find("receives nothing that could be spoilt") != std::string::npos);
}

TEST_CASE("of tcp and verbs every point of a sweep has the fault where its data arrives") {
  Problems problems;
  const Params t = resolve_params(
      tcp::params(), {{"test", {"bandwidth"}}, {"schedule", {"pair,incast"}}}, problems);
  const Params v =
      resolve_params(verbs::params(), {{"test", {"bandwidth"}}, {"op", {"write,read"}}}, problems);
  REQUIRE(problems.empty());
  const Planted tcp = plant("-1", tcp::arrivals(tcp::plan(t)));
  CHECK(tcp.of_rank.at(0) == Flags{false, true});
  CHECK(tcp.of_rank.at(1) == Flags{true, false});
  const Planted verbs = plant("-1", verbs::arrivals(verbs::plan(v)));
  CHECK(verbs.of_rank.at(0) == Flags{false, true});
  CHECK(verbs.of_rank.at(1) == Flags{true, false});
}
