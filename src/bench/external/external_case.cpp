// The site's own HPL, HPL-MxP or HPCG: the input is made from memory and processes, the program is
// started by the launcher that the site uses, and its output is read and verified. One rank a host
// says what the host has and waits; rank 0 starts the program.
#include <algorithm>
#include <exception>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/external/official_checks.h"
#include "bench/external/official_run.h"
#include "bench/external/starter.h"
#include "bench/harness/job.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/sha256.h"
#include "core/srun_plugin.h"
#include "core/text.h"
#include "import/program_output.h"
#include "sys/cpu/host_memory.h"
#include "sys/os/child_process.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr double kVersionSeconds = 20;  // for "mpirun --version"
constexpr double kDigestSeconds = 600;  // of an image of some gigabytes, from a slow file system
constexpr double kEndSeconds = 60;      // beyond the deadline: ending it and reading its output
constexpr useconds_t kWaitMicroseconds = 100000;

CaseInfo describe() {
  using namespace param;
  return {
      .name = "external",
      .device = "",
      .summary = "the site's own HPL, HPL-MxP or HPCG: started, and its output verified",
      .example =
          "clusterbench external --kind hpl --program /opt/hpl/xhpl --processes 8 --json h.json",
      .domain = "compute",
      .needs = {.directory = true},
      .params =
          {choice("kind", {"hpl", "hpcc", "hpl-mxp", "hpcg"})
               .help("what the program is: it decides input and reader; hpcc: the HPL within "
                     "HPC Challenge")
               .by_default("hpl"),
           text("program").help(
               "path of the program or of what starts its container, on all hosts"),
           text("arguments")
               .help("arguments of the program; {n} {nb} {p} {q} {processes} {dir} are replaced")
               .list(),
           integer("order").help("N; absent: from free memory").range(1, 1e9),
           integer("block").help("NB").by_default("192").range(1, 65536),
           number("memory-share")
               .help("share of the free memory for the matrix")
               .by_default("0.8")
               .range(0.001, 0.95),
           integer("edge")
               .help("hpcg: points along each edge of a process, a multiple of 8")
               .by_default("104")
               .range(16, 4096),
           duration("duration")
               .help("hpcg: time of its benchmark")
               .by_default("1860s")
               .range(1, 1e6),
           integer("processes").help("of the program on each host").by_default("1").range(1, 65536),
           threads_param(),
           choice("launch", {"mpirun", "srun", "none"})
               .help("what starts the program's processes")
               .by_default("mpirun"),
           text("launch-arguments").help("further arguments of mpirun or srun").list(),
           integer("iterations")
               .help("runs, each of which is a sample")
               .by_default("1")
               .range(1, 1000),
           duration("run-deadline").help("of one run").by_default("50m").range(1, 1e6),
           text("dir").help("directory to create an own fresh directory in")},
      .metrics = {{"flops_per_second", "flops_per_second", Better::higher,
                   "as the program reports it"},
                  {"time_seconds", "seconds", Better::lower, "as the program reports it"}},
      .checks = {"residual", "rate", "output", "official"},
      .fault = {.why_not = said("fault.external")},
      .fact_columns = {"grid"},
      .label_params = {"kind"},
  };
}

bool is_hpcg(const Params& params) { return params.text("kind") == "hpcg"; }

// Collective.
ExternalPlan plan_external(Context& context, const Params& params) {
  ExternalPlan out{.hpcg = is_hpcg(params)};
  const auto hosts = static_cast<int64_t>(context.place.hosts.size());
  out.processes = hosts * params.integer("processes");
  out.problem.block = params.integer("block");
  out.problem.grid = grid_of_processes(out.processes);
  const auto mine = available_memory_bytes(context.fs);
  const double least = context.comm.min(mine ? static_cast<double>(*mine) : 0.0);
  if (params.has("order")) {
    out.problem.order = params.integer("order");
  } else if (!out.hpcg) {
    if (least <= 0) throw Error(said("external.no_memory", context.who()));
    out.problem.order = order_for_memory(least * static_cast<double>(hosts),
                                         params.number("memory-share"), out.problem.block);
  }
  return out;
}

// The plugin that the user chose. By "none" each process of the program would be alone.
std::string plugin_for_srun() {
  const std::string chosen = srun_plugin_of_user();
  return chosen.empty() || chosen == "none" ? "pmix" : chosen;
}

Starter starter_of(const std::string& launch) {
  if (launch == "none") return Starter::none;
  if (launch == "srun") return Starter::srun;
  const fs::path file = file_of_program("mpirun");
  if (file.empty()) throw Error(said("external.not_started", "mpirun", "it is not in the PATH"));
  return mpirun_kind(
      run_child({file.string(), "--version"}, start_environment({}), kVersionSeconds).out);
}

std::vector<std::string> program_words(const Params& params, const ExternalPlan& plan) {
  const fs::path file = file_of_program(params.text("program"));
  std::vector<std::string> out{file.empty() ? params.text("program") : file.string()};
  const std::vector<std::string> arguments =
      params.has("arguments") ? params.texts("arguments") : std::vector<std::string>();
  for (std::string& word : filled(arguments, {{"n", std::to_string(plan.problem.order)},
                                              {"nb", std::to_string(plan.problem.block)},
                                              {"p", std::to_string(plan.problem.grid.p)},
                                              {"q", std::to_string(plan.problem.grid.q)},
                                              {"processes", std::to_string(plan.processes)}}))
    out.push_back(std::move(word));
  return out;
}

// Takes the last run's checks where all passed, else those of the first run that failed.
void add_checks(Record& record, const std::vector<ExternalRun>& runs) {
  const ProgramResult* shown = nullptr;
  for (const ExternalRun& run : runs) {
    for (const ProgramResult& result : run.output.results) {
      if (shown == nullptr || shown->good()) shown = &result;
    }
  }
  record.checks = shown->checks;
}

