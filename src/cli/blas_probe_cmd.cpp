// Hidden subcommand: measures one candidate of `gemm --device cpu` in its own process and prints
// one line of JSON, so that a library that crashes takes nothing else with it.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "bench/cpu/blas_choice.h"
#include "cli/commands.h"

namespace cb {
namespace {

struct ProbeOptions {
  std::string library = "builtin";
  std::string core;
  std::vector<std::string> types{"fp64"};
  std::vector<int> cpus;
  int64_t size = 1024;
  double seconds = 0.2;
};

// For the tests: CLUSTERBENCH_PROBE_CRASH names candidates (comma separated) that end with SIGILL,
// like a library that misjudges the CPU.
void crash_if_told(const Candidate& candidate) {
  const char* told = std::getenv("CLUSTERBENCH_PROBE_CRASH");
  if (told == nullptr) return;
  if (("," + std::string(told) + ",").find("," + candidate_name(candidate) + ",") !=
      std::string::npos)
    std::raise(SIGILL);
}

ExitCode run_blas_probe(const ProbeOptions& options) {
  const Candidate candidate{options.library, options.core};
  crash_if_told(candidate);
  ProbeRequest request{candidate, {}, options.cpus, options.size, options.seconds};
  for (const std::string& name : options.types) request.types.push_back(gemm_type(name));
  if (request.cpus.empty()) request.cpus = allowed_cpus();
  std::cout << probe_text(request) << std::endl;
  return ExitCode::ok;
}

}  // namespace

void add_blas_probe_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("blas-probe", "measures one host BLAS library");
  sub->group("");
  auto options = std::make_shared<ProbeOptions>();
  sub->add_option("--library", options->library);
  sub->add_option("--core", options->core);
  sub->add_option("--dtype", options->types)->delimiter(',');
  sub->add_option("--cpus", options->cpus)->delimiter(',');
  sub->add_option("--size", options->size)->check(CLI::Range(1, 32768));
  sub->add_option("--seconds", options->seconds)->check(CLI::Range(0.0, 60.0));
  sub->callback([&action, options] { action = [options] { return run_blas_probe(*options); }; });
}

}  // namespace cb
