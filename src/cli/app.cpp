// The table of contents of the command line: which subcommands there are, and how their failures
// become exit codes.
#include "cli/app.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/text.h"

namespace cb {
namespace {

std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format("clusterbench {} ({}{}) {} {}, CUDA kernels: {}, {}", info.version,
                     info.commit.substr(0, 12), info.dirty ? ", modified" : "", info.compiler,
                     info.build_type, info.cuda, info.mpi);
}

void report_failure(const std::string& message) {
  std::cerr << "clusterbench: " << message << '\n';
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
  add_run_command(app, action);
  add_gate_command(app, action);
  add_profile_command(app, action);
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
  } catch (const Error& e) {
    report_failure(e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    report_failure(e.what());
    return static_cast<int>(ExitCode::runtime);
  }
}

}  // namespace cb
