#include "bench/network/verbs/flow.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/network/verbs/completion.h"

namespace cb::verbs {
namespace {

ibv_wr_opcode opcode_of(Verb verb) {
  switch (verb) {
    case Verb::write:
      return IBV_WR_RDMA_WRITE;
    case Verb::read:
      return IBV_WR_RDMA_READ;
    case Verb::send:
      return IBV_WR_SEND;
    case Verb::fetch_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Verb::compare_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
  }
  return IBV_WR_SEND;
}

unsigned inline_flag(const Link& link) {
  const bool fits = link.inline_bytes() > 0 && link.inline_bytes() >= link.spec().bytes;
  return fits ? static_cast<unsigned>(IBV_SEND_INLINE) : 0U;
}

}  // namespace

Requests::Requests(const Link& link, size_t q)
    : link_(link),
      q_(q),
      moves_(link.slots() > 1 || link.spec().verb == Verb::compare_swap),
      flags_(inline_flag(link)),
      pieces_(static_cast<size_t>(link.spec().post_list)),
      list_(pieces_.size()) {
  const Spec& spec = link.spec();
  for (size_t k = 0; k < list_.size(); ++k) {
    pieces_[k] = {0, static_cast<uint32_t>(spec.bytes), link.key()};
    ibv_send_wr& wr = list_[k];
    wr = {};
    wr.next = k + 1 < list_.size() ? &list_[k + 1] : nullptr;
    wr.sg_list = &pieces_[k];
    wr.num_sge = 1;
    wr.opcode = opcode_of(spec.verb);
    wr.send_flags = flags_;
    if (spec.service == Service::ud) {
      wr.wr.ud.ah = link.handle();
      wr.wr.ud.remote_qpn = link.peer().pairs[q];
      wr.wr.ud.remote_qkey = kDatagramKey;
    } else if (is_atomic(spec.verb)) {
      wr.wr.atomic.remote_addr = link.peer_in(q, 0);
      wr.wr.atomic.rkey = link.peer().key;
      wr.wr.atomic.compare_add = 1;
    } else {
      wr.wr.rdma.rkey = link.peer().key;
    }
    aim(k, 0);
  }
}

// A read fetches from the peer's `out` into our `in`. An atomic leaves the old value in our `out`.
void Requests::aim(size_t k, uint64_t number) {
  const uint64_t slot = number % link_.slots();
  ibv_send_wr& wr = list_[k];
  const Verb verb = link_.spec().verb;
  pieces_[k].addr = verb == Verb::read ? link_.in_address(q_, slot) : link_.out_address(q_, slot);
  if (verb == Verb::write) wr.wr.rdma.remote_addr = link_.peer_in(q_, slot);
  if (verb == Verb::read) wr.wr.rdma.remote_addr = link_.peer_out(q_, slot);
  if (verb == Verb::compare_swap) {
    wr.wr.atomic.compare_add = number;
    wr.wr.atomic.swap = number + 1;
  }
}

void Requests::post(uint64_t first, int count, uint64_t covers) {
  const auto n = static_cast<size_t>(count);
  if (moves_) {
    for (size_t k = 0; k < n; ++k) aim(k, first + k);
  }
  ibv_send_wr& last = list_[n - 1];
  ibv_send_wr* next = last.next;
  last.next = nullptr;
  last.send_flags = flags_;
  if (covers > 0) last.send_flags |= IBV_SEND_SIGNALED;
  last.wr_id = (static_cast<uint64_t>(q_) << 32U) | covers;
  ibv_send_wr* bad = nullptr;
  const int rc = ibv_post_send(link_.pair(q_), list_.data(), &bad);
  last.next = next;
  last.send_flags = flags_;
  if (rc != 0)
    fail("ibv_post_send", fmt::format("{} towards {}", link_.device().name(), link_.peer().name),
         rc);
}

Receives::Receives(const Link& link, size_t q)
    : link_(link), q_(q), batch_(std::max<uint64_t>(1, link.receive_depth() / 8)) {
  const uint64_t header = link.spec().service == Service::ud ? kGrhBytes : 0;
  pieces_.resize(link.receive_depth());
  list_.resize(link.receive_depth());
  for (size_t i = 0; i < list_.size(); ++i) {
    pieces_[i] = {0, static_cast<uint32_t>(link.spec().bytes + header), link.key()};
    list_[i] = {};
    list_[i].wr_id = q;
    list_[i].sg_list = &pieces_[i];
    list_[i].num_sge = 1;
  }
}

void Receives::post(uint64_t first, uint64_t count) {
  const uint64_t header = link_.spec().service == Service::ud ? kGrhBytes : 0;
  for (size_t k = 0; k < count; ++k) {
    pieces_[k].addr = link_.in_address(q_, (first + k) % link_.slots()) - header;
    list_[k].next = k + 1 < count ? &list_[k + 1] : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  if (const int rc = ibv_post_recv(link_.pair(q_), list_.data(), &bad); rc != 0)
    fail("ibv_post_recv", link_.device().name(), rc);
  posted_ = first + count;
}

void Receives::post_all() { post(0, list_.size()); }

void Receives::consumed() {
  ++consumed_;
  if (consumed_ + list_.size() - posted_ >= batch_) post(posted_, batch_);
}

void check_completion(const Link& link, const ibv_wc& wc, size_t q) {
  if (wc.status == IBV_WC_SUCCESS) return;
  const std::array queues{link.send_cq(), link.receive_cq()};
  const Cause cause = find_cause(wc, queues);
  const ibv_wc_status status = cause.completion.status;
  const bool gone = status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR;
  const bool confused =
      (status == IBV_WC_REM_INV_REQ_ERR || !cause.delivered) && link.device().soft();
  const Said what =
      said("verbs.completion", link.device().name(), link.peer().name,
           describe(cause, link.pair(q)), q, fmt::format("0x{:x}", cause.completion.vendor_err));
  const Said text = gone               ? said("said.next", what, said("verbs.alive"))
                    : confused         ? said_list({what, said("verbs.soft_resend")})
                    : !cause.delivered ? said("said.next", what, said("verbs.see_counters"))
                                       : what;
  if (!cause.delivered) throw Flushed(text);
  throw Error(text);
}

}  // namespace cb::verbs
