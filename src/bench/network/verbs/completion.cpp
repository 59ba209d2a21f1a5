#include "bench/network/verbs/completion.h"

#include <fmt/format.h>

#include "core/clock.h"

namespace cb::verbs {
namespace {

// Most completions that are taken from all queues; more than the largest queue of a device holds.
constexpr int kMaxTaken = 1 << 22;

bool is_cause(const ibv_wc& wc, uint32_t number) {
  return wc.qp_num == number && wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR;
}

const char* name_of(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET:
      return "RESET";
    case IBV_QPS_INIT:
      return "INIT";
    case IBV_QPS_RTR:
      return "RTR";
    case IBV_QPS_RTS:
      return "RTS";
    case IBV_QPS_SQD:
      return "SQD";
    case IBV_QPS_SQE:
      return "SQE";
    case IBV_QPS_ERR:
      return "ERR";
    default:
      return "unknown";
  }
}

std::string state_of(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr ignored{};
  if (ibv_query_qp(qp, &attributes, IBV_QP_STATE, &ignored) != 0) return "unknown";
  return name_of(attributes.qp_state);
}

}  // namespace

Cause find_cause(const ibv_wc& failed, std::span<ibv_cq* const> queues, double seconds) {
  if (failed.status != IBV_WC_WR_FLUSH_ERR) return {failed, true};
  const double end = monotonic_seconds() + seconds;
  int taken = 0;
  do {
    for (ibv_cq* queue : queues) {
      ibv_wc wc{};
      for (; taken < kMaxTaken && ibv_poll_cq(queue, 1, &wc) > 0; ++taken) {
        if (is_cause(wc, failed.qp_num)) return {wc, true};
      }
    }
  } while (taken < kMaxTaken && monotonic_seconds() < end);
  return {failed, false};
}

std::string describe(const Cause& cause, ibv_qp* qp) {
  const std::string status = ibv_wc_status_str(cause.completion.status);
  if (cause.delivered) return status;
  return fmt::format("{}: the queue pair (state {}) ended before, and no completion says why",
                     status, state_of(qp));
}

}  // namespace cb::verbs
