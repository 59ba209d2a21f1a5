// Needs, checks and uniformity.
#include <doctest/doctest.h>

#include "core/profile_limits.h"
#include "judge/applies.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Criterion check_criterion(GivenParams at = {}) {
  Criterion c{.id = "c", .step = "s", .domain = "host"};
  c.rule = CheckRule{"data", std::move(at)};
  return c;
}

Criterion uniform_criterion(std::vector<std::string> attributes) {
  Criterion c{.id = "c", .step = "s", .domain = "host"};
  c.rule = UniformRule{std::move(attributes)};
  return c;
}

HostInventory with_gpus(const std::string& host, int count) {
  HostInventory out{.host = host};
  for (int i = 0; i < count; ++i) out.parts.push_back({"gpu", std::to_string(i)});
  return out;
}

void set_kernel(Campaign& c, size_t host, const std::string& kernel) {
  Part part{"system", "0"};
  part.attributes["kernel"] = kernel;
  c.inventories[host].parts.push_back(part);
}

}  // namespace

TEST_CASE("needs of hosts, from both sides") {
  Criterion c = metric_criterion({.metric = "bytes_per_second", .min = 1});
  c.needs = {{"hosts", 2}};
  const Profile p = profile({c});
  const CriterionVerdict one = verdict(campaign({{"n1", 5}}), p);
  CHECK(one.state == State::not_applicable);
  CHECK(one.reason == "needs 2 hosts, has 1");
  CHECK(verdict(campaign({{"n1", 5}, {"n2", 5}}), p).state == State::pass);
}

TEST_CASE("the needs of the step count for its criteria") {
  Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 1})});
  p.steps[0].needs = {{"hosts", 3}};
  CHECK(verdict(campaign({{"n1", 5}, {"n2", 5}}), p).state == State::not_applicable);
}

TEST_CASE("what holds for few hosts does not apply to many, on both sides of the border") {
  const Requirements few{{"hosts_at_most", 2}};
  CHECK(check_needs(few, 2, {}).fit == Fit::met);
  CHECK(check_needs(few, 3, {}).fit == Fit::unmet);
  CHECK(check_needs(few, 3, {}).reason() == "is for at most 2 hosts, there are 3");
  CHECK(merge_needs(few, {{"hosts_at_most", 5}, {"hosts", 1}}) ==
        Requirements{{"hosts", 1}, {"hosts_at_most", 2}});
  CHECK(merge_needs({{"hosts_at_most", 5}, {"hosts", 3}}, {{"hosts_at_most", 4}, {"hosts", 2}}) ==
        Requirements{{"hosts", 3}, {"hosts_at_most", 4}});
}

TEST_CASE("needs of parts: met, unmet, and mixed, which is no excuse") {
  const Requirements needs{{"gpu", 8}};
  CHECK(check_needs(needs, 2, {with_gpus("a", 8), with_gpus("b", 9)}).fit == Fit::met);
  const NeedsFit none = check_needs(needs, 2, {with_gpus("a", 0), with_gpus("b", 0)});
  CHECK(none.fit == Fit::unmet);
  CHECK(none.reason() == "needs 8 gpu on every host, a has none");
  const NeedsFit mixed = check_needs(needs, 2, {with_gpus("a", 8), with_gpus("b", 7)});
  CHECK(mixed.fit == Fit::mixed);
  CHECK(mixed.reason() == "needs 8 gpu on every host, b has 7");
  CHECK(check_needs(needs, 2, {with_gpus("a", 8)}).fit == Fit::unknown);
  CHECK(check_needs({}, 2, {}).fit == Fit::met);
  // Of several that are unmet the first is named.
  CHECK(check_needs({{"gpu", 8}, {"nic", 2}}, 1, {with_gpus("a", 0)}).reason() ==
        "needs 8 gpu on every host, a has none");
}

