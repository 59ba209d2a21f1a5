#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "core/exit_code.h"

namespace cb {

// What is to be run once the command line has been understood.
using Action = std::function<ExitCode()>;

// Each adds its subcommand to the app and sets `action` when it is the one asked for. One file pair
// a subcommand.
void add_measure_commands(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_list_command(CLI::App& app, Action& action);
void add_blas_probe_command(CLI::App& app, Action& action);  // hidden
void add_run_command(CLI::App& app, Action& action);
void add_sweep_command(CLI::App& app, Action& action);
void add_gate_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_signoff_command(CLI::App& app, Action& action);
void add_bundle_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_checklist_command(CLI::App& app, Action& action);
void add_issue_command(CLI::App& app, Action& action);
void add_compare_transports_command(CLI::App& app, Action& action);

}  // namespace cb
