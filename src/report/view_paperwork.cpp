// What people add to the figures: scope and basis, what was checked by hand, issues, and a sheet
// per test.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxIssues = 300;

// True if the parties have named a standard; without that the report claims none.
bool names_standard(const ReportInput& in) {
  return in.papers.site && !in.papers.site->standard.empty();
}

// The item in section 7 (methods of evaluation) of GB/T 46346-2025, by its table of contents.
std::string standard_item(const ReportInput& in, const std::string& domain) {
  const std::string id = "standard." + domain;
  return has_text(id) ? in.papers.site->standard + " §7 " + in.t(id) : "–";
}

std::string clause_of(const ReportInput& in, const Criterion& c) {
  if (in.papers.site) {
    for (const std::string& key : {c.id, c.domain}) {
      const auto found = in.papers.site->clauses.find(key);
      if (found != in.papers.site->clauses.end()) return found->second;
    }
  }
  return c.source.kind == "contract" ? local(c.source.ref, in.t.lang()) : "–";
}

std::string basis_text(const ReportInput& in, const Criterion& c) {
  const std::string clause = clause_of(in, c), ref = local(c.source.ref, in.t.lang());
  std::string out = names_standard(in) ? standard_item(in, c.domain) : "";
  for (const std::string& part : {clause, ref}) {
    if (part.empty() || part == "–" || out.ends_with(part)) continue;
    out += (out.empty() ? "" : "; ") + part;
  }
  return out;
}

Table pairs_table(std::string caption, const Texts& t,
                  const std::vector<std::pair<std::string, std::string>>& rows) {
  Table out{.caption = std::move(caption),
            .columns = {{t("col.item")}, {t("col.content")}},
            .pairs = true};
  for (const auto& [name, value] : rows) {
    if (!value.empty()) out.rows.push_back({{}, {name, value}});
  }
  return out;
}

std::string expected_text(const CriterionVerdict& v, const ReportInput& in) {
  const auto* rule = std::get_if<MetricRule>(&v.criterion->rule);
  const std::string required = required_text(v, in);
  return rule == nullptr ? required : metric_name(rule->metric, in.t) + " " + required;
}

std::string measured_text(const CriterionVerdict& v, const Texts& t) {
  if (!v.value && v.worst && v.state == State::fail)
    return t("sheet.wrong", entity_name(*v.worst), v.entities);
  if (!v.value || !v.worst) return value_text(v, t);
  const bool counts = !std::holds_alternative<MetricRule>(v.criterion->rule);
  if (counts && *v.value == 0) return t("sheet.none_failed", value_text(v, t), v.entities);
  return t("sheet.measured", value_text(v, t), entity_name(*v.worst), v.entities);
}

// The command of the step's first job.
std::string command_of(const ReportInput& in, const std::string& step) {
  for (const Job& job : in.campaign.jobs) {
    if (job.step == step && !job.command.empty()) return shell_line(job.command);
  }
  return "–";
}

std::string needs_text(const Criterion& c, const Texts& t) {
  std::string out;
  for (const auto& [kind, n] : c.needs) {
    out += out.empty() ? "" : ", ";
    out += kind == "hosts_at_most" ? t("sheet.hosts_at_most", n)
                                   : fmt::format("{} × {}", n, shown_name("kind", kind, t));
  }
  return out.empty() ? t("sheet.no_needs") : out;
}

std::string waivers_text(const CriterionVerdict& v) {
  std::string out;
  for (const Waiver* w : v.waivers)
    out += (out.empty() ? "" : ", ") + w->id + " (" + w->ticket + ")";
  return out.empty() ? "–" : out;
}

// Adds the table of what each test rests on.
void add_basis(Section& out, const ReportInput& in) {
  const Texts& t = in.t;
  const bool standard = names_standard(in);
  Table basis{.caption = t("scope.basis"), .columns = {{t("col.test")}, {t("col.domain")}}};
  if (standard) basis.columns.push_back({t("col.standard")});
  basis.columns.push_back({t("col.clause")});
  for (const Criterion& c : in.campaign.profile.criteria) {
    Row row{{}, {criterion_title(c, t), domain_name(c.domain, t)}};
    if (standard) row.cells.push_back(standard_item(in, c.domain));
    row.cells.push_back(clause_of(in, c));
    basis.rows.push_back(std::move(row));
  }
  if (basis.rows.empty()) return;
  out.blocks.emplace_back(std::move(basis));
  if (standard) out.blocks.emplace_back(Paragraph{t("scope.standard", in.papers.site->standard)});
}

}  // namespace

