// The pieces of which the view is built; one .cpp per piece.
#pragma once

#include <string>
#include <vector>

#include "judge/measured.h"
#include "report/view.h"

namespace cb {

// All that the pieces read.
struct ReportInput {
  const Campaign& campaign;
  const Judgement& judgement;
  const Catalogue& catalogue;
  const Texts& t;
  const Paperwork& papers;
  std::vector<MetricGroup> groups;
};

// The text in the report's language.
const std::string& local(const LocalText& text, Lang lang);

// "✗ fail"
std::string state_cell(State state, const Texts& t);
std::string domain_name(const std::string& domain, const Texts& t);
std::string metric_name(const std::string& metric, const Texts& t);
// A kind of part, a fact or a check ("kind", "fact", "checked"): in English by its name in the
// document.
std::string shown_name(const char* what, const std::string& name, const Texts& t);
std::string criterion_title(const Criterion& criterion, const Texts& t);
// "≥ 384 Gb/s", "≤ 412 µs", empty where there is no limit.
std::string limit_text(const CriterionVerdict& verdict);
// "≥ 95 % of ceiling", "≤ 120 % of the median of all"; empty where the rule's limits are absolute.
std::string share_text(const MetricRule& rule, const Texts& t);
// "node01, node02, node04 and 12 more"
std::string name_list(const std::vector<std::string>& names, size_t at_most, const Texts& t);
// What was measured and what is required; in words where nothing was, or no figure is meant.
std::string value_text(const CriterionVerdict& verdict, const Texts& t);
std::string required_text(const CriterionVerdict& verdict, const ReportInput& in);
// The verdicts, those that need attention first: fail, incomplete, warn, waived, pass, not
// applicable; within a state the smallest margin first.
std::vector<const CriterionVerdict*> worst_first(const Judgement& judgement);
// How far a value is inside its limit as a share of it: negative outside. Nothing without a limit.
std::optional<double> margin(const CriterionVerdict& verdict);
// The line of argv as a shell would take it.
std::string shell_line(const std::vector<std::string>& argv);

// Title, verdict, counterfactual, counts.
void fill_head(View& view, const ReportInput& in);
// Every part that fails and every host that was not measured, by host.
void add_suspects(Section& section, const ReportInput& in);
Section open_items_section(const ReportInput& in);
// Parts far behind their peers; no block where there is none.
Section outliers_section(const ReportInput& in);
// Which checks found a planted fault; no block where nobody asked.
Section proofs_section(const ReportInput& in);
Section requirements_section(const ReportInput& in);
// One per domain that has steps or criteria.
std::vector<Section> domain_sections(const ReportInput& in);
// The charts of one step's groups.
std::vector<Figure> step_figures(const ReportInput& in, const Step& step);
// What differs between the hosts.
void add_uniformity(Section& section, const ReportInput& in);
// One line per host whose inventory is known.
Table assets_table(const ReportInput& in);
Section hosts_section(const ReportInput& in);
Section jobs_section(const ReportInput& in);
Section waivers_section(const ReportInput& in);
Section scope_section(const ReportInput& in);
Section checklist_section(const ReportInput& in);
Section issues_section(const ReportInput& in);
// One sheet per criterion, as a test engineer signs it.
Section sheets_section(const ReportInput& in);
Section repeat_section(const ReportInput& in);
Section manifest_section(const ReportInput& in);
// The page that is signed; fill_head() comes before it.
void fill_signatures(View& view, const ReportInput& in);

}  // namespace cb
