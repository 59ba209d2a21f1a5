#include "bench/training/cuda/gpu_tools.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/collectives/nccl/cuda/gpu.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/harness/points.h"

namespace cb::training {
namespace {

constexpr size_t kMostRanksInMap = 64;

// Keeps the one GPU that computes, so that the others are neither watched nor blamed: the first
// that fell to this rank, or the one that was asked for.
void keep_chosen(GpuSession& session, const Params& params, const char* subject) {
  auto& units = session.units();
  if (!params.has("gpu")) {
    if (units.size() > 1) units.erase(units.begin() + 1, units.end());
    return;
  }
  const std::string wanted = std::to_string(params.integer("gpu"));
  std::string there;
  for (const GpuUnit& unit : units) there += (there.empty() ? "" : ", ") + unit.entity.id;
  const auto chosen =
      std::ranges::find_if(units, [&](const GpuUnit& unit) { return unit.entity.id == wanted; });
  if (chosen == units.end()) {
    Problems problems;
    problems.add("--gpu", fmt::format("no GPU {} here: there is {}", wanted, there));
    throw UsageError(subject, problems);
  }
  GpuUnit one = std::move(*chosen);
  units.clear();
  units.push_back(std::move(one));
}

// Collective. One GPU for each rank; the map of them.
std::string require_gpu_for_each(Context& context, const GpuSession& session, const char* subject) {
  nccl::Devices mine;
  for (const GpuUnit& unit : session.units())
    mine.push_back(std::make_unique<nccl::Gpu>(unit.device));
  const auto map = nccl::gather_rank_map(context, mine, "");
  Problems problems;
  nccl::check_rank_map(map, problems);
  throw_agreed(context.comm, subject, problems);
  return nccl::rank_map_text(map, kMostRanksInMap);
}

// Collective. The libraries; or why some rank lacks one.
Said open_libraries(Context& context, GpuTools& tools, bool exchanges) {
  const auto blas = cublaslt::open();
  Said problem;
  if (const auto* absent = std::get_if<cublaslt::Absent>(&blas))
    problem = absent->reason;
  else
    tools.blas = std::get<cublaslt::Library>(blas);
  if (context.comm.size() == 1) return problem;
  if (exchanges) {
    auto library = nccl::Library::open();
    if (const auto* absent = std::get_if<Said>(&library))
      problem = *absent;
    else
      tools.nccl.emplace(std::get<nccl::Library>(library));
  }
  return agreed(context, problem.empty() ? Said() : said("said.of", context.who(), problem));
}

}  // namespace

void refuse_one_gpu_of_several(const Params& params, int ranks, Problems& problems) {
  if (ranks > 1 && params.has("gpu"))
    problems.add("--gpu",
                 fmt::format("{} ranks take a GPU each, in their order on a host; next: leave "
                             "it out, and choose GPUs by CUDA_VISIBLE_DEVICES",
                             ranks));
}

std::variant<GpuTools, Said> open_gpu_tools(Context& context, const Params& params,
                                            const char* subject, bool exchanges) {
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return *why;
  GpuTools tools{std::move(std::get<GpuSession>(opened))};
  keep_chosen(tools.session, params, subject);
  if (context.comm.size() > 1)
    tools.rank_map = require_gpu_for_each(context, tools.session, subject);
  if (const Said why = open_libraries(context, tools, exchanges); !why.empty()) return why;
  return tools;
}

}  // namespace cb::training
