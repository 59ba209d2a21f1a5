#include "campaign/pool.h"

#include <algorithm>

#include "core/ceiling.h"
#include "model/disturbance.h"

namespace cb {
namespace {

Said pooled() { return said("again.pooled"); }
Said dropped() { return said("again.dropped"); }

void add_to(Histogram& to, const Samples& samples) {
  if (const Histogram* h = samples.histogram()) return to.merge(*h);
  for (const double v : samples.list()) to.add(v);
}

Samples pooled(const Samples& first, const Samples& second) {
  const bool raw = first.histogram() == nullptr && second.histogram() == nullptr;
  if (raw && first.count() + second.count() <= Samples::kDefaultBound) {
    Samples out;
    for (const Samples* s : {&first, &second}) {
      for (const double v : s->list()) out.add(v);
    }
    return out;
  }
  Histogram all;
  add_to(all, first);
  add_to(all, second);
  return Samples::from_histogram(std::move(all));
}

const Metric* same_metric(const Record& fresh, const Metric& wanted, const Record& earlier) {
  const Entity& entity = fresh.entities.at(wanted.entity);
  const auto found = std::ranges::find_if(earlier.metrics, [&](const Metric& m) {
    return m.name == wanted.name && earlier.entities.at(m.entity) == entity;
  });
  return found == earlier.metrics.end() ? nullptr : &*found;
}

bool measured_ceiling(const Metric& metric) {
  return metric.ceiling && is_measured(*metric.ceiling);
}

std::vector<Summary> summaries_of(const Metric& metric) {
  return metric.attempts.empty() ? std::vector<Summary>{metric.samples.summary()} : metric.attempts;
}

void pool_metric(Metric& metric, const Metric& before) {
  const std::vector<Summary> own = summaries_of(metric);
  metric.attempts = summaries_of(before);
  metric.attempts.insert(metric.attempts.end(), own.begin(), own.end());
  metric.samples = pooled(before.samples, metric.samples);
  // A measured ceiling is the fastest rate ever seen.
  if (measured_ceiling(metric) && measured_ceiling(before) &&
      before.ceiling->value > metric.ceiling->value)
    metric.ceiling = before.ceiling;
}

void keep_earlier(Metric& metric, const Metric& before) {
  metric.samples = before.samples;
  metric.attempts = before.attempts;
  metric.ceiling = before.ceiling;
}

// What the record says of the load must belong to the figures that stay.
void take_load(Record& fresh, const Record& earlier) {
  const auto about_load = [](const Delta& d) {
    return d.name == kOthersCpuSeconds || d.name == kHostCpuSeconds;
  };
  std::erase_if(fresh.telemetry.deltas, about_load);
  for (Delta d : earlier.telemetry.deltas) {
    if (!about_load(d)) continue;
    d.entity = fresh.entity(earlier.entities.at(d.entity));
    fresh.telemetry.deltas.push_back(std::move(d));
  }
}

bool is_of_earlier(const Metric& metric, const Record& fresh, const Record& earlier) {
  const Entity& entity = earlier.entities.at(metric.entity);
  return std::ranges::none_of(fresh.metrics, [&](const Metric& m) {
    return m.name == metric.name && fresh.entities.at(m.entity) == entity;
  });
}

// Some cases leave a figure out because of what they measured. An attempt that has none takes back
// no figure of an earlier one, unless its data are wrong.
void carry_figures(Record& fresh, const Record& earlier) {
  if (std::ranges::any_of(fresh.checks, [](const Check& c) { return !c.passed && !c.finding; }))
    return;
  std::vector<Metric> carried;
  for (const Metric& before : earlier.metrics) {
    if (is_of_earlier(before, fresh, earlier)) carried.push_back(before);
  }
  for (Metric& metric : carried) {
    metric.entity = fresh.entity(earlier.entities.at(metric.entity));
    fresh.metrics.push_back(std::move(metric));
  }
}

void add_note(Record& record, const Said& note) {
  if (std::ranges::find(record.notes, note) == record.notes.end()) record.notes.push_back(note);
}

void pool_record(Record& fresh, const Record& earlier) {
  const bool fresh_disturbed = disturbed(fresh), earlier_disturbed = disturbed(earlier);
  const bool drop_earlier = earlier_disturbed && !fresh_disturbed;
  const bool drop_fresh = fresh_disturbed && !earlier_disturbed;
  bool any = false;
  for (Metric& metric : fresh.metrics) {
    const Metric* before = same_metric(fresh, metric, earlier);
    if (before == nullptr || before->unit != metric.unit) continue;
    any = true;
    if (drop_fresh) keep_earlier(metric, *before);
    if (!drop_fresh && !drop_earlier) pool_metric(metric, *before);
  }
  if (!any) return;
  if (!drop_earlier) carry_figures(fresh, earlier);
  for (const Said& note : earlier.notes) {
    if (note == pooled() || note == dropped()) add_note(fresh, note);
  }
  if (drop_fresh) take_load(fresh, earlier);
  add_note(fresh, drop_fresh || drop_earlier ? dropped() : pooled());
}

}  // namespace

void pool_samples(Document& fresh, const Document& earlier) {
  for (Record& record : fresh.records) {
    if (!record.measured()) continue;
    for (const Record& before : earlier.records) {
      if (before.measured() && before.case_name == record.case_name &&
          before.params == record.params)
        pool_record(record, before);
    }
  }
}

}  // namespace cb
