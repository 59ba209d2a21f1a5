#include "report/json.h"

#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/text.h"
#include "judge/measured.h"
#include "judge/outliers.h"
#include "judge/uniformity.h"
#include "report/digests.h"
#include "report/json_soak.h"

namespace cb {
namespace {

using nlohmann::json;

json entity_json(const Entity& entity) {
  json out = {{"kind", entity.kind}, {"name", entity_name(entity)}};
  if (!entity.host.empty()) out["host"] = entity.host;
  if (!entity.id.empty()) out["id"] = entity.id;
  if (entity.peer) out["peer"] = *entity.peer;
  return out;
}

json texts_json(const std::vector<Said>& list) {
  json out = json::array();
  for (const Said& one : list) out.push_back(one.text());
  return out;
}

json ceiling_json(const Ceiling& ceiling) {
  return {{"value", ceiling.value}, {"how", ceiling.how.text()}};
}

json waiver_json(const Waiver& w) {
  return {{"id", w.id},         {"scope", w.scope}, {"reason", w.reason},  {"approver", w.approver},
          {"ticket", w.ticket}, {"limit", w.limit}, {"expires", w.expires}};
}

json finding_json(const Finding& f) {
  json out = entity_json(f.entity);
  if (f.value) out["value"] = *f.value;
  if (!f.detail.empty()) out["detail"] = say_all(Lang::en, f.detail);
  if (!f.at.empty()) out["at"] = f.at;
  if (f.waived) out["waiver"] = f.waiver;
  return out;
}

json criterion_json(const CriterionVerdict& v) {
  const Criterion& c = *v.criterion;
  json out = {
      {"id", c.id},
      {"step", c.step},
      {"domain", c.domain},
      {"title", {{"en", c.title.en}, {"zh", c.title.zh}}},
      {"severity", c.severity == Severity::fail ? "fail" : "warn"},
      {"source", {{"kind", c.source.kind}, {"ref", c.source.ref.en}, {"date", c.source.date}}},
      {"state", state_name(v.state)},
      {"entities", v.entities}};
  if (!v.reason.empty()) out["reason"] = v.reason;
  if (!v.unit.empty()) out["unit"] = v.unit;
  if (v.value) out["value"] = *v.value;
  if (v.limit) out[v.limit_is_minimum ? "min" : "max"] = *v.limit;
  if (v.ratio) out["ratio"] = *v.ratio;
  if (v.ceiling) out["ceiling"] = ceiling_json(*v.ceiling);
  if (v.worst) out["worst"] = entity_json(*v.worst);
  if (!v.at.empty()) out["at"] = v.at;
  for (const Finding& f : v.failing) out["failing"].push_back(finding_json(f));
  for (const Gap& gap : v.gaps) {
    json one = {{"what", say(Lang::en, gap.what)}};
    if (!gap.host.empty()) one["host"] = gap.host;
    out["gaps"].push_back(std::move(one));
  }
  if (v.waiver != nullptr) out["waiver"] = waiver_json(*v.waiver);
  for (const Waiver* w : v.waivers) out["waivers"].push_back(waiver_json(*w));
  return out;
}

json value_json(const MeasuredValue& v) {
  json out = {{"entity", entity_json(*v.entity)},
              {"median", v.summary.median},
              {"min", v.summary.min},
              {"max", v.summary.max},
              {"p95", v.summary.p95},
              {"p99", v.summary.p99},
              {"n", v.summary.n}};
  if (v.summary.ci95) out["ci95"] = *v.summary.ci95;
  if (v.metric->ceiling) out["ceiling"] = ceiling_json(*v.metric->ceiling);
  return out;
}

json figure_json(const MetricGroup& group) {
  return {{"step", group.step->id},
          {"case", group.case_name},
          {"domain", group.domain},
          {"params", params_to_json(group.params)},
          {"metric", group.metric},
          {"unit", group.unit},
          {"better", group.better == Better::higher ? "higher" : "lower"},
          {"entity_kind", group.entity_kind},
          {"entities", group.values.size()},
          {"median", group.typical},
          {"worst", value_json(group.values[group.worst])},
          {"best", value_json(group.values[group.best])}};
}

json outliers_json(const std::vector<MetricGroup>& groups) {
  json out = json::array();
  for (const Outlier& o : find_outliers(groups)) {
    const MeasuredValue& v = o.group->values[o.value];
    json one = entity_json(*v.entity);
    one.update({{"step", o.group->step->id},
                {"metric", o.group->metric},
                {"value", v.summary.median},
                {"median", o.group->typical},
                {"behind", o.behind},
                {"z", o.z},
                {"q", o.q}});
    out.push_back(std::move(one));
  }
  return out;
}

json job_json(const Job& job) {
  json out = {{"step", job.step}, {"state", job_state_name(job.state)}};
  if (!job.host.empty()) out["host"] = job.host;
  if (!job.group.empty()) out["group"] = job.group;
  if (!job.members.empty()) out["members"] = job.members;
  if (!job.reason.empty()) out["reason"] = job.reason.text();
  if (!job.file.empty()) out["file"] = job.file;
  if (!job.log.empty()) out["log"] = job.log;
  for (const JobAttempt& a : job.attempts)
    out["attempts"].push_back(
        {{"attempt", a.number}, {"file", a.file}, {"started", a.started}, {"ended", a.ended}});
  return out;
}

json proof_json(const Proof& p) {
  json out = {{"step", p.step}, {"state", proof_state_name(p.state)}};
  for (const auto& [name, text] : {std::pair{"host", &p.host},
                                   {"planted", &p.planted.text()},
                                   {"check", &p.check},
                                   {"reason", &p.reason.text()},
                                   {"file", &p.file}}) {
    if (!text->empty()) out[name] = *text;
  }
  return out;
}

json counts_json(const Judgement& judgement) {
  json out;
  for (const State state : {State::pass, State::warn, State::fail, State::incomplete,
                            State::not_applicable, State::waived})
    out[state_name(state)] = judgement.count(state);
  return out;
}

json campaign_json(const Campaign& c) {
  json out = {{"id", c.id},
              {"started", c.started},
              {"launcher", c.launcher},
              {"hosts", c.hosts},
              {"command", c.command}};
  if (!c.ended.empty()) out["ended"] = c.ended;
  return out;
}

json uniformity_json(const Campaign& campaign) {
  const Uniformity result = compare_hosts(campaign.inventories);
  json out = {
      {"hosts", result.hosts}, {"compared", result.compared}, {"differences", json::array()}};
  for (const AttributeValues& difference : result.differences) {
    json one = {{"attribute", difference.attribute}, {"odd_hosts", difference.odd_hosts}};
    for (const ValueGroup& group : difference.groups)
      one["values"].push_back({{"value", group.text.text()}, {"hosts", group.hosts}});
    out["differences"].push_back(std::move(one));
  }
  return out;
}

// Adds nothing if nobody has signed.
void add_signatures(json& out, const SignoffCheck& check) {
  for (const Signoff& s : check.signoffs) {
    json one = {{"file", s.file}, {"role", s.role},       {"name", s.name},
                {"at", s.at},     {"verdict", s.verdict}, {"state", signature_state_name(s.state)}};
    if (!s.title.empty()) one["title"] = s.title;
    if (!s.company.empty()) one["company"] = s.company;
    if (s.public_key) one["public_key"] = *s.public_key;
    if (!s.key_name.empty()) one["key"] = s.key_name;
    if (!s.stamped_at.empty()) one["stamped_at"] = s.stamped_at;
    out["signatures"].push_back(std::move(one));
  }
  if (!check.problems.empty()) out["signature_problems"] = check.problems;
  if (!check.unauthenticated.empty()) out["not_authenticated"] = check.unauthenticated;
}

}  // namespace

std::string render_json(const Campaign& campaign, const Judgement& judgement,
                        const Catalogue& catalogue, const SignoffCheck& signatures) {
  json out = {{"schema", "clusterbench.report/1"},
              {"campaign", campaign_json(campaign)},
              {"tool",
               {{"version", campaign.tool.version},
                {"commit", campaign.tool.commit},
                {"dirty", campaign.tool.dirty}}},
              {"profile", {{"name", campaign.profile.name}, {"sha256", campaign.profile.sha256}}},
              {"verdict", verdict_name(judgement)},
              {"verdict_sha256", verdict_digest(campaign, judgement)},
              {"counts", counts_json(judgement)},
              {"criteria", json::array()},
              {"figures", json::array()},
              {"jobs", json::array()},
              {"uniformity", uniformity_json(campaign)},
              {"warnings", texts_json(campaign.warnings)},
              {"notes", texts_json(campaign.notes)}};
  if (judgement.test_profile) out["test_profile"] = true;
  if (!judgement.judged_by.empty()) out["judged_by"] = judgement.judged_by;
  for (const CriterionVerdict& v : judgement.criteria) out["criteria"].push_back(criterion_json(v));
  const std::vector<MetricGroup> groups = gather_metrics_and_drills(campaign, catalogue);
  for (const MetricGroup& group : groups) out["figures"].push_back(figure_json(group));
  out["outliers"] = outliers_json(groups);
  for (const Job& job : campaign.jobs) out["jobs"].push_back(job_json(job));
  for (const Proof& p : campaign.proofs) out["proofs"].push_back(proof_json(p));
  if (auto soak = soak_json(campaign)) out["soak"] = std::move(*soak);
  if (!campaign.manifest.empty())
    out["manifest"] = {{"files", campaign.manifest.size()}, {"sha256", manifest_digest(campaign)}};
  add_signatures(out, signatures);
  return json_safe(dump_json(out));
}

}  // namespace cb
