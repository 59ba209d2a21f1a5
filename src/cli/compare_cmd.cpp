// `clusterbench compare A B`: shows what has become worse since an earlier campaign.
#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/compare_text.h"
#include "cli/documents_on_standard_output.h"
#include "cli/gate_cmd_lines.h"
#include "core/file.h"
#include "core/text.h"
#include "judge/compare.h"

namespace cb {
namespace {

struct CompareOptions {
  std::string before, after, json, markdown, map_file;
  std::vector<std::string> map;
};

// The pairs of the command line and of the file. The file has one OLD=NEW per line; # begins a
// comment.
std::vector<MappedHost> host_map(const CompareOptions& options) {
  Problems problems;
  std::vector<MappedHost> out = parse_host_map(options.map, "--map", problems);
  if (!options.map_file.empty()) {
    std::istringstream lines(read_file(options.map_file));
    std::vector<std::string> texts;
    for (std::string line; std::getline(lines, line);) {
      line.erase(std::min(line.find('#'), line.size()));
      std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
      if (!line.empty()) texts.push_back(line);
    }
    for (MappedHost& pair : parse_host_map(texts, options.map_file, problems))
      out.push_back(std::move(pair));
  }
  if (!problems.empty()) throw UsageError("clusterbench compare", problems);
  return out;
}

Judgement own_judgement(const Campaign& campaign) {
  return judge(campaign, campaign.profile, {}, today_utc());
}

ExitCode compare(const CompareOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench compare", {options.json, options.markdown});
  for (const std::string& directory : {options.before, options.after})
    refuse_writing_over_evidence(directory, {options.json, options.markdown});
  const std::vector<MappedHost> map = host_map(options);
  const Campaign before = load_campaign(options.before, catalogue(), Keep::samples);
  const Campaign after = load_campaign(options.after, catalogue(), Keep::samples);
  const Catalogue known = catalogue();
  const auto groups_before = gather_metrics(before, known);
  const auto groups_after = gather_metrics(after, known);
  const Judgement judged_before = own_judgement(before), judged_after = own_judgement(after);
  const Comparison found = compare_campaigns({before, groups_before, judged_before},
                                             {after, groups_after, judged_after}, map);
  std::cout << compare_lines(found);
  if (!options.json.empty()) write_file_atomically(options.json, compare_json(found));
  if (!options.markdown.empty()) write_file_atomically(options.markdown, compare_markdown(found));
  return exit_code(found);
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("compare", "what has changed since an earlier campaign");
  const auto options = std::make_shared<CompareOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Hosts with other names are found by their serial numbers, or named with --map.\n"
      "Exit code: 0 nothing is worse; 1 something is: a figure, a check that fails now, a "
      "criterion,\n"
      "a part that is no longer measured; 3 something cannot be told: undecided, no longer asked\n"
      "for, nothing to compare, doubtful evidence; 2 usage.\n"
      "Example:\n  clusterbench compare out/march out/november --map node17=spare02 --json c.json");
  sub->add_option("before", options->before, "the earlier campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("after", options->after, "the later one's")->required()->type_name("DIR");
  sub->add_option("--map", options->map,
                  "a host with another name in the later one; OLD= for one that is gone on purpose")
      ->type_name("OLD=NEW")
      ->expected(1)
      ->take_all();
  sub->add_option("--map-file", options->map_file, "the same, one a line")->type_name("FILE");
  sub->add_option("--json", options->json, "write every comparison for machines")
      ->type_name("FILE");
  sub->add_option("--md", options->markdown, "write what changed as Markdown")->type_name("FILE");
  sub->callback([&action, options] { action = [options] { return compare(*options); }; });
}

}  // namespace cb
