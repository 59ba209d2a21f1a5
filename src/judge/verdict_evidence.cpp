// What the campaign's records say about one criterion: every entity against its limit, and a gap
// for every host or record that should be there and is not.
#include "judge/verdict_evidence.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/profile_drills.h"
#include "core/units.h"
#include "judge/expect.h"
#include "judge/verdict_attempts.h"
#include "judge/verdict_doubt.h"
#include "judge/verdict_fleet.h"
#include "judge/verdict_gaps.h"
#include "judge/verdict_hosts.h"
#include "judge/verdict_limit.h"
#include "judge/verdict_select.h"
#include "judge/verdict_since.h"
#include "judge/verdict_soak.h"
#include "judge/verdict_spread.h"
#include "judge/verdict_uniform.h"

namespace cb {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

bool is_part(const std::string& kind) {
  return kind == "gpu" || kind == "nic" || kind == "disk" || kind == "cpu" || kind == "numa";
}

class Collector {
 public:
  Collector(const Campaign& campaign, const HostNames& names, const Criterion& criterion,
            bool interruptions_judged)
      : campaign_(campaign),
        criterion_(criterion),
        names_(names),
        interruptions_judged_(interruptions_judged) {
    const auto* rule = std::get_if<MetricRule>(&criterion.rule);
    if (rule != nullptr && (rule->min_of_fleet || rule->max_of_fleet))
      fleet_.emplace(campaign, criterion);
    if (rule != nullptr && !rule->since.empty()) earlier_.emplace(campaign, *rule);
  }

  Evidence collect() {
    bool any = false;
    for (const Job& job : campaign_.jobs) {
      if (job.step != criterion_.step) continue;
      any = true;
      collect_job(job);
    }
    const bool is_drill = is_drill_step(criterion_.step);
    if (!any) {
      gap("", {is_drill ? "gap.no_drill" : "gap.no_step", {criterion_.step}});
      return std::move(evidence_);
    }
    if (is_drill) return std::move(evidence_);  // it is of the host on which the fault was made
    for (const std::string& host : names_.expected()) require_host(host);
    return std::move(evidence_);
  }

 private:
  void gap(const std::string& host, Message what, const std::string& group = {}) {
    if (said_.emplace(host, what).second) evidence_.gaps.push_back({host, std::move(what), group});
  }

  void gap_of(const Job& job, const Message& what) {
    for (const std::string& host : hosts_left_open(job)) gap(host, what, job.group);
  }

  // Where there is a doubt the figure fails no more: another measurement of the same job may settle
  // it.
  void leave_open(Finding& f, const std::optional<Message>& doubt) {
    if (!doubt) return;
    f.failing = false;
    gap(job_->host, *doubt, job_->group);
  }

  // Every expected host must have contributed, or a gap must name it.
  void require_host(const std::string& host) {
    if (const auto twin = names_.twin(host)) {
      gap(host, {"gap.twin", {host, *twin}});
    } else if (!contributed_.contains(host) && !excused_.contains(host)) {
      gap(host, {"gap.nothing", {host, criterion_.step, "", "logs/"}});
    }
  }

  void collect_job(const Job& job) {
    if (is_counted_interruption(job, interruptions_judged_)) {
      // What it measured until then counts; that it ended is judged elsewhere.
      if (job.document) collect_interrupted(job);
      return;
    }
    if (job.state != JobState::done) {
      gap_of(job, job_gap(job));
      excuse(job);
    }
    if (!job.document) return;
    if (job.document->run.partial) {
      gap_of(job, {"gap.partial", {job.step, job_place(job), *job.document->run.partial}});
      excuse(job);
    }
    job_ = &job;
    varying_ = varying_params(job.document->records);
    size_t selected = 0;
    for (const Record& record : job.document->records) selected += collect_record(record) ? 1 : 0;
    if (is_open(job)) return;  // it says why it has no more
    if (selected == 0 && !excused_.contains(job.host)) {
      gap_of(job, {"gap.no_record", {job.step, job_place(job), at_text(selector())}});
      excuse(job);
    } else if (selected > 0) {
      require_points(job);
    }
  }

