#include "bench/training/library.h"

#include <fmt/format.h>

#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "sys/cpu/host_blas.h"
#include "sys/cpu/numa.h"

namespace cb::training {
namespace {

constexpr int kProbeSize = 512;

std::string full_name(const Candidate& candidate, const host_blas::Identity& identity) {
  return fmt::format("{} {} {}", candidate.library, identity.version, identity.core);
}

// Returns why it does not open, or fills `out`.
Said open_candidate(const Candidate& candidate, TrainLibrary& out) {
  if (candidate.library == "builtin") {
    out.name = fmt::format("builtin {}", row_kernels_of(float()).isa);
    return {};
  }
  const auto take = [&](const auto& opened) -> Said {
    if (const auto* absent = std::get_if<host_blas::Absent>(&opened)) return absent->reason;
    const auto& library = std::get<0>(opened);
    out.name = full_name(candidate, library.identity);
    out.product = library.parts32;
    return {};
  };
  if (candidate.library == "openblas") return take(host_blas::open_openblas(candidate.core, 1));
  if (candidate.library == "blis") return take(host_blas::open_blis(1));
  return take(host_blas::open_onednn(1));
}

}  // namespace

std::vector<ParamDef> host_params() {
  using namespace param;
  return {threads_param(), choice("library", {"auto", "openblas", "blis", "onednn", "builtin"})
                               .help("library that multiplies")
                               .by_default("auto")};
}

TrainLibrary open_train_library(Context& context, const std::string& library, Team& team) {
  ProbeRequest request{.candidate = {},
                       .types = {GemmType::fp32},
                       .cpus = {team.cpus().front()},
                       .size = kProbeSize};
  const Choice choice = choose_alike(context, request, library, probe_in_child);
  TrainLibrary out;
  out.candidates = choice.figures;
  const Said failure = open_candidate(choice.candidate, out);
  throw_where_failed(context.comm, failure.empty()
                                       ? Said()
                                       : said("gemm.does_not_open", context.who(),
                                              candidate_name(choice.candidate), failure));
  return out;
}

}  // namespace cb::training
