#include "report/view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/units.h"
#include "report/view_parts.h"

namespace cb {
namespace {

int rank_of(State state) {
  switch (state) {
    case State::fail:
      return 0;
    case State::incomplete:
      return 1;
    case State::warn:
      return 2;
    case State::waived:
      return 3;
    case State::pass:
      return 4;
    case State::not_applicable:
      return 5;
  }
  return 5;
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-_=+./,:@%").find(c) != std::string_view::npos;
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Sections are numbered as they come; an empty one does not appear.
void append(View& view, Section section) {
  if (section.blocks.empty()) return;
  section.heading = fmt::format("{} {}", view.sections.size() + 1, section.heading);
  view.sections.push_back(std::move(section));
}

}  // namespace

const std::string& local(const LocalText& text, Lang lang) {
  return lang == Lang::zh && !text.zh.empty() ? text.zh : text.en;
}

std::string state_cell(State state, const Texts& t) {
  return std::string(state_mark(state)) + " " + t(std::string("state.") + state_name(state));
}

std::string domain_name(const std::string& domain, const Texts& t) {
  const std::string id = "domain." + domain;
  return has_text(id) ? t(id) : domain;
}

std::string metric_name(const std::string& metric, const Texts& t) {
  const std::string id = "metric." + metric;
  if (has_text(id)) return t(id);
  // Which sensor it is stands behind the name: "corrected_memory_errors mc0".
  if (const size_t blank = metric.find(' '); blank != std::string::npos)
    return metric_name(metric.substr(0, blank), t) + metric.substr(blank);
  std::string out = metric;
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string shown_name(const char* what, const std::string& name, const Texts& t) {
  const std::string id = std::string(what) + "." + name;
  return t.lang() != Lang::en && has_text(id) ? t(id) : name;
}

std::string criterion_title(const Criterion& criterion, const Texts& t) {
  const std::string& title = local(criterion.title, t.lang());
  return title.empty() ? criterion.id : title;
}

std::string share_text(const MetricRule& rule, const Texts& t) {
  std::string out;
  const auto add = [&](const char* sign, std::string_view text,
                       const std::optional<double>& share) {
    if (!share) return;
    out += (out.empty() ? "" : ", ") + std::string(sign) +
           t(text, fmt::format("{:.0f} %", *share * 100));
  };
  add("≥ ", "criteria.of_ceiling", rule.min_of_ceiling);
  add("≥ ", "criteria.of_fleet", rule.min_of_fleet);
  add("≤ ", "criteria.of_fleet", rule.max_of_fleet);
  return out;
}

std::string limit_text(const CriterionVerdict& verdict) {
  if (!verdict.limit) return "";
  return (verdict.limit_is_minimum ? "≥ " : "≤ ") + format_value(*verdict.limit, verdict.unit);
}

std::string name_list(const std::vector<std::string>& names, size_t at_most, const Texts& t) {
  std::string out;
  const size_t shown = names.size() <= at_most + 1 ? names.size() : at_most;
  for (size_t i = 0; i < shown; ++i) out += (i > 0 ? ", " : "") + names[i];
  if (shown < names.size()) out += " " + t("list.more", names.size() - shown);
  return out;
}

std::optional<double> margin(const CriterionVerdict& verdict) {
  if (!verdict.ratio) return std::nullopt;
  return verdict.limit_is_minimum ? *verdict.ratio - 1 : 1 - *verdict.ratio;
}

std::vector<const CriterionVerdict*> worst_first(const Judgement& judgement) {
  std::vector<const CriterionVerdict*> out;
  for (const CriterionVerdict& verdict : judgement.criteria) out.push_back(&verdict);
  const auto key = [](const CriterionVerdict* v) {
    return std::pair(rank_of(v->state),
                     margin(*v).value_or(std::numeric_limits<double>::infinity()));
  };
  std::ranges::stable_sort(out, {}, key);
  return out;
}

std::string shell_line(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

View build_view(const Campaign& campaign, const Judgement& judgement, const Catalogue& catalogue,
                const Texts& texts, const Paperwork& papers) {
  const ReportInput in{campaign, judgement, catalogue,
                       texts,    papers,    gather_metrics_and_drills(campaign, catalogue)};
  View view;
  fill_head(view, in);
  append(view, open_items_section(in));
  append(view, scope_section(in));
  append(view, requirements_section(in));
  append(view, excluded_section(in));
  append(view, proofs_section(in));
  append(view, soak_section(in));
  append(view, outliers_section(in));
  for (Section& section : domain_sections(in)) append(view, std::move(section));
  append(view, hosts_section(in));
  append(view, jobs_section(in));
  append(view, checklist_section(in));
  append(view, issues_section(in));
  append(view, repeat_section(in));
  append(view, manifest_section(in));
  append(view, sheets_section(in));
  append(view, waivers_section(in));
  fill_signatures(view, in);
  return view;
}

}  // namespace cb
