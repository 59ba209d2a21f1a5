#include "bench/external/official_checks.h"

namespace cb {
namespace {

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

}  // namespace

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

}  // namespace cb
