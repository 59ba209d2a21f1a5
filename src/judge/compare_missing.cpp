#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "judge/compare_parts.h"

namespace cb {
namespace {

using Place = std::tuple<std::string, std::string, Entity>;  // step, metric or check, entity
using Point = std::pair<Place, std::string>;                 // a place and its parameters

std::map<std::string, std::string> step_texts(const Campaign& c) {
  std::map<std::string, std::string> out;
  for (const Step& step : c.profile.steps) out[step.id] = step_text(step);
  return out;
}

// True if both profiles ask for the same in this step.
bool asked(const std::map<std::string, std::string>& before,
           const std::map<std::string, std::string>& after, const std::string& step) {
  const auto then = before.find(step), now = after.find(step);
  return then != before.end() && now != after.end() && then->second == now->second;
}

std::string outcome_reason(const Record& record) {
  if (const auto* skipped = std::get_if<Skipped>(&record.outcome)) return skipped->reason.text();
  if (const auto* errored = std::get_if<Errored>(&record.outcome))
    return errored->where.empty() ? errored->what.text()
                                  : errored->where + ": " + errored->what.text();
  return "";
}

// Returns why the later campaign's job of that step has nothing, as the job or its records say.
std::string reason_of(const Campaign& later, const std::string& step, const Entity& entity) {
  for (const Job& job : later.jobs) {
    if (job.step != step || (!job.host.empty() && job.host != entity.host)) continue;
    if (job.state != JobState::done && !job.reason.empty()) return job.reason.text();
    if (!job.document) continue;
    for (const Record& record : job.document->records) {
      if (const std::string why = outcome_reason(record); !why.empty()) return why;
    }
  }
  return "";
}

// The points and places that a campaign has. Its entities have the later campaign's names.
struct Known {
  std::set<Place> places;
  std::set<Point> points;
};

void note(Known& out, const std::string& step, const std::string& what, const Params& params,
          const Entity& entity) {
  const Place place{step, what, entity};
  out.places.insert(place);
  out.points.emplace(place, params_key(params));
}

Known figures_of(const std::vector<MetricGroup>& groups, const HostMatch* hosts) {
  Known out;
  for (const MetricGroup& g : groups) {
    for (const MeasuredValue& v : g.values)
      note(out, g.step->id, g.metric, g.params, hosts ? hosts->after(*v.entity) : *v.entity);
  }
  return out;
}

// All attempts' and records' results of one check of one entity at one point.
struct CheckState {
  bool failed = false;
  bool finding = false;  // it is about a part; such a check is often made only when it fails
  std::string detail;
  Params params;
  const CaseInfo* info = nullptr;
  Entity entity;  // named as in its own campaign
};

using Checks = std::map<Point, CheckState>;

Checks checks_of(const Compared& c, const HostMatch* hosts) {
  std::map<std::string, const CaseInfo*> infos;
  for (const MetricGroup& g : c.groups) infos.emplace(g.step->id, g.info);
  Checks out;
  for (const Job& job : c.campaign.jobs) {
    if (!job.document) continue;
    for (const Record& record : job.document->records) {
      const std::string params = params_key(record.params);
      for (const Check& check : record.checks) {
        const Entity& entity = record.entities.at(check.entity);
        const Place place{job.step, check.name, hosts ? hosts->after(entity) : entity};
        CheckState& state = out[{place, params}];
        state.params = record.params;
        state.entity = entity;
        if (const auto info = infos.find(job.step); info != infos.end()) state.info = info->second;
        state.failed |= !check.passed;
        state.finding = check.finding;
        if (!check.passed && state.detail.empty()) state.detail = check.detail.text();
      }
    }
  }
  return out;
}

// A pair of two hosts that still exist is not lost: the later campaign may have drawn other pairs.
bool can_be_lost(const Entity& entity, const HostMatch& hosts) {
  return entity.kind != "pair" || !hosts.gone_host(entity).empty();
}

// Lists what the earlier campaign has and the later one lacks, and decides whether it is lost.
class Misser {
 public:
  Misser(const Compared& before, const Compared& after, const HostMatch& hosts)
      : steps_before_(step_texts(before.campaign)),
        steps_after_(step_texts(after.campaign)),
        later_(after.campaign),
        hosts_(hosts) {}

  // `anywhere`: the later campaign has it for this entity at another point.
  void add(std::vector<Unmatched>& out, Unmatched one, bool anywhere) {
    if (hosts_.dropped(one.entity)) return;
    const std::string gone = hosts_.gone_host(one.entity);
    one.host = gone.empty() ? one.entity.host : gone;
    if (asked(steps_before_, steps_after_, one.step)) {
      one.lost = !anywhere && can_be_lost(one.entity, hosts_);
      one.reason = reason(one.step, hosts_.after(one.entity));
    }
    out.push_back(std::move(one));
  }

