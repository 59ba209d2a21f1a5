// The pieces that the view is built of; one .cpp per piece.
#pragma once

#include <string>
#include <vector>

#include "judge/measured.h"
#include "report/view.h"

namespace cb {

// Everything that the pieces read.
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

// For example "✗ fail".
std::string state_cell(State state, const Texts& t);
std::string domain_name(const std::string& domain, const Texts& t);
std::string metric_name(const std::string& metric, const Texts& t);
// The name of a kind of part, a fact or a check (`what`: "kind", "fact", "checked"). The English
// name is the one in the document.
std::string shown_name(const char* what, const std::string& name, const Texts& t);
std::string criterion_title(const Criterion& criterion, const Texts& t);
// "≥ 384 Gb/s" or "≤ 412 µs"; empty if there is no limit.
std::string limit_text(const CriterionVerdict& verdict);
// "≥ 95 % of ceiling" or "≤ 120 % of the median of all"; empty if the rule's limits are absolute.
std::string share_text(const MetricRule& rule, const Texts& t);
// For example "node01, node02, node04 and 12 more".
std::string name_list(const std::vector<std::string>& names, size_t at_most, const Texts& t);
// What was measured, and what is required. In words if nothing was measured, or if the criterion
// has no figure.
std::string value_text(const CriterionVerdict& verdict, const Texts& t);
std::string required_text(const CriterionVerdict& verdict, const ReportInput& in);
// All verdicts, those that need attention first: fail, incomplete, warn, waived, pass, not
// applicable. Within a state, the smallest margin comes first.
std::vector<const CriterionVerdict*> worst_first(const Judgement& judgement);
// How far a value is inside its limit, as a share of the limit; negative outside. Nothing if there
// is no limit.
std::optional<double> margin(const CriterionVerdict& verdict);
// argv as one line for a shell.
std::string shell_line(const std::vector<std::string>& argv);

// Fills title, verdict, counterfactual and counts.
void fill_head(View& view, const ReportInput& in);
// Adds every part that fails and every host that was not measured, by host.
void add_suspects(Section& section, const ReportInput& in);
Section open_items_section(const ReportInput& in);
// Parts far behind their peers; no block if there are none.
Section outliers_section(const ReportInput& in);
// The checks that found a planted fault; no block if nobody asked for proofs.
Section proofs_section(const ReportInput& in);
// The soak: how long, what happened, what changed; no block if the campaign has none.
Section soak_section(const ReportInput& in);
// What a criterion on a soak as a whole requires, in words.
std::string soak_required_text(const SoakRule& rule, const Texts& t);
Section excluded_section(const ReportInput& in);
Section requirements_section(const ReportInput& in);
// One section per domain that has steps.
std::vector<Section> domain_sections(const ReportInput& in);
// The charts of one step.
std::vector<Figure> step_figures(const ReportInput& in, const Step& step);
// The pictures of the subnets that a step looked at, their findings marked by their verdicts.
std::vector<Figure> fabric_figures(const ReportInput& in, const Step& step);
// Adds what differs between the hosts.
void add_uniformity(Section& section, const ReportInput& in);
// One line per host with a known inventory.
Table assets_table(const ReportInput& in);
Section hosts_section(const ReportInput& in);
Section jobs_section(const ReportInput& in);
Section waivers_section(const ReportInput& in);
Section scope_section(const ReportInput& in);
Section checklist_section(const ReportInput& in);
Section issues_section(const ReportInput& in);
// One sheet per criterion, in the form that a test engineer signs.
Section sheets_section(const ReportInput& in);
Section repeat_section(const ReportInput& in);
Section manifest_section(const ReportInput& in);
// Fills the page to sign. Call fill_head() first.
void fill_signatures(View& view, const ReportInput& in);

}  // namespace cb
