// `clusterbench compare A B`: what has become slower since an earlier campaign.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/compare.h"
#include "bench/registry.h"
#include "campaign/load.h"
#include "cli/commands.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/text.h"
#include "core/units.h"
#include "report/markdown.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr size_t kMostLines = 40;

struct CompareOptions {
  std::string before, after, json, markdown;
};

std::string point_of(const MetricGroup& g) {
  std::string out = g.step->id;
  for (const char* name : {"size", "dtype", "op", "reduction", "block-size"}) {
    const auto found = g.params.all().find(name);
    if (found != g.params.all().end()) out += " " + param_text(g.info, name, found->second);
  }
  return out;
}

std::string line_of(const Change& c) {
  const char* mark = c.kind == ChangeKind::worse ? "✗" : c.kind == ChangeKind::better ? "✓" : "?";
  return terminal_safe(
      fmt::format("{} {:9} {:+.1f} %  {} → {}  {}  {} {}  p {:.2g}", mark, change_name(c.kind),
                  c.share * 100, format_value(c.a->summary.median, c.before->unit),
                  format_value(c.b->summary.median, c.after->unit), entity_name(*c.b->entity),
                  point_of(*c.after), c.after->metric, c.p));
}

json change_json(const Change& c) {
  return {{"step", c.after->step->id},
          {"metric", c.after->metric},
          {"unit", c.after->unit},
          {"params", params_to_json(c.after->params)},
          {"entity", entity_name(*c.b->entity)},
          {"before", c.a->summary.median},
          {"after", c.b->summary.median},
          {"change", c.share},
          {"p", c.p},
          {"verdict", change_name(c.kind)}};
}

std::string json_of(const Comparison& found) {
  json out = {{"schema", "clusterbench.compare/1"},
              {"fingerprint", json::array()},
              {"changes", json::array()},
              {"only_before", found.only_before},
              {"only_after", found.only_after}};
  for (const FingerprintDifference& d : found.fingerprint)
    out["fingerprint"].push_back({{"what", d.what}, {"before", d.before}, {"after", d.after}});
  for (const Change& c : found.changes) out["changes"].push_back(change_json(c));
  return dump_json(out);
}

std::string markdown_row(std::initializer_list<std::string> cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + markdown_escape(cell) + " |";
  return out + "\n";
}

std::string counts_line(const Comparison& found) {
  return fmt::format("{} compared: {} worse, {} better, {} undecided, {} same",
                     found.changes.size(), found.count(ChangeKind::worse),
                     found.count(ChangeKind::better), found.count(ChangeKind::undecided),
                     found.count(ChangeKind::same));
}

// For the page of a pipeline's job: what changed, what else differs, what has no counterpart.
std::string markdown_of(const Comparison& found) {
  std::string out = "## " + counts_line(found) + "\n";
  if (!found.fingerprint.empty()) out += "\n| differs | before | after |\n|---|---|---|\n";
  for (const FingerprintDifference& d : found.fingerprint)
    out += markdown_row({d.what, d.before, d.after});
  std::string rows;
  for (const Change& c : found.changes) {
    if (c.kind == ChangeKind::same) continue;
    rows +=
        markdown_row({change_name(c.kind), fmt::format("{:+.1f} %", c.share * 100),
                      format_value(c.a->summary.median, c.before->unit),
                      format_value(c.b->summary.median, c.after->unit), entity_name(*c.b->entity),
                      point_of(*c.after), c.after->metric, fmt::format("{:.2g}", c.p)});
  }
  if (!rows.empty())
    out +=
        "\n| change | by | before | after | of | at | figure | p |\n"
        "|---|---:|---:|---:|---|---|---|---:|\n" +
        rows;
  for (const std::string& name : found.only_before)
    out += "\n- no longer measured: " + markdown_escape(name);
  for (const std::string& name : found.only_after)
    out += "\n- not measured before: " + markdown_escape(name);
  return out + "\n";
}

void print(const Comparison& found) {
  for (const FingerprintDifference& d : found.fingerprint)
    std::cout << terminal_safe(fmt::format("! {} differs: {} → {}", d.what,
                                           d.before.empty() ? "absent" : d.before,
                                           d.after.empty() ? "absent" : d.after))
              << '\n';
  size_t lines = 0;
  for (const Change& c : found.changes) {
    if (c.kind == ChangeKind::same) continue;
    if (lines++ < kMostLines) std::cout << line_of(c) << '\n';
  }
  if (lines > kMostLines) std::cout << fmt::format("  and {} more\n", lines - kMostLines);
  for (const std::string& name : found.only_before)
    std::cout << "- no longer measured: " << terminal_safe(name) << '\n';
  for (const std::string& name : found.only_after)
    std::cout << "+ not measured before: " << terminal_safe(name) << '\n';
  std::cout << counts_line(found)
            << (found.fingerprint.empty() ? "" : "; the campaigns are not alike, see above")
            << '\n';
}

ExitCode compare(const CompareOptions& options) {
  const Campaign before = load_campaign(options.before);
  const Campaign after = load_campaign(options.after);
  const Catalogue known = catalogue();
  const auto groups_before = gather_metrics(before, known);
  const auto groups_after = gather_metrics(after, known);
  const Comparison found = compare_campaigns(before, groups_before, after, groups_after);
  print(found);
  if (!options.json.empty()) write_file_atomically(options.json, json_of(found));
  if (!options.markdown.empty()) write_file_atomically(options.markdown, markdown_of(found));
  if (found.count(ChangeKind::worse) > 0) return ExitCode::not_accepted;
  const bool open = found.count(ChangeKind::undecided) > 0 || !found.only_before.empty();
  return open || found.changes.empty() ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("compare", "what has changed since an earlier campaign");
  const auto options = std::make_shared<CompareOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 nothing is worse, 1 something is, 3 something is undecided or no longer\n"
      "measured, 2 usage.\n"
      "Example:\n  clusterbench compare out/march out/november --json compare.json");
  sub->add_option("before", options->before, "the earlier campaign's directory")
      ->required()
      ->type_name("A");
  sub->add_option("after", options->after, "the later one's")->required()->type_name("B");
  sub->add_option("--json", options->json, "write every comparison for machines")
      ->type_name("FILE");
  sub->add_option("--md", options->markdown, "write what changed as Markdown")->type_name("FILE");
  sub->callback([&action, options] { action = [options] { return compare(*options); }; });
}

}  // namespace cb
