// `clusterbench side-by-side A B…`: figures of several campaigns in one table.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/documents_on_standard_output.h"
#include "cli/gate_cmd_lines.h"
#include "cli/judging.h"
#include "core/file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/side_by_side.h"
#include "report/csv.h"

namespace cb {
namespace {

struct SideOptions {
  std::vector<std::string> campaigns, cases;
  std::string csv;
  bool all = false;
};

using Cells = std::vector<std::vector<std::string>>;

bool wanted(const SideOptions& options, const SideRow& row) {
  const auto measured =
      std::ranges::count_if(row.figures, [](const auto& f) { return f.has_value(); });
  if (measured < 2 && !options.all) return false;
  const std::string name = row.case_name.substr(0, row.case_name.find(' '));
  return options.cases.empty() || std::ranges::find(options.cases, name) != options.cases.end();
}

// Without a figure: not asked for, failed, or wrong data. The campaign's verdict says which.
std::string figure_text(const std::optional<SideFigure>& figure, const SideRow& row) {
  if (!figure) return "no figure";
  std::string out = format_value(figure->typical, row.unit);
  if (figure->entities > 1)
    out += fmt::format(" (worst {})", format_value(figure->worst, row.unit));
  if (figure->share_of_ceiling) out += fmt::format(", {:.0f} %", *figure->share_of_ceiling * 100);
  return out;
}

// How many times the first campaign's figure the last one's is.
std::string ratio_text(const SideRow& row) {
  const auto& first = row.figures.front();
  const auto& last = row.figures.back();
  if (!first || !last || first->typical == 0) return "–";
  return fmt::format("{:.3g}", last->typical / first->typical);
}

// At most 26 are taken.
std::string letter(size_t index) { return std::string(1, static_cast<char>('A' + index)); }

std::string metric_text(const SideRow& row) {
  if (row.entity_kind == "cluster") return row.metric;
  return fmt::format("{} of each {}", row.metric, row.entity_kind);
}

std::string table_text(const SideOptions& options, const SideBySide& found) {
  std::vector<std::string> head{"", ""};
  std::vector<bool> right{false, false};
  for (size_t i = 0; i < options.campaigns.size(); ++i) {
    head.push_back(letter(i));
    right.push_back(true);
  }
  head.push_back(letter(options.campaigns.size() - 1) + "/A");
  right.push_back(true);
  Cells cells{head};
  for (const SideRow& row : found.rows) {
    if (!wanted(options, row)) continue;
    std::vector<std::string> line{
        terminal_safe(row.point.empty() ? row.case_name : row.case_name + ": " + row.point),
        terminal_safe(metric_text(row))};
    for (const auto& figure : row.figures) line.push_back(figure_text(figure, row));
    line.push_back(ratio_text(row));
    cells.push_back(std::move(line));
  }
  return cells.size() == 1 ? "" : text_table(cells, right);
}

std::string csv_text(const SideOptions& options, const SideBySide& found) {
  std::string out = "case,point,metric,entity,unit";
  for (const std::string& campaign : options.campaigns) {
    for (const char* what : {"median", "worst", "worst entity", "share of ceiling"})
      out += "," + csv_cell(fmt::format("{} {}", campaign, what));
  }
  out += "\r\n";
  for (const SideRow& row : found.rows) {
    if (!wanted(options, row)) continue;
    out += fmt::format("{},{},{},{},{}", csv_cell(row.case_name), csv_cell(row.point),
                       csv_cell(row.metric), csv_cell(row.entity_kind), csv_cell(row.unit));
    for (const auto& f : row.figures) {
      out += f ? fmt::format(",{},{},{},{}", f->typical, f->worst, csv_cell(f->worst_entity),
                             f->share_of_ceiling ? fmt::format("{}", *f->share_of_ceiling) : "")
               : ",,,,";
    }
    out += "\r\n";
  }
  return out;
}

void tell_differences(const SideBySide& found) {
  for (const SideDifference& d : found.differences) {
    std::string line = fmt::format("differs  {} {}:", d.case_name, d.param);
    for (size_t i = 0; i < d.values.size(); ++i)
      line += fmt::format(" {} {}", letter(i), d.values[i].empty() ? "–" : d.values[i]);
    std::cout << terminal_safe(line) << '\n';
  }
}

void require_known_cases(const SideOptions& options, const Catalogue& known) {
  std::vector<std::string> names;
  for (const CaseInfo& info : known) names.push_back(info.name);
  Problems problems;
  for (const std::string& name : options.cases) {
    if (std::ranges::find(names, name) == names.end())
      problems.add("--case", unknown_name(name, names));
  }
  if (!problems.empty()) throw UsageError("clusterbench side-by-side", problems);
}

// Directory, profile, hosts, day, verdict; of a soak what its figures are.
void tell_campaign(const std::string& name, const std::string& directory, const Campaign& c) {
  const Judgement judgement = judge_campaign(c, c.profile, {}, today_utc());
  std::cout << terminal_safe(fmt::format("{}  {}: {}, {} {}, {}, {}", name, directory,
                                         c.profile.name, c.hosts.size(),
                                         c.hosts.size() == 1 ? "host" : "hosts",
                                         c.started.substr(0, 10), verdict_line(judgement, false)))
            << '\n';
  if (c.profile.soak)
    std::cout << fmt::format(
        "   a soak: figures of its steps are those of the worst of {} cycles\n",
        c.profile.soak->cycles());
  for (const Said& doubt : c.warnings)
    std::cout << terminal_safe("   evidence is in doubt: " + doubt.text()) << '\n';
}

// Exit code 3: a campaign's evidence is in doubt, or there is nothing to set side by side.
ExitCode side_by_side_of(const SideOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench side-by-side", {options.csv});
  const Catalogue known = catalogue();
  require_known_cases(options, known);
  std::vector<Campaign> campaigns;
  for (const std::string& directory : options.campaigns) {
    refuse_writing_over_evidence(directory, {options.csv});
    campaigns.push_back(load_campaign(directory, known));
  }
  std::vector<std::vector<MetricGroup>> groups;
  for (size_t i = 0; i < campaigns.size(); ++i) {
    tell_campaign(letter(i), options.campaigns[i], campaigns[i]);
    groups.push_back(gather_metrics(campaigns[i], known));
  }
  const SideBySide found = side_by_side(groups);
  const std::string table = table_text(options, found);
  if (table.empty()) {
    std::cout << "nothing that two of these campaigns have measured\n";
    return ExitCode::incomplete;
  }
  std::cout << '\n' << table;
  tell_differences(found);
  std::cout << "\nEach figure is the median of all entities; the share is the worst one's of its "
               "ceiling. No figure: not asked for, failed, or wrong data; see gate. This table "
               "judges nothing.\n";
  if (!options.csv.empty()) write_file_atomically(options.csv, csv_text(options, found));
  const bool doubtful =
      std::ranges::any_of(campaigns, [](const Campaign& c) { return !c.warnings.empty(); });
  return doubtful ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace

void add_side_by_side_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("side-by-side", "figures of several campaigns in one table");
  const auto options = std::make_shared<SideOptions>();
  sub->group("Acceptance");
  sub->footer(
      "For clusters of different kinds: InfiniBand beside RoCE, two offers. Records meet by case, "
      "metric "
      "and the\nparameters that vary within a campaign; the others are listed where they differ. "
      "Of one "
      "cluster at two\ntimes see compare.\n"
      "Exit code: 0 a table; 3 nothing compares, or evidence is in doubt; 2 usage.\n"
      "Example:\n  clusterbench side-by-side out/infiniband out/roce --case verbs,nccl");
  sub->add_option("campaigns", options->campaigns, "directories of campaigns")
      ->required()
      ->expected(2, 26)
      ->type_name("DIR DIR…");
  sub->add_option("--case", options->cases, "these cases alone")
      ->delimiter(',')
      ->type_name("NAME,…");
  sub->add_flag("--all", options->all, "also what one of them alone has measured");
  sub->add_option("--csv", options->csv, "the table for a spreadsheet, SI units")
      ->type_name("FILE");
  sub->callback([&action, options] { action = [options] { return side_by_side_of(*options); }; });
}

}  // namespace cb
