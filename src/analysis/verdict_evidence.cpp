// What the campaign's records say about one criterion: every entity against its limit, and every
// gap where a host or a record should be and is not.
#include "analysis/verdict_evidence.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/verdict_hosts.h"
#include "analysis/verdict_select.h"
#include "analysis/verdict_uniform.h"

namespace cb {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

const char* state_text(JobState state) {
  switch (state) {
    case JobState::done:
      return "done";
    case JobState::failed:
      return "failed";
    case JobState::deadline:
      return "ran past its deadline";
    case JobState::not_applicable:
      return "was not run, as not applicable";
    case JobState::missing:
      return "has not run";
  }
  return "";
}

std::string job_gap(const Job& job) {
  const std::string next = job.log.empty() ? "" : fmt::format(", see {}", job.log);
  return fmt::format("step {}{} {}{}{}; repeat it with run --resume", job.step,
                     job.host.empty() ? "" : " on " + job.host, state_text(job.state),
                     job.reason.empty() ? "" : ": " + job.reason, next);
}

// How far beyond the limit, as a share of it; the plain difference where the limit is 0.
double badness(double value, double limit, bool minimum) {
  const double beyond = minimum ? limit - value : value - limit;
  return limit == 0 ? beyond : beyond / std::abs(limit);
}

void bind_limit(Finding& finding, double limit, bool minimum) {
  const double b = badness(*finding.value, limit, minimum);
  if (finding.limit && b <= finding.badness) return;
  finding.limit = limit;
  finding.limit_is_minimum = minimum;
  finding.badness = b;
  finding.failing = minimum ? *finding.value < limit : *finding.value > limit;
}

class Collector {
 public:
  Collector(const Campaign& campaign, const Criterion& criterion)
      : campaign_(campaign), criterion_(criterion), names_(campaign) {}

  Evidence collect() {
    bool any = false;
    for (const Job& job : campaign_.jobs) {
      if (job.step != criterion_.step) continue;
      any = true;
      collect_job(job);
    }
    if (!any)
      gap(fmt::format("the campaign has no step {}: run this profile anew", criterion_.step));
    for (const std::string& host : names_.expected()) require_host(host);
    return std::move(evidence_);
  }

 private:
  void gap(std::string text) {
    auto& gaps = evidence_.gaps;
    if (std::find(gaps.begin(), gaps.end(), text) == gaps.end()) gaps.push_back(std::move(text));
  }

  // Every expected host must have contributed, or stand in a gap by name.
  void require_host(const std::string& host) {
    if (const auto twin = names_.twin(host)) {
      gap(fmt::format("{} is the same machine as {}: mend the list of hosts", host, *twin));
    } else if (!contributed_.contains(host) && !excused_.contains(host)) {
      gap(fmt::format("{} contributed nothing to step {}: see its log", host, criterion_.step));
    }
  }

  void collect_job(const Job& job) {
    if (job.state != JobState::done) {
      gap(job_gap(job));
      excuse(job);
    }
    if (!job.document) return;
    if (job.document->run.partial) {
      gap(fmt::format("step {} ended early ({}); repeat it with run --resume", job.step,
                      *job.document->run.partial));
      excuse(job);
    }
    job_ = &job;
    varying_ = varying_params(job.document->records);
    size_t selected = 0;
    for (const Record& record : job.document->records) selected += collect_record(record) ? 1 : 0;
    if (selected == 0 && !excused_.contains(job.host)) {
      gap(fmt::format("step {}{} has no record{}: add the point to the step, or mend the criterion",
                      job.step, job.host.empty() ? "" : " on " + job.host, at_text()));
      excuse(job);
    }
  }

  // Its gap is stated already: no second one for the host.
  void excuse(const Job& job) {
    if (!job.host.empty()) {
      excused_.insert(job.host);
    } else if (job.state != JobState::done) {
      for (const std::string& host : names_.expected()) excused_.insert(host);
    }
  }

  std::string at_text() const {
    std::string out;
    for (const auto& [name, values] : selector())
      out += fmt::format("{}{} {}", out.empty() ? " at " : ", ", name, fmt::join(values, ","));
    return out;
  }

  const GivenParams& selector() const {
    static const GivenParams none;
    if (const auto* m = std::get_if<MetricRule>(&criterion_.rule)) return m->at;
    if (const auto* c = std::get_if<CheckRule>(&criterion_.rule)) return c->at;
    return none;
  }

  // Whether the record is one of those that the criterion is about.
  bool collect_record(const Record& record) {
    if (!record.measured()) {
      if (!may_match(record.params, selector())) return false;
      collect_unmeasured(record);
      return true;
    }
    if (!matches(record.params, selector())) return false;
    at_ = point_text(record.params, varying_, selector());
    covered_.clear();
    if (const auto* rule = std::get_if<MetricRule>(&criterion_.rule))
      collect_metric(record, *rule);
    else
      collect_checks(record, std::get<CheckRule>(criterion_.rule));
    require_coverage();
    return true;
  }

  void collect_unmeasured(const Record& record) {
    if (const auto* s = std::get_if<Skipped>(&record.outcome))
      gap(fmt::format("step {}{} was skipped: {}", job_->step, on_host(), s->reason));
    else if (const auto* e = std::get_if<Errored>(&record.outcome))
      gap(fmt::format("step {} failed on {}: {}; see {}", job_->step, e->where, e->what,
                      job_->log.empty() ? "its log" : job_->log));
    if (!job_->host.empty()) {
      excused_.insert(job_->host);
    } else {
      for (const std::string& host : names_.expected()) excused_.insert(host);
    }
  }

