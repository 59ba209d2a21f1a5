// What counts as a change between two campaigns: both sides of each condition.
#include "judge/compare.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "judge/compare_parts.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// Ten samples around the middle, 0.2 % apart: their median absolute deviation is 0.5 %.
std::vector<double> around(double middle, double apart = 0.002) {
  std::vector<double> out;
  for (int i = 0; i < 10; ++i) out.push_back(middle * (1 + apart * (i - 4.5)));
  return out;
}

Campaign with(const std::vector<double>& values, Better better = Better::higher) {
  Campaign c = campaign({{"n1", 1}});
  c.profile = profile({});
  Metric& m = c.jobs[0].document->records[0].metrics[0];
  m.better = better;
  m.samples = Samples();
  for (const double v : values) m.samples.add(v);
  return c;
}

// Two campaigns, each judged by its own profile, and what compare says of them.
struct Pair {
  Pair(const Campaign& a, const Campaign& b, const std::vector<MappedHost>& map = {})
      : before(gather_metrics(a, {})),
        after(gather_metrics(b, {})),
        judged_before(judge(a, a.profile, {}, kToday)),
        judged_after(judge(b, b.profile, {}, kToday)),
        found(compare_campaigns({a, before, judged_before}, {b, after, judged_after}, map)) {}
  std::vector<MetricGroup> before, after;
  Judgement judged_before, judged_after;
  Comparison found;
};

ChangeKind kind(const Campaign& a, const Campaign& b) {
  const Pair c(a, b);
  REQUIRE(c.found.changes.size() == 1);
  return c.found.changes[0].kind;
}

}  // namespace

TEST_CASE("a median that moved is worse or better by its direction") {
  const Campaign before = with(around(100));
  CHECK(kind(before, with(around(95))) == ChangeKind::worse);
  CHECK(kind(before, with(around(105))) == ChangeKind::better);
  CHECK(kind(with(around(100), Better::lower), with(around(105), Better::lower)) ==
        ChangeKind::worse);
  CHECK(kind(before, before) == ChangeKind::same);
}

TEST_CASE("the least effect, from both sides") {
  const Campaign before = with(around(100));
  CHECK(kind(before, with(around(97.9))) == ChangeKind::worse);
  CHECK(kind(before, with(around(98.1))) == ChangeKind::same);
  // Three times the spread, 6 %, where that is more than 2 %.
  const Campaign spread = with(around(100, 0.008));
  CHECK(kind(spread, with(around(93.5, 0.008))) == ChangeKind::worse);
  CHECK(kind(spread, with(around(94.5, 0.008))) == ChangeKind::same);
}

TEST_CASE("too few samples to tell are undecided, not the same") {
  // Four against four can reach p = 2/70 at best, five against five 2/252.
  CHECK(kind(with({100, 101, 102, 103}), with({80, 81, 82, 83})) == ChangeKind::undecided);
  CHECK(kind(with({100, 101, 102, 103, 104}), with({80, 81, 82, 83, 84})) == ChangeKind::worse);
  CHECK(kind(with({100, 101, 102}), with({100, 101, 102})) == ChangeKind::same);
  CHECK(kind(with({100}), with({80})) == ChangeKind::undecided);
}

TEST_CASE("one lucky p among hundreds is undecided") {
  const auto fill = [](Campaign& c, double odd) {
    Record& r = c.jobs[0].document->records[0];
    for (int i = 0; i < 400; ++i) {
      Metric m{.name = "m" + std::to_string(i), .unit = "count"};
      const double base = i == 7 ? odd : 1.0;
      m.samples = {base, base + 0.001, base + 0.002, base + 0.003, base + 0.004};
      r.metrics.push_back(m);
    }
  };
  Campaign before = with(around(100));
  Campaign after = before;
  fill(before, 1.0);
  fill(after, 1.5);
  const Pair c(before, after);
  CHECK(c.found.count(ChangeKind::worse) + c.found.count(ChangeKind::better) == 0);
  REQUIRE(c.found.count(ChangeKind::undecided) == 1);
  CHECK(c.found.changes[0].after->metric == "m7");
}

