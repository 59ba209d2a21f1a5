#include "campaign/quiet_cycles.h"

#include <vector>

namespace cb {

void drop_time_lines(Document& document) {
  for (Record& record : document.records) std::vector<Series>().swap(record.telemetry.series);
}

void keep_summaries(Document& document) {
  for (Record& record : document.records) {
    for (Metric& metric : record.metrics) metric.samples.keep_summary();
  }
}

void TextPool::share(Said& text) {
  if (!text.empty()) text = *texts_.insert(text).first;
}

void TextPool::share(Document& document) {
  const std::lock_guard lock(busy_);
  for (Record& record : document.records) {
    for (Metric& metric : record.metrics) {
      if (metric.ceiling) share(metric.ceiling->how);
    }
    for (Check& check : record.checks) share(check.detail);
    for (auto& [name, fact] : record.facts) share(fact);
    for (Said& note : record.notes) share(note);
  }
}

}  // namespace cb
