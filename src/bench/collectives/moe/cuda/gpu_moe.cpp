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

// Collective. Before anything is allocated.
void require_gpu_memory(Context& context, const GpuUnit& unit, const MoePoint& point,
                        const Routes& routes) {
  require_host_memory(context, point, routes);  // to look at what came
  selected(unit);
  const auto needed = static_cast<double>(GpuExchange::device_bytes(routes, point.format));
  const auto free = static_cast<double>(cuda::memory_info().free_bytes);
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
                                                  std::vector<std::string> names) {
  std::unique_ptr<GpuExchange> out;
  Said failed;
  const std::string point = fmt::format("{} tokens", routes.router.tokens);
  try {
    out = std::make_unique<GpuExchange>(std::move(routes), data, std::move(names), tools, point);
  } catch (const std::exception& e) {
    failed = nccl::gpu_failure(tools.unit, "taking memory", e);
  }
  if (tools.context.comm.any(out == nullptr)) {
    if (failed.empty()) throw FailedElsewhere();
    throw Error(failed);
  }
  out->connect();
  return out;
}

}  // namespace

std::vector<Record> measure_gpu_moe(Context& context, const Params& params) {
  auto opened = nccl::open_rank_gpu(context, kGpuMoe);
  if (const auto* why = std::get_if<Said>(&opened)) return skipped_record("moe", params, *why);
  const auto& mine = std::get<nccl::RankGpu>(opened);
  nccl::Devices near_these;
  near_these.push_back(std::make_unique<nccl::Gpu>(mine.unit().device));
  const nccl::NearDevices near(context, near_these);
  const Group group = make_group(context.place, context.comm.rank(), "");
  const GpuMoeTools tools{context, group.comm, mine.library, mine.unit(),
                          params.number("hang-after")};
  const MoeDevice gpu{
      .require_room =
          [&](const MoePoint& point, const Routes& routes) {
            require_gpu_memory(context, mine.unit(), point, routes);
          },
      .make =
          [&](Routes routes, const TokenData& data, std::vector<std::string> names) {
            return make_gpu_exchange(tools, std::move(routes), data, std::move(names));
          },
      .describe = [&](Record& record) { mine.describe(record); }};
  return run_moe_points(context, params, group.comm, gpu);
}

}  // namespace cb
