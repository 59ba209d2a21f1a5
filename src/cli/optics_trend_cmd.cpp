// `clusterbench optics-trend`: how modules change over documents of `optics`. Measures nothing.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/offers.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/messages/texts.h"
#include "core/text.h"
#include "judge/optics_trend.h"

namespace cb {
namespace {

struct TrendOptions {
  std::vector<std::string> files;
  std::string language = "en";
};

std::string days_text(const std::optional<double>& days, const Texts& t) {
  return days ? fmt::format("{:.0f}", *days) : t("trend.never");
}

std::vector<std::string> trend_row(const OpticsTrend& trend, const Texts& t) {
  const std::string interval =
      trend.interval ? fmt::format("{:+.3g} … {:+.3g}", (*trend.interval)[0], (*trend.interval)[1])
                     : t("trend.too_few");
  const std::string days = trend.fades() ? fmt::format("{} ({} … {})", days_text(trend.days, t),
                                                       days_text(trend.days_at_least, t),
                                                       days_text(trend.days_at_most, t))
                                         : "–";
  return {terminal_safe(entity_name(trend.module)),
          trend.figure,
          std::to_string(trend.points),
          fmt::format("{:+.3g}", trend.per_day),
          interval,
          days,
          trend.outdated  ? t("trend.outdated")
          : trend.fades() ? t("trend.pays")
                          : ""};
}

Document trend_document(const std::string& file) {
  Document out = parse_document(read_file(file), file, false);
  if (!seconds_since_epoch(out.run.started))
    throw UsageError("clusterbench optics-trend", file, said("trend.no_time", out.run.started));
  const bool any = std::ranges::any_of(out.records, [](const Record& record) {
    return std::ranges::any_of(record.entities, [](const Entity& e) { return e.kind == "module"; });
  });
  if (!any) throw UsageError("clusterbench optics-trend", file, said("trend.no_module"));
  return out;
}

ExitCode trend(const TrendOptions& options) {
  std::vector<Document> documents;
  for (const std::string& file : options.files) documents.push_back(trend_document(file));
  const std::vector<OpticsTrend> trends = optics_trends(documents);
  if (trends.empty())
    throw UsageError("clusterbench optics-trend", "FILE", said("trend.no_points"));
  const Texts t(options.language == "zh" ? Lang::zh : Lang::en);
  std::vector<std::vector<std::string>> rows{{t("trend.module"), t("trend.figure"),
                                              t("trend.points"), t("trend.per_day"), "95 %",
                                              t("trend.days"), ""}};
  bool fading = false, outdated = false;
  for (const OpticsTrend& one : trends) {
    fading = fading || one.fades();
    outdated = outdated || one.outdated;
    rows.push_back(trend_row(one, t));
  }
  std::cout << text_table(rows, {false, false, true, true, false, false, false});
  if (fading) return ExitCode::not_accepted;
  return outdated ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace

void add_optics_trend_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("optics-trend", "which optical modules fade, over documents of optics");
  const auto options = std::make_shared<TrendOptions>();
  sub->group("Measurements");
  sub->footer(
      "Exit code: 0 nothing fades, 1 something does, 3 the newest document has no light of a\n"
      "module that had some, 2 usage.\n"
      "Example:\n  clusterbench optics-trend may.json june.json july.json august.json today.json");
  sub->add_option("FILE", options->files, "documents of optics, at least three")
      ->required()
      ->type_name("FILE…");
  offer_only(sub->add_option("--lang", options->language, "language: en, zh"), {"en", "zh"})
      ->capture_default_str();
  sub->callback([&action, options] { action = [options] { return trend(*options); }; });
}

}  // namespace cb
