#include "judge/verdict_steps.h"

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "judge/verdict_attempts.h"
#include "judge/verdict_gaps.h"
#include "judge/verdict_select.h"
#include "judge/verdict_soak.h"

namespace cb {
namespace {

const GivenParams& points_of(const Criterion& criterion) {
  static const GivenParams all;
  if (const auto* m = std::get_if<MetricRule>(&criterion.rule)) return m->at;
  if (const auto* c = std::get_if<CheckRule>(&criterion.rule)) return c->at;
  return all;
}

// The values that a step lists for a parameter, each once. A list may be written as one text,
// "fp64,fp32". A word that stands for several values makes it no list.
std::vector<std::string> listed(const std::vector<std::string>& values) {
  static const std::set<std::string> words{"all", "auto", "any", "both", "default", "0"};
  std::vector<std::string> out;
  for (const std::string& text : values) {
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      if (words.contains(part)) return {};
      if (std::ranges::find(out, part) == out.end()) out.push_back(part);
    }
  }
  return out;
}

class StepCollector {
 public:
  StepCollector(const Campaign& campaign, const HostNames& names, const Step& step,
                const std::vector<CriterionVerdict>& criteria, const StepJudging& how)
      : campaign_(campaign), names_(names), step_(step), how_(how) {
    for (const CriterionVerdict& v : criteria) {
      if (std::holds_alternative<SoakRule>(v.criterion->rule)) continue;  // of no single step
      if (v.criterion->step != step.id || v.state == State::not_applicable) continue;
      applied_.push_back(v.criterion);
      for (const Gap& gap : v.gaps) said_.emplace(gap.host, gap.what);
      for (const Gap& gap : v.gaps) excused_.insert(gap.host);
    }
  }

  Evidence collect() {
    bool any = false;
    for (const Job& job : campaign_.jobs) {
      if (job.step != step_.id) continue;
      any = true;
      collect_job(job);
    }
    if (!any) {
      gap("", {"gap.no_step", {step_.id}});
      return std::move(evidence_);
    }
    for (const std::string& host : names_.expected()) require_host(host);
    for (const Proof& proof : campaign_.proofs) {
      if (proof.step == step_.id) require_proof(proof);
    }
    return std::move(evidence_);
  }

 private:
  // A check that does not see a planted fault would not see a real one either.
  void require_proof(const Proof& proof) {
    if (proof.state != ProofState::not_shown) return;
    const std::string place = proof.host.empty() ? "cluster" : proof.host;
    if (proof.blind)
      gap(proof.host, {"gap.blind", {proof.step, place, proof.planted}});
    else
      gap(proof.host, {"gap.unproved", {proof.step, place, proof.reason}});
  }

  void gap(const std::string& host, Message what, const std::string& group = {}) {
    excused_.insert(host);
    if (!how_.only_wrong_data && said_.emplace(host, what).second)
      evidence_.gaps.push_back({host, std::move(what), group});
  }

  void gap_of(const Job& job, const Message& what) {
    for (const std::string& host : hosts_left_open(job)) gap(host, what, job.group);
  }

  void collect_job(const Job& job) {
    const bool counted = is_counted_interruption(job, how_.interruptions_judged);
    if (job.state != JobState::done && !counted) gap_of(job, job_gap(job));
    if (!job.document) return;
    const Document& document = *job.document;
    if (document.run.partial && !counted)
      gap_of(job, {"gap.partial", {job.step, job_place(job), *document.run.partial}});
    if (document.records.empty() && job.state == JobState::done)
      gap_of(job, {"gap.no_record", {job.step, job_place(job), ""}});
    note_hosts(job);
    if (counted || !is_open(job)) require_members(job);
    for (const Record& record : document.records) collect_record(job, record);
    if (is_open(job)) return;
    for (const auto& [name, values] : step_.params) require_points(job, name, values);
  }