  void collect_interrupted(const Job& job) {
    job_ = &job;
    varying_ = varying_params(job.document->records);
    for (const Record& record : job.document->records) {
      if (record.measured() && matches(record.params, selector())) collect_wrong_data(record);
    }
  }

  // If the criterion selects several values of a parameter, each must have been measured: otherwise
  // the others would speak for the missing one.
  void require_points(const Job& job) {
    for (const auto& [name, values] : selector()) {
      for (const std::string& value : values) {
        GivenParams point = selector();
        point[name] = {value};
        const bool there = std::ranges::any_of(job.document->records, [&](const Record& r) {
          return r.measured() ? matches(r.params, point) : may_match(r.params, point);
        });
        if (!there)
          gap_of(job, {"gap.no_record", {job.step, job_place(job), at_text({{name, {value}}})}});
      }
    }
  }

  // A gap for this host exists already: no second one is needed.
  void excuse(const Job& job) {
    if (!job.host.empty()) {
      excused_.insert(job.host);
    } else if (is_open(job) || !job.members.empty()) {
      for (const std::string& host : job_hosts(job, names_)) excused_.insert(host);
    }
  }

  static std::string at_text(const GivenParams& at) {
    std::string out;
    for (const auto& [name, values] : at)
      out += fmt::format("{}{} {}", out.empty() ? " @ " : ", ", name, fmt::join(values, ","));
    return out;
  }

  const GivenParams& selector() const {
    static const GivenParams none;
    if (const auto* m = std::get_if<MetricRule>(&criterion_.rule)) return m->at;
    if (const auto* c = std::get_if<CheckRule>(&criterion_.rule)) return c->at;
    return none;
  }

  // Returns whether the record is one that the criterion is about.
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
    gap_of(*job_, record_gap(*job_, record));
    if (!job_->host.empty()) {
      excused_.insert(job_->host);
    } else {
      for (const std::string& host : job_hosts(*job_, names_)) excused_.insert(host);
    }
  }

  void collect_metric(const Record& record, const MetricRule& rule) {
    collect_wrong_data(record);
    size_t found = 0;
    for (const Metric& metric : record.metrics) {
      if (metric.name != rule.metric) continue;
      ++found;
      cover(record, metric.entity);
      if (!rule.compares_parts_of_host()) judge_metric(record, metric, rule);
    }
    if (found == 0 && covered_.empty())
      gap_of(*job_, {"gap.no_metric", {job_->step, job_place(*job_), rule.metric, job_->file}});
    if (found > 0) require_every_part(record, rule.metric);
    if (rule.compares_parts_of_host()) compare_parts(record, rule);
  }

  // If one part of a kind (GPU, NIC, drive, …) has the number, a part of that kind in the same
  // record with other numbers or checks but without this one could not be read: it must not pass
  // unseen.
  void require_every_part(const Record& record, const std::string& metric) {
    std::set<size_t> measured, has;
    std::set<std::string> kinds;
    for (const Metric& m : record.metrics) {
      if (!is_part(record.entities[m.entity].kind)) continue;
      measured.insert(m.entity);
      if (m.name != metric) continue;
      has.insert(m.entity);
      kinds.insert(record.entities[m.entity].kind);
    }
    for (const Check& c : record.checks) {
      if (c.passed && is_part(record.entities[c.entity].kind)) measured.insert(c.entity);
    }
    for (const size_t entity : measured) {
      if (kinds.contains(record.entities[entity].kind) && !has.contains(entity))
        gap(record.entities[entity].host,
            {"gap.part_no_metric", {entity_name(record.entities[entity]), metric, job_->file}});
    }
  }

  // Wrong data yields no number. The absent number then fails; it is not incomplete.
  void collect_wrong_data(const Record& record) {
    for (const Check& check : record.checks) {
      if (check.passed) continue;
      Finding f = finding(record.entities[check.entity]);
      f.file = file_of_check(*job_, check);
      f.detail.push_back(failed_check_message(f.entity, check));
      f.failing = true;
      f.wrong_data = true;
      f.waivable = false;
      f.badness = kWorst;
      cover(record, check.entity);
      evidence_.findings.push_back(std::move(f));
    }
  }

