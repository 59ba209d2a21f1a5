// The table of contents of the command line: which subcommands there are, and how their failures
// become exit codes.
#include "cli/app.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/text.h"
#include "sys/mpi.h"

namespace cb {
namespace {

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("clusterbench {} ({}{}) {} {}, CUDA kernels: {}, {}", info.version,
                     info.commit.substr(0, 12), info.dirty ? ", modified" : "", info.compiler,
                     info.build_type, info.cuda, info.mpi);
}

void report_failure(const std::string& message) {
  // Usage errors already start with the command that they are about.
  std::cerr << (message.starts_with("clusterbench") ? "" : "clusterbench: ") << message << '\n';
}

// Every rank of a launched job reads the same command line and finds the same faults in it: one says
// so, and the others leave later: the launcher kills all when the first one ends with an error.
// Anything else that goes wrong is the rank's own.
void report_usage(const std::string& message) {
  if (mpi::launched_rank() == 0)
    report_failure(message);
  else
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

// An unknown first word is answered with the nearest subcommand.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
    if (sub->get_name() == argv[1]) return;
  }
  throw UsageError("clusterbench", terminal_safe(argv[1]),
                   unknown_name(terminal_safe(argv[1]), names));
}

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app{"Measures a GPU cluster and lets its buyer accept it.", "clusterbench"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  Action action;
  add_measure_commands(app, action);
  add_list_command(app, action);
  check_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);  // --help and --version
      return ExitCode::ok;
    }
    throw UsageError("clusterbench", "", e.what());
  }
  return action();
}

}  // namespace

int run_app(int argc, char** argv) {
  try {
    return static_cast<int>(parse_and_run(argc, argv));
  } catch (const UsageError& e) {
    report_usage(e.what());
    return static_cast<int>(e.code());
  } catch (const Error& e) {
    report_failure(e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    report_failure(e.what());
    return static_cast<int>(ExitCode::runtime);
  }
}

}  // namespace cb