bool passed(const Record& record) {
  return std::all_of(record.checks.begin(), record.checks.end(),
                     [](const Check& c) { return c.passed || c.finding; });
}

// Digests of the arguments that are files, in their order: of a container the program is only the
// command that starts it, and an image is among them.
std::string digests_of_arguments(const Params& params) {
  std::string out;
  if (!params.has("arguments")) return out;
  for (const std::string& word : params.texts("arguments")) {
    std::error_code ignored;
    if (!fs::path(word).is_absolute() || !fs::is_regular_file(word, ignored)) continue;
    out += (out.empty() ? "" : ", ") + terminal_safe(word) + " ";
    try {
      out += sha256_hex_of_file(word);
    } catch (const Error&) {  // the program may be allowed to, as a starter with other rights is
      out += "cannot be read here";
    }
  }
  return out;
}

void add_facts(Record& record, const Params& params, const std::vector<ExternalRun>& runs,
               const std::vector<std::string>& command, const ExternalPlan& plan) {
  const ExternalRun& last = runs.back();
  record.facts = last.output.results.back().facts;
  record.notes = last.output.notes;
  for (const Said& note : last.output.results.back().notes) record.notes.push_back(note);
  const fs::path file = file_of_program(params.text("program"));
  record.facts["program"] = file.empty() ? params.text("program") : file.string();
  std::error_code ignored;
  if (fs::is_regular_file(file, ignored)) record.facts["program_sha256"] = sha256_hex_of_file(file);
  if (!last.output.version.empty())
    record.facts["program_version"] = terminal_safe(last.output.version);
  record.facts["output_sha256"] = last.sha256;
  record.facts["command"] = terminal_safe(fmt::format("{}", fmt::join(command, " ")));
  record.facts["processes"] = std::to_string(plan.processes);
  if (!plan.hpcg)
    record.facts["grid"] = fmt::format("{} × {}", plan.problem.grid.p, plan.problem.grid.q);
}

Entity entity_of(const Context& context) {
  if (context.place.hosts.size() > 1) return {"", "cluster", "cluster"};
  return {context.place.host, "host", context.place.host};
}

void measure_on_root(Context& context, const Params& params, const ExternalPlan& plan,
                     Record& record) {
  record.entity(entity_of(context));
  const auto command =
      start_command({.starter = starter_of(params.text("launch")),
                     .hosts = context.place.hosts,
                     .per_host = params.integer("processes"),
                     .arguments = params.has("launch-arguments") ? params.texts("launch-arguments")
                                                                 : std::vector<std::string>(),
                     .program = program_words(params, plan),
                     .plugin = plugin_for_srun()});
  std::string digests;
  {
    const Watchdog::Bounded reading(context.watchdog, kDigestSeconds);
    digests = digests_of_arguments(params);
  }
  std::vector<ExternalRun> runs;
  Samples rates, seconds;
  for (int64_t i = 0; i < params.integer("iterations"); ++i) {
    const Watchdog::Bounded bounded(context.watchdog, params.number("run-deadline") + kEndSeconds);
    runs.push_back(run_once(context, params, plan, command));
    for (const ProgramResult& result : runs.back().output.results) {
      rates.add(result.flops_per_second);
      if (result.seconds > 0) seconds.add(result.seconds);
    }
  }
  complete_checks(runs, asked_of(params, plan));
  add_checks(record, runs);
  add_facts(record, params, runs, command, plan);
  if (!digests.empty()) record.facts["argument_sha256"] = digests;
  if (!passed(record)) return;  // wrong data yields no number
  record.add("flops_per_second", 0, std::move(rates));
  if (seconds.count() > 0) record.add("time_seconds", 0, std::move(seconds));
}

// The other ranks leave their processors to the program while they wait.
void wait_for_root(Context& context, const Params& params) {
  const double limit =
      params.number("run-deadline") * static_cast<double>(params.integer("iterations"));
  const Watchdog::Bounded bounded(context.watchdog, kDigestSeconds + limit + kEndSeconds);
  const auto pending = context.comm.start_max(0);
  while (!pending->result()) ::usleep(kWaitMicroseconds);
}

std::vector<Record> run(Context& context, const Params& given) {
  const ExternalPlan plan = plan_external(context, given);
  Params params = given;
  if (!plan.hpcg) params.set("order", plan.problem.order);
  const auto name = [&](int) { return PointName{params, params.text("kind")}; };
  return run_points(context, "external", std::vector<int>{0}, name, [&](int) {
    Record record{.case_name = "external", .params = params};
    if (!context.comm.is_root()) {
      wait_for_root(context, params);
      return record;
    }
    std::exception_ptr failure;
    try {
      measure_on_root(context, params, plan, record);
    } catch (...) {
      failure = std::current_exception();
    }
    const auto pending = context.comm.start_max(failure ? 1 : 0);
    while (!pending->result()) ::usleep(1000);
    if (failure) std::rethrow_exception(failure);
    return record;
  });
}

void check(const Params& params, Problems& problems) {
  if (!params.has("program"))
    problems.add("--program", "is missing: the path of the program on the hosts");
  // HPCG halves the cube three times, and aborts where that cannot be.
  if (is_hpcg(params) && params.integer("edge") % 8 != 0)
    problems.add("--edge", fmt::format("{} is no multiple of 8", params.integer("edge")));
  if (!params.has("dir")) problems.add("--dir", "is missing: a directory for the program's files");
  if (params.text("launch") == "none" && params.integer("processes") > 1)
    problems.add("--launch", "none starts one process; give mpirun or srun for several");
}

}  // namespace

Case external_case() { return {describe(), run, check}; }

}  // namespace cb
