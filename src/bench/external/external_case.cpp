// The site's own HPL, HPL-MxP or HPCG: the input is made from memory and processes, the program is
// started by the launcher that the site uses, and its output is read and verified. One rank a host
// says what the host has and waits; rank 0 starts the program.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/external/program_input.h"
#include "bench/external/program_run.h"
#include "bench/external/starter.h"
#include "bench/harness/job.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "core/sha256.h"
#include "core/text.h"
#include "import/program_output.h"
#include "sys/cpu/host_memory.h"
#include "sys/os/child_process.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOutput = size_t{64} << 20;
constexpr double kVersionSeconds = 20;  // for "mpirun --version"
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
               .help("arguments of the program; {n} {nb} {p} {q} {processes} are replaced")
               .list(),
           integer("order").help("N; absent: from free memory").range(1, 1e9),
           integer("block").help("NB").by_default("192").range(1, 65536),
           number("memory-share")
               .help("share of the free memory for the matrix")
               .by_default("0.8")
               .range(0.001, 0.95),
           integer("edge")
               .help("hpcg: points along each edge of a process")
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

// What one run is to solve, the same on every rank.
struct ExternalPlan {
  HplProblem problem = {};
  int64_t processes = 1;  // in all
  bool hpcg = false;
};

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

// A fresh directory, and its end. Only what lies in it is removed.
class RunDirectory {
 public:
  explicit RunDirectory(const std::string& parent) {
    std::string name = (fs::absolute(parent) / "clusterbench-external-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(said("external.no_directory", parent, std::strerror(errno)));
    path_ = name;
  }
  ~RunDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The program's file: as given, or where the PATH has it. Empty if nowhere.
fs::path file_of_program(const std::string& program) {
  std::error_code ignored;
  if (program.find('/') != std::string::npos) return fs::absolute(program, ignored);
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, end)) / program;
    if (end > 0 && fs::is_regular_file(file, ignored)) return fs::absolute(file, ignored);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

Starter starter_of(const std::string& launch) {
  if (launch == "none") return Starter::none;
  if (launch == "srun") return Starter::srun;
  const fs::path file = file_of_program("mpirun");
  if (file.empty()) throw Error(said("external.not_started", "mpirun", "it is not in the PATH"));
  return mpirun_kind(
      run_child({file.string(), "--version"}, start_environment({}), kVersionSeconds).out);
}

std::map<std::string, std::string> variables_for(const Params& params) {
  std::map<std::string, std::string> out;
  if (params.has("threads")) {
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
      out[name] = std::to_string(params.integer("threads"));
  }
  if (::geteuid() == 0) {  // Open MPI refuses to run as root unless told, as the job itself was
    out["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    out["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  return out;
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

void write_inputs(const Params& params, const ExternalPlan& plan, const fs::path& directory) {
  const std::string& kind = params.text("kind");
  const auto write = [&](const char* name, const std::string& text) {
    write_file_atomically(directory / name, text, Durable::no);
  };
  if (kind == "hpl") write("HPL.dat", hpl_dat(plan.problem));
  if (kind == "hpl-mxp") write("HPL-MxP.dat", hpl_dat(plan.problem));
  if (kind == "hpcc") write("hpccinf.txt", hpcc_input(plan.problem));
  if (kind == "hpcg")
    write("hpcg.dat", hpcg_dat(params.integer("edge"), params.number("duration")));
}

// The file with the results: the program's own, else what it wrote to its outputs.
fs::path output_file(const std::string& kind, const fs::path& directory, const fs::path& screen) {
  std::error_code ignored;
  if (kind == "hpcc" && fs::exists(directory / "hpccoutf.txt", ignored))
    return directory / "hpccoutf.txt";
  if (kind == "hpcg") {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().filename().string().starts_with("HPCG-Benchmark") &&
          entry.is_regular_file(ignored))
        found.push_back(entry.path());
    }
    // Copies of the program that know nothing of one another write a file each.
    if (found.size() > 1)
      throw Error(said("external.several_files", static_cast<int64_t>(found.size())));
    if (!found.empty()) return found.front();
  }
  return screen;
}

std::string last_words_of(const std::string& text) {
  constexpr size_t kMost = 300;
  size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "-";
  ++end;
  return terminal_safe(
      std::string_view(text).substr(end > kMost ? end - kMost : 0, std::min(end, kMost)));
}

// Throws unless the program ended by itself and said that all was well.
void require_end(const Params& params, const ProgramEnd& end, const std::string& screen) {
  const std::string& program = params.text("program");
  if (end.kind == ProgramEnd::Kind::cancelled) throw Interrupted();
  if (end.kind == ProgramEnd::Kind::deadline)
    throw Error(said("external.deadline", program, params.number("run-deadline")),
                ExitCode::deadline);
  const std::string how = end.kind == ProgramEnd::Kind::signalled
                              ? fmt::format("killed by signal {}", end.code)
                              : fmt::format("exit code {}", end.code);
  if (end.kind == ProgramEnd::Kind::signalled || end.code != 0)
    throw Error(said("external.program_ended", program, how, last_words_of(screen)));
}

struct ExternalRun {
  ProgramOutput output;
  std::string sha256;  // of the output
};

Program program_of(const std::string& kind) {
  if (kind == "hpl-mxp") return Program::hpl_mxp;
  return kind == "hpcg" ? Program::hpcg : Program::hpl;
}

ExternalRun run_once(const Context& context, const Params& params, const ExternalPlan& plan,
                     const std::vector<std::string>& command) {
  const RunDirectory directory(params.text("dir"));
  write_inputs(params, plan, directory.path());
  const ProgramStart start{.argv = command,
                           .environment = start_environment(variables_for(params)),
                           .directory = directory.path(),
                           .out = directory.path() / "screen.txt",
                           .deadline_seconds = params.number("run-deadline"),
                           .most_bytes = kMostOutput,
                           // A launcher has bound this one rank to a core.
                           .any_cpu = launched_job()};
  ProgramEnd end;
  try {
    end = run_program(start, [&] { return context.cancel.cancelled(); });
  } catch (const Error& e) {
    throw Error(said("external.not_started", command.at(0), e.said()));
  }
  if (end.kind == ProgramEnd::Kind::flooded)
    throw Error(said("external.flooded", params.text("program"), kMostOutput >> 20));
  const std::string screen = read_file(start.out, kMostOutput);
  require_end(params, end, screen);
  const fs::path file = output_file(params.text("kind"), directory.path(), start.out);
  const std::string text = file == start.out ? screen : read_file(file, kMostOutput);
  try {
    return {read_program_output(program_of(params.text("kind")), text, file.filename().string()),
            sha256_hex(text)};
  } catch (const UsageError& e) {
    throw Error(said("external.unreadable_output", params.text("program"),
                     e.problems().list.empty() ? e.said() : e.problems().list[0].said(),
                     last_words_of(screen)));
  }
}

// What the input asked for, as the program names it.
std::map<std::string, int64_t> asked_of(const Params& params, const ExternalPlan& plan) {
  if (plan.hpcg) {
    const int64_t edge = params.integer("edge");
    return {{"processes", plan.processes}, {"nx", edge}, {"ny", edge}, {"nz", edge}};
  }
  return {{"N", plan.problem.order},
          {"NB", plan.problem.block},
          {"P", plan.problem.grid.p},
          {"Q", plan.problem.grid.q}};
}

// The program must have solved what the input asked for: an old input file elsewhere would be
// another problem, and a program of another MPI would be many programs of one process.
Check size_check(const ProgramResult& result, const std::map<std::string, int64_t>& asked,
                 Check output) {
  if (!output.passed) return output;
  for (const auto& [name, value] : asked) {
    const auto found = result.parameters.find(name);
    if (found != result.parameters.end() && found->second == value) continue;
    output.passed = false;
    output.detail = found == result.parameters.end()
                        ? said("external.no_size", name)
                        : said("external.other_size", name, found->second, value);
    return output;
  }
  return output;
}

// One problem was asked for: of several results nobody knows which one is its own.
Check count_check(const ExternalRun& run, Check output) {
  if (!output.passed || run.output.results.size() == 1) return output;
  output.passed = false;
  output.detail = said("external.results", static_cast<int64_t>(run.output.results.size()));
  return output;
}

// Completes the checks of every result: its "output" also says whether it is the one asked for.
void complete_checks(std::vector<ExternalRun>& runs, const std::map<std::string, int64_t>& asked) {
  for (ExternalRun& run : runs) {
    for (ProgramResult& result : run.output.results) {
      for (Check& check : result.checks) {
        if (check.name != "output") continue;
        check = count_check(run, size_check(result, asked, std::move(check)));
      }
    }
  }
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
                     .program = program_words(params, plan)});
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
  if (!passed(record)) return;  // wrong data yields no number
  record.add("flops_per_second", 0, std::move(rates));
  if (seconds.count() > 0) record.add("time_seconds", 0, std::move(seconds));
}

// The other ranks leave their processors to the program while they wait.
void wait_for_root(Context& context, const Params& params) {
  const double limit =
      params.number("run-deadline") * static_cast<double>(params.integer("iterations"));
  const Watchdog::Bounded bounded(context.watchdog, limit + kEndSeconds);
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
  if (!params.has("dir")) problems.add("--dir", "is missing: a directory for the program's files");
  if (params.text("launch") == "none" && params.integer("processes") > 1)
    problems.add("--launch", "none starts one process; give mpirun or srun for several");
}

}  // namespace

Case external_case() { return {describe(), run, check}; }

}  // namespace cb
