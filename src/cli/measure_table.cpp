#include "cli/measure_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/pair_matrix.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

// Parameters that differ between the records, and so name the rows.
std::set<std::string> varying_params(const std::vector<Record>& records) {
  std::set<std::string> out;
  for (const Record& r : records) {
    for (const auto& [name, values] : r.params.all()) {
      const auto& first = records.front().params.all();
      const auto found = first.find(name);
      if (found == first.end() || found->second != values) out.insert(name);
    }
  }
  return out;
}

std::string param_text(const CaseInfo& info, const std::string& name, const ParamValue& value) {
  const auto def = std::find_if(info.params.begin(), info.params.end(),
                                [&](const ParamDef& d) { return d.name == name; });
  const bool is_size = def != info.params.end() && def->type == ParamType::size &&
                       std::holds_alternative<int64_t>(value);
  return is_size ? format_size(std::get<int64_t>(value)) : to_text(value);
}

std::string point(const CaseInfo& info, const Record& record, const std::set<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const auto found = record.params.all().find(name);
    if (found == record.params.all().end()) continue;
    for (const ParamValue& v : found->second) out.push_back(param_text(info, name, v));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

struct Worst {
  const Metric* metric = nullptr;
  double median = 0;
  size_t entities = 0;
};

std::vector<std::string> metric_names(const Record& record) {
  std::vector<std::string> out;
  for (const Metric& m : record.metrics) {
    if (std::find(out.begin(), out.end(), m.name) == out.end()) out.push_back(m.name);
  }
  return out;
}

Worst worst_of(const Record& record, const std::string& name) {
  Worst worst;
  for (const Metric& m : record.metrics) {
    if (m.name != name) continue;
    const double median = m.samples.summary().median;
    ++worst.entities;
    const bool worse = m.better == Better::higher ? median < worst.median : median > worst.median;
    if (worst.metric == nullptr || worse) {
      worst.metric = &m;
      worst.median = median;
    }
  }
  return worst;
}

// Those of the case's facts that some record has.
std::vector<std::string> fact_columns(const std::vector<Record>& records, const CaseInfo& info) {
  std::vector<std::string> out = info.fact_columns;
  std::erase_if(out, [&](const std::string& name) {
    return std::none_of(records.begin(), records.end(),
                        [&](const Record& r) { return r.facts.contains(name); });
  });
  return out;
}

std::vector<std::string> row(const Record& record, const std::string& label,
                             const std::string& name, const std::vector<std::string>& facts) {
  const Worst w = worst_of(record, name);
  const Summary s = w.metric->samples.summary();
  const auto half_width = relative_half_width(s);
  const bool latency = w.metric->better == Better::lower;
  std::vector<std::string> out{
      label,
      name,
      format_value(s.median, w.metric->unit),
      half_width ? fmt::format("±{:.1f} %", *half_width * 100) : "",
      format_value(latency ? s.p99 : s.p05, w.metric->unit),
      w.metric->ceiling ? fmt::format("{:.0f} %", s.median / w.metric->ceiling->value * 100) : "",
      fmt::format("{}{}", terminal_safe(entity_name(record.entities[w.metric->entity])),
                  w.entities > 1 ? fmt::format(" (of {})", w.entities) : "")};
  for (const std::string& fact : facts) {
    const auto found = record.facts.find(fact);
    out.push_back(found == record.facts.end() ? "" : terminal_safe(found->second));
  }
  return out;
}

// Findings stand in lines of their own where a case prints suspects.
bool counts(const CaseInfo& info, const Check& check) {
  return !check.finding || !info.prints_suspects;
}

std::string failed_checks(const CaseInfo& info, const Record& record, const std::string& label) {
  std::string out;
  for (const Check& c : record.checks) {
    if (!c.passed && counts(info, c))
      out += fmt::format("✗ {} {} {} {}\n", terminal_safe(label),
                         terminal_safe(entity_name(record.entities[c.entity])),
                         terminal_safe(c.name), terminal_safe(c.detail));
  }
  return out;
}

}  // namespace

std::string measure_table(const Document& document, const CaseInfo& info) {
  if (document.records.empty()) return "";
  const std::set<std::string> names = varying_params(document.records);
  std::vector<std::vector<std::string>> rows{
      {"", "metric", "median", "95 % of median", "p05/p99", "of ceiling", "worst"}};
  const std::vector<std::string> facts = fact_columns(document.records, info);
  rows[0].insert(rows[0].end(), facts.begin(), facts.end());
  std::vector<bool> to_the_right{false, false, true, true, true, true, false};
  to_the_right.resize(rows[0].size(), false);
  std::string failures, matrices;
  size_t checks = 0;
  std::set<std::string> notes;
  for (const Record& r : document.records) {
    const std::string label = terminal_safe(point(info, r, names));
    for (const std::string& name : metric_names(r)) rows.push_back(row(r, label, name, facts));
    failures += failed_checks(info, r, label);
    if (const std::string matrix = info.device == "gpu" ? pair_matrix(r) : ""; !matrix.empty())
      matrices += (label.empty() ? "" : label + "\n") + matrix;
    checks += static_cast<size_t>(std::count_if(r.checks.begin(), r.checks.end(),
                                                [&](const Check& c) { return counts(info, c); }));
    notes.insert(r.notes.begin(), r.notes.end());
  }
  std::string out =
      fmt::format("{} on {} host{}, {} rank{}\n", info.name, document.run.hosts.size(),
                  document.run.hosts.size() == 1 ? "" : "s", document.run.ranks,
                  document.run.ranks == 1 ? "" : "s");
  if (rows.size() > 1) out += text_table(rows, to_the_right);
  out += matrices + failures;
  if (failures.empty() && checks > 0)
    out += fmt::format("✓ {} check{}, none failed\n", checks, checks == 1 ? "" : "s");
  for (const std::string& note : notes) out += "  " + terminal_safe(note) + "\n";
  return out;
}

std::string suspect_lines(const Document& document) {
  std::string out;
  size_t findings = 0;
  for (const Record& r : document.records) {
    for (const Check& c : r.checks) {
      findings += c.finding;
      if (c.finding && !c.passed) out += "suspect: " + terminal_safe(c.detail) + "\n";
    }
  }
  return findings > 0 && out.empty() ? "suspects: none\n" : out;
}

}  // namespace cb