TEST_CASE("what else changed is named") {
  Campaign before = with(around(100));
  Campaign after = before;
  CHECK(Pair(before, after).found.fingerprint.empty());
  after.profile.sha256 = "x";
  after.profile.steps[0].params["size"] = {"8G"};
  after.profile.steps.push_back({.id = "t", .case_name = "fake"});
  after.hosts = {"n2"};
  std::vector<std::string> what;
  for (const FingerprintDifference& d : Pair(before, after).found.fingerprint)
    what.push_back(d.what + ": " + d.before + " → " + d.after);
  CHECK(what == std::vector<std::string>{"profile.sha256:  → x", "hosts: 1: n1 → 1: n2",
                                         "step s: fake → fake size 8G", "step t:  → fake"});
}

namespace {

// One host a value, each with its figure and a passed check, with ten samples each.
Campaign named_hosts(const std::vector<std::string>& hosts, double value = 100) {
  std::vector<std::pair<std::string, double>> values;
  for (const std::string& host : hosts) values.emplace_back(host, value);
  Campaign c = campaign(values);
  c.profile = profile({metric_criterion({.metric = "bytes_per_second", .min = 90})});
  for (Job& job : c.jobs) {
    Samples& samples = job.document->records[0].metrics[0].samples;
    samples = Samples();
    for (const double v : around(value)) samples.add(v);
  }
  return c;
}

void fail_check(Campaign& c, size_t host) {
  Record& r = c.jobs[host].document->records[0];
  r.metrics.clear();
  r.checks[0].passed = false;
  r.checks[0].detail = "1 of 67108864 elements wrong";
}

void give_serial(Campaign& c, size_t host, const std::string& serial) {
  c.inventories[host].parts.push_back(
      {.kind = "system", .id = "system", .attributes = {{"serial", serial}}});
}

Part gpu(int64_t index, const std::string& uuid, const std::string& slot) {
  return {.kind = "gpu",
          .id = slot,
          .attributes = {{"index", index}, {"uuid", uuid}, {"pci_address", slot}}};
}

}  // namespace

TEST_CASE("equal campaigns: nothing is worse, nothing is open") {
  const Campaign before = named_hosts({"n1", "n2"});
  const Pair c(before, before);
  CHECK(c.found.missing.empty());
  CHECK(c.found.added.empty());
  CHECK(c.found.checks.empty());
  CHECK(c.found.verdicts.empty());
  CHECK(exit_code(c.found) == ExitCode::ok);
}

TEST_CASE("a check that fails now is worse, and what it took with it is lost") {
  const Campaign before = named_hosts({"n1", "n2"});
  Campaign after = before;
  fail_check(after, 1);
  const Pair c(before, after);
  CHECK(c.found.count(ChangeKind::worse) == 0);  // of the figures that are left
  REQUIRE(c.found.checks.size() == 1);
  CHECK(c.found.checks[0].kind == ChangeKind::worse);
  CHECK(c.found.checks[0].entity.host == "n2");
  CHECK(c.found.checks[0].detail == "1 of 67108864 elements wrong");
  CHECK(c.found.lost() == 1);
  CHECK(exit_code(c.found) == ExitCode::not_accepted);
  const Pair back(after, before);
  CHECK(back.found.checks[0].kind == ChangeKind::better);
  CHECK(exit_code(back.found) == ExitCode::ok);
  const Pair both(after, after);
  CHECK(both.found.checks[0].kind == ChangeKind::same);
  CHECK(exit_code(both.found) == ExitCode::ok);
}

TEST_CASE("a host that vanished is lost, one that came is new") {
  const Campaign before = named_hosts({"n1", "n2"}), after = named_hosts({"n1"});
  const Pair c(before, after);
  CHECK(c.found.hosts.gone == std::vector<std::string>{"n2"});
  REQUIRE(c.found.missing.size() == 2);  // its figure and its check
  CHECK(c.found.missing[0].what == "bytes_per_second");
  CHECK(c.found.missing[0].entity.host == "n2");
  CHECK(c.found.missing[0].lost);
  CHECK(c.found.missing[1].what == "check data");
  CHECK(exit_code(c.found) == ExitCode::not_accepted);
  const Pair back(after, before);
  CHECK(back.found.hosts.fresh == std::vector<std::string>{"n2"});
  CHECK(back.found.added.size() == 1);
  CHECK(exit_code(back.found) == ExitCode::ok);
}

