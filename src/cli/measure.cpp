// What a measurement shows on the terminal; bench/harness/job.h runs it.
#include "cli/measure.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/job.h"
#include "cli/console_progress.h"
#include "cli/documents_on_standard_output.h"
#include "cli/info_table.h"
#include "cli/measure_table.h"
#include "cli/note_lines.h"
#include "core/text.h"
#include "core/units.h"
#include "sys/mpi/mpi.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

// What there is after an interruption, and where.
std::string interruption(const Document& document, const CaseInfo& info, const std::string& json) {
  const size_t count = document.records.size();
  const std::string finished =
      count == 0 ? "nothing was finished"
                 : fmt::format("{} record{} finished", count, count == 1 ? " was" : "s were");
  const std::string where = json.empty()
                                ? "no document was asked for (--json)"
                                : fmt::format("the partial document is in {}", terminal_safe(json));
  return fmt::format("clusterbench {}: interrupted: {}; {}\n", info.name, finished, where);
}

class Console final : public JobView {
 public:
  Console(const CaseInfo& info, const MeasureOptions& options) : info_(info), options_(options) {}

  // A campaign whose step has a deadline for its start waits for the first word on standard output.
  Progress& progress(bool root) override {
    if (root && std::getenv("CLUSTERBENCH_SAY_STARTED") != nullptr && options_.json != "-")
      std::cout << info_.name << " has started\n" << std::flush;
    return progress_.emplace(root && !options_.quiet, options_.no_color);
  }

  void say(const std::string& lines) override { std::cerr << lines << std::flush; }

  void results(const Document& document) override {
    if (options_.quiet)
      std::cerr << failed_check_lines(document, info_);
    else
      std::cout << (info_.prints_inventory ? info_table(document.hosts)
                                           : measure_table(document, info_))
                << std::flush;
    if (info_.prints_suspects) std::cout << suspect_lines(document) << std::flush;
  }

  void outcome(const Document& document) override {
    std::vector<std::string> reasons;
    for (const Record& r : document.records) {
      if (const auto* e = std::get_if<Errored>(&r.outcome))
        reasons.push_back(fmt::format("clusterbench {}: {}: {}", r.case_name,
                                      terminal_safe(e->where), terminal_safe(e->what.text())));
      if (const auto* s = std::get_if<Skipped>(&r.outcome))
        reasons.push_back(fmt::format("clusterbench {}: skipped: {}", r.case_name,
                                      terminal_safe(s->reason.text())));
    }
    for (const std::string& line : each_once(reasons)) std::cerr << line + "\n";
    if (document.run.partial) std::cerr << interruption(document, info_, options_.json);
  }

 private:
  const CaseInfo& info_;
  const MeasureOptions& options_;
  std::optional<ConsoleProgress> progress_;
};

// The variable reaches the jobs of a campaign where an option would change what they are.
bool redacts(const MeasureOptions& options) {
  const char* asked = std::getenv("CLUSTERBENCH_REDACT");
  return options.redact || (asked != nullptr && std::string_view(asked) == "1");
}

}  // namespace

ExitCode measure(const Case& c, const Params& params, const MeasureOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench " + c.info.name, {options.json});
  if (c.info.prints_inventory && !mpi::launched()) library_trial::begin();
  Console console(c.info, options);
  return run_job({.what = c,
                  .params = params,
                  .json = options.json,
                  .token = options.token,
                  .deadline_seconds = parse_duration(options.deadline).value(),
                  .stall_seconds = parse_duration(options.stall).value(),
                  .sysroot = options.sysroot,
                  .redact = redacts(options)},
                 console, job_world());
}

}  // namespace cb