  std::string on_host() const { return job_->host.empty() ? "" : " on " + job_->host; }

  void collect_metric(const Record& record, const MetricRule& rule) {
    collect_wrong_data(record);
    size_t found = 0;
    for (const Metric& metric : record.metrics) {
      if (metric.name != rule.metric) continue;
      ++found;
      cover(record.entities[metric.entity]);
      judge_metric(record, metric, rule);
    }
    if (found == 0 && covered_.empty())
      gap(fmt::format("{}{} has no {}: see the notes of {}", job_->step, on_host(), rule.metric,
                      job_->file));
    if (found > 0) require_every_gpu(record, rule.metric);
  }

  // Where one GPU has the number, a GPU of the same record that has other numbers or checks but not
  // this one could not be read: it must not pass unseen.
  void require_every_gpu(const Record& record, const std::string& metric) {
    std::set<size_t> measured, has;
    for (const Metric& m : record.metrics) {
      if (record.entities[m.entity].kind != "gpu") continue;
      measured.insert(m.entity);
      if (m.name == metric) has.insert(m.entity);
    }
    for (const Check& c : record.checks) {
      if (c.passed && record.entities[c.entity].kind == "gpu") measured.insert(c.entity);
    }
    if (has.empty()) return;
    for (const size_t entity : measured) {
      if (!has.contains(entity))
        gap(fmt::format("GPU {} has no {}: see the notes of {}",
                        entity_name(record.entities[entity]), metric, job_->file));
    }
  }

  // Wrong data yields no number, so the number that is absent fails rather than being incomplete.
  void collect_wrong_data(const Record& record) {
    for (const Check& check : record.checks) {
      if (check.passed) continue;
      Finding f = finding(record.entities[check.entity]);
      f.detail = fmt::format("check {} failed{}", check.name,
                             check.detail.empty() ? "" : ": " + check.detail);
      f.failing = true;
      f.badness = kWorst;
      cover(f.entity);
      evidence_.findings.push_back(std::move(f));
    }
  }

  Finding finding(const Entity& entity) const {
    Finding f;
    f.entity = entity;
    f.at = at_;
    f.file = job_->file;
    return f;
  }

  void judge_metric(const Record& record, const Metric& metric, const MetricRule& rule) {
    Finding f = finding(record.entities[metric.entity]);
    f.unit = metric.unit;
    f.value = statistic_of(metric.samples.summary(), rule.statistic);
    f.ceiling = metric.ceiling;
    if (rule.min) bind_limit(f, *rule.min, true);
    if (rule.max) bind_limit(f, *rule.max, false);
    if (rule.min_of_ceiling) {
      if (!metric.ceiling || metric.ceiling->value <= 0) {
        gap(fmt::format("{} of {} has no ceiling to compare with: see the notes of {}", metric.name,
                        entity_name(f.entity), job_->file));
        if (!f.failing) return;
      } else {
        bind_limit(f, *rule.min_of_ceiling * metric.ceiling->value, true);
      }
    }
    evidence_.findings.push_back(std::move(f));
  }

  void collect_checks(const Record& record, const CheckRule& rule) {
    std::map<size_t, Finding> by_entity;
    for (const Check& check : record.checks) {
      if (check.name != rule.check) continue;
      ++evidence_.checks;
      const Entity& entity = record.entities[check.entity];
      cover(entity);
      Finding& f = by_entity.try_emplace(check.entity, finding(entity)).first->second;
      f.unit = "count";
      f.limit = 0;
      f.limit_is_minimum = false;
      f.value = f.value.value_or(0) + (check.passed ? 0 : 1);
      f.badness = *f.value;
      if (check.passed) continue;
      f.failing = true;
      if (f.detail.empty()) f.detail = check.detail;
    }
    for (auto& [index, f] : by_entity) evidence_.findings.push_back(std::move(f));
  }

  // The hosts that an entity speaks for.
  void cover(const Entity& entity) {
    if (!job_->host.empty()) {
      covered_.insert(job_->host);
    } else if (entity.kind == "cluster" || entity.kind == "group" || entity.host.empty()) {
      for (const std::string& host : job_->document->run.hosts) cover_host(host);
    } else {
      cover_host(entity.host);
      if (entity.peer) cover_host(entity.peer->substr(0, entity.peer->find_first_of(": ")));
    }
  }

  void cover_host(const std::string& actual) {
    if (const auto asked = names_.asked(actual)) covered_.insert(*asked);
  }

  // A job across all hosts must have every host in every record.
  void require_coverage() {
    contributed_.insert(covered_.begin(), covered_.end());
    if (!job_->host.empty()) return;
    for (const std::string& host : names_.expected()) {
      if (covered_.contains(host) || excused_.contains(host)) continue;
      gap(fmt::format("{} contributed nothing to step {}{}: see {}", host, job_->step,
                      at_.empty() ? "" : " at " + at_, job_->log.empty() ? "its log" : job_->log));
      excused_.insert(host);
    }
  }

  const Campaign& campaign_;
  const Criterion& criterion_;
  HostNames names_;
  Evidence evidence_;
  const Job* job_ = nullptr;
  std::set<std::string> varying_;
  std::string at_;
  std::set<std::string> covered_;      // by the record at hand
  std::set<std::string> contributed_;  // by any record
  std::set<std::string> excused_;      // named in a gap already
};

}  // namespace

Evidence gather_evidence(const Campaign& campaign, const Criterion& criterion) {
  if (const auto* rule = std::get_if<UniformRule>(&criterion.rule))
    return uniform_evidence(campaign, *rule);
  return Collector(campaign, criterion).collect();
}

}  // namespace cb
