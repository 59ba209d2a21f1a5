#include "judge/verdict_soak.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
#include "judge/soak.h"
#include "judge/soak_log.h"
#include "judge/verdict_gaps.h"

namespace cb {
namespace {

constexpr size_t kShownEvents = 3;
constexpr size_t kTail = 10;  // the last tenth of the cycles
constexpr size_t kManyStops = 3;
constexpr int64_t kRounding = 2;  // seconds: times are whole ones
const Entity kWholeCluster{"", "cluster", ""};

// A loss below a ten-millionth is none: "-1e-14 %" would say that something was measured.
std::string percent(double share) {
  return std::abs(share) < 1e-7 ? "0 %" : fmt::format("{:.3g} %", 100 * share);
}

std::string confidence_text(double confidence) { return fmt::format("{:.4g} %", 100 * confidence); }

class SoakJudge {
 public:
  SoakJudge(const Campaign& campaign, const HostNames& names, const Criterion& criterion,
            const SoakRule& rule)
      : campaign_(campaign), names_(names), criterion_(criterion), rule_(rule) {}

  Evidence collect() {
    const SoakTime time = soak_time(campaign_);
    if (time.jobs == 0) {
      gap("", {"gap.no_step", {criterion_.step}});
      return std::move(out_);
    }
    if (time.missing > 0) gap("", {"gap.soak_missing", {time.missing, time.jobs}});
    if (rule_.kind != SoakRule::Kind::decay) require_last_reading();
    switch (rule_.kind) {
      case SoakRule::Kind::interruptions:
        count_interruptions();
        break;
      case SoakRule::Kind::mtbi:
        judge_mean_time(time);
        break;
      case SoakRule::Kind::decay:
        judge_decays();
        break;
      case SoakRule::Kind::events:
        count_events();
        break;
    }
    return std::move(out_);
  }

 private:
  void gap(const std::string& host, Message what) { out_.gaps.push_back({host, std::move(what)}); }

  // What happened in the last cycle's loads shows in a reading after them, and in nothing else.
  void require_last_reading() {
    for (const Job* job : last_reading(campaign_).open)
      gap(job->host, {"gap.soak_unread", {job->step, job_place(*job)}});
  }

  Finding finding(const Entity& entity, const std::string& unit, double value, double limit,
                  bool minimum) const {
    Finding f;
    f.entity = entity;
    f.unit = unit;
    f.value = value;
    f.limit = limit;
    f.limit_is_minimum = minimum;
    return f;
  }

  // The number of events against the limit. A failure names the first of them.
  void judge_count(const std::vector<SoakEvent>& events) {
    double count = 0;
    for (const SoakEvent& e : events) count += e.kind->of_kernel_log ? 1 : e.count;
    Finding f = finding(kWholeCluster, "count", count, rule_.limit, false);
    f.badness = count - rule_.limit;
    f.failing = count > rule_.limit;
    for (size_t i = 0; f.failing && i < std::min(events.size(), kShownEvents); ++i) {
      const SoakEvent& e = events[i];
      f.detail.push_back(
          {"why.soak_event",
           {e.at, entity_name(e.entity), Message("event." + std::string(e.kind->name)), e.what,
            soak_cycle_name(campaign_, e.cycle)}});
    }
    if (f.failing && events.size() > kShownEvents)
      f.detail.push_back({"why.soak_more", {events.size() - kShownEvents}});
    out_.findings.push_back(std::move(f));
  }

  static std::vector<SoakEvent> interruptions_in(const Campaign& campaign) {
    std::vector<SoakEvent> events = soak_events(campaign);
    std::erase_if(events, [](const SoakEvent& e) { return !e.interrupts; });
    return events;
  }

  void count_interruptions() {
    require_no_rescue();
    judge_count(interruptions_in(campaign_));
  }

  // A job that hangs can be stopped before its deadline. One that was stopped again and again, or
  // after much longer than its step ever took, may have hung.
  void require_no_rescue() {
    std::map<std::string, int64_t> longest;  // of the jobs of each step that ended well
    for (const Job& job : campaign_.jobs) {
      if (job.cycle > 0 && job.state == JobState::done)
        longest[job.step] =
            std::max(longest[job.step], seconds_between(job.started, job.ended).value_or(0));
    }
    for (const Job& job : campaign_.jobs) {
      if (job.cycle == 0) continue;
      size_t stops = 0;
      int64_t most = 0;
      for (const Interruption& i : job.interruptions) {
        if (i.state != JobState::missing || i.ended.empty()) continue;
        ++stops;
        most = std::max(most, seconds_between(i.started, i.ended).value_or(0));
      }
      const bool much_longer =
          longest.contains(job.step) && most > 2 * longest[job.step] + kRounding;
      if (stops >= kManyStops || much_longer)
        gap(job.host, {"gap.soak_stopped",
                       {Message("step.cycle_of", {job.step, job.cycle, job_place(job)}), stops,
                        Quantity{static_cast<double>(most), "seconds"}}});
    }
  }