TEST_CASE("a host that is gone on purpose is not missed") {
  const Pair c(named_hosts({"n1", "n2"}), named_hosts({"n1"}), {{"n2", ""}});
  CHECK(c.found.missing.empty());
  CHECK(c.found.hosts.gone.empty());
  CHECK(exit_code(c.found) == ExitCode::ok);
}

TEST_CASE(
    "what is of a host that was dropped or is gone: its parts, and the pairs that it is an end "
    "of") {
  HostMatch match;
  match.renamed = {{"n1", "m1", "--map"}, {"n2", "", "--map"}};
  match.gone = {"n3"};
  const Entity own{"n2", "gpu", "0"}, far{"n4", "pair", "", "n2:mlx5_0"},
      near{"n2", "pair", "", "n4"};
  const Entity other{"n4", "gpu", "0"}, renamed{"n1", "gpu", "0"},
      pair{"n4", "pair", "", "n5 rank 3"};
  for (const Entity& e : {own, far, near}) CHECK(match.dropped(e));
  for (const Entity& e : {other, renamed, pair}) CHECK_FALSE(match.dropped(e));
  CHECK(match.gone_host({"n3", "gpu", "0"}) == "n3");
  CHECK(match.gone_host({"n4", "pair", "", "n3 rank 3"}) == "n3");
  CHECK(match.gone_host(pair) == "");
  CHECK(match.gone_host(own) == "");
}

TEST_CASE("a renamed host is found by the map or by its serial numbers, and compared") {
  Campaign before = named_hosts({"n1", "n2"}), after = named_hosts({"n1", "spare"}, 80);
  CHECK(Pair(before, after).found.changes.size() == 1);
  const Pair mapped(before, after, {{"n2", "spare"}});
  CHECK(mapped.found.changes.size() == 2);
  CHECK(mapped.found.count(ChangeKind::worse) == 2);
  CHECK(mapped.found.missing.empty());
  give_serial(before, 1, "SN2");
  give_serial(after, 1, "SN3");
  CHECK(Pair(before, after).found.changes.size() == 1);
  after.inventories[1].parts.clear();
  give_serial(after, 1, "SN2");
  const Pair by_serial(before, after);
  CHECK(by_serial.found.changes.size() == 2);
  REQUIRE(by_serial.found.hosts.renamed.size() == 1);
  CHECK(by_serial.found.hosts.renamed[0].after == "spare");
}

TEST_CASE("half of the serial numbers are too few to be the same host") {
  Campaign before = named_hosts({"n1"}), after = named_hosts({"m1"});
  before.inventories[0].parts = {gpu(0, "A", "1:0"), gpu(1, "B", "2:0")};
  after.inventories[0].parts = {gpu(0, "A", "1:0"), gpu(1, "C", "2:0")};
  CHECK(match_hosts(before, after, {}).names.empty());
  before.inventories[0].parts.push_back(gpu(2, "D", "3:0"));
  after.inventories[0].parts.push_back(gpu(2, "D", "3:0"));
  CHECK(match_hosts(before, after, {}).names.at("n1") == "m1");
}

TEST_CASE("a map of hosts that are not there, or of one twice, is refused") {
  const Campaign one = named_hosts({"n1", "n2"});
  CHECK_THROWS_AS(match_hosts(one, one, {{"n3", "n1"}}), UsageError);
  CHECK_THROWS_AS(match_hosts(one, one, {{"n1", "n3"}}), UsageError);
  CHECK_THROWS_AS(match_hosts(one, one, {{"n1", "n1"}, {"n2", "n1"}}), UsageError);
  const HostMatch swapped = match_hosts(one, one, {{"n1", "n2"}, {"n2", "n1"}});
  CHECK(swapped.after("n1") == "n2");
  Problems problems;
  CHECK(parse_host_map({"a=b", "c="}, "--map", problems).size() == 2);
  CHECK(problems.empty());
  parse_host_map({"ab", "=b"}, "--map", problems);
  CHECK(problems.list.size() == 2);
}

