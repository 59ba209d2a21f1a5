// One section per domain: the figures, their charts, how they were measured, the checks, and the
// steps without a figure.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/messages/looks.h"
#include "core/spread.h"
#include "core/units.h"
#include "judge/verdict_select.h"
#include "model/fabric/layout.h"
#include "model/optics/module_register.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr std::array<const char*, 8> kDomains{"host",    "compute", "memory",    "interconnect",
                                              "network", "storage", "stability", "training"};
constexpr size_t kMaxFigures = 24;  // charts per domain
constexpr size_t kMaxFailures = 20;

// Tells this group from the step's others: by the parameters in `shown`, which vary.
std::string point_text(const MetricGroup& group, const std::set<std::string>& shown) {
  std::string out = group.step->id;
  for (const auto& [name, values] : group.params.all()) {
    if (shown.contains(name)) out += " · " + param_text(group.info, name, values);
  }
  return out;
}

std::set<std::string> varying_params(const std::vector<const MetricGroup*>& groups) {
  std::set<std::string> out;
  for (const MetricGroup* group : groups) {
    for (const auto& [name, values] : group->params.all()) {
      const auto other = groups.front()->params.all().find(name);
      if (other == groups.front()->params.all().end() || other->second != values) out.insert(name);
    }
  }
  return out;
}

std::string interval_text(const Summary& summary, const std::string& unit) {
  const std::string spread = spread_text(summary, unit, "± ");
  return spread.empty() ? "–" : spread;
}

std::string share_text(double share) {
  return fmt::format("{:.{}f} %", share * 100, share < 0.0995 ? 1 : 0);
}

Row figure_row(const MetricGroup& group, const std::set<std::string>& shown, const Texts& t) {
  const MeasuredValue& worst = group.values[group.worst];
  const MeasuredValue& best = group.values[group.best];
  const auto& ceiling = worst.metric->ceiling;
  const bool several = group.values.size() > 1;
  return {{},
          {point_text(group, shown), metric_name(group.metric, t),
           format_value(worst.summary.median, group.unit), interval_text(worst.summary, group.unit),
           entity_name(*worst.entity), several ? format_value(group.typical, group.unit) : "–",
           several ? format_value(best.summary.median, group.unit) : "–",
           ceiling && ceiling->value > 0 ? share_text(worst.summary.median / ceiling->value) : "–",
           fmt::format("{} × {}", group.values.size(), worst.summary.n)}};
}

bool is_judged(const ReportInput& in, const MetricGroup& group) {
  return std::ranges::any_of(in.campaign.profile.criteria, [&](const Criterion& c) {
    const auto* rule = std::get_if<MetricRule>(&c.rule);
    return rule != nullptr && c.step == group.step->id && rule->metric == group.metric &&
           !rule->at.empty() && matches(group.params, rule->at);
  });
}

// Of a sweep, shows the first point, the last one, and those that a criterion names. The sweep's
// chart shows all points.
std::vector<const MetricGroup*> shown_points(const ReportInput& in,
                                             const std::vector<const MetricGroup*>& groups) {
  std::set<const MetricGroup*> shown;
  std::map<std::pair<std::string, std::string>, std::vector<const MetricGroup*>> by_metric;
  for (const MetricGroup* g : groups) by_metric[{g->metric, g->entity_kind}].push_back(g);
  for (const auto& [unused, same] : by_metric) {
    const SweepsAndPoints found = find_sweeps(same);
    shown.insert(found.points.begin(), found.points.end());
    for (const Sweep& sweep : found.sweeps) {
      for (const MetricGroup* g : sweep.points) {
        if (g == sweep.points.front() || g == sweep.points.back() || is_judged(in, *g))
          shown.insert(g);
      }
    }
  }
  std::vector<const MetricGroup*> out;
  std::ranges::copy_if(groups, std::back_inserter(out),
                       [&](const MetricGroup* g) { return shown.contains(g); });
  return out;
}

std::vector<const MetricGroup*> groups_of(const ReportInput& in, const Step& step) {
  std::vector<const MetricGroup*> out;
  for (const MetricGroup& group : in.groups) {
    if (group.step == &step) out.push_back(&group);
  }
  return out;
}