  static std::optional<int64_t> seconds_between(const std::string& begin, const std::string& end) {
    const auto a = seconds_since_epoch(begin), b = seconds_since_epoch(end);
    return a && b ? std::optional(*b - *a) : std::nullopt;
  }

  void judge_mean_time(const SoakTime& time) {
    require_no_rescue();
    const double seconds = rule_.per_host ? time.host_seconds : time.cluster_seconds;
    const MeanTime mean = mean_time(interruptions_in(campaign_).size(), seconds, rule_.confidence);
    Finding f = finding(kWholeCluster, "seconds", mean.lower, rule_.limit, true);
    f.badness = 1 - mean.lower / rule_.limit;
    const Arg k = mean.interruptions, under_load = Quantity{seconds, "seconds"},
              wanted = Quantity{rule_.limit, "seconds"},
              confidence = confidence_text(rule_.confidence);
    if (mean.upper && *mean.upper < rule_.limit) {
      f.failing = true;
      f.detail.push_back({"why.mtbi_below",
                          {k, under_load, confidence, Quantity{*mean.upper, "seconds"}, wanted}});
    } else if (mean.lower < rule_.limit) {
      const double more = seconds_to_prove(mean, rule_.limit, rule_.confidence);
      gap("", {"why.mtbi_open",
               {k, under_load, confidence, Quantity{mean.lower, "seconds"}, wanted,
                Quantity{more, "seconds"}}});
    } else {
      f.detail.push_back(
          {"why.mtbi_met", {k, under_load, confidence, Quantity{mean.lower, "seconds"}, wanted}});
    }
    out_.findings.push_back(std::move(f));
  }

  void judge_decays() {
    const std::vector<SoakSeries> all = soak_series(campaign_, &rule_, criterion_.step);
    if (all.empty()) gap("", {"gap.soak_series", {criterion_.step, rule_.metric}});
    // Of many entities some drift by chance: all together may do so with 1 - confidence.
    const double alone =
        1 - (1 - rule_.confidence) / std::max<double>(1, static_cast<double>(all.size()));
    std::set<std::string> hosts;
    for (const SoakSeries& s : all) {
      const auto decay = decay_of(s, alone);
      note_hosts(s.entity, hosts);
      if (!decay || !decay->interval)
        gap(s.entity.host, {"gap.soak_short", {entity_name(s.entity), s.values.size()}});
      else
        judge_decay(s, *decay);
    }
    tell_greatest_loss();
    if (hosts.empty()) return;
    for (const std::string& host : names_.expected()) {
      if (!hosts.contains(host)) gap(host, {"gap.nothing", {host, criterion_.step, "", "logs/"}});
    }
  }

  // Where nothing fails, the line of the verdict has the part that lost most.
  void tell_greatest_loss() {
    if (greatest_) out_.findings[*greatest_].detail.push_back({"why.decay_met", greatest_says_});
  }

  // What is of the whole cluster stands for all hosts.
  void note_hosts(const Entity& entity, std::set<std::string>& hosts) const {
    if (entity.host.empty()) hosts.insert(names_.expected().begin(), names_.expected().end());
    if (const auto asked = names_.asked(entity.host)) hosts.insert(*asked);
    if (!entity.peer) return;
    if (const auto peer = names_.asked(entity.peer->substr(0, entity.peer->find_first_of(": "))))
      hosts.insert(*peer);
  }

  void judge_decay(const SoakSeries& s, const Decay& decay) {
    const auto [low, high] = *decay.interval;
    Finding f = finding(s.entity, "share", decay.loss, rule_.limit, false);
    f.badness = low / rule_.limit - 1;
    f.failing = low > rule_.limit;
    const std::vector<Arg> args{entity_name(s.entity), percent(decay.loss), percent(low),
                                percent(high), percent(rule_.limit)};
    if (f.failing) f.detail.push_back({"why.decay", args});
    if (!f.failing && high > rule_.limit)
      gap(s.entity.host, {"why.decay_open", args});
    else if (!f.failing)
      require_steady_end(s, decay);
    if (!f.failing && (!greatest_ || f.badness > out_.findings[*greatest_].badness)) {
      greatest_ = out_.findings.size();
      greatest_says_ = args;
    }
    out_.findings.push_back(std::move(f));
  }

