#include "cli/measure_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/note_lines.h"
#include "cli/pair_matrix.h"
#include "core/spread.h"
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
  const bool latency = w.metric->better == Better::lower;
  std::vector<std::string> out{
      label,
      name,
      format_value(s.median, w.metric->unit),
      spread_text(s, w.metric->unit),
      format_value(latency ? s.p99 : s.p05, w.metric->unit),
      w.metric->ceiling ? fmt::format("{:.0f} %", s.median / w.metric->ceiling->value * 100) : "",
      fmt::format("{}{}", terminal_safe(entity_name(record.entities[w.metric->entity])),
                  w.entities > 1 ? fmt::format(" (of {})", w.entities) : "")};
  for (const std::string& fact : facts) {
    const auto found = record.facts.find(fact);
    out.push_back(found == record.facts.end() ? "" : terminal_safe(found->second.text()));
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
      out += fmt::format("✗ {}{}{} {} {}\n", terminal_safe(label), label.empty() ? "" : " ",
                         terminal_safe(entity_name(record.entities[c.entity])),
                         terminal_safe(c.name), terminal_safe(c.detail.text()));
  }
  return out;
}

// How far each rank had come, a line each: of a long list, the head.
std::string lines_until_the_error(const Record& record) {
  constexpr size_t kShown = 8;
  const auto fact = record.facts.find("until_the_error");
  if (fact == record.facts.end()) return "";
  std::string out;
  std::string_view rest = fact->second.text();
  for (size_t shown = 0; !rest.empty(); ++shown) {
    if (shown == kShown)
      return out + "  until then: the other ranks are in the JSON record (until_the_error)\n";
    const std::string_view one = rest.substr(0, rest.find("; "));
    rest.remove_prefix(std::min(rest.size(), one.size() + 2));
    out += fmt::format("  until then: {}\n", terminal_safe(one));
  }
  return out;
}

// Why a record has no figures; nothing of one that was measured.
std::string without_figures(const Record& record) {
  if (const auto* e = std::get_if<Errored>(&record.outcome))
    return fmt::format("{}: {}\n", terminal_safe(e->where), terminal_safe(e->what.text())) +
           lines_until_the_error(record);
  if (const auto* s = std::get_if<Skipped>(&record.outcome))
    return fmt::format("skipped: {}\n", terminal_safe(s->reason.text()));
  return "";
}

// Records that have no figures for one and the same reason, as both directions of a run have, with
// the labels of all of them.
class Missing {
 public:
  void add(const Record& record, const std::string& label) {
    const std::string why = without_figures(record);
    if (why.empty()) return;
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const MissingRow& row) { return row.why == why; });
    if (found == rows_.end())
      rows_.push_back(
          {std::holds_alternative<Skipped>(record.outcome) ? "–" : kFailed, label, why});
    else if (!label.empty())
      found->labels += (found->labels.empty() ? "" : ", ") + label;
  }
  bool failed() const {
    return std::ranges::any_of(
        rows_, [](const MissingRow& row) { return row.mark == std::string_view(kFailed); });
  }
  std::string text() const {
    std::string out;
    for (const MissingRow& row : rows_)
      out += fmt::format("{} {}{}{}", row.mark, row.labels, row.labels.empty() ? "" : " ", row.why);
    return out;
  }

 private:
  static constexpr const char* kFailed = "✗";
  struct MissingRow {
    std::string mark, labels, why;
  };
  std::vector<MissingRow> rows_;
};

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
  Missing missing;
  size_t checks = 0, measured = 0;
  std::vector<LabelledNote> notes;
  for (const Record& r : document.records) {
    const std::string label = terminal_safe(point(info, r, names));
    for (const std::string& name : metric_names(r)) rows.push_back(row(r, label, name, facts));
    missing.add(r, label);
    failures += failed_checks(info, r, label);
    if (const std::string matrix = info.device == "gpu" ? pair_matrix(r) : ""; !matrix.empty())
      matrices += (label.empty() ? "" : label + "\n") + matrix;
    checks += static_cast<size_t>(std::count_if(r.checks.begin(), r.checks.end(),
                                                [&](const Check& c) { return counts(info, c); }));
    measured += std::holds_alternative<Measured>(r.outcome) ? 1 : 0;
    for (const Said& note : r.notes)
      notes.push_back({static_cast<size_t>(&r - document.records.data()), label, note});
  }
  std::string out =
      fmt::format("{} on {} host{}, {} rank{}\n", info.name, document.run.hosts.size(),
                  document.run.hosts.size() == 1 ? "" : "s", document.run.ranks,
                  document.run.ranks == 1 ? "" : "s");
  if (rows.size() > 1) out += text_table(rows, to_the_right);
  out += matrices + missing.text() + failures;
  // No mark of success below a failure.
  if (failures.empty() && !missing.failed() && checks > 0)
    out += fmt::format("✓ {} check{}, none failed\n", checks, checks == 1 ? "" : "s");
  return out + note_lines(notes, measured);
}

std::string failed_check_lines(const Document& document, const CaseInfo& info) {
  const std::set<std::string> names = varying_params(document.records);
  std::string out;
  for (const Record& r : document.records) out += failed_checks(info, r, point(info, r, names));
  return out;
}

std::string suspect_lines(const Document& document) {
  std::string out;
  size_t findings = 0;
  for (const Record& r : document.records) {
    for (const Check& c : r.checks) {
      findings += c.finding;
      if (!c.finding || c.passed) continue;
      const std::string part = entity_name(r.entities.at(c.entity)), what = c.detail.text();
      const bool named = what.find(part) != std::string::npos;
      out += "suspect: " + terminal_safe(named ? what : part + ": " + what) + "\n";
    }
  }
  return findings > 0 && out.empty() ? "suspects: none\n" : out;
}

}  // namespace cb