Table figures_table(const ReportInput& in, const std::vector<const Step*>& steps) {
  const Texts& t = in.t;
  Table table{.caption = t("figures.caption"),
              .columns = {{t("col.point")},
                          {t("col.metric")},
                          {t("col.worst_value"), true},
                          {t("col.interval"), true},
                          {t("col.worst")},
                          {t("col.median"), true},
                          {t("col.best"), true},
                          {t("col.of_ceiling"), true},
                          {t("col.samples"), true}}};
  for (const Step* step : steps) {
    const auto groups = groups_of(in, *step);
    const auto shown = varying_params(groups);
    for (const MetricGroup* group : shown_points(in, groups))
      table.rows.push_back(figure_row(*group, shown, t));
  }
  return table;
}

std::vector<Said> each_once(const std::vector<Said>& notes) {
  std::vector<Said> out;
  for (const Said& note : notes)
    if (std::ranges::find(out, note) == out.end()) out.push_back(note);
  return out;
}

// The facts of the records; if values differ, each with the number of records that have it.
Items method_items(const ReportInput& in, const std::vector<const Step*>& steps) {
  Items out;
  for (const Step* step : steps) {
    std::map<std::string, std::map<Said, size_t>> facts;
    std::vector<Said> notes;
    size_t records = 0;
    for (const Job& job : in.campaign.jobs) {
      if (job.step != step->id || !job.document) continue;
      for (const Record& record : job.document->records) {
        ++records;
        for (const auto& [name, value] : record.facts) {
          // These are drawn, and listed in the asset register.
          if (name != kLayoutFact && name != kModuleRegisterFact) ++facts[name][value];
        }
        for (const Said& note : record.notes) {
          const std::string& id = note.message().id;
          // The soak's page has its events, and says where a reading was not whole.
          if (id == "events.kernel" || id == "events.boot" || id == "events.log") continue;
          notes.push_back(note);
        }
      }
    }
    for (const auto& [name, values] : facts) {
      std::vector<std::string> texts;
      for (const auto& [english, n] : values) {
        const std::string value = english.in(in.t.lang());
        texts.push_back(n == records ? value : in.t("method.some", value, n, records));
      }
      out.lines.push_back(
          in.t("method.fact", step->id, shown_name("fact", name, in.t), name_list(texts, 6, in.t)));
    }
    for (const Said& note : each_once(looks_added_up(std::move(notes))))
      out.lines.push_back(in.t("method.note", step->id, note.in(in.t.lang())));
  }
  return out;
}

// The checks of one name in one step, over all records.
struct CheckCount {
  size_t passed = 0;
  size_t all = 0;
  std::vector<std::string> failures;
};

std::map<std::string, CheckCount> count_checks(const Campaign& campaign, const Step& step,
                                               Lang lang) {
  std::map<std::string, CheckCount> out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      for (const Check& check : record.checks) {
        CheckCount& count = out[check.name];
        ++count.all;
        count.passed += check.passed ? 1 : 0;
        if (!check.passed)
          count.failures.push_back(entity_name(record.entities.at(check.entity)) +
                                   (check.detail.empty() ? "" : ": " + check.detail.in(lang)));
      }
    }
  }
  return out;
}

Table checks_table(const ReportInput& in, const std::vector<const Step*>& steps) {
  const Texts& t = in.t;
  Table table{.caption = t("checks.caption"),
              .columns = {{t("col.result")},
                          {t("col.step")},
                          {t("col.check")},
                          {t("col.passed"), true},
                          {t("col.failures")}}};
  for (const Step* step : steps) {
    for (const auto& [name, count] : count_checks(in.campaign, *step, in.t.lang())) {
      const State state = count.passed == count.all ? State::pass : State::fail;
      std::string failures;
      for (size_t i = 0; i < std::min(count.failures.size(), kMaxFailures); ++i)
        failures += (i > 0 ? "; " : "") + count.failures[i];
      if (count.failures.size() > kMaxFailures)
        failures += " " + t("list.more", count.failures.size() - kMaxFailures);
      table.rows.push_back(
          {state,
           {state_cell(state, t), step->id, shown_name("checked", name, t),
            t("checks.passed", count.passed, count.all), failures.empty() ? "–" : failures}});
    }
  }
  return table;
}

