// Figures of one kind taken together: their ends, and what sweeps over a parameter.
#include "judge/measured.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

MetricGroup group_at(const std::string& name, std::vector<ParamValue> values, int64_t ranks = 2) {
  MetricGroup out;
  out.params.set("ranks", ranks);
  if (!values.empty()) out.params.set_list(name, std::move(values));
  return out;
}

// "size: 1 2 3 | single 2": the sweeps with their values, and how many points are left.
std::string swept(const std::vector<MetricGroup>& groups) {
  std::vector<const MetricGroup*> all;
  for (const MetricGroup& g : groups) all.push_back(&g);
  const SweepsAndPoints found = find_sweeps(all);
  std::string out;
  for (const Sweep& s : found.sweeps) {
    out += s.key + (s.is_bytes ? " bytes:" : ":");
    for (const MetricGroup* g : s.points) out += " " + std::to_string(g->params.integer(s.key));
    out += " | ";
  }
  return out + std::to_string(found.points.size());
}

std::vector<MetricGroup> groups_of(const std::string& name, std::vector<int64_t> values) {
  std::vector<MetricGroup> out;
  for (const int64_t v : values) out.push_back(group_at(name, {v}));
  return out;
}

}  // namespace

TEST_CASE("the worst, the best and the typical one of a metric's entities, in its direction") {
  const auto ends = [](Better better) {
    Campaign c = campaign({{"n1", 3}, {"n2", 1}, {"n3", 9}, {"n4", 4}, {"n5", 1}, {"n6", 9}});
    c.profile = profile({});
    for (Job& job : c.jobs) job.document->records[0].metrics[0].better = better;
    const auto groups = gather_metrics(c, {});
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].values.size() == 6);
    CHECK(groups[0].typical == 3.5);
    return std::pair(groups[0].worst, groups[0].best);
  };
  CHECK(ends(Better::higher) == std::pair<size_t, size_t>(1, 2));
  CHECK(ends(Better::lower) == std::pair<size_t, size_t>(2, 1));
}

TEST_CASE("one group for each step, point, metric and kind of entity, of what was measured") {
  Campaign c = campaign({{"n1", 1}});
  c.profile = profile({});
  Record& r = c.jobs[0].document->records[0];
  r.metrics.push_back({.name = "other", .entity = 0, .samples = {1}});
  r.metrics.push_back(
      {.name = "bytes_per_second", .entity = r.entity({"n1", "gpu", "0"}), .samples = {1}});
  r.metrics.push_back({.name = "empty", .entity = 0});
  c.jobs[0].document->records.push_back(record({{{"n1", "rank", "0"}, 1}}, {}, 4096));
  Record gone = record({{{"n1", "rank", "0"}, 1}}, {}, 8192);
  gone.outcome = Errored{"n1", "gone"};
  c.jobs[0].document->records.push_back(gone);
  c.jobs.push_back(c.jobs[0]);
  c.jobs[1].step = "t";  // no step of the profile
  c.jobs.push_back({.step = "s", .host = "n2"});
  CHECK(gather_metrics(c, {}).size() == 4);
}

TEST_CASE("three values of one parameter are a sweep, ascending; two are points") {
  CHECK(swept({}) == "0");
  CHECK(swept(groups_of("depth", {1, 2})) == "2");
  CHECK(swept(groups_of("depth", {4, 1, 2})) == "depth: 1 2 4 | 0");
  CHECK(swept(groups_of("size", {4, 1, 2})) == "size bytes: 1 2 4 | 0");
  CHECK(swept(groups_of("size", {0, 1, 2})) == "3");  // nothing sweeps over nothing
  CHECK(swept(groups_of("size", {1, 1, 2})) == "3");
}