TEST_CASE("a GPU is the one with its UUID, then the one in its slot") {
  Campaign before = named_hosts({"n1"}), after = named_hosts({"n1"});
  before.inventories[0].parts = {gpu(0, "A", "1:0"), gpu(1, "B", "2:0"), gpu(2, "C", "3:0")};
  after.inventories[0].parts = {gpu(0, "B", "2:0"), gpu(1, "A", "1:0"), gpu(2, "X", "3:0")};
  const HostMatch match = match_hosts(before, after, {});
  CHECK(match.after(Entity{"n1", "gpu", "0"}) == Entity{"n1", "gpu", "1"});
  CHECK(match.after(Entity{"n1", "gpu", "1"}) == Entity{"n1", "gpu", "0"});
  CHECK(match.after(Entity{"n1", "gpu", "2"}) == Entity{"n1", "gpu", "2"});
  REQUIRE(match.exchanged.size() == 1);
  CHECK(match.exchanged[0].what == "gpu n1:2");
  CHECK(match.exchanged[0].before == "C");
  CHECK(match.exchanged[0].after == "X");
}

TEST_CASE("a pair's other end is renamed with its host") {
  HostMatch match;
  match.names = {{"n1", "n1"}, {"n2", "m2"}};
  CHECK(match.after(Entity{"n1", "pair", "mlx5_0", "n2:mlx5_1"}) ==
        Entity{"n1", "pair", "mlx5_0", "m2:mlx5_1"});
  CHECK(match.after(Entity{"n2", "pair", "", "n1 rank 3"}) ==
        Entity{"m2", "pair", "", "n1 rank 3"});
}

TEST_CASE("a pair that was drawn otherwise is open, one whose host is gone is lost") {
  const auto with_pair = [](Campaign c, const std::string& peer) {
    Record& r = c.jobs[0].document->records[0];
    Metric m = r.metrics[0];
    m.entity = r.entity({"n1", "pair", "", peer});
    r.metrics.push_back(m);
    return c;
  };
  const Campaign before = with_pair(named_hosts({"n1", "n2", "n3"}), "n2");
  CHECK(exit_code(Pair(before, with_pair(named_hosts({"n1", "n2", "n3"}), "n3")).found) ==
        ExitCode::incomplete);
  const Pair gone(before, named_hosts({"n1", "n3"}), {});
  CHECK(std::ranges::count(gone.found.missing, true, &Unmatched::lost) == 3);
}

TEST_CASE("what is not asked for any more is open, what is asked for and absent is lost") {
  const Campaign before = named_hosts({"n1", "n2"});
  Campaign after = before;
  after.jobs[1].document.reset();
  after.jobs[1].state = JobState::failed;
  after.jobs[1].reason = "it ended with code 4";
  const Pair lost(before, after);
  REQUIRE(lost.found.missing.size() == 2);
  CHECK(lost.found.missing[0].lost);
  CHECK(lost.found.missing[0].reason == "it ended with code 4");
  after.profile.steps[0].params["size"] = {"8G"};
  const Pair other(before, after);
  CHECK(other.found.lost() == 0);
  CHECK(other.found.missing.size() == 2);
  CHECK(other.found.missing[0].reason.empty());
}

TEST_CASE("why something is lost is said by the job of that step on that host") {
  Campaign before = campaign({{"n1", 1}, {"n2", 1}});
  before.profile = profile({});
  before.profile.steps.push_back({.id = "t", .case_name = "fake"});
  Campaign after = before;
  before.jobs.push_back(before.jobs[1]);
  before.jobs[2].step = "t";
  after.jobs.push_back(after.jobs[0]);  // step t: n1 has it, n2 does not
  after.jobs[2].step = "t";
  after.jobs[0].state = JobState::failed;
  after.jobs[0].reason = "s on n1";
  after.jobs[1].state = JobState::failed;
  after.jobs[1].reason = "s on n2";
  after.jobs[2].state = JobState::failed;
  after.jobs[2].reason = "t on n1";
  for (Job& job : after.jobs) job.document.reset();
  const Pair lost(before, after);
  std::vector<std::string> reasons;
  for (const Unmatched& m : lost.found.missing) reasons.push_back(m.step + ": " + m.reason);
  std::ranges::sort(reasons);
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  CHECK(reasons == std::vector<std::string>{"s: s on n1", "s: s on n2", "t: "});
}

