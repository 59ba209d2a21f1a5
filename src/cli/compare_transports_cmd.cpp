// Compares RDMA with TCP, from the documents of `verbs` and `tcp`.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/commands.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/transports.h"

namespace cb {
namespace {

std::string shown(const std::optional<double>& value, const std::string& unit) {
  return value ? format_value(*value, unit) : "not measured";
}

// A bar whose length grows by two signs per factor of two, so that 1.5× and 100× fit on one page.
std::string factor_bar(double factor) {
  constexpr double kMax = 12;
  const auto length = static_cast<int>(std::clamp(std::log2(factor) * 2, 0.0, kMax * 2));
  std::string out;
  for (int i = 0; i < length; ++i) out += "▒";
  return out;
}

// Says "better" without reserve only where the difference exceeds the one between jobs of one kind.
std::string factor_text(const TransportRow& row, double factor) {
  const std::string text = factor >= 1 ? fmt::format("{:.3g}× better", factor)
                                       : fmt::format("{:.3g}× worse", 1 / factor);
  switch (row.verdict()) {
    case TransportVerdict::differ:
      return text;
    case TransportVerdict::no_difference:
      return "no different beyond noise";
    case TransportVerdict::one_job:
      return text + " (one job)";
  }
  return text;
}

std::string table(const std::vector<TransportRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"", "RDMA", "", "TCP", "", "RDMA is", ""}};
  for (const TransportRow& r : rows) {
    const auto factor = r.factor();
    cells.push_back({r.name, shown(r.rdma, r.unit), terminal_safe(r.rdma_point),
                     shown(r.tcp, r.unit), terminal_safe(r.tcp_point),
                     factor ? factor_text(r, *factor) : "", factor ? factor_bar(*factor) : ""});
  }
  return text_table(cells, {false, true, false, true, false, true, false});
}

ExitCode run(const std::vector<std::string>& files) {
  std::vector<std::vector<Record>> jobs;
  for (const std::string& file : files)
    jobs.push_back(parse_document(read_file(file), file).records);
  const std::vector<TransportRow> rows = compare_transports(jobs, catalogue());
  if (rows.empty())
    throw UsageError("clusterbench compare-transports", "FILE",
                     "no measured record of verbs or tcp in these documents");
  std::cout << table(rows);
  const bool told = std::ranges::none_of(
      rows, [](const TransportRow& r) { return r.verdict() == TransportVerdict::one_job; });
  if (!told)
    std::cout << "(one job): how much two jobs differ is not known; give documents of several\n";
  const bool whole =
      std::all_of(rows.begin(), rows.end(), [](const TransportRow& r) { return r.rdma && r.tcp; });
  return whole ? ExitCode::ok : ExitCode::incomplete;
}

}  // namespace

void add_compare_transports_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("compare-transports",
                                     "RDMA beside TCP: latency, bandwidth, CPU cost in one table");
  auto files = std::make_shared<std::vector<std::string>>();
  sub->add_option("FILE", *files,
                  "documents of verbs and tcp, of several jobs each to know what jobs differ by")
      ->required()
      ->type_name("FILE…");
  sub->group("Measurements");
  sub->footer("Example:\n  clusterbench compare-transports verbs.json tcp.json");
  sub->callback([&action, files] { action = [files] { return run(*files); }; });
}

}  // namespace cb
