#include "analysis/verdict.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/applies.h"
#include "analysis/verdict_evidence.h"
#include "analysis/waivers_match.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kGapsNamed = 3;

const Finding* worst_of(const std::vector<const Finding*>& findings) {
  const auto found =
      std::max_element(findings.begin(), findings.end(),
                       [](const Finding* a, const Finding* b) { return a->badness < b->badness; });
  return found == findings.end() ? nullptr : *found;
}

std::string gaps_text(const std::vector<std::string>& gaps) {
  const size_t named = std::min(gaps.size(), kGapsNamed);
  std::string out = fmt::format(
      "{}", fmt::join(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(named), "; "));
  if (gaps.size() > named) out += fmt::format("; and {} more", gaps.size() - named);
  return out;
}

std::string failure_text(const Finding& f) {
  const std::string name = entity_name(f.entity);
  const std::string see = f.file.empty() ? "" : fmt::format("; see {}", f.file);
  if (!f.value) return fmt::format("{}: {}{}", name, f.detail, see);
  if (!f.detail.empty()) return fmt::format("{}: {}{}", name, f.detail, see);
  if (f.unit == "count" && f.limit == 0.0)
    return fmt::format("{}: {:g} failed{}", name, *f.value, see);
  return fmt::format("{} has {}, {} {} is required{}", name, format_value(*f.value, f.unit),
                     f.limit_is_minimum ? "at least" : "at most", format_value(*f.limit, f.unit),
                     see);
}

bool within(const Waiver& waiver, const Finding& f) {
  if (!f.value) return false;  // wrong data has no value that a limit could bound
  return f.limit_is_minimum ? *f.value >= waiver.limit : *f.value <= waiver.limit;
}

class Judge {
 public:
  Judge(const Campaign& campaign, const Profile& profile, const std::vector<Waiver>& waivers)
      : campaign_(campaign), profile_(profile), waivers_(waivers), used_(waivers.size(), false) {}

  Judgement judge() {
    Judgement out;
    for (const Criterion& c : profile_.criteria) out.criteria.push_back(judge_one(c));
    refuse_unmatched(out);
    return out;
  }

 private:
  CriterionVerdict judge_one(const Criterion& criterion) {
    CriterionVerdict v;
    v.criterion = &criterion;
    const NeedsFit fit = needs_fit(criterion);
    if (fit.fit == Fit::unmet) {
      v.state = State::not_applicable;
      v.reason = fit.reason;
      return v;
    }
    Evidence evidence = gather_evidence(campaign_, criterion);
    if (fit.fit != Fit::met)
      evidence.gaps.insert(evidence.gaps.begin(),
                           fit.reason + ": mend the host, or use a profile that fits it");
    decide(v, evidence);
    return v;
  }

  NeedsFit needs_fit(const Criterion& criterion) const {
    Requirements needs = criterion.needs;
    for (const Step& step : profile_.steps) {
      if (step.id == criterion.step) needs = merge_needs(std::move(needs), step.needs);
    }
    return check_needs(needs, campaign_.hosts.size(), campaign_.inventories);
  }