TEST_CASE("a host that lost a part is incomplete, not not-applicable") {
  Criterion c = metric_criterion({.metric = "bytes_per_second", .min = 1});
  c.needs = {{"gpu", 8}};
  const Profile p = profile({c});
  Campaign two = campaign({{"a", 5}, {"b", 5}});
  two.inventories = {with_gpus("a", 8), with_gpus("b", 7)};
  const CriterionVerdict v = verdict(two, p);
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("b has 7") != std::string::npos);
  two.inventories = {with_gpus("a", 0), with_gpus("b", 0)};
  CHECK(verdict(two, p).state == State::not_applicable);
  two.inventories = {with_gpus("a", 8)};
  CHECK(verdict(two, p).state == State::incomplete);
}

TEST_CASE("not applicable alone accepts nothing") {
  Criterion c = metric_criterion({.metric = "bytes_per_second", .min = 1});
  c.needs = {{"hosts", 2}};
  const Profile p = profile({c});
  const Campaign one = campaign({{"n1", 5}});
  CHECK(judge(one, p, {}, kToday).overall() == State::incomplete);
}

TEST_CASE("a check criterion: all passed, one failed, none at all") {
  const Profile p = profile({check_criterion()});
  Campaign c = campaign({{"n1", 5}, {"n2", 5}});
  const CriterionVerdict good = verdict(c, p);
  CHECK(good.state == State::pass);
  CHECK(good.reason == "2 checks, none failed");
  c.jobs[1].document->records[0].checks[0].passed = false;
  c.jobs[1].document->records[0].checks[0].detail = "bit 3";
  const CriterionVerdict bad = verdict(c, p);
  CHECK(bad.state == State::fail);
  CHECK(entity_name(*bad.worst) == "n2:0");
  CHECK(bad.value == 1.0);
  CHECK(bad.reason.find("bit 3") != std::string::npos);
  c.jobs[1].document->records[0].checks.clear();
  const CriterionVerdict absent = verdict(c, p);
  CHECK(absent.state == State::incomplete);
  CHECK(absent.reason.find("n2") != std::string::npos);
}

TEST_CASE("a failed check counts although its job failed later") {
  const Profile p = profile({check_criterion()});
  Campaign c = campaign({{"n1", 5}});
  c.jobs[0].document->records[0].checks[0].passed = false;
  c.jobs[0].state = JobState::failed;
  CHECK(verdict(c, p).state == State::fail);
}

TEST_CASE("uniform: equal, one odd host, absent on some, absent on all") {
  const Profile p = profile({uniform_criterion({"system.kernel"})});
  Campaign c = campaign({{"n1", 1}, {"n2", 1}, {"n3", 1}});
  const CriterionVerdict absent = verdict(c, p);
  CHECK(absent.state == State::incomplete);
  CHECK(absent.reason.find("system.kernel could not be read") != std::string::npos);
  set_kernel(c, 0, "6.1");
  set_kernel(c, 1, "6.1");
  const CriterionVerdict some = verdict(c, p);
  CHECK(some.state == State::fail);
  CHECK(entity_name(*some.worst) == "n3");
  set_kernel(c, 2, "6.1");
  CHECK(verdict(c, p).state == State::pass);
  c.inventories[0].parts[0].attributes["kernel"] = std::string("5.10");
  const CriterionVerdict odd = verdict(c, p);
  CHECK(odd.state == State::fail);
  CHECK(odd.reason.find("n1: system.kernel is 5.10, elsewhere 6.1") != std::string::npos);
  c.inventories.pop_back();
  c.inventories[0].parts[0].attributes["kernel"] = std::string("6.1");
  const CriterionVerdict unread = verdict(c, p);
  CHECK(unread.state == State::incomplete);
  CHECK(unread.reason.find("n3") != std::string::npos);
}

TEST_CASE("uniform: a host's value is the number of attributes in which it differs") {
  const Profile p = profile({uniform_criterion({"system.kernel", "system.cmdline", "gpu.count"})});
  Campaign c = campaign({{"n1", 1}, {"n2", 1}, {"n3", 1}, {"n4", 1}});
  for (size_t i = 0; i < 4; ++i) {
    Part part{"system", "0"};
    part.attributes["kernel"] = std::string(i == 1 ? "5.10" : i == 2 ? "5.15" : "6.1");
    part.attributes["cmdline"] = std::string(i == 2 ? "quiet" : "");
    c.inventories[i].parts = {part};
  }
  const CriterionVerdict v = verdict(c, p);
  CHECK(v.state == State::fail);
  CHECK(entity_name(*v.worst) == "n3");
  CHECK(v.value == 2.0);
  REQUIRE(v.failing.size() == 2);
  CHECK(entity_name(v.failing[0].entity) == "n3");
  CHECK(v.failing[0].detail.size() == 2);
  CHECK(entity_name(v.failing[1].entity) == "n2");
  CHECK(v.failing[1].value == 1.0);
  CHECK(v.failing[1].detail.size() == 1);
}

