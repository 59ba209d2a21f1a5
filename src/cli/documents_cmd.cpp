// Hidden subcommand: manual pages and completion, made of the definitions that the program parses
// with. Installation and packages call it.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/documents/completion.h"
#include "cli/documents/definition.h"
#include "cli/documents/man.h"
#include "cli/offers.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDocuments = "clusterbench documents";

struct DocumentsOptions {
  std::string kind;
  std::string out;
};

struct MadeFile {
  std::string name;
  std::string text;
};

// SOURCE_DATE_EPOCH (reproducible-builds.org) where it is set, so that two builds give the same
// bytes.
std::string day_of_build() {
  const char* told = std::getenv("SOURCE_DATE_EPOCH");
  const auto seconds = told == nullptr ? std::nullopt : parse_integer(told);
  const std::time_t at = seconds ? static_cast<std::time_t>(*seconds) : std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(at));
}

std::vector<MadeFile> manuals(const CommandPage& program) {
  const ManFacts facts{std::string(build_info().version), day_of_build()};
  std::vector<MadeFile> out{{program.name + ".1", program_manual(program, facts)}};
  for (const CommandPage& command : program.commands)
    out.push_back({fmt::format("{}-{}.1", program.name, command.name),
                   command_manual(program, command, facts)});
  return out;
}

// The files have the names by which a shell or man finds them.
std::vector<MadeFile> documents_of(const std::string& kind, const CommandPage& program) {
  if (kind == "man") return manuals(program);
  if (kind == "bash") return {{program.name, bash_completion(program)}};
  if (kind == "zsh") return {{"_" + program.name, zsh_completion(program)}};
  if (kind == "fish") return {{program.name + ".fish", fish_completion(program)}};
  throw UsageError(kDocuments, "KIND", unknown_name(kind, {"man", "bash", "zsh", "fish"}));
}

void write_documents(const std::vector<MadeFile>& documents, const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed)
    throw UsageError(kDocuments, "--out",
                     terminal_safe(directory.string()) + ": " + failed.message());
  for (const MadeFile& d : documents) write_file_atomically(directory / d.name, d.text);
}

ExitCode documents(CLI::App& app, const DocumentsOptions& o) {
  const std::vector<MadeFile> made = documents_of(o.kind, page_of(app));
  if (!o.out.empty()) {
    write_documents(made, o.out);
    return ExitCode::ok;
  }
  if (made.size() > 1)
    throw UsageError(kDocuments, "--out",
                     fmt::format("{} is {} files: name a directory", o.kind, made.size()));
  std::cout << made.front().text;
  return ExitCode::ok;
}

}  // namespace

void add_documents_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("documents", "manual pages and completion of the shells");
  const auto options = std::make_shared<DocumentsOptions>();
  sub->group("");
  sub->footer("Example:\n  clusterbench documents man --out share/man/man1");
  offer(sub->add_option("kind", options->kind, "man, bash, zsh or fish"),
        {"man", "bash", "zsh", "fish"})
      ->required()
      ->type_name("KIND");
  sub->add_option("--out", options->out, "write the files here; else to standard output")
      ->type_name("DIR");
  sub->callback(
      [&app, &action, options] { action = [&app, options] { return documents(app, *options); }; });
}

}  // namespace cb