TEST_CASE("the size comes before a parameter with more values, and lists are no values") {
  std::vector<MetricGroup> both;
  for (const int64_t depth : {1, 2, 3, 4}) {
    for (const int64_t size : {1, 2, 3}) {
      both.push_back(group_at("size", {size}));
      both.back().params.set("depth", depth);
    }
  }
  CHECK(swept(both) ==
        "size bytes: 1 2 3 | size bytes: 1 2 3 | size bytes: 1 2 3 | size bytes: 1 2 3 | 0");
  std::vector<MetricGroup> lists;
  for (const int64_t size : {1, 2, 3}) lists.push_back(group_at("size", {size, int64_t{9}}));
  CHECK(swept(lists) == "3");
  std::vector<MetricGroup> texts;
  for (const char* size : {"a", "b", "c"}) texts.push_back(group_at("size", {std::string(size)}));
  CHECK(swept(texts) == "3");
}

TEST_CASE("what a sweep has less than three points of stays a point") {
  std::vector<MetricGroup> groups = groups_of("size", {1, 2, 3});
  groups.push_back(group_at("size", {int64_t{1}}, 4));
  groups.push_back(group_at("size", {int64_t{2}}, 4));
  groups.push_back(group_at("size", {}, 8));
  CHECK(swept(groups) == "size bytes: 1 2 3 | 3");
}

TEST_CASE("a parameter is shown by its type") {
  CaseInfo info;
  info.params = {{"bytes", ParamType::size},
                 {"size", ParamType::integer},
                 {"wait", ParamType::duration},
                 {"share", ParamType::number}};
  CHECK(param_text(&info, "bytes", {int64_t{4096}, int64_t{1}}) == "bytes 4K,1");
  CHECK(param_text(&info, "size", {int64_t{4096}}) == "size 4096");
  CHECK(param_text(&info, "wait", {90.0}) == "wait 90.0 s");
  CHECK(param_text(&info, "share", {0.5}) == "share 0.5");
  CHECK(param_text(&info, "flag", {true}) == "flag true");
  CHECK(param_text(nullptr, "block-size", {int64_t{4096}}) == "block-size 4K");
  CHECK(param_text(nullptr, "wait", {90.0}) == "wait 90");
  CHECK(find_param(&info, "none") == nullptr);
  CHECK(find_param(&info, "wait") == &info.params[2]);
  CHECK(find_param(nullptr, "wait") == nullptr);
}

TEST_CASE("the domain of a step: its case's, its criterion's, or host") {
  Campaign c;
  c.profile = profile({metric_criterion({.metric = "x"})});
  c.profile.criteria[0].domain = "network";
  const Step& known = c.profile.steps[0];
  CHECK(domain_of(c, known, {{.name = "fake", .domain = "storage"}}) == "storage");
  CHECK(domain_of(c, known, {{.name = "fake"}}) == "network");
  CHECK(domain_of(c, known, {}) == "network");
  CHECK(domain_of(c, {.id = "t", .case_name = "fake"}, {}) == "host");
}

TEST_CASE("of two parameters the one with more values is swept, of equal ones the first by name") {
  const auto grid = [](const std::vector<int64_t>& alpha, const std::vector<int64_t>& beta,
                       const std::string& other = "beta") {
    std::vector<MetricGroup> out;
    for (const int64_t b : beta) {
      for (const int64_t a : alpha) {
        out.push_back(group_at("alpha", {a}));
        out.back().params.set(other, b);
      }
    }
    return swept(out);
  };
  CHECK(grid({1, 2, 3}, {4, 5, 6}) == "alpha: 1 2 3 | alpha: 1 2 3 | alpha: 1 2 3 | 0");
  CHECK(grid({1, 2, 3}, {4, 5, 6, 7}) == "beta: 4 5 6 7 | beta: 4 5 6 7 | beta: 4 5 6 7 | 0");
  CHECK(grid({1, 2, 3, 4}, {5, 6, 7}) == "alpha: 1 2 3 4 | alpha: 1 2 3 4 | alpha: 1 2 3 4 | 0");
  // A size of 0 is no value of a sweep: two sizes and 0 leave the sweep to the other parameter.
  CHECK(grid({1, 2, 3}, {0, 5, 6}, "size") == "alpha: 1 2 3 | alpha: 1 2 3 | alpha: 1 2 3 | 0");
  CHECK(swept(groups_of("size", {0, 1, 2, 3})) == "size bytes: 1 2 3 | 1");
}