Section scope_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("scope.heading"), {}};
  if (in.papers.site) {
    const Site& s = *in.papers.site;
    out.blocks.emplace_back(pairs_table(t("scope.caption"), t,
                                        {{t("scope.project"), s.project},
                                         {t("scope.contract"), s.contract},
                                         {t("sign.supplier"), s.supplier},
                                         {t("sign.customer"), s.customer},
                                         {t("sign.supervisor"), s.supervisor},
                                         {t("scope.location"), s.location},
                                         {t("scope.version"), s.version},
                                         {t("scope.scope"), s.scope}}));
  }
  add_basis(out, in);
  return out;
}

Section checklist_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("checklist.heading"), {}};
  Table table{.caption = t("checklist.caption"),
              .columns = {{t("col.number")},
                          {t("col.domain")},
                          {t("col.item")},
                          {t("col.checked")},
                          {t("col.by")},
                          {t("col.remark")}}};
  for (const ChecklistItem& item : in.campaign.profile.checklist) {
    const auto found = std::ranges::find(in.papers.checklist, item.id, &ChecklistEntry::item);
    const ChecklistEntry* entry = found == in.papers.checklist.end() ? nullptr : &*found;
    const std::string result = entry == nullptr ? "" : entry->result;
    table.rows.push_back({{},
                          {item.id, domain_name(item.domain, t), local(item.text, t.lang()),
                           result.empty()                ? t("checklist.box")
                           : has_text("state." + result) ? t("state." + result)
                                                         : result,
                           entry == nullptr ? "" : entry->by + ", " + entry->at.substr(0, 10),
                           entry == nullptr ? "" : entry->remark}});
  }
  if (!table.rows.empty()) out.blocks.emplace_back(std::move(table));
  return out;
}

Section issues_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("issues.heading"), {}};
  if (in.papers.issues.empty()) return out;
  Table table{.caption = t("issues.caption"),
              .columns = {{t("col.number")},
                          {t("col.found")},
                          {t("col.where_sn")},
                          {t("col.symptom")},
                          {t("col.severity")},
                          {t("col.owner")},
                          {t("col.action")},
                          {t("col.replaced")},
                          {t("col.status")}}};
  for (const Issue& i : in.papers.issues) {
    if (table.rows.size() == kMaxIssues) break;
    const std::string severity = "severity." + i.severity;
    table.rows.push_back(
        {i.closed.empty() ? State::warn : State::pass,
         {i.id, i.found.substr(0, 10),
          i.host + " " + i.part + (i.serial.empty() ? "" : " / " + i.serial),
          i.symptom.in(t.lang()) + (i.evidence.empty() ? "" : " (" + i.evidence + ")"),
          has_text(severity) ? t(severity) : i.severity, i.owner, i.action,
          i.old_part.empty() && i.new_part.empty() ? "–" : i.old_part + " → " + i.new_part,
          i.closed.empty() ? t("issues.open")
                           : t("issues.closed", i.closed.substr(0, 10), i.retest.substr(0, 16))}});
  }
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section sheets_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("sheet.heading"), {}};
  if (in.campaign.profile.criteria.empty()) return out;
  out.blocks.emplace_back(Paragraph{t("sheet.note")});
  for (const CriterionVerdict& v : in.judgement.criteria) {
    const Criterion& c = *v.criterion;
    out.blocks.emplace_back(pairs_table(c.id + " · " + criterion_title(c, t), t,
                                        {{t("sheet.purpose"), local(c.why, t.lang())},
                                         {t("sheet.basis"), basis_text(in, c)},
                                         {t("sheet.needs"), needs_text(c, t)},
                                         {t("sheet.command"), command_of(in, c.step)},
                                         {t("sheet.expected"), expected_text(v, in)},
                                         {t("sheet.result"), measured_text(v, t)},
                                         {t("sheet.verdict"), state_cell(v.state, t)},
                                         {t("sheet.waiver"), waivers_text(v)},
                                         {t("sheet.remark"), say_all(t.lang(), v.why)},
                                         {t("sheet.people"), t("sheet.blanks")}}));
  }
  return out;
}

}  // namespace cb
