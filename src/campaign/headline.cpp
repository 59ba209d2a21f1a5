#include "campaign/headline.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/spread.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/verdict_select.h"

namespace cb {
namespace {

struct Worst {
  const Metric* metric = nullptr;
  const Record* record = nullptr;
  const Document* document = nullptr;
  Summary summary;
};

// True if the record has the rule's figure, or any figure if there is no rule.
bool has_figure(const Record& record, const MetricRule* rule) {
  if (!record.measured() || record.metrics.empty()) return false;
  if (rule == nullptr) return true;
  return matches(record.params, rule->at) &&
         std::ranges::find(record.metrics, rule->metric, &Metric::name) != record.metrics.end();
}

const Record* last_with_figure(const Document& document, const MetricRule* rule) {
  for (auto r = document.records.rbegin(); r != document.records.rend(); ++r) {
    if (has_figure(*r, rule)) return &*r;
  }
  return nullptr;
}

Worst worst_of(const std::vector<const Document*>& documents, const MetricRule* rule) {
  Worst worst;
  for (const Document* document : documents) {
    const Record* record = last_with_figure(*document, rule);
    if (record == nullptr) continue;
    const std::string wanted = rule != nullptr           ? rule->metric
                               : worst.metric != nullptr ? worst.metric->name
                                                         : record->metrics.front().name;
    for (const Metric& m : record->metrics) {
      if (m.name != wanted || m.samples.empty()) continue;
      const Summary s = m.samples.summary();
      const bool worse =
          worst.metric == nullptr || (m.better == Better::higher ? s.median < worst.summary.median
                                                                 : s.median > worst.summary.median);
      if (worse) worst = {&m, record, document, s};
    }
  }
  return worst;
}

// Takes the first rule that has a figure, else the measured records.
Worst worst_of(const std::vector<const Document*>& documents,
               const std::vector<MetricRule>& judged) {
  for (const MetricRule& rule : judged) {
    const Worst worst = worst_of(documents, &rule);
    if (worst.metric != nullptr) return worst;
  }
  return worst_of(documents, nullptr);
}

std::string figure(const Worst& worst) {
  std::string out = format_value(worst.summary.median, worst.metric->unit);
  const std::string spread = spread_text(worst.summary, worst.metric->unit);
  if (!spread.empty()) out += " " + spread;
  const std::string at =
      point_text(worst.record->params, varying_params(worst.document->records), {});
  if (!at.empty()) out += " at " + terminal_safe(at);
  if (worst.metric->ceiling && worst.metric->ceiling->value > 0)
    out += fmt::format(", {:.0f} % of ceiling",
                       worst.summary.median / worst.metric->ceiling->value * 100);
  return out;
}

std::string count_text(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

size_t failed_checks(const std::vector<const Document*>& documents) {
  size_t failed = 0;
  for (const Document* document : documents) {
    for (const Record& record : document->records) {
      for (const Check& check : record.checks) failed += check.passed ? 0 : 1;
    }
  }
  return failed;
}

std::vector<MetricRule> metric_rules(const Profile& profile, const std::string& step) {
  std::vector<MetricRule> out;
  for (const Criterion& c : profile.criteria) {
    const auto* rule = std::get_if<MetricRule>(&c.rule);
    if (c.step == step && rule != nullptr) out.push_back(*rule);
  }
  return out;
}

std::string headline(const std::vector<const Document*>& documents,
                     const std::vector<MetricRule>& judged) {
  size_t checks = 0;
  std::set<std::string> hosts;
  for (const Document* document : documents) {
    hosts.insert(document->run.hosts.begin(), document->run.hosts.end());
    for (const Record& record : document->records) checks += record.checks.size();
  }
  const Worst worst = worst_of(documents, judged);
  std::string out = worst.metric == nullptr ? count_text(hosts.size(), "host") : figure(worst);
  if (worst.metric != nullptr && hosts.size() > 1)
    out += fmt::format(", worst of {} hosts: {}", hosts.size(),
                       terminal_safe(entity_name(worst.record->entities[worst.metric->entity])));
  if (checks > 0)
    out += fmt::format(", {}, {} wrong", count_text(checks, "check"), failed_checks(documents));
  return out;
}

}  // namespace cb