  void decide(CriterionVerdict& v, const Evidence& evidence) {
    const bool warns = v.criterion->severity == Severity::warn;
    std::vector<const Finding*> all, failing, waived;
    std::string beyond;
    for (const Finding& f : evidence.findings) {
      all.push_back(&f);
      if (!f.failing) continue;
      const Waiver* waiver = warns ? nullptr : waiver_for(*v.criterion, f, beyond);
      (waiver != nullptr ? waived : failing).push_back(&f);
    }
    v.entities = count_entities(evidence.findings);
    if (!failing.empty() && (!warns || evidence.gaps.empty())) {
      v.state = warns ? State::warn : State::fail;
      fill(v, *worst_of(failing));
      v.reason = failure_text(*worst_of(failing)) + beyond;
      if (failing.size() > 1) v.reason += fmt::format("; {} more fail", failing.size() - 1);
      if (!evidence.gaps.empty()) v.reason += "; not measured: " + gaps_text(evidence.gaps);
    } else if (!evidence.gaps.empty() || all.empty()) {
      v.state = State::incomplete;
      v.reason = evidence.gaps.empty() ? "nothing was measured" : gaps_text(evidence.gaps);
    } else if (!waived.empty()) {
      const Finding* worst = worst_of(waived);
      std::string unused;
      v.state = State::waived;
      v.waiver = waiver_for(*v.criterion, *worst, unused);
      fill(v, *worst);
      v.reason =
          fmt::format("{}; waived until {} by {}, {}: {}", failure_text(*worst), v.waiver->expires,
                      v.waiver->approver, v.waiver->ticket, v.waiver->reason);
    } else {
      v.state = State::pass;
      fill(v, *worst_of(all));
      v.reason = pass_text(v, evidence);
    }
  }

  static size_t count_entities(const std::vector<Finding>& findings) {
    std::vector<Entity> seen;
    for (const Finding& f : findings) seen.push_back(f.entity);
    std::sort(seen.begin(), seen.end());
    return static_cast<size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
  }

  static std::string pass_text(const CriterionVerdict& v, const Evidence& evidence) {
    if (std::holds_alternative<CheckRule>(v.criterion->rule))
      return fmt::format("{} check{}, none failed", evidence.checks,
                         evidence.checks == 1 ? "" : "s");
    if (std::holds_alternative<UniformRule>(v.criterion->rule))
      return fmt::format("{} host{}, no difference", evidence.findings.size(),
                         evidence.findings.size() == 1 ? "" : "s");
    return "";
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

  // The waiver that lets this entity pass. One that matches but whose limit is passed adds to
  // `beyond`.
  const Waiver* waiver_for(const Criterion& criterion, const Finding& f, std::string& beyond) {
    for (size_t i = 0; i < waivers_.size(); ++i) {
      const Waiver& w = waivers_[i];
      if (w.criterion != criterion.id || !glob_match(w.scope, entity_name(f.entity))) continue;
      used_[i] = true;
      if (within(w, f)) return &w;
      beyond = fmt::format("; beyond the limit of waiver {}", w.id);
    }
    return nullptr;
  }

  // A waiver for nothing is a mistake in its file, or the defect is mended: both must be seen.
  // Where the criterion could not be judged, that is what must be mended first.
  void refuse_unmatched(const Judgement& judgement) const {
    Problems problems;
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
  std::vector<bool> used_;
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

const char* state_name(State state) {
  switch (state) {
    case State::pass:
      return "pass";
    case State::warn:
      return "warn";
    case State::fail:
      return "fail";
    case State::incomplete:
      return "incomplete";
    case State::not_applicable:
      return "not-applicable";
    case State::waived:
      return "waived";
  }
  return "";
}

size_t Judgement::count(State state) const {
  return static_cast<size_t>(
      std::count_if(criteria.begin(), criteria.end(),
                    [&](const CriterionVerdict& v) { return v.state == state; }));
}

State Judgement::overall() const {
  if (count(State::fail) > 0) return State::fail;
  const size_t judged = count(State::pass) + count(State::warn) + count(State::waived);
  return count(State::incomplete) > 0 || judged == 0 ? State::incomplete : State::pass;
}

Judgement judge(const Campaign& campaign, const Profile& profile,
                const std::vector<Waiver>& waivers, const std::string& today) {
  refuse_malformed(waivers, today);
  return Judge(campaign, profile, waivers).judge();
}

ExitCode exit_code(const Judgement& judgement) {
  switch (judgement.overall()) {
    case State::fail:
      return ExitCode::not_accepted;
    case State::incomplete:
      return ExitCode::incomplete;
    default:
      return ExitCode::ok;
  }
}

}  // namespace cb
