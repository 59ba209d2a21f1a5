#include "bench/collectives/nccl/cuda/rank_gpu.h"

#include "bench/collectives/nccl/cuda/gpu.h"
#include "bench/collectives/nccl/ranks.h"

namespace cb::nccl {
namespace {

constexpr size_t kMostRanksTold = 64;

// Collective. The first use of the GPUs: one that refuses a stream leaves nobody waiting.
Devices gpus_of(Context& context, const GpuSession& session) {
  Devices out;
  Said failed;
  for (const GpuUnit& unit : session.units()) {
    try {
      out.push_back(std::make_unique<Gpu>(unit.device));
    } catch (const std::exception& e) {
      failed = said("said.of", context.who(), gpu_failure(unit, "making a stream", e));
    }
  }
  failed = agreed(context, failed);
  if (!failed.empty()) throw Error(failed);
  return out;
}

// Collective. The map of the ranks, each of which must have a GPU of its own.
std::string require_gpus_apart(Context& context, const GpuSession& session,
                               const std::string& subject) {
  Devices mine = gpus_of(context, session);
  const auto map = gather_rank_map(context, mine, "");
  Problems problems;
  check_rank_map(map, problems);
  throw_agreed(context.comm, subject, problems);
  return rank_map_text(map, kMostRanksTold);
}

}  // namespace

std::variant<RankGpu, Said> open_rank_gpu(Context& context, const std::string& subject) {
  auto opened = GpuSession::open(context);
  if (const auto* why = std::get_if<Said>(&opened)) return *why;
  auto& session = std::get<GpuSession>(opened);
  if (session.units().size() > 1)
    session.units().erase(session.units().begin() + 1, session.units().end());
  auto library = Library::open();
  const auto* absent = std::get_if<Said>(&library);
  const Said none =
      agreed(context, absent == nullptr ? Said() : said("said.of", context.who(), *absent));
  if (!none.empty()) return none;
  std::string map = require_gpus_apart(context, session, subject);
  return RankGpu{std::move(session), std::get<Library>(std::move(library)), std::move(map)};
}

void RankGpu::describe(Record& record) const {
  session.describe(record);
  record.facts["library"] = library.name();
  record.facts["rank_map"] = map;
}

Devices gpu_alone(const GpuUnit& unit, double hang_after) {
  auto gpu = std::make_unique<Gpu>(unit.device);
  gpu->hang_after(hang_after);
  Devices out;
  out.push_back(std::move(gpu));
  return out;
}

Said gpu_failure(const GpuUnit& unit, const char* what, const std::exception& e) {
  return said("coll.gpu_failed", entity_name(unit.entity), unit.device.uuid, what, said_by(e));
}

Said exchange_failure(const GpuUnit& unit, const char* what, const std::exception& e) {
  return said("coll.exchange_failed", entity_name(unit.entity), unit.device.uuid, what, said_by(e));
}

}  // namespace cb::nccl