 private:
  const std::string& reason(const std::string& step, const Entity& entity) {
    const auto [place, fresh] = reasons_.try_emplace({step, entity.host});
    if (fresh) place->second = reason_of(later_, step, entity);
    return place->second;
  }

  std::map<std::string, std::string> steps_before_, steps_after_;
  const Campaign& later_;
  const HostMatch& hosts_;
  // Reasons by step and host.
  std::map<std::pair<std::string, std::string>, std::string> reasons_;
};

CheckChange change_of(const Point& point, const CheckState& state, ChangeKind kind) {
  const auto& [step, check, entity] = point.first;
  return {.step = step,
          .check = check,
          .params = state.params,
          .info = state.info,
          .entity = entity,
          .kind = kind,
          .detail = state.detail};
}

// A finding about a part is gone if the later campaign looked and found nothing. A check that the
// whole cluster passed may now be a check of a part. Any other check that is no longer made is
// missed.
void add_absent_checks(std::vector<CheckChange>& out, std::vector<Unmatched>& missing,
                       const Checks& then, const Checks& now, Misser& misser) {
  std::set<Place> places;
  std::set<std::string> steps;
  // Pairs of step and check; `of_all` has those that the whole cluster passed.
  std::set<std::pair<std::string, std::string>> names, of_all;
  for (const auto& [point, state] : now) {
    const auto& [step, check, entity] = point.first;
    places.insert(point.first);
    steps.insert(step);
    names.emplace(step, check);
    if (entity.kind == "cluster" && !state.failed) of_all.emplace(step, check);
  }
  for (const auto& [point, state] : then) {
    const auto& [step, check, entity] = point.first;
    if (now.contains(point)) continue;
    const bool looked = state.finding ? steps.contains(step) : of_all.contains({step, check});
    if (state.failed && looked) {
      out.push_back(change_of(point, state, ChangeKind::better));
      continue;
    }
    if (!state.failed && entity.kind == "cluster" && names.contains({step, check})) continue;
    misser.add(missing,
               {.step = step,
                .what = "check " + check,
                .params = state.params,
                .info = state.info,
                .entity = state.entity},
               places.contains(point.first));
  }
}

}  // namespace

std::vector<Unmatched> missing_figures(const Compared& before, const Compared& after,
                                       const HostMatch& hosts) {
  const Known now = figures_of(after.groups, nullptr);
  Misser misser(before, after, hosts);
  std::vector<Unmatched> out;
  for (const MetricGroup& g : before.groups) {
    const std::string params = params_key(g.params);
    for (const MeasuredValue& v : g.values) {
      const Place place{g.step->id, g.metric, hosts.after(*v.entity)};
      if (now.points.contains({place, params})) continue;
      misser.add(out,
                 {.step = g.step->id,
                  .what = g.metric,
                  .params = g.params,
                  .info = g.info,
                  .entity = *v.entity},
                 now.places.contains(place));
    }
  }
  return out;
}

std::vector<Unmatched> added_figures(const Compared& before, const Compared& after,
                                     const HostMatch& hosts) {
  const Known then = figures_of(before.groups, &hosts);
  std::vector<Unmatched> out;
  for (const MetricGroup& g : after.groups) {
    const std::string params = params_key(g.params);
    for (const MeasuredValue& v : g.values) {
      if (!then.points.contains({Place{g.step->id, g.metric, *v.entity}, params}))
        out.push_back({.step = g.step->id,
                       .what = g.metric,
                       .params = g.params,
                       .info = g.info,
                       .entity = *v.entity});
    }
  }
  return out;
}

std::vector<CheckChange> compare_checks(const Compared& before, const Compared& after,
                                        const HostMatch& hosts, std::vector<Unmatched>& missing) {
  const Checks then = checks_of(before, &hosts), now = checks_of(after, nullptr);
  std::vector<CheckChange> out;
  for (const auto& [point, state] : now) {
    const auto old = then.find(point);
    const bool failed_before = old != then.end() && old->second.failed;
    if (!state.failed && !failed_before) continue;
    const ChangeKind kind = !state.failed   ? ChangeKind::better
                            : failed_before ? ChangeKind::same
                                            : ChangeKind::worse;
    out.push_back(change_of(point, state.failed ? state : old->second, kind));
  }
  Misser misser(before, after, hosts);
  add_absent_checks(out, missing, then, now, misser);
  std::ranges::stable_sort(out, {}, [](const CheckChange& c) {
    return c.kind == ChangeKind::worse ? 0 : c.kind == ChangeKind::same ? 1 : 2;
  });
  return out;
}

}  // namespace cb