  // The slope of a series hardly sees a collapse in the last cycles, which are few.
  void require_steady_end(const SoakSeries& s, const Decay& decay) {
    const size_t tail = s.values.size() / kTail;
    const double sign = s.better == Better::higher ? -1 : 1;
    const auto is_lost = [&](double v) {
      return sign * (v - decay.median) > rule_.limit * std::abs(decay.median);
    };
    if (tail == 0 ||
        !std::all_of(s.values.end() - static_cast<std::ptrdiff_t>(tail), s.values.end(), is_lost))
      return;
    gap(s.entity.host, {"why.decay_tail", {entity_name(s.entity), tail, percent(rule_.limit)}});
  }

  bool wants(const SoakEvent& e) const {
    return std::ranges::any_of(rule_.of, [&](const std::string& name) {
      return name == e.kind->name || name == event_class_name(e.cls);
    });
  }

  void count_events() {
    require_observed();
    require_whole_log();
    std::vector<SoakEvent> events = soak_events(campaign_);
    std::erase_if(events, [&](const SoakEvent& e) { return !wants(e); });
    judge_count(events);
  }

  // Lines of the log that nobody read may have told what the rule asks for.
  void require_whole_log() {
    const auto observed = observed_kinds(campaign_);
    std::set<std::string> told;
    for (const LostLogLines& lost : lost_log_lines(campaign_)) {
      const auto counters = observed.find(lost.host);
      for (const EventKind& kind : event_kinds()) {
        const bool logged = kind.of_kernel_log || is_logged_too(kind);
        const bool of_log = logged || lost.kind == kind.name;
        const bool counted =
            !logged && counters != observed.end() && counters->second.contains(kind.name);
        if (!of_log || counted || (!lost.kind.empty() && lost.kind != kind.name)) continue;
        const auto name = std::ranges::find_if(rule_.of, [&](const std::string& wanted) {
          return wanted == kind.name || wanted == event_class_name(kind.cls);
        });
        if (name == rule_.of.end() || !told.insert(lost.host).second) continue;
        gap(names_.asked(lost.host).value_or(lost.host),
            {"gap.soak_log_lost",
             {lost.host, Message("event." + std::string(kind.name)),
              soak_cycle_name(campaign_, lost.cycle)}});
      }
    }
  }

  // A host on which nothing looked for these events in the last cycle has had none that anybody
  // knows of: totals and logs tell of the cycles before, but none of those after. A class stands
  // for all of its kinds that the log tells.
  void require_observed() {
    const auto observed = observed_kinds(campaign_, Watch::last_cycle);
    for (const std::string& name : rule_.of) {
      const EventKind* kind = find_event_kind(name);
      for (const EventKind& k : event_kinds()) {
        if (kind == nullptr && k.of_kernel_log && name == event_class_name(k.cls)) kind = &k;
      }
      if (kind != nullptr) require_observed(*kind, observed);
    }
  }

  void require_observed(const EventKind& kind,
                        const std::map<std::string, std::set<std::string>>& observed) {
    for (const std::string& host : names_.expected()) {
      const bool seen = std::ranges::any_of(observed, [&](const auto& o) {
        const auto asked = names_.asked(o.first);
        return o.second.contains(kind.name) && (o.first.empty() || asked == host);
      });
      if (!seen)
        gap(host, {"gap.soak_unobserved", {Message("event." + std::string(kind.name)), host}});
    }
  }

  const Campaign& campaign_;
  const HostNames& names_;
  const Criterion& criterion_;
  const SoakRule& rule_;
  Evidence out_;
  std::optional<size_t> greatest_;  // the finding of the part that lost most and does not fail
  std::vector<Arg> greatest_says_;
};

}  // namespace

Evidence soak_evidence(const Campaign& campaign, const HostNames& names, const Criterion& criterion,
                       const SoakRule& rule) {
  return SoakJudge(campaign, names, criterion, rule).collect();
}

bool is_counted_interruption(const Job& job, bool interruptions_judged) {
  return interruptions_judged && job.cycle > 0 && !job.unusable &&
         (job.state == JobState::failed || job.state == JobState::deadline) &&
         !job.interruptions.empty() && interrupts(job.interruptions.back());
}

}  // namespace cb
