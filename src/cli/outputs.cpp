#include "cli/outputs.h"

#include "bench/registry.h"
#include "core/file.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/prometheus.h"

namespace cb {

void add_output_options(CLI::App& sub, Outputs& outputs) {
  sub.add_option("--json", outputs.json, "write verdicts and figures for machines")
      ->type_name("FILE");
  sub.add_option("--csv", outputs.csv, "write every figure of every entity as a table")
      ->type_name("FILE");
  sub.add_option("--junit", outputs.junit, "write JUnit XML for a pipeline")->type_name("FILE");
  sub.add_option("--prom", outputs.prometheus,
                 "write series for node_exporter's textfile collector")
      ->type_name("FILE");
}

std::vector<std::string> write_outputs(const Outputs& outputs, const Campaign& campaign,
                                       const Judgement& judgement, const SignoffCheck& signatures) {
  std::vector<std::pair<std::string, std::string>> files;
  const Catalogue known = outputs.csv.empty() && outputs.json.empty() ? Catalogue() : catalogue();
  if (!outputs.json.empty())
    files.emplace_back(outputs.json, render_json(campaign, judgement, known, signatures));
  if (!outputs.csv.empty()) files.emplace_back(outputs.csv, render_csv(campaign, judgement, known));
  if (!outputs.junit.empty())
    files.emplace_back(outputs.junit, render_junit(campaign, judgement, signatures));
  if (!outputs.prometheus.empty())
    files.emplace_back(outputs.prometheus, render_prometheus(campaign, judgement, signatures));
  std::vector<std::string> names;
  for (const auto& [file, text] : files) {
    write_file_atomically(file, text);
    if (file != kStandardOutput) names.push_back(file);
  }
  return names;
}

}  // namespace cb
