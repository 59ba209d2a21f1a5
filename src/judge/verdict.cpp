#include "judge/verdict.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/ceiling.h"
#include "core/parallel.h"
#include "core/profile_limits.h"
#include "core/profile_soak.h"
#include "core/units.h"
#include "judge/applies.h"
#include "judge/delivery.h"
#include "judge/proofs.h"
#include "judge/verdict_evidence.h"
#include "judge/verdict_steps.h"
#include "judge/waivers_match.h"

namespace cb {
namespace {

constexpr size_t kGapsNamed = 3;

const Finding* worst_of(const std::vector<const Finding*>& findings) {
  const auto found =
      std::max_element(findings.begin(), findings.end(),
                       [](const Finding* a, const Finding* b) { return a->badness < b->badness; });
  return found == findings.end() ? nullptr : *found;
}

// Members of a group share one reason, which is said once.
std::vector<Message> gap_messages(const std::vector<Gap>& gaps) {
  std::set<Message> said;
  std::vector<Message> out;
  for (const Gap& gap : gaps) {
    if (said.insert(gap.what).second && said.size() <= kGapsNamed) out.push_back(gap.what);
  }
  if (said.size() > kGapsNamed)
    out.push_back({"why.gaps_more", {std::to_string(said.size() - kGapsNamed)}});
  return out;
}

bool above_ceiling(const Finding& f) {
  return f.limit && f.limit_is_minimum && f.ceiling && *f.limit > f.ceiling->value &&
         !is_measured(*f.ceiling);
}

std::vector<Message> failure_messages(const Finding& f) {
  const std::string name = entity_name(f.entity);
  std::vector<Message> out;
  if (!f.detail.empty()) {
    out = f.detail;
  } else if (f.unit == "count" && f.limit == 0.0) {
    out.push_back({"why.failures", {name, fmt::format("{:g}", f.value.value_or(0))}});
  } else {
    out.push_back({f.limit_is_minimum ? "why.below" : "why.above",
                   {name, format_value(*f.value, f.unit), format_value(*f.limit, f.unit)}});
  }
  if (above_ceiling(f))
    out.push_back({"why.above_ceiling", {format_value(f.ceiling->value, f.unit), f.ceiling->how}});
  if (!f.file.empty()) out.push_back({"why.see", {f.file}});
  return out;
}

void append(std::vector<Message>& to, const std::vector<Message>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Ids of the waivers beside that of the worst entity.
std::string other_waivers(const CriterionVerdict& v) {
  std::string out;
  for (const Waiver* w : v.waivers) {
    if (w != v.waiver) out += (out.empty() ? "" : ", ") + w->id;
  }
  return out;
}

bool within(const Waiver& waiver, const Finding& f) {
  if (!f.value) return false;  // nothing that a limit could bound
  return f.limit_is_minimum ? *f.value >= waiver.limit : *f.value <= waiver.limit;
}

class Judge {
 public:
  Judge(const Campaign& campaign, const Profile& profile, const std::vector<Waiver>& waivers)
      : campaign_(campaign),
        profile_(profile),
        waivers_(waivers),
        names_(campaign),
        used_(waivers.size(), false) {
    interruptions_judged_ = std::ranges::any_of(profile.criteria, [&](const Criterion& c) {
      return counts_interruptions(c) && needs_fit(c).fit == Fit::met;
    });
  }

  // Gathers for a few criteria at a time: the evidence of one is small, that of all is not.
  Judgement judge() {
    constexpr size_t kTogether = 8;
    const std::vector<Criterion>& criteria = profile_.criteria;
    Judgement out;
    for (size_t first = 0; first < criteria.size(); first += kTogether) {
      std::vector<Gathered> gathered(std::min(kTogether, criteria.size() - first));
      on_all_processors(gathered.size(),
                        [&](size_t i) { gathered[i] = gather(criteria[first + i]); });
      for (size_t i = 0; i < gathered.size(); ++i) {
        out.criteria.push_back(judge_one(criteria[first + i], std::move(gathered[i])));
        out.criteria.back().reason = say_all(Lang::en, out.criteria.back().why);
      }
    }
    refuse_unmatched(out);
    judge_steps(out);
    judge_delivery(out);
    return out;
  }

 private:
  struct Gathered {
    NeedsFit fit;
    Evidence evidence;  // empty if the criterion does not apply
  };

  Gathered gather(const Criterion& criterion) const {
    Gathered out{.fit = needs_fit(criterion), .evidence = {}};
    if (out.fit.fit != Fit::unmet)
      out.evidence = gather_evidence(campaign_, names_, criterion, interruptions_judged_);
    return out;
  }

  CriterionVerdict judge_one(const Criterion& criterion, Gathered&& gathered) {
    const NeedsFit& fit = gathered.fit;
    Evidence evidence = std::move(gathered.evidence);
    CriterionVerdict v;
    v.criterion = &criterion;
    if (fit.fit == Fit::unmet) {
      v.state = State::not_applicable;
      v.why.push_back(*fit.why);
      return v;
    }
    if (fit.fit != Fit::met)
      evidence.gaps.insert(evidence.gaps.begin(), {"", {"gap.needs", {fit.reason()}}});
    decide(v, evidence);
    keep(v, std::move(evidence));
    return v;
  }

  // Judges what no criterion of a step says. For steps that ran and that this profile lacks, only
  // wrong data counts.
  void judge_steps(Judgement& out) {
    std::vector<CriterionVerdict> found;
    for (const Step& step : profile_.steps) judge_step(step, false, out, found);
    for (const Step& step : campaign_.profile.steps) {
      if (std::ranges::find(profile_.steps, step.id, &Step::id) == profile_.steps.end())
        judge_step(step, true, out, found);
    }
    std::ranges::move(found, std::back_inserter(out.criteria));
  }

  // Judges who is delivered, where a host was taken out or the profile says something about it.
  void judge_delivery(Judgement& out) {
    if (!needs_delivery(campaign_, profile_)) return;
    auto criterion = std::make_shared<const Criterion>(delivery_criterion(profile_));
    Evidence evidence = delivery_evidence(campaign_, profile_);
    CriterionVerdict v;
    v.criterion = criterion.get();
    decide(v, evidence);
    if (v.state == State::pass) v.why = delivery_messages(campaign_);
    v.ratio.reset();  // to replace fewer hosts is no reserve
    keep(v, std::move(evidence));
    v.reason = say_all(Lang::en, v.why);
    out.criteria.push_back(std::move(v));
    out.of_steps.push_back(std::move(criterion));
  }

  void judge_step(const Step& step, bool only_wrong_data, Judgement& out,
                  std::vector<CriterionVerdict>& found) {
    auto criterion = std::make_shared<const Criterion>(step_criterion(profile_, step));
    Gathered gathered{.fit = needs_fit(*criterion), .evidence = {}};
    if (gathered.fit.fit == Fit::unmet) return;
    gathered.evidence = step_evidence(campaign_, names_, step, out.criteria,
                                      {only_wrong_data, interruptions_judged_});
    if (gathered.evidence.findings.empty() && gathered.evidence.gaps.empty()) return;
    CriterionVerdict v;
    v.criterion = criterion.get();
    decide(v, gathered.evidence);
    keep(v, std::move(gathered.evidence));
    v.reason = say_all(Lang::en, v.why);
    found.push_back(std::move(v));
    out.of_steps.push_back(std::move(criterion));
  }

  NeedsFit needs_fit(const Criterion& criterion) const {
    Requirements needs = criterion.needs;
    for (const Step& step : profile_.steps) {
      if (step.id == criterion.step) needs = merge_needs(std::move(needs), step.needs);
    }
    return check_needs(needs, campaign_.hosts.size(), campaign_.inventories);
  }

  void decide(CriterionVerdict& v, Evidence& evidence) {
    const bool warns = v.criterion->severity == Severity::warn;
    std::vector<const Finding*> all, failing, waived, advisory;
    std::optional<Message> beyond;
    for (Finding& f : evidence.findings) {
      all.push_back(&f);
      if (!f.failing) continue;
      if (warns && !f.wrong_data) {
        advisory.push_back(&f);
        continue;
      }
      const Waiver* waiver = warns ? nullptr : waiver_for(*v.criterion, f, beyond);
      f.waived = waiver != nullptr;
      if (waiver != nullptr) f.waiver = waiver->id;
      (waiver != nullptr ? waived : failing).push_back(&f);
      if (waiver != nullptr &&
          std::find(v.waivers.begin(), v.waivers.end(), waiver) == v.waivers.end())
        v.waivers.push_back(waiver);
    }
    v.entities = count_entities(evidence.findings);
    v.impossible = !all.empty() && std::all_of(all.begin(), all.end(),
                                               [](const Finding* f) { return above_ceiling(*f); });
    const bool fails = !failing.empty();
    if (!fails && !advisory.empty() && evidence.gaps.empty()) failing = advisory;
    if (!failing.empty()) {
      const Finding& worst = *worst_of(failing);
      v.state = fails ? State::fail : State::warn;
      fill(v, worst);
      v.why = failure_messages(worst);
      if (beyond) v.why.push_back(*beyond);
      if (failing.size() > 1) v.why.push_back(count_message("why.more", failing.size() - 1));
      if (!evidence.gaps.empty()) {
        v.why.push_back({"why.also_missing", {}});
        append(v.why, gap_messages(evidence.gaps));
      }
    } else if (!evidence.gaps.empty() || all.empty()) {
      v.state = State::incomplete;
      v.why = evidence.gaps.empty() ? std::vector<Message>{{"why.nothing", {}}}
                                    : gap_messages(evidence.gaps);
    } else if (!waived.empty()) {
      const Finding& worst = *worst_of(waived);
      std::optional<Message> unused;
      v.state = State::waived;
      v.waiver = waiver_for(*v.criterion, worst, unused);
      fill(v, worst);
      v.why = failure_messages(worst);
      v.why.push_back(
          {"why.waived",
           {v.waiver->expires, v.waiver->approver, v.waiver->ticket, v.waiver->reason}});
      if (v.waivers.size() > 1) v.why.push_back({"why.waived_too", {other_waivers(v)}});
    } else {
      v.state = State::pass;
      fill(v, *worst_of(all));
      v.why = pass_messages(v, evidence);
    }
  }

  // Keeps the failing entities and the gaps for the conclusion, which names them.
  static void keep(CriterionVerdict& v, Evidence evidence) {
    for (Finding& f : evidence.findings) {
      if (f.failing) v.failing.push_back(std::move(f));
    }
    std::stable_sort(v.failing.begin(), v.failing.end(),
                     [](const Finding& a, const Finding& b) { return a.badness > b.badness; });
    v.gaps = std::move(evidence.gaps);
  }

  static size_t count_entities(const std::vector<Finding>& findings) {
    std::vector<Entity> seen;
    for (const Finding& f : findings) seen.push_back(f.entity);
    std::sort(seen.begin(), seen.end());
    return static_cast<size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
  }

  static std::vector<Message> pass_messages(const CriterionVerdict& v, const Evidence& evidence) {
    if (std::holds_alternative<CheckRule>(v.criterion->rule))
      return {count_message("why.checks", evidence.checks)};
    if (std::holds_alternative<UniformRule>(v.criterion->rule))
      return {count_message("why.hosts", evidence.findings.size())};
    if (std::holds_alternative<ExpectRule>(v.criterion->rule))
      return {count_message("why.ordered", v.entities)};
    if (const auto* soak = std::get_if<SoakRule>(&v.criterion->rule); soak != nullptr && v.value) {
      const bool counts =
          soak->kind == SoakRule::Kind::interruptions || soak->kind == SoakRule::Kind::events;
      if (counts) return {{"why.soak_count", {*v.value, soak->limit}}};
    }
    // What was measured very often says how often the limit was missed.
    std::vector<Message> out;
    for (const Finding& f : evidence.findings) {
      if (out.size() < kGapsNamed) append(out, f.detail);
    }
    return out;
  }

  static void fill(CriterionVerdict& v, const Finding& f) {
    v.unit = f.unit;
    v.value = f.value;
    v.limit = f.limit;
    v.limit_is_minimum = f.limit_is_minimum;
    if (f.value && f.limit && *f.limit != 0) v.ratio = *f.value / *f.limit;
    v.ceiling = f.ceiling;
    v.worst = f.entity;
    v.at = f.at;
  }

  // Returns the waiver that lets this entity pass, or null. A waiver that matches, but whose limit
  // the value exceeds, or that no failure of this kind can have, sets `beyond`.
  const Waiver* waiver_for(const Criterion& criterion, const Finding& f,
                           std::optional<Message>& beyond) {
    for (size_t i = 0; i < waivers_.size(); ++i) {
      const Waiver& w = waivers_[i];
      if (w.criterion != criterion.id || !glob_match(w.scope, entity_name(f.entity))) continue;
      used_[i] = true;
      if (!f.waivable) {
        beyond = Message{"why.not_waivable", {w.id}};
        continue;
      }
      if (!w.unit.empty() && w.unit != f.unit)
        useless_[w.id] = fmt::format("is in {}, what it waives in {}", w.unit, f.unit);
      else if (const auto why = cannot_be_missed(w.limit, f.limit_is_minimum, f.unit))
        useless_[w.id] = *why;
      if (within(w, f)) return &w;
      beyond = Message{"why.beyond", {w.id}};
    }
    return nullptr;
  }

  // A waiver that matches no failure is a mistake in its file, or the defect is mended: both must
  // be seen. If its criterion could not be judged, that must be mended first.
  void refuse_unmatched(const Judgement& judgement) const {
    Problems problems;
    for (const auto& [id, why] : useless_) problems.add(id, "its limit " + why);
    for (size_t i = 0; i < waivers_.size(); ++i) {
      if (used_[i]) continue;
      const auto found = std::find_if(
          judgement.criteria.begin(), judgement.criteria.end(),
          [&](const CriterionVerdict& v) { return v.criterion->id == waivers_[i].criterion; });
      if (found == judgement.criteria.end())
        problems.add(waivers_[i].id,
                     fmt::format("the profile has no criterion {}", waivers_[i].criterion));
      else if (found->state != State::incomplete)
        problems.add(waivers_[i].id,
                     fmt::format("nothing of {} that matches {} fails: remove it or mend its scope",
                                 waivers_[i].criterion, waivers_[i].scope));
    }
    if (!problems.empty()) throw UsageError("waivers", problems);
  }

  const Campaign& campaign_;
  const Profile& profile_;
  const std::vector<Waiver>& waivers_;
  const HostNames names_;
  bool interruptions_judged_ = false;
  std::vector<bool> used_;
  std::map<std::string, std::string> useless_;  // waiver id → what is wrong with its limit
};

void refuse_malformed(const std::vector<Waiver>& waivers, const std::string& today) {
  Problems problems;
  for (const Waiver& w : waivers) {
    if (!is_date(w.expires)) problems.add(w.id, "has no day of expiry");
  }
  if (!problems.empty()) throw UsageError("waivers", problems);
  refuse_expired(waivers, today);
}

}  // namespace

Judgement judge(const Campaign& campaign, const Profile& profile,
                const std::vector<Waiver>& waivers, const std::string& today) {
  refuse_malformed(waivers, today);
  Judgement out = Judge(campaign, profile, waivers).judge();
  out.doubts = campaign.warnings;
  if (profile.sha256 != campaign.profile.sha256) out.judged_by = profile.name;
  out.proofs = proof_messages(campaign.proofs);
  out.proven = count_proofs(campaign.proofs).whole();
  return out;
}

}  // namespace cb
