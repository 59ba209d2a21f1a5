// `clusterbench bundle DIR`: packs a campaign into one archive; the bytes do not depend on who
// packs it.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "campaign/bundle.h"
#include "cli/commands.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

struct BundleOptions {
  std::string directory;
  std::string out;
};

ExitCode bundle(const BundleOptions& options) {
  std::filesystem::path directory = options.directory;
  if (!directory.has_filename()) directory = directory.parent_path();  // "out/x/" becomes "out/x"
  const std::string out = options.out.empty() ? directory.string() + ".tar" : options.out;
  bundle_campaign(directory, out);
  std::cout << terminal_safe(fmt::format("{}  {}", sha256_hex_of_file(out), out)) << '\n';
  return ExitCode::ok;
}

}  // namespace

void add_bundle_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("bundle", "pack a campaign for archiving, reproducibly");
  const auto options = std::make_shared<BundleOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Prints the archive's sha256: the same campaign gives the same bytes, wherever it is "
      "packed.\n"
      "Example:\n  clusterbench bundle out/acceptance --out acceptance.tar.gz");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("--out", options->out, "the archive, .tar or .tar.gz; default DIR.tar")
      ->type_name("FILE");
  sub->callback([&action, options] { action = [options] { return bundle(*options); }; });
}

}  // namespace cb