TEST_CASE("a finding that is made no more is mended where the later campaign looked") {
  Campaign before = named_hosts({"n1"});
  Record& r = before.jobs[0].document->records[0];
  r.checks.push_back({.name = "slow_nic", .passed = false, .entity = 0, .finding = true});
  const Pair c(before, named_hosts({"n1"}));
  REQUIRE(c.found.checks.size() == 1);
  CHECK(c.found.checks[0].kind == ChangeKind::better);
  CHECK(c.found.missing.empty());
}

TEST_CASE("what a part failed is mended where the whole cluster passes that check now") {
  const auto with_check = [](const Entity& entity, bool passed) {
    Campaign c = named_hosts({"n1"});
    Record& r = c.jobs[0].document->records[0];
    r.checks.push_back({.name = "no_suspect", .passed = passed, .entity = r.entity(entity)});
    return c;
  };
  const Campaign suspect = with_check({"n1", "pair", "", "n2"}, false);
  const Campaign healthy = with_check({"", "cluster", ""}, true);
  const Pair mended(suspect, healthy), broken(healthy, suspect);
  REQUIRE(mended.found.checks.size() == 1);
  CHECK(mended.found.checks[0].kind == ChangeKind::better);
  CHECK(mended.found.missing.empty());
  REQUIRE(broken.found.checks.size() == 1);
  CHECK(broken.found.checks[0].kind == ChangeKind::worse);
  CHECK(broken.found.missing.empty());
}

TEST_CASE("verdicts are compared, each by its own profile") {
  Campaign before = named_hosts({"n1"});
  const auto state_of = [&](const Campaign& after) {
    const Pair c(before, after);
    REQUIRE(c.found.verdicts.size() == 1);
    return std::pair(c.found.verdicts[0].after, c.found.verdicts[0].kind);
  };
  // The figure moves by 1.5 %, which is no change by itself, and crosses its limit.
  Campaign after = named_hosts({"n1"}, 98.6);
  std::get<MetricRule>(after.profile.criteria[0].rule).min = 99.5;
  CHECK(state_of(after) == std::pair(std::optional(State::fail), ChangeKind::worse));
  CHECK(exit_code(Pair(before, after).found) == ExitCode::not_accepted);
  CHECK(Pair(after, before).found.verdicts[0].kind == ChangeKind::better);
  // Pass to incomplete is worse as well.
  after = before;
  after.jobs[0].document.reset();
  after.jobs[0].state = JobState::failed;
  CHECK(state_of(after) == std::pair(std::optional(State::incomplete), ChangeKind::worse));
  // A criterion that only one profile has cannot be compared.
  after = before;
  after.profile.criteria[0].id = "other";
  const Pair c(before, after);
  REQUIRE(c.found.verdicts.size() == 2);
  CHECK(c.found.verdicts[0].kind == ChangeKind::undecided);
  CHECK_FALSE(c.found.verdicts[0].before.has_value());
  CHECK_FALSE(c.found.verdicts[1].after.has_value());
  CHECK(exit_code(c.found) == ExitCode::incomplete);
}

TEST_CASE("the order of states from a pass on") {
  CHECK(is_worse(State::warn, State::pass));
  CHECK_FALSE(is_worse(State::warn, State::waived));
  CHECK(is_worse(State::not_applicable, State::pass));
  CHECK(is_worse(State::incomplete, State::warn));
  CHECK(is_worse(State::fail, State::incomplete));
  CHECK_FALSE(is_worse(State::pass, State::fail));
}

TEST_CASE("from nothing to something is a change") {
  const Campaign none = with(std::vector<double>(6, 0.0), Better::lower);
  CHECK(kind(none, with(std::vector<double>(6, 7.0), Better::lower)) == ChangeKind::worse);
  CHECK(kind(none, none) == ChangeKind::same);
}
