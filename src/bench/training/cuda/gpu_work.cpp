#include "bench/training/cuda/gpu_work.h"

#include <memory>
#include <optional>

#include "bench/training/meeting.h"

namespace cb::training {
namespace {

void run_telling(Context& context, const GpuWork& work, GpuBackend& backend,
                 std::optional<GpuLinks>& links) {
  if (!links) {
    auto alone = connect<float>(context.comm, work.layout);
    return work.run(backend, alone);
  }
  try {
    work.run(backend, links->fabric());
  } catch (const std::exception&) {
    links->abort();
    throw;
  }
}

void lose(GpuUnit& unit, const Error& e, bool exchanges) {
  cuda::forget_error();
  unit.hangs = e.code() == ExitCode::deadline;
  unit.lost = said("gpu.lost", entity_name(unit.entity), unit.device.uuid, e.said());
  if (exchanges) throw Error(unit.lost, e.code());
}

}  // namespace

void work_on_gpu(Context& context, const GpuTools& tools, GpuUnit& unit, const GpuWork& work) {
  std::unique_ptr<GpuBackend> backend;
  std::optional<GpuLinks> links;
  try {
    const auto make = [&] { backend = cuda_backend(*tools.blas, work.settings); };
    if (work.exchanges) {
      make();
      links.emplace(
          LaneTools{*tools.nccl, context, unit, backend->queue(), work.settings.deadline_seconds},
          work.layout);
      work.linked();
    } else if (!meet_behind(context.comm, make)) {
      return;
    }
    run_telling(context, work, *backend, links);
  } catch (const ExchangeError&) {
    throw;
  } catch (const cuda::OutOfMemory& e) {
    throw Error(said("train.gpu_full", entity_name(unit.entity), unit.device.uuid, e.said()));
  } catch (const cublaslt::Unsupported& e) {
    throw Error(said("gpu.unsupported", entity_name(unit.entity), tools.blas->version(), e.said()));
  } catch (const Error& e) {
    if (backend && !backend->lost()) throw;
    lose(unit, e, work.exchanges);
  }
}

}  // namespace cb::training
