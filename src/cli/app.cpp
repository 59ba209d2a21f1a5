// The table of contents of the command line: lists the subcommands and turns their failures into
// exit codes.
#include "cli/app.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/help_formatter.h"
#include "cli/standard_descriptors.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/text.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("clusterbench {} ({}{}) {} {}, CUDA kernels: {}", info.version,
                     info.commit.substr(0, 12), info.dirty ? ", modified" : "", info.compiler,
                     info.build_type, info.cuda);
}

// The message can hold names of files and hosts that others chose, so each line is made safe for a
// terminal.
void report_failure(const std::string& message) {
  if (!message.starts_with("clusterbench")) std::cerr << "clusterbench: ";
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    std::cerr << terminal_safe(std::string_view(message).substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
}

// The program and the subcommand that the command line names, for messages.
std::string subject(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  return subs.empty() ? "clusterbench" : "clusterbench " + subs.front()->get_name();
}

// CLI11 converts only flags by itself. Its text has the value that the user gave between " = " and
// the end.
std::optional<UsageError> flag_with_value(const CLI::App& app, const CLI::ParseError& e) {
  const std::string text = e.what();
  const size_t name = text.find("--"), value = text.find(" = ");
  if (e.get_name() != "ConversionError" || name == std::string::npos || value == std::string::npos)
    return std::nullopt;
  return UsageError(subject(app), text.substr(name, value - name),
                    fmt::format("takes no value: leave '={}' out", text.substr(value + 3)));
}

// The answer to what CLI11 found wrong. Handles unknown options before the subcommand, and after a
// subcommand that measures nothing.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& e) {
  if (const auto flag = flag_with_value(app, e)) return *flag;
  const auto subs = app.get_subcommands();
  const bool in_front = subs.empty() || !app.remaining().empty();
  const CLI::App& at = in_front ? app : *subs.front();
  const std::string extra = at.remaining().empty() ? "" : at.remaining().front();
  if (!extra.starts_with('-')) return {subject(app), "", e.what()};
  std::vector<std::string> known;
  for (const CLI::Option* option : at.get_options()) known.push_back(option->get_name());
  const auto guess = nearest_option(extra, known);
  if (guess) return {subject(app), extra, fmt::format("unknown option, did you mean {}?", *guess)};
  return {subject(app), extra,
          in_front ? "unknown option; a subcommand's options stand behind its name"
                   : fmt::format("unknown option; {} --help has them all", subject(app))};
}

// Rank 0's message about a command line that all ranks share ends the job sooner than this.
constexpr auto kOthersWait = std::chrono::seconds(3);

// Every rank of a launched job finds the faults of a shared command line. Rank 0 reports them, and
// the launcher then kills the other ranks. A rank that is still alive after the wait found a fault
// of its own and reports it.
void report_usage(const std::string& message) {
  if (!mpi::launched() || mpi::launched_rank() == 0) return report_failure(message);
  std::this_thread::sleep_for(kOthersWait);
  const std::string who = mpi::process_name();
  report_failure(message.find(who) == std::string::npos ? message + "\n  found by " + who
                                                        : message);
}

constexpr const char* kFirstSteps =
    "nothing to do; next: clusterbench run host-quick (measures this host and judges it), "
    "clusterbench list (what can be measured here) or clusterbench --help (all subcommands)";

// The app's subcommand of this name; null if it has none.
const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

[[noreturn]] void refuse_word(const CLI::App& app, const std::string& command,
                              const std::string& word, std::vector<std::string> names) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  throw UsageError(command, "",
                   fmt::format("{}; {} --help lists what is", unknown_name(word, names), command));
}

// Answers an unknown first word with the nearest subcommand, and a second word likewise where a
// subcommand has some of its own.
void check_subcommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("clusterbench", "", kFirstSteps);
  if (words[0].starts_with('-')) return;
  const CLI::App* first = subcommand_of(app, words[0]);
  if (first == nullptr) refuse_word(app, "clusterbench", words[0], {"help", "version"});
  // Where a subcommand of its own is not asked for, the word is a directory or a file.
  if (first->get_require_subcommand_min() == 0 || words.size() < 2 || words[1].starts_with('-'))
    return;
  if (subcommand_of(*first, words[1]) == nullptr)
    refuse_word(*first, "clusterbench " + words[0], words[1], {});
}

// Turns "help", "help CMD …" and "version" into the options that they stand for.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return words;
  if (words[0] == "version" && words.size() == 1) return {"--version"};
  if (words[0] != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app{"Measures a GPU cluster and lets its buyer accept it.", "clusterbench"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  clusterbench list\n"
      "  clusterbench gemm --device cpu --dtype fp64 --size 4096 --json gemm.json\n"
      "  clusterbench SUBCOMMAND --help\n");
  Action action;
  add_commands(app, action);
  std::vector<std::string> words = words_of(argc, argv);
  check_subcommand(app, words);
  std::ranges::reverse(words);  // CLI11 takes the words in reverse
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);  // prints the text of --help or --version
      return ExitCode::ok;
    }
    throw usage_error(app, e);
  }
  const ExitCode code = action();
  // If standard output is on a full disk, results are lost: that is a failure.
  if (!std::cout.flush()) throw Error("cannot write the results to standard output");
  return code;
}

}  // namespace

namespace {

// Whatever the caller's mask is: nobody else may write what this process and the jobs it starts
// make.
void keep_others_out() { ::umask(::umask(0) | S_IWOTH); }

}  // namespace

int run_app(int argc, char** argv) {
  keep_others_out();
  // Some parents have it ignored: the kernel then throws away how a child ended, and every job
  // would look as if it had ended well.
  std::signal(SIGCHLD, SIG_DFL);
  try {
    open_standard_descriptors();
    return static_cast<int>(parse_and_run(argc, argv));
  } catch (const UsageError& e) {
    report_usage(e.what());
    return static_cast<int>(e.code());
  } catch (const Error& e) {
    report_failure(e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    report_failure("memory is not enough; next: smaller sizes, or fewer ranks on a host");
    return static_cast<int>(ExitCode::runtime);
  } catch (const std::filesystem::filesystem_error& e) {
    report_failure(std::string(e.what()) + "; next: this path, its owner and the room on its disk");
    return static_cast<int>(ExitCode::runtime);
  } catch (const std::exception& e) {
    report_failure(std::string(e.what()) +
                   "; this was not foreseen; next: report it with the command and its version");
    return static_cast<int>(ExitCode::runtime);
  }
}

}  // namespace cb
