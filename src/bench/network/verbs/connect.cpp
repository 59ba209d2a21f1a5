#include "bench/network/verbs/connect.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace cb::verbs {
namespace {

// 4.096 µs × 2^14 = 67 ms without an answer, seven times; then the transfer fails after half a
// second.
constexpr uint8_t kTimeout = 14;
// For soft-RoCE: 0.54 s. The kernel does its work and waits for a processor, so 67 ms may pass
// without a loss. A needless repeat then ends two-way transfers (Linux 6.1: "remote invalid request
// error"; perftest -b fails too).
constexpr uint8_t kSoftTimeout = 17;
constexpr uint8_t kRetries = 7;
constexpr uint8_t kReceiverNotReadyRetries = 7;  // 7: for ever; our deadline ends it
constexpr uint8_t kReceiverNotReadyTimer = 12;   // 12: 0.64 ms
constexpr uint8_t kHops = 64;

ibv_qp_type type_of(Service service) {
  switch (service) {
    case Service::rc:
      return IBV_QPT_RC;
    case Service::uc:
      return IBV_QPT_UC;
    case Service::ud:
      return IBV_QPT_UD;
  }
  return IBV_QPT_RC;
}

void modify(ibv_qp* qp, ibv_qp_attr& attributes, int mask, const char* state,
            const std::string& what) {
  if (const int rc = ibv_modify_qp(qp, &attributes, mask); rc != 0)
    fail(fmt::format("ibv_modify_qp to {}", state), what, rc,
         "next: compare GID index, MTU and addresses of both ends (clusterbench info)");
}

void to_init(ibv_qp* qp, const Device& device, Service service) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = static_cast<uint8_t>(device.info.port);
  a.pkey_index = 0;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (service == Service::ud) {
    a.qkey = kDatagramKey;
    mask |= IBV_QP_QKEY;
  } else {
    a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (service == Service::rc)
      a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    mask |= IBV_QP_ACCESS_FLAGS;
  }
  modify(qp, a, mask, "INIT", device.name());
}

}  // namespace

QpPtr make_queue_pair(const Device& device, const Spec& spec, Service service, ibv_cq* send,
                      ibv_cq* receive, uint32_t send_depth, uint32_t receive_depth,
                      uint32_t inline_bytes) {
  ibv_qp_init_attr init{};
  init.send_cq = send;
  init.recv_cq = receive;
  init.qp_type = type_of(service);
  init.cap.max_send_wr = send_depth;
  init.cap.max_recv_wr = receive_depth;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = inline_bytes;
  QpPtr qp(ibv_create_qp(device.pd.get(), &init));
  if (!qp)
    fail("ibv_create_qp", device.name(), errno,
         inline_bytes > 0
             ? fmt::format("the device may not take --inline {}: try less, or --tx-depth below {}",
                           inline_bytes, send_depth)
             : fmt::format("try --qps below {} or --tx-depth below {}", spec.qps, send_depth));
  to_init(qp.get(), device, service);
  return qp;
}

ibv_ah_attr address_of(const Device& device, const Spec& spec, const Address& peer,
                       const Path& path) {
  ibv_ah_attr a{};
  a.dlid = peer.lid;
  a.sl = static_cast<uint8_t>(spec.service_level);
  a.port_num = static_cast<uint8_t>(device.info.port);
  if (peer.global) {
    a.is_global = 1;
    std::memcpy(a.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    a.grh.sgid_index = static_cast<uint8_t>(path.gid_index);
    a.grh.hop_limit = kHops;
    a.grh.traffic_class = static_cast<uint8_t>(spec.traffic_class);
  }
  return a;
}

void make_ready(ibv_qp* qp, const Device& device, const Spec& spec, Service service,
                const Address& mine, const Address& peer, uint32_t peer_number, const Path& path) {
  const std::string what = fmt::format("{} towards {}", device.name(), peer.name);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  int mask = IBV_QP_STATE;
  if (service != Service::ud) {
    a.path_mtu = path.mtu;
    a.dest_qp_num = peer_number;
    a.rq_psn = peer.sequence;
    a.ah_attr = address_of(device, spec, peer, path);
    mask |= IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_AV;
  }
  if (service == Service::rc) {
    a.max_dest_rd_atomic = static_cast<uint8_t>(path.reads_in);
    a.min_rnr_timer = kReceiverNotReadyTimer;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  modify(qp, a, mask, "RTR", what);

  ibv_qp_attr s{};
  s.qp_state = IBV_QPS_RTS;
  s.sq_psn = mine.sequence;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (service == Service::rc) {
    s.timeout =
        static_cast<uint8_t>(spec.ack_timeout.value_or(device.soft() ? kSoftTimeout : kTimeout));
    s.retry_cnt = kRetries;
    s.rnr_retry = kReceiverNotReadyRetries;
    s.max_rd_atomic = static_cast<uint8_t>(path.reads_out);
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  modify(qp, s, mask, "RTS", what);
}

}  // namespace cb::verbs