  // A sweep has a record for every value that its step lists, measured or not: the other points
  // say nothing about one that is gone. Records that hold the whole list do not tell, nor does a
  // value that has commas in it.
  void require_points(const Job& job, const std::string& name,
                      const std::vector<std::string>& given) {
    const std::vector<std::string> values = listed(given);
    if (values.size() < 2) return;
    size_t points = 0;
    for (const Record& record : job.document->records) {
      const auto found = record.params.all().find(name);
      if (found == record.params.all().end() || found->second.size() > 1) return;
      if (given.size() == 1 && matches(record.params, {{name, given}})) return;
      ++points;
    }
    if (points == 0) return;
    for (const std::string& value : values) {
      const GivenParams point{{name, {value}}};
      const bool there = std::ranges::any_of(job.document->records, [&](const Record& record) {
        return matches(record.params, point);
      });
      if (!there) gap_of(job, {"gap.no_point", {job.step, job_place(job), name, value}});
    }
  }

  // Notes the hosts that took part in the job.
  void note_hosts(const Job& job) {
    if (!job.host.empty()) took_part_.insert(job.host);
    if (!job.host.empty()) return;
    for (const std::string& actual : job.document->run.hosts) {
      if (const auto asked = names_.asked(actual)) took_part_.insert(*asked);
    }
  }

  // Another host's figures say nothing of the one that has its place now.
  void require_members(const Job& job) {
    std::set<std::string> ran;
    for (const std::string& actual : job.document->run.hosts) {
      if (const auto asked = names_.asked(actual)) ran.insert(*asked);
    }
    for (const std::string& host : job.members) {
      if (ran.contains(host)) continue;
      gap(host, {"gap.nothing", {host, job.step, " @ " + job.group, job_log(job)}});
    }
  }

  void collect_record(const Job& job, const Record& record) {
    const bool counted = is_counted_interruption(job, how_.interruptions_judged);
    if (!record.measured() && !counted) gap_of(job, record_gap(job, record));
    for (const Check& check : record.checks) {
      if (!check.passed && !is_said(record, check)) add_failed(job, record, check);
    }
  }

  // A failed check fails any criterion that rests on it or names it.
  bool is_said(const Record& record, const Check& check) const {
    return std::ranges::any_of(applied_, [&](const Criterion* c) {
      if (!record.measured() || !matches(record.params, points_of(*c))) return false;
      if (const auto* rule = std::get_if<CheckRule>(&c->rule)) return rule->check == check.name;
      return std::holds_alternative<MetricRule>(c->rule);
    });
  }

  void add_failed(const Job& job, const Record& record, const Check& check) {
    Finding f;
    f.entity = record.entities.at(check.entity);
    f.at = point_text(record.params, varying_params(job.document->records), {});
    f.file = file_of_check(job, check);
    f.detail = {failed_check_message(f.entity, check)};
    f.failing = f.wrong_data = true;
    f.waivable = false;
    f.badness = std::numeric_limits<double>::infinity();
    evidence_.findings.push_back(std::move(f));
  }

  void require_host(const std::string& host) {
    if (const auto twin = names_.twin(host)) return gap(host, {"gap.twin", {host, *twin}});
    const bool lost_with_all = excused_.contains("") && step_.scope == Scope::cluster;
    if (took_part_.contains(host) || excused_.contains(host) || lost_with_all) return;
    gap(host, {"gap.nothing", {host, step_.id, "", "logs/"}});
  }

  const Campaign& campaign_;
  const HostNames& names_;
  const Step& step_;
  const StepJudging how_;
  Evidence evidence_;
  std::vector<const Criterion*> applied_;  // this step's criteria, except those that do not apply
  std::set<std::pair<std::string, Message>> said_;  // of which host
  std::set<std::string> excused_;  // hosts that a gap names already; "" for the whole cluster
  std::set<std::string> took_part_;
};

}  // namespace

Criterion step_criterion(const Profile& profile, const Step& step) {
  Criterion out{.id = "step:" + step.id, .step = step.id, .domain = "host"};
  const auto judged = std::ranges::find(profile.criteria, step.id, &Criterion::step);
  if (judged != profile.criteria.end()) out.domain = judged->domain;
  const auto text = [&](const char* id) {
    return LocalText{say(Lang::en, {id, {step.id}}), say(Lang::zh, {id, {step.id}})};
  };
  out.title = text("step.title");
  out.rule = StepRule{};
  out.why = text("step.why");
  out.source = {"practice", text("step.source"), "2026-11"};
  return out;
}

Evidence step_evidence(const Campaign& campaign, const HostNames& names, const Step& step,
                       const std::vector<CriterionVerdict>& criteria, const StepJudging& how) {
  return StepCollector(campaign, names, step, criteria, how).collect();
}

}  // namespace cb
