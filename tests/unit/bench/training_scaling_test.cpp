// What --scaling measures: which ranks train together, with which batches, and what is refused.
#include <doctest/doctest.h>

#include "bench/training/scaling.h"
#include "core/param_builder.h"

using namespace cb;
using namespace cb::training;

namespace {

// Of `hosts[r]` is rank r.
RankMap places(const std::vector<int>& hosts) {
  RankMap out{.host = "n0", .hosts = {}, .host_of_rank = hosts};
  for (int i = 0; i <= *std::ranges::max_element(hosts); ++i)
    out.hosts.push_back("n" + std::to_string(i));
  return out;
}

// Two hosts of four ranks.
RankMap two_hosts() { return places({0, 0, 0, 0, 1, 1, 1, 1}); }

Params scaling_given(GivenParams given) {
  Problems problems;
  const std::vector<ParamDef> defs = joined({option_params(), scaling_params()});
  Params out = resolve_params(defs, given, problems);
  check_training(out, problems);
  if (!problems.empty()) throw UsageError("test", problems);
  return out;
}

int ranks_of(const RankMap& place) { return static_cast<int>(place.host_of_rank.size()); }

// Kind and level of each point, in their order.
std::vector<std::string> points_of(GivenParams given, const RankMap& place) {
  const Params params = scaling_given(std::move(given));
  std::vector<std::string> out;
  for (const ScalingPoint& point :
       scaling_points(params, options_of(params, ranks_of(place)), place))
    out.push_back(kind_name(point) + " " + level_name(point));
  return out;
}

std::string refusal_of(GivenParams given, const RankMap& place) {
  try {
    points_of(std::move(given), place);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a replica is the fewest ranks that can train, whatever hosts they are on") {
  CHECK(groups_of(Level::replica, two_hosts(), 1) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(groups_of(Level::replica, two_hosts(), 2) == std::vector{0, 0, 2, 2, 4, 4, 6, 6});
  CHECK(groups_of(Level::host, two_hosts(), 1) == std::vector{0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(groups_of(Level::all, two_hosts(), 1) == std::vector<int>(8, 0));
  // Ranks dealt out one host after the other.
  const RankMap dealt = places({0, 1, 0, 1});
  CHECK(groups_of(Level::host, dealt, 1) == std::vector{0, 1, 0, 1});
  CHECK(groups_of(Level::replica, dealt, 2) == std::vector{0, 0, 2, 2});
}

TEST_CASE("a step of fewer replicas has as many more micro-batches, or is refused") {
  CHECK(strong_micro_batches(2, 8, 1) == 16);
  CHECK(strong_micro_batches(2, 8, 4) == 4);
  CHECK(strong_micro_batches(2, 8, 8) == 2);
  CHECK(strong_micro_batches(1, 6, 4) == std::nullopt);
  CHECK(strong_micro_batches(2, 6, 4) == 3);
}

TEST_CASE("levels come from the smallest, and both kinds one after the other") {
  CHECK(points_of({{"scaling", {"weak"}}}, two_hosts()) ==
        std::vector<std::string>{"weak replica", "weak host", "weak all"});
  CHECK(points_of({{"scaling", {"strong", "weak"}}, {"level", {"all", "replica"}}}, two_hosts()) ==
        std::vector<std::string>{"weak replica", "weak all", "strong replica", "strong all"});
  CHECK(points_of({}, two_hosts()).empty());
}

TEST_CASE("of levels with the same groups the larger one stays") {
  const std::vector<std::string> one_host{"weak replica", "weak all"};
  CHECK(points_of({{"scaling", {"weak"}}}, places({0, 0, 0})) == one_host);
  const std::vector<std::string> one_rank_a_host{"weak host", "weak all"};
  CHECK(points_of({{"scaling", {"weak"}}}, places({0, 1, 2})) == one_rank_a_host);
  CHECK(points_of({{"scaling", {"weak"}}, {"tp", {"2"}}}, places({0, 0, 1, 1})) == one_rank_a_host);
}

TEST_CASE("what leaves nothing to compare is refused") {
  CHECK(says(refusal_of({{"scaling", {"weak"}}}, places({0})),
             "the levels of 1 rank(s) on 1 host(s) are the same"));
  CHECK(says(refusal_of({{"scaling", {"weak"}}, {"tp", {"2"}}}, places({0, 0})),
             "the levels of 2 rank(s) on 1 host(s) are the same"));
  CHECK(says(refusal_of({{"scaling", {"weak"}}, {"level", {"host", "all"}}}, places({0, 0})),
             "are the same"));
  CHECK(says(refusal_of({{"scaling", {"weak"}}, {"level", {"host"}}}, two_hosts()),
             "the levels of 8 rank(s) on 2 host(s) are the same"));
  CHECK(says(refusal_of({{"level", {"host"}}}, two_hosts()), "needs --scaling"));
  CHECK(says(refusal_of({{"scaling", {"weak"}}, {"checkpoint-dir", {"/tmp"}}}, two_hosts()),
             "--checkpoint-dir"));
}

TEST_CASE("a host whose ranks make no whole replicas is refused with its numbers") {
  const RankMap threes = places({0, 0, 0, 1, 1, 1});
  CHECK(says(refusal_of({{"scaling", {"weak"}}, {"tp", {"2"}}}, threes),
             "n0 has 3 ranks, no multiple of --tp 2 × --pp 1; next: --level replica,all"));
  const std::vector<std::string> without{"weak replica", "weak all"};
  CHECK(points_of({{"scaling", {"weak"}}, {"tp", {"2"}}, {"level", {"replica", "all"}}}, threes) ==
        without);
}

TEST_CASE("a step that a host's replicas cannot share is refused with its numbers") {
  const RankMap uneven = places({0, 0, 0, 0, 1, 1});  // six replicas, of which a host has four
  CHECK(says(refusal_of({{"scaling", {"strong"}}}, uneven),
             "strong: 6 replicas × 1 micro-batches make a step, which the 4 replicas of n0 cannot "
             "share; next: --micro-batches 4"));
  CHECK(points_of({{"scaling", {"strong"}}, {"micro-batches", {"4"}}}, uneven).size() == 3);
  CHECK(points_of({{"scaling", {"weak"}}}, uneven).size() == 3);
}

TEST_CASE(
    "a group trains with its own replicas: weak with the same micro-batches, strong with more") {
  const Params params = scaling_given(
      {{"scaling", {"weak"}}, {"micro-batches", {"2"}}, {"tp", {"2"}}, {"shard", {"zero1"}}});
  const Options all = options_of(params, 8);
  REQUIRE(all.layout.data == 4);
  const auto at = [&](bool strong, Level level) {
    return options_at({strong, level}, all, groups_of(level, two_hosts(), 2), 5);
  };
  CHECK(at(false, Level::replica).layout.data == 1);
  CHECK(at(false, Level::replica).batch.micro_batches == 2);
  CHECK(at(true, Level::replica).batch.micro_batches == 8);
  CHECK(at(true, Level::host).layout.data == 2);
  CHECK(at(true, Level::host).batch.micro_batches == 4);
  // All ranks train as they do without --scaling.
  for (const bool strong : {false, true})
    CHECK(at(strong, Level::all).identity() == all.identity());
  // A replica alone has nobody to divide the optimizer's state with.
  CHECK_FALSE(at(false, Level::replica).layout.zero1);
  CHECK(at(false, Level::host).layout.zero1);
}

TEST_CASE("a fault is planted in the group of its rank, which counts from 0 there") {
  const auto fault_at = [](const char* fault, Level level, int rank, const char* pp = "1") {
    const Params params =
        scaling_given({{"scaling", {"weak"}}, {"inject-fault", {fault}}, {"pp", {pp}}});
    const Options all = options_of(params, 8);
    const int replica = all.layout.pipeline;
    return options_at({false, level}, all, groups_of(level, two_hosts(), replica), rank).fault;
  };
  using Kind = Fault::Kind;
  CHECK(fault_at("nan@6:1", Level::all, 0).rank == 6);
  CHECK(fault_at("nan@6:1", Level::host, 5).rank == 2);
  CHECK(fault_at("nan@6:1", Level::host, 5).layer == 1);
  CHECK(fault_at("nan@6:1", Level::host, 3).kind == Kind::none);
  CHECK(fault_at("slow@6", Level::host, 6).kind == Kind::slow);
  CHECK(fault_at("slow@6", Level::host, 6).rank == 2);
  // Alone, nobody would find them.
  CHECK(fault_at("slow@6", Level::replica, 6).kind == Kind::none);
  CHECK(fault_at("weight@6", Level::replica, 6).kind == Kind::none);
  CHECK(fault_at("weight@6", Level::host, 6).kind == Kind::weight);
  // Of eight ranks in two stages rank 6 computes the second layer; of a pair it computes the first.
  CHECK(fault_at("nan@6", Level::all, 0, "2").layer == 1);
  CHECK(fault_at("nan@6", Level::replica, 6, "2").kind == Kind::none);
}

TEST_CASE("replicas that lie on two hosts cannot be added up by hosts") {
  const GivenParams shared{{"scaling", {"weak"}}, {"tp", {"2"}}};
  const RankMap in_turns = places({0, 1, 0, 1});
  CHECK(
      says(refusal_of(shared, in_turns), "ranks 0 and 1 are of one replica and lie on n0 and n1"));
  CHECK(refusal_of(shared, places({0, 0, 1, 1})) == "");
  GivenParams without = shared;
  without["level"] = {"host", "all"};
  CHECK(refusal_of(without, in_turns) == "");
}
