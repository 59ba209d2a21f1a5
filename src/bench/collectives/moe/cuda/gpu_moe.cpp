// `moe --device gpu`: the GPUs of the ranks, and the library between them.
#include "bench/collectives/moe/gpu_moe.h"

#include <fmt/format.h>

#include "bench/collectives/moe/cuda/gpu_exchange.h"
#include "bench/collectives/moe/measure.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/cuda/rank_gpu.h"
#include "core/units.h"

namespace cb {
namespace {

using namespace moe;

constexpr const char* kGpuMoe = "clusterbench moe";
constexpr double kShareOfGpu = 0.85;  // kernels and the library need some too
// A group of NCCL takes 2048 operations, and each rank sends to and receives from all.
constexpr int kMostRanksOfMoe = 1024;

// Collective. Where the GPU of one rank fails, all ranks throw.
void require_all(Context& context, const GpuUnit& unit, const char* what,
                 const std::function<void()>& call) {
  Said failed;
  try {
    call();
  } catch (const std::exception& e) {
    failed = nccl::gpu_failure(unit, what, e);
  }
  if (!context.comm.any(!failed.empty())) return;
  if (failed.empty()) throw FailedElsewhere();
  throw Error(failed);
}

// Collective. Before anything is allocated.
void require_gpu_memory(Context& context, const GpuUnit& unit, const MoePoint& point,
                        const Routes& routes) {
  require_host_memory(context, point, routes);  // to look at what came
  double free = 0;
  require_all(context, unit, "asking for its memory", [&] {
    selected(unit);
    free = static_cast<double>(cuda::memory_info().free_bytes);
  });
  const auto needed = static_cast<double>(GpuExchange::device_bytes(routes, point.format));
  Problems problems;
  if (needed > kShareOfGpu * free)
    problems.add("--batch", fmt::format("{} needs {} of {}, of which {} are free: ask for fewer "
                                        "tokens or a smaller --hidden",
                                        point.plan.what, format_value(needed, "bytes"),
                                        entity_name(unit.entity), format_value(free, "bytes")));
  throw_agreed(context.comm, kGpuMoe, problems);
}

// Collective.
std::unique_ptr<ExpertExchange> make_gpu_exchange(const GpuMoeTools& tools, Routes routes,
                                                  const TokenData& data,
                                                  std::vector<std::string> names, int number) {
  std::unique_ptr<GpuExchange> out;
  const std::string point = fmt::format("{} tokens", routes.router.tokens);
  tools.context.watchdog.note(point + ", taking memory of the GPU");
  require_all(tools.context, tools.unit, "taking memory", [&] {
    out = std::make_unique<GpuExchange>(std::move(routes), data, std::move(names), tools, point,
                                        number);
  });
  out->connect();
  return out;
}

}  // namespace

std::vector<Record> measure_gpu_moe(Context& context, const Params& params) {
  if (context.comm.size() > kMostRanksOfMoe)
    throw UsageError(kGpuMoe, "--device",
                     fmt::format("gpu takes at most {} ranks: a group of NCCL has two operations "
                                 "for each",
                                 kMostRanksOfMoe));
  auto opened = nccl::open_rank_gpu(context, kGpuMoe);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("moe", params, *why);
  const auto& mine = std::get<nccl::RankGpu>(opened);
  nccl::Devices near_these;
  near_these.push_back(std::make_unique<nccl::Gpu>(mine.unit().device));
  const nccl::NearDevices near(context, near_these);
  const Group group = make_group(context.place, context.comm.rank(), "");
  const GpuMoeTools tools{context, group.comm, mine.library, mine.unit(),
                          params.number("hang-after")};
  int exchanges = 0;
  const MoeDevice gpu{
      .require_room =
          [&](const MoePoint& point, const Routes& routes) {
            require_gpu_memory(context, mine.unit(), point, routes);
          },
      .make =
          [&](Routes routes, const TokenData& data, std::vector<std::string> names) {
            return make_gpu_exchange(tools, std::move(routes), data, std::move(names), ++exchanges);
          },
      .describe = [&](Record& record) { mine.describe(record); }};
  return run_moe_points(context, params, group.comm, gpu);
}

}  // namespace cb