  // A figure of all ranks is one of the host if the job ran on that host alone: the report names
  // the host, not the cluster.
  Finding finding(const Entity& entity) const {
    Finding f;
    f.entity = entity;
    const std::vector<std::string>& hosts = job_->document->run.hosts;
    if (entity.kind == "cluster" && !job_->host.empty() && hosts.size() == 1)
      f.entity = {hosts.front(), "host", ""};
    f.at = at_;
    f.file = job_->file;
    return f;
  }

  void judge_metric(const Record& record, const Metric& metric, const MetricRule& rule) {
    Finding f = finding(record.entities[metric.entity]);
    f.unit = metric.unit;
    f.value = statistic_of(metric.samples.summary(), rule.statistic);
    const Entity& measured = record.entities[metric.entity];
    if (earlier_ && !subtract_earlier(f, measured, metric.name, rule)) return;
    f.ceiling = metric.ceiling;
    if (rule.min) bind_limit(f, *rule.min, true);
    if (rule.max) bind_limit(f, *rule.max, false);
    if (rule.min_of_ceiling) {
      if (!metric.ceiling || metric.ceiling->value <= 0) {
        gap(f.entity.host, {"gap.no_ceiling", {metric.name, entity_name(f.entity), job_->file}});
        if (!f.failing) return;
      } else {
        bind_limit(f, *rule.min_of_ceiling * metric.ceiling->value, true);
      }
    }
    bind_fleet(f, measured.kind, record.params, rule);
    if (is_held_back(f, metric, rule)) return;
    if (criterion_.severity == Severity::fail) {
      if (rule.statistic == "median") leave_open(f, doubt_of_interval(f, metric.samples.summary()));
      leave_open(f, doubt_of_attempts(f, metric, rule.statistic));
      leave_open(f, doubt_of_disturbance(f, measured, record, *job_));
    }
    evidence_.findings.push_back(std::move(f));
  }

  // Measuring again and again must not make a figure pass that its first measurements failed.
  // Returns true if nothing else needs to be looked at.
  bool is_held_back(Finding& f, const Metric& metric, const MetricRule& rule) {
    const HeldBack held = hold_to_first(f, metric, rule);
    if (held.fails || (!f.failing && !held.what.id.empty())) f.detail = {held.what};
    if (!held.fails && !held.open) return false;
    f.failing = held.fails;
    if (held.fails) f.badness = badness(*f.value, *f.limit, f.limit_is_minimum);
    if (held.open) gap(job_->host, held.what, job_->group);
    evidence_.findings.push_back(f);
    return true;
  }

  // Replaces a running total by its growth since the earlier step. Returns false, with a gap, if
  // that step has no total, or if the total is smaller now because somebody has reset it.
  bool subtract_earlier(Finding& f, const Entity& measured, const std::string& metric,
                        const MetricRule& rule) {
    const auto before = earlier_->of(measured);
    if (before && *f.value >= *before) {
      f.value = *f.value - *before;
      return true;
    }
    gap(f.entity.host, {before ? "gap.reset" : "gap.no_earlier",
                        {metric, entity_name(f.entity), rule.since, job_->file}});
    return false;
  }

  void compare_parts(const Record& record, const MetricRule& rule) {
    SpreadEvidence spread = spread_of_hosts(record, rule);
    for (Finding& f : spread.findings) {
      f.at = at_;
      f.file = job_->file;
      evidence_.findings.push_back(std::move(f));
    }
    for (Gap& g : spread.gaps) gap(g.host, std::move(g.what));
  }