// The steps of this domain that gave no number.
Items absent_items(const ReportInput& in, const std::vector<const Step*>& steps) {
  Items out;
  for (const Step* step : steps) {
    if (!groups_of(in, *step).empty()) continue;
    const bool has_checks = !count_checks(in.campaign, *step, in.t.lang()).empty();
    const bool has_record = std::ranges::any_of(in.campaign.jobs, [&](const Job& job) {
      return job.step == step->id && job.document &&
             std::ranges::any_of(job.document->records, &Record::measured);
    });
    if (has_checks || has_record) continue;
    const bool not_applicable = std::ranges::any_of(in.campaign.jobs, [&](const Job& job) {
      return job.step == step->id && job.state == JobState::not_applicable;
    });
    out.lines.push_back(
        in.t(not_applicable ? "domain_text.step_na" : "domain_text.step_absent", step->id));
  }
  return out;
}

void add_figures(Section& section, const ReportInput& in, const std::vector<const Step*>& steps) {
  Figures figures;
  size_t left_out = 0;
  for (const Step* step : steps) {
    for (Figure& figure : step_figures(in, *step)) {
      if (figures.list.size() < kMaxFigures) {
        figures.list.push_back(std::move(figure));
      } else {
        ++left_out;
      }
    }
  }
  if (!figures.list.empty()) section.blocks.emplace_back(std::move(figures));
  if (left_out > 0)
    section.blocks.emplace_back(Paragraph{in.t.count("figures.left_out", left_out)});
}

Section domain_section(const ReportInput& in, const std::string& domain,
                       const std::vector<const Step*>& steps) {
  const Texts& t = in.t;
  Section out{domain_name(domain, t), {}};
  Table figures = figures_table(in, steps);
  if (figures.rows.empty()) {
    out.blocks.emplace_back(Paragraph{t("domain_text.no_figures")});
  } else {
    const size_t shown = figures.rows.size();
    out.blocks.emplace_back(std::move(figures));
    const auto all = static_cast<size_t>(std::ranges::count_if(
        in.groups, [&](const MetricGroup& group) { return group.domain == domain; }));
    if (shown < all) out.blocks.emplace_back(Paragraph{t("figures.sweep")});
    add_figures(out, in, steps);
  }
  for (const Step* step : steps) {
    for (Figure& picture : fabric_figures(in, *step)) {
      Figures alone;
      alone.list.push_back(std::move(picture));
      out.blocks.emplace_back(std::move(alone));
    }
  }
  Items absent = absent_items(in, steps);
  if (!absent.lines.empty()) out.blocks.emplace_back(std::move(absent));
  Table checks = checks_table(in, steps);
  if (!checks.rows.empty()) out.blocks.emplace_back(std::move(checks));
  Items method = method_items(in, steps);
  if (!method.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("method.heading")});
    out.blocks.emplace_back(std::move(method));
  }
  return out;
}

}  // namespace

std::vector<Section> domain_sections(const ReportInput& in) {
  std::map<std::string, std::vector<const Step*>> steps;
  std::vector<std::string> order(kDomains.begin(), kDomains.end());
  for (const auto* list : {&in.campaign.profile.steps, &in.campaign.drills}) {
    for (const Step& step : *list) {
      const std::string domain = domain_of(in.campaign, step, in.catalogue);
      steps[domain].push_back(&step);
      if (std::ranges::find(order, domain) == order.end()) order.push_back(domain);
    }
  }
  std::vector<Section> out;
  for (const std::string& domain : order) {
    // The hosts have their own section; this one would only say that they have no figures.
    const bool silent = domain == "host" && std::ranges::none_of(in.groups, [](const auto& g) {
                          return g.domain == "host";
                        });
    if (steps.contains(domain) && !silent)
      out.push_back(domain_section(in, domain, steps.at(domain)));
  }
  return out;
}

}  // namespace cb
