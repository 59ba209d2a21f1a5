#include "cli/commands.h"

namespace cb {

void add_commands(CLI::App& app, Action& action) {
  add_measure_commands(app, action);
  add_report_command(app, action);
  add_list_command(app, action);
  add_blas_probe_command(app, action);
  add_run_command(app, action);
  add_status_command(app, action);
  add_drill_command(app, action);
  add_roll_call_command(app, action);
  add_sweep_command(app, action);
  add_compare_settings_command(app, action);
  add_gate_command(app, action);
  add_profile_command(app, action);
  add_signoff_command(app, action);
  add_bundle_command(app, action);
  add_expect_command(app, action);
  add_compare_command(app, action);
  add_side_by_side_command(app, action);
  add_checklist_command(app, action);
  add_issue_command(app, action);
  add_compare_transports_command(app, action);
  add_optics_trend_command(app, action);
  add_template_command(app, action);
  add_doctor_command(app, action);
  add_documents_command(app, action);
}

}  // namespace cb
