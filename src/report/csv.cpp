#include "report/csv.h"

#include <fmt/format.h>

#include "core/text.h"
#include "judge/measured.h"

namespace cb {
namespace {

constexpr const char* kHeading =
    "step,case,domain,point,metric,unit,better,host,kind,id,peer,samples,median,min,p05,p95,p99,"
    "max,ceiling,state,limit\r\n";

// The record's parameters: "dtype bf16; size 8G".
std::string point_of(const MetricGroup& group) {
  std::string out;
  for (const auto& [name, values] : group.params.all())
    out += (out.empty() ? "" : "; ") + param_text(group.info, name, values);
  return out;
}

// Excel, LibreOffice and others execute a text that begins like this (OWASP, CSV injection). With
// East Asian settings they also accept the full-width characters.
bool begins_formula(std::string_view text) {
  for (const std::string_view sign : {"=", "+", "-", "@", "＝", "＋", "－", "＠"}) {
    if (text.starts_with(sign)) return true;
  }
  return false;
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

const std::string& metric_of(const Criterion& criterion) {
  static const std::string none;
  const auto* rule = std::get_if<MetricRule>(&criterion.rule);
  return rule == nullptr ? none : rule->metric;
}

// A criterion's row: its worst entity, that entity's value, and the limit.
std::string criterion_row(const CriterionVerdict& v) {
  const Entity where = v.worst.value_or(Entity{});
  return fmt::format(
      "verdict,{},{},{},{},{},{},{},{},{},{},,{},,,,,,{},{},{}\r\n", csv_cell(v.criterion->id),
      csv_cell(v.criterion->domain), csv_cell(v.at), csv_cell(metric_of(*v.criterion)),
      csv_cell(v.unit), v.limit_is_minimum ? "higher" : "lower", csv_cell(where.host),
      csv_cell(where.kind), csv_cell(where.id), csv_cell(where.peer.value_or("")), number(v.value),
      v.ceiling ? fmt::format("{}", v.ceiling->value) : "", state_name(v.state), number(v.limit));
}

std::string verdict_rows(const Judgement& judgement) {
  std::string out =
      fmt::format("verdict,,,{},,,,,,,,,,,,,,,,{},\r\n",
                  judgement.test_profile ? "test profile" : "", verdict_name(judgement));
  for (const CriterionVerdict& v : judgement.criteria) out += criterion_row(v);
  return out;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string safe = terminal_safe(text);
  if (begins_formula(safe)) safe.insert(0, "'");
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string render_csv(const Campaign& campaign, const Judgement& judgement,
                       const Catalogue& catalogue) {
  std::string out = kHeading;
  for (const Said& doubt : campaign.warnings)
    out += fmt::format("evidence,doubt,,{},,,,,,,,,,,,,,,,,\r\n", csv_cell(doubt.text()));
  out += verdict_rows(judgement);
  for (const MetricGroup& g : gather_metrics_and_drills(campaign, catalogue)) {
    const std::string head =
        fmt::format("{},{},{},{},{},{},{}", csv_cell(g.step->id), csv_cell(g.case_name),
                    csv_cell(g.domain), csv_cell(point_of(g)), csv_cell(g.metric), csv_cell(g.unit),
                    g.better == Better::higher ? "higher" : "lower");
    for (const MeasuredValue& v : g.values) {
      const Summary& s = v.summary;
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},,\r\n", head,
                         csv_cell(v.entity->host), csv_cell(v.entity->kind), csv_cell(v.entity->id),
                         csv_cell(v.entity->peer.value_or("")), s.n, s.median, s.min, s.p05, s.p95,
                         s.p99, s.max,
                         v.metric->ceiling ? fmt::format("{}", v.metric->ceiling->value) : "");
    }
  }
  return out;
}

}  // namespace cb
