// The files of `clusterbench compare`: JSON for machines, Markdown for the page of a job.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/compare_text.h"
#include "core/json/json_text.h"
#include "core/text.h"
#include "core/units.h"
#include "report/markdown.h"

namespace cb {
namespace {

using nlohmann::json;

json change_json(const Change& c) {
  json out{{"step", c.after->step->id},
           {"metric", c.after->metric},
           {"unit", c.after->unit},
           {"params", params_to_json(c.after->params)},
           {"entity", entity_name(*c.b->entity)},
           {"before", c.a->summary.median},
           {"after", c.b->summary.median},
           {"p", c.p},
           {"verdict", change_name(c.kind)}};
  if (std::isfinite(c.share)) out["change"] = c.share;
  if (*c.a->entity != *c.b->entity) out["entity_before"] = entity_name(*c.a->entity);
  return out;
}

json unmatched_json(const Unmatched& u) {
  json out{{"step", u.step},
           {"what", u.what},
           {"params", params_to_json(u.params)},
           {"entity", entity_name(u.entity)},
           {"lost", u.lost}};
  if (!u.reason.empty()) out["reason"] = u.reason;
  return out;
}

json check_json(const CheckChange& c) {
  return {{"step", c.step},
          {"check", c.check},
          {"params", params_to_json(c.params)},
          {"entity", entity_name(c.entity)},
          {"detail", c.detail},
          {"verdict", c.kind == ChangeKind::same ? "still fails" : change_name(c.kind)}};
}

json verdict_json(const VerdictChange& v) {
  json out{{"criterion", v.criterion}, {"verdict", change_name(v.kind)}};
  if (v.before) out["before"] = state_name(*v.before);
  if (v.after) out["after"] = state_name(*v.after);
  if (!v.reason.empty()) out["reason"] = v.reason;
  return out;
}

json said_texts(const std::vector<Said>& list) {
  json out = json::array();
  for (const Said& one : list) out.push_back(one.text());
  return out;
}

json hosts_json(const HostMatch& hosts) {
  json renamed = json::array(), exchanged = json::array();
  for (const MappedHost& pair : hosts.renamed)
    renamed.push_back({{"before", pair.before}, {"after", pair.after}, {"how", pair.how}});
  for (const ExchangedPart& part : hosts.exchanged)
    exchanged.push_back({{"what", part.what}, {"before", part.before}, {"after", part.after}});
  return {
      {"renamed", renamed}, {"exchanged", exchanged}, {"gone", hosts.gone}, {"new", hosts.fresh}};
}

std::string compare_row(std::initializer_list<std::string> cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + markdown_escape(cell) + " |";
  return out + "\n";
}

std::string markdown_table(const std::string& heading, const std::string& rows) {
  return rows.empty() ? "" : "\n" + heading + rows;
}

std::string verdict_rows(const Comparison& found) {
  std::string rows;
  const auto name = [](const std::optional<State>& s) { return s ? state_name(*s) : "–"; };
  for (const VerdictChange& v : found.verdicts)
    rows +=
        compare_row({change_name(v.kind), v.criterion, name(v.before), name(v.after), v.reason});
  return markdown_table("| change | criterion | before | after | why |\n|---|---|---|---|---|\n",
                        rows);
}

std::string check_rows(const Comparison& found) {
  std::string rows;
  for (const CheckChange& c : found.checks) {
    const char* what = c.kind == ChangeKind::worse  ? "fails now"
                       : c.kind == ChangeKind::same ? "still fails"
                                                    : "fails no more";
    rows += compare_row(
        {what, c.check, entity_name(c.entity), compare_point(c.step, c.params, c.info), c.detail});
  }
  return markdown_table("| check | name | of | at | what |\n|---|---|---|---|---|\n", rows);
}

std::string figure_rows(const Comparison& found) {
  std::string rows;
  for (const Change& c : found.changes) {
    if (c.kind == ChangeKind::same) continue;
    rows +=
        compare_row({change_name(c.kind),
                     std::isfinite(c.share) ? fmt::format("{:+.1f} %", c.share * 100) : "from 0",
                     format_value(c.a->summary.median, c.before->unit),
                     format_value(c.b->summary.median, c.after->unit), entity_name(*c.b->entity),
                     compare_point(c.after->step->id, c.after->params, c.after->info),
                     c.after->metric, fmt::format("{:.2g}", c.p)});
  }
  return markdown_table(
      "| change | by | before | after | of | at | figure | p |\n"
      "|---|---:|---:|---:|---|---|---|---:|\n",
      rows);
}

std::string missing_rows(const Comparison& found) {
  std::string rows;
  for (const Unmatched& u : found.missing)
    rows += compare_row({u.lost ? "lost" : "not asked for", u.what, entity_name(u.entity),
                         compare_point(u.step, u.params, u.info), u.reason});
  return markdown_table("| no longer measured | figure | of | at | why |\n|---|---|---|---|---|\n",
                        rows);
}

std::string host_rows(const Comparison& found) {
  std::string rows;
  for (const HostRow& r : compare_hosts_rows(found))
    rows += compare_row({r.host, std::to_string(r.worse), std::to_string(r.better),
                         std::to_string(r.undecided), std::to_string(r.lost),
                         std::to_string(r.checks)});
  return markdown_table(
      "| host | worse | better | undecided | lost | failing checks |\n"
      "|---|---:|---:|---:|---:|---:|\n",
      rows);
}

std::string difference_rows(const Comparison& found) {
  std::string rows;
  for (const Said& doubt : found.doubts_before)
    rows += compare_row({"evidence is in doubt", doubt.text(), ""});
  for (const Said& doubt : found.doubts_after)
    rows += compare_row({"evidence is in doubt", "", doubt.text()});
  for (const FingerprintDifference& d : found.fingerprint)
    rows += compare_row({d.what, d.before, d.after});
  for (const MappedHost& pair : found.hosts.renamed)
    rows += compare_row(
        {"host (" + pair.how + ")", pair.before, pair.after.empty() ? "gone" : pair.after});
  for (const ExchangedPart& part : found.hosts.exchanged)
    rows += compare_row({part.what, part.before, part.after});
  return markdown_table("| differs | before | after |\n|---|---|---|\n", rows);
}

}  // namespace

std::string compare_json(const Comparison& found) {
  json out = {
      {"schema", "clusterbench.compare/2"},
      {"overall",
       {{"before", state_name(found.overall_before)}, {"after", state_name(found.overall_after)}}},
      {"doubts",
       {{"before", said_texts(found.doubts_before)}, {"after", said_texts(found.doubts_after)}}},
      {"worse", found.worse()},
      {"hosts", hosts_json(found.hosts)},
      {"fingerprint", json::array()},
      {"changes", json::array()},
      {"checks", json::array()},
      {"criteria", json::array()},
      {"missing", json::array()},
      {"added", json::array()}};
  for (const FingerprintDifference& d : found.fingerprint)
    out["fingerprint"].push_back({{"what", d.what}, {"before", d.before}, {"after", d.after}});
  for (const Change& c : found.changes) out["changes"].push_back(change_json(c));
  for (const CheckChange& c : found.checks) out["checks"].push_back(check_json(c));
  for (const VerdictChange& v : found.verdicts) out["criteria"].push_back(verdict_json(v));
  for (const Unmatched& u : found.missing) out["missing"].push_back(unmatched_json(u));
  for (const Unmatched& u : found.added) out["added"].push_back(unmatched_json(u));
  return json_safe(dump_json(out));
}

std::string compare_markdown(const Comparison& found) {
  return fmt::format("## {}\n", compare_counts(found)) + verdict_rows(found) + check_rows(found) +
         missing_rows(found) + figure_rows(found) + host_rows(found) + difference_rows(found);
}

}  // namespace cb