  void bind_fleet(Finding& f, const std::string& kind, const Params& params,
                  const MetricRule& rule) {
    if (!rule.min_of_fleet && !rule.max_of_fleet) return;
    const auto middle = fleet_->median_of(params, kind);
    const size_t size = fleet_->values(params, kind).size();
    if (!middle) {
      return gap("", {"gap.fleet",
                      {rule.metric, std::to_string(size), std::to_string(FleetMedians::kMin)}});
    }
    const std::optional<double> before = f.limit;
    if (rule.min_of_fleet) bind_limit(f, *rule.min_of_fleet * *middle, true);
    if (rule.max_of_fleet) bind_limit(f, *rule.max_of_fleet * *middle, false);
    if (!f.failing || f.limit == before) return;
    f.detail = {
        {f.limit_is_minimum ? "why.below" : "why.above",
         {entity_name(f.entity), format_value(*f.value, f.unit), format_value(*f.limit, f.unit)}},
        {"why.of_fleet", {std::to_string(size), format_value(*middle, f.unit)}}};
  }

  void collect_checks(const Record& record, const CheckRule& rule) {
    std::map<size_t, Finding> by_entity;
    for (const Check& check : record.checks) {
      if (check.name != rule.check) continue;
      ++evidence_.checks;
      const Entity& entity = record.entities[check.entity];
      cover(record, check.entity);
      Finding& f = by_entity.try_emplace(check.entity, finding(entity)).first->second;
      f.unit = "count";
      f.limit = 0;
      f.limit_is_minimum = false;
      f.value = f.value.value_or(0) + (check.passed ? 0 : 1);
      f.badness = *f.value;
      if (check.passed) continue;
      if (!f.failing) f.file = file_of_check(*job_, check);
      f.failing = true;
      f.wrong_data = true;
      f.waivable = f.waivable && check.finding;
      if (f.detail.empty() && !check.detail.empty())
        f.detail.push_back({"why.says", {entity_name(entity), check.detail}});
    }
    // A check made over all entities names only the entity that it found (a suspect). The other
    // entities with metrics in the record have contributed too.
    if (!by_entity.empty()) {
      for (const Metric& metric : record.metrics) cover(record, metric.entity);
    }
    for (auto& [index, f] : by_entity) evidence_.findings.push_back(std::move(f));
  }

  // Notes the hosts that an entity stands for. All pairs together stand for the hosts of the pairs.
  void cover(const Record& record, size_t index) {
    if (record.entities[index].kind != "pairs") return cover_entity(record.entities[index]);
    for (const Entity& entity : record.entities) {
      if (entity.kind == "pair") cover_entity(entity);
    }
  }

  void cover_entity(const Entity& entity) {
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

  // Every record of a job across several hosts must cover each of them.
  void require_coverage() {
    contributed_.insert(covered_.begin(), covered_.end());
    if (!job_->host.empty()) return;
    for (const std::string& host : job_hosts(*job_, names_)) {
      if (covered_.contains(host) || excused_.contains(host)) continue;
      gap(host,
          {"gap.nothing", {host, job_->step, at_.empty() ? "" : " @ " + at_, job_log(*job_)}});
      excused_.insert(host);
    }
  }

  const Campaign& campaign_;
  const Criterion& criterion_;
  const HostNames& names_;
  const bool interruptions_judged_;
  Evidence evidence_;
  std::optional<FleetMedians> fleet_;
  std::optional<EarlierValues> earlier_;
  std::set<std::pair<std::string, Message>> said_;  // of which host
  const Job* job_ = nullptr;
  std::set<std::string> varying_;
  std::string at_;
  std::set<std::string> covered_;      // hosts in the current record
  std::set<std::string> contributed_;  // hosts in any record
  std::set<std::string> excused_;      // hosts that a gap names already
};

}  // namespace

Evidence gather_evidence(const Campaign& campaign, const HostNames& names,
                         const Criterion& criterion, bool interruptions_judged) {
  if (const auto* rule = std::get_if<UniformRule>(&criterion.rule))
    return uniform_evidence(campaign, names, *rule);
  if (const auto* rule = std::get_if<ExpectRule>(&criterion.rule))
    return expect_evidence(campaign, names, *rule);
  if (const auto* rule = std::get_if<SoakRule>(&criterion.rule))
    return soak_evidence(campaign, names, criterion, *rule);
  return Collector(campaign, names, criterion, interruptions_judged).collect();
}

}  // namespace cb
