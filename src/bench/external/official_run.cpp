#include "bench/external/official_run.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/external/program_run.h"
#include "bench/external/starter.h"
#include "bench/harness/job.h"
#include "core/error.h"
#include "core/file.h"
#include "core/fresh_directory.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOutput = size_t{64} << 20;

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

Program program_of(const std::string& kind) {
  if (kind == "hpl-mxp") return Program::hpl_mxp;
  return kind == "hpcg" ? Program::hpcg : Program::hpl;
}

}  // namespace

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

ExternalRun run_once(const Context& context, const Params& params, const ExternalPlan& plan,
                     const std::vector<std::string>& command) {
  const FreshDirectory directory(params.text("dir"), "clusterbench-external");
  write_inputs(params, plan, directory.path());
  const ProgramStart start{.argv = filled(command, {{"dir", directory.path().string()}}),
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

}  // namespace cb
