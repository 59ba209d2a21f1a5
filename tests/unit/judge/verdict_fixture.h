// Campaigns made of a few lines, for the tests of verdicts.
#pragma once

#include <string>
#include <vector>

#include "judge/verdict.h"

namespace cb::test {

inline const std::string kToday = "2026-11-21";

inline Params params(int64_t size) {
  Params p;
  p.set("size", size);
  return p;
}

// A measured record with one value per entity.
inline Record record(const std::vector<std::pair<Entity, double>>& values,
                     std::optional<double> ceiling = {}, int64_t size = 1024) {
  Record r{.case_name = "fake", .params = params(size)};
  for (const auto& [entity, value] : values) {
    Metric m{.name = "bytes_per_second", .unit = "bytes_per_second"};
    m.entity = r.entity(entity);
    m.samples.add(value);
    if (ceiling) m.ceiling = Ceiling{*ceiling, "test"};
    r.metrics.push_back(m);
    r.checks.push_back({.name = "data", .passed = true, .entity = m.entity});
  }
  return r;
}

inline Document document(const std::vector<std::string>& hosts, std::vector<Record> records) {
  Document d;
  d.run.hosts = hosts;
  d.run.ranks = static_cast<int>(hosts.size());
  d.records = std::move(records);
  return d;
}

inline Job done(const std::string& host, Document d) {
  Job job{.step = "s", .host = host, .state = JobState::done, .file = "records/001-s.json"};
  job.document = std::move(d);
  return job;
}

inline Criterion metric_criterion(MetricRule rule) {
  Criterion c{.id = "c", .step = "s", .domain = "host"};
  c.rule = std::move(rule);
  return c;
}

inline Profile profile(std::vector<Criterion> criteria) {
  Profile p{.name = "test"};
  p.steps.push_back({.id = "s", .case_name = "fake"});
  p.criteria = std::move(criteria);
  return p;
}

// One job of scope host per (host, value).
inline Campaign campaign(const std::vector<std::pair<std::string, double>>& values,
                         std::optional<double> ceiling = {}) {
  Campaign c;
  for (const auto& [host, value] : values) {
    c.hosts.push_back(host);
    c.inventories.push_back({.host = host});
    c.jobs.push_back(
        done(host, document({host}, {record({{{host, "rank", "0"}, value}}, ceiling)})));
  }
  return c;
}

// The state and reason of the only criterion. The profile is kept by the caller.
inline CriterionVerdict verdict(const Campaign& c, const Profile& p,
                                const std::vector<Waiver>& waivers = {}) {
  return judge(c, p, waivers, kToday).criteria.at(0);
}

inline Waiver waiver() {
  return {"w1", "c", "n2:*", "slow fan", "A. Buyer", "OPS-77", 80, "2026-11-21"};
}

}  // namespace cb::test
