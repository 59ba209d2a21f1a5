#include "bench/collectives/nccl/together.h"

#include <algorithm>

#include <sched.h>

#include "core/clock.h"

namespace cb::nccl {
namespace {

constexpr const char* kWhatTogether = "calls of all dimensions";

std::vector<Communicators*> comms_of(std::span<NcclCall* const> calls) {
  std::vector<Communicators*> out;
  for (NcclCall* call : calls) out.push_back(&call->comms());
  return out;
}

}  // namespace

double run_together(std::span<NcclCall* const> calls, int times, std::span<double> seconds) {
  const std::vector<Communicators*> all = comms_of(calls);
  const double begun = monotonic_seconds();
  for (int t = 0; t < times; ++t) {
    if (t > 0) {
      for (Communicators* comms : all) comms->settle_taken(kWhatTogether);
    }
    Communicators::grouped_together(all, kWhatTogether, [&](size_t lane, size_t device) {
      return calls[lane]->enqueue(device);
    });
  }
  for (Communicators* comms : all) comms->mark();
  std::fill(seconds.begin(), seconds.end(), 0);
  for (size_t left = calls.size(); left > 0;) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (seconds[i] > 0 || !all[i]->done(kWhatTogether)) continue;
      seconds[i] = std::max(1e-9, monotonic_seconds() - begun) / times;
      --left;
    }
    const double waited = monotonic_seconds() - begun;
    if (left > 0 && waited > all.front()->wait_seconds() * times)
      all.front()->give_up(kWhatTogether);
    if (waited > 1e-3) sched_yield();
  }
  return begun;
}

}  // namespace cb::nccl