TEST_CASE("uniform: where two values are equally frequent no host is taken for the right one") {
  const Profile p = profile({uniform_criterion({"system.kernel"})});
  Campaign c = campaign({{"n1", 1}, {"n2", 1}});
  set_kernel(c, 0, "5.10");
  set_kernel(c, 1, "6.1");
  const CriterionVerdict v = verdict(c, p);
  CHECK(v.state == State::fail);
  REQUIRE(v.failing.size() == 2);
  CHECK(entity_name(v.failing[0].entity) == "n1");
  CHECK(entity_name(v.failing[1].entity) == "n2");
  CHECK(v.reason.find("n1: system.kernel is 5.10, elsewhere 6.1") != std::string::npos);

  Campaign unread = campaign({{"n1", 1}, {"n2", 1}});
  set_kernel(unread, 1, "6.1");
  const CriterionVerdict one = verdict(unread, p);
  REQUIRE(one.failing.size() == 1);  // a value that is there is no odd one
  CHECK(entity_name(one.failing[0].entity) == "n1");
}

TEST_CASE("uniform: those that lack a value are named, also where they are more") {
  const Profile p = profile({uniform_criterion({"system.kernel"})});
  Campaign c = campaign({{"n1", 1}, {"n2", 1}, {"n3", 1}, {"n4", 1}, {"n5", 1}});
  set_kernel(c, 0, "6.1");
  const CriterionVerdict one = verdict(c, p);
  REQUIRE(one.failing.size() == 4);
  for (size_t i = 0; i < 4; ++i)
    CHECK(entity_name(one.failing[i].entity) == "n" + std::to_string(i + 2));
  CHECK(one.reason.find("elsewhere 6.1") != std::string::npos);

  set_kernel(c, 1, "5.10");  // of two values nobody knows which is right
  CHECK(verdict(c, p).failing.size() == 5);
  set_kernel(c, 2, "6.1");
  const CriterionVerdict odd = verdict(c, p);
  REQUIRE(odd.failing.size() == 3);
  CHECK(entity_name(odd.failing[0].entity) == "n2");
}

TEST_CASE("uniform counts parts") {
  const Profile p = profile({uniform_criterion({"gpu.count"})});
  Campaign c = campaign({{"a", 1}, {"b", 1}});
  CHECK(verdict(c, p).state == State::pass);  // no GPU anywhere is uniform
  c.inventories = {with_gpus("a", 8), with_gpus("b", 8)};
  CHECK(verdict(c, p).state == State::pass);
  c.inventories = {with_gpus("a", 8), with_gpus("b", 7)};
  CHECK(verdict(c, p).state == State::fail);
}

TEST_CASE("counts, overall verdict and exit codes") {
  Criterion good = metric_criterion({.metric = "bytes_per_second", .min = 1});
  Criterion bad = metric_criterion({.metric = "bytes_per_second", .min = 1e9});
  bad.id = "bad";
  Criterion absent = metric_criterion({.metric = "latency_seconds", .max = 1});
  absent.id = "absent";
  const Campaign c = campaign({{"n1", 5}});
  const Profile all = profile({good, bad, absent});
  const Judgement failed = judge(c, all, {}, kToday);
  CHECK(failed.count(State::pass) == 1);
  CHECK(failed.count(State::fail) == 1);
  CHECK(failed.count(State::incomplete) == 1);
  CHECK(failed.overall() == State::fail);
  CHECK(exit_code(failed) == ExitCode::not_accepted);
  const Profile some = profile({good, absent});
  CHECK(exit_code(judge(c, some, {}, kToday)) == ExitCode::incomplete);
  const Profile only = profile({good});
  CHECK(exit_code(judge(c, only, {}, kToday)) == ExitCode::ok);
}
