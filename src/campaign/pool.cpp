#include "campaign/pool.h"

#include <algorithm>

namespace cb {
namespace {

void add_to(Histogram& to, const Samples& samples) {
  if (const Histogram* h = samples.histogram()) return to.merge(*h);
  for (const double v : samples.raw()) to.add(v);
}

Samples pooled(const Samples& first, const Samples& second) {
  const bool raw = first.histogram() == nullptr && second.histogram() == nullptr;
  if (raw && first.count() + second.count() <= Samples::kDefaultBound) {
    Samples out;
    for (const Samples* s : {&first, &second}) {
      for (const double v : s->raw()) out.add(v);
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

void pool_record(Record& fresh, const Record& earlier) {
  bool any = false;
  for (Metric& metric : fresh.metrics) {
    const Metric* before = same_metric(fresh, metric, earlier);
    if (before == nullptr || before->unit != metric.unit) continue;
    metric.samples = pooled(before->samples, metric.samples);
    any = true;
  }
  if (!any) return;
  constexpr const char* kNote =
      "measured again because one measurement left the verdict open: the "
      "samples of all attempts are pooled";
  if (std::ranges::find(fresh.notes, kNote) == fresh.notes.end()) fresh.notes.emplace_back(kNote);
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
