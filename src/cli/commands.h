#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "core/exit_code.h"

namespace cb {

// What to run once the command line is parsed.
using Action = std::function<ExitCode()>;

// Each function adds its subcommand to the app. If the user asks for that subcommand, it sets
// `action`. There is one file pair per subcommand.
void add_measure_commands(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_list_command(CLI::App& app, Action& action);
void add_blas_probe_command(CLI::App& app, Action& action);  // hidden
void add_run_command(CLI::App& app, Action& action);
void add_status_command(CLI::App& app, Action& action);
void add_drill_command(CLI::App& app, Action& action);
void add_roll_call_command(CLI::App& app, Action& action);
void add_sweep_command(CLI::App& app, Action& action);
void add_compare_settings_command(CLI::App& app, Action& action);
void add_gate_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_signoff_command(CLI::App& app, Action& action);
void add_bundle_command(CLI::App& app, Action& action);
void add_expect_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_side_by_side_command(CLI::App& app, Action& action);
void add_checklist_command(CLI::App& app, Action& action);
void add_issue_command(CLI::App& app, Action& action);
void add_compare_transports_command(CLI::App& app, Action& action);
void add_optics_trend_command(CLI::App& app, Action& action);
void add_template_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_documents_command(CLI::App& app, Action& action);  // hidden

// All of them: what the program parses, and what manual pages and completion are made of.
void add_commands(CLI::App& app, Action& action);

}  // namespace cb
