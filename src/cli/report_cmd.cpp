// `clusterbench report DIR`: writes the acceptance report of a campaign.
#include "cli/report_cmd.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/paperwork.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/documents_on_standard_output.h"
#include "cli/judging.h"
#include "cli/key_options.h"
#include "cli/offers.h"
#include "cli/report_page.h"
#include "core/file.h"
#include "core/text.h"
#include "report/html.h"
#include "report/markdown.h"

namespace cb {
namespace {

void write(const std::string& path, const std::string& text) {
  write_file_atomically(path, text);
  if (path != kStandardOutput) std::cout << terminal_safe(path) << '\n';
}

// A signature that cannot be read counts as a signature.
bool is_signed(const Paperwork& papers) {
  return !papers.signatures.signoffs.empty() || !papers.signatures.problems.empty();
}

}  // namespace

ExitCode write_reports(const ReportOptions& options) {
  const DocumentsOnStandardOutput guard(
      "clusterbench report", options.outputs.and_files({options.html, options.markdown}));
  const Campaign campaign = load_campaign(options.directory, catalogue());
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement =
      judge_campaign(campaign, campaign.profile, waivers, report_day(campaign));
  Paperwork papers = read_paperwork(options.directory);
  papers.signatures = verify_campaign(options.directory, trusted_keys(options.public_keys));
  if (!options.site.empty()) papers.site = parse_site(read_file(options.site), options.site);
  const Catalogue known = catalogue();
  const View view = build_view(campaign, judgement, known,
                               Texts(options.language == "zh" ? Lang::zh : Lang::en), papers);
  // Renders all texts before it writes the first file.
  const bool none = options.html.empty() && options.markdown.empty() && options.outputs.none();
  const std::string html_path = none ? (std::filesystem::path(options.directory) /
                                        (is_signed(papers) ? "report-signed.html" : "report.html"))
                                           .string()
                                     : options.html;
  refuse_writing_over_evidence(options.directory,
                               options.outputs.and_files({html_path, options.markdown}));
  const std::string html = html_path.empty() ? "" : render_html(view);
  const std::string markdown = options.markdown.empty() ? "" : render_markdown(view);
  for (const Said& warning : campaign.warnings)
    std::cerr << "clusterbench report: " << terminal_safe(warning.text()) << '\n';
  for (const std::string& problem : papers.signatures.problems)
    std::cerr << "clusterbench report: " << terminal_safe(problem) << '\n';
  for (const Said& note : campaign.notes)
    std::cerr << "clusterbench report: note: " << terminal_safe(note.text()) << '\n';
  std::cout << view.verdict_mark << ' ' << view.verdict << '\n';
  if (!html.empty()) write(html_path, html);
  if (!markdown.empty()) write(options.markdown, markdown);
  for (const std::string& file :
       write_outputs(options.outputs, campaign, judgement, papers.signatures))
    std::cout << terminal_safe(file) << '\n';
  std::cout << std::flush;
  return papers.signatures.problems.empty() ? ExitCode::ok : ExitCode::not_accepted;
}

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("report", "the acceptance report of a campaign");
  const auto options = std::make_shared<ReportOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Without a file to write it writes DIR/report.html, or DIR/report-signed.html beside "
      "signatures.\n"
      "Exit code: 0 written, 1 written, but a signature does not hold or is not by a listed key;\n"
      "2 usage, 4 it could not read or write.\n"
      "Example:\n  clusterbench report out/acceptance --html report.html --lang zh");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("--html", options->html, "write one self-contained page")->type_name("FILE");
  sub->add_option("--md", options->markdown, "write Markdown")->type_name("FILE");
  add_output_options(*sub, options->outputs);
  sub->add_option("--site", options->site, "project, contract and clauses; default DIR/site.json")
      ->type_name("FILE");
  sub->add_option("--waivers", options->waivers, "failures that the customer accepts for a while")
      ->type_name("FILE");
  sub->add_option("--public-key", options->public_keys,
                  "a key that has signed, PEM or OpenSSH (repeatable)")
      ->type_name("FILE");
  offer_only(sub->add_option("--lang", options->language, "language of HTML and Markdown: en, zh"),
             {"en", "zh"})
      ->capture_default_str();
  sub->callback([&action, options] { action = [options] { return write_reports(*options); }; });
}

}  // namespace cb
