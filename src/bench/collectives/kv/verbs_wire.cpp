// Pages as RDMA writes: each goes from its block straight to the block at the receiver. The last
// write of a layer carries the layer's number as immediate data, which the receiver gets once this
// and all writes before it are in its memory; it acknowledges with an empty message.
#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "bench/collectives/kv/page_wire.h"
#include "bench/network/verbs/flow.h"
#include "bench/network/verbs/wait.h"
#include "core/clock.h"

namespace cb::kv {
namespace {

using verbs::Message;

constexpr size_t kMostOfAPost = 16;  // writes of a post; the last one asks for a completion
constexpr int kPolled = 16;
constexpr size_t kAddressBytes = 1024;

verbs::Regions regions_of(const PairEnd& end, uint64_t bytes) {
  return end.sends ? verbs::Regions{.out = bytes} : verbs::Regions{.in = bytes};
}

// Both ends' texts change places; an empty one says that an end has failed.
std::string address_of_peer(const PairEnd& end, const std::string& mine) {
  std::array<char, kAddressBytes> out{}, in{};
  if (mine.size() >= out.size()) throw Error("an address of a queue pair is too long");
  mine.copy(out.data(), mine.size());
  mpi::check(MPI_Sendrecv(out.data(), kAddressBytes, MPI_BYTE, end.peer, 0, in.data(),
                          kAddressBytes, MPI_BYTE, end.peer, 0, end.comm, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
  return in.data();
}

class VerbsWire final : public PageWire {
 public:
  VerbsWire(const PairEnd& end, uint64_t bytes, uint64_t origin,
            std::shared_ptr<const verbs::Device> device, const verbs::Spec& spec,
            const CancelToken& cancel)
      : end_(end),
        origin_(origin),
        bytes_(bytes),
        link_(std::move(device), spec, true, true, regions_of(end, bytes)),
        cancel_(cancel) {}

  std::string address() const { return link_.address().text(); }
  void connect(const std::string& peer) {
    link_.connect(verbs::Address::parse(peer));
    for (uint32_t i = 0; i < link_.receive_depth(); ++i) post_receive();
  }

  std::span<std::byte> memory() override { return {link_.memory().host(), bytes_}; }
  std::vector<double> send(const TransferPlan& plan) override {
    guarded([&](verbs::Idle& idle) { send_layers(plan, idle); });
    return std::move(acked_);
  }
  void receive(const TransferPlan& plan) override {
    guarded([&](verbs::Idle& idle) { receive_layers(plan, idle); });
  }
  void describe(Record& record) const override {
    record.facts["mtu_bytes"] = std::to_string(link_.mtu());
    record.facts["memory"] = link_.memory().how();
  }

 private:
  template <typename Transfer>
  void guarded(Transfer transfer);
  void send_layers(const TransferPlan& plan, verbs::Idle& idle);
  void receive_layers(const TransferPlan& plan, verbs::Idle& idle);
  void copy(const std::vector<Piece>& pieces);
  void post_layer(const std::vector<Piece>& messages, uint32_t layer, verbs::Idle& idle);
  void post_writes(std::span<const Piece> messages, bool ends_layer, uint32_t layer);
  void post_ack(uint32_t layer);
  void post(ibv_send_wr* list);
  void post_receive();
  void wait_for_room(uint64_t messages, verbs::Idle& idle);
  void wait_for_acks(size_t layers, verbs::Idle& idle);
  bool reap_sends();
  bool reap_layers();
  bool take_ack();
  void pause(verbs::Idle& idle);
  void hear(verbs::Idle& idle);
  uint64_t depth() const { return static_cast<uint64_t>(link_.spec().depth); }

  PairEnd end_;
  uint64_t origin_, bytes_;
  verbs::Link link_;
  const CancelToken& cancel_;
  uint64_t posted_ = 0, completed_ = 0;
  uint32_t told_ = 0;          // layers that the other end has told of in this transfer
  double start_ = 0;           // of the sender's clock
  std::vector<double> acked_;  // seconds from then until each layer's acknowledgement
};

// What failed here is told to the other end, which waits.
template <typename Transfer>
void VerbsWire::guarded(Transfer transfer) {
  verbs::Idle idle(end_.deadline_seconds, link_.device().soft(), cancel_);
  told_ = 0;
  try {
    link_.control().barrier(idle);
    transfer(idle);
  } catch (const std::exception& e) {
    Message last;
    last.kind = Message::failed;
    std::strncpy(last.text, e.what(), sizeof last.text - 1);
    try {
      link_.control().send(last);
    } catch (const Error&) {
      // The connection is what failed: the other end notices it by itself.
    }
    throw;
  }
}

void VerbsWire::copy(const std::vector<Piece>& pieces) {
  std::byte* const base = link_.memory().host() + origin_;
  for (const Piece& p : pieces) std::memcpy(base + p.to, base + p.from, p.bytes);
}

void VerbsWire::post(ibv_send_wr* list) {
  ibv_send_wr* bad = nullptr;
  if (const int rc = ibv_post_send(link_.pair(0), list, &bad); rc != 0)
    verbs::fail("ibv_post_send",
                fmt::format("{} towards {}", link_.device().name(), link_.peer().name), rc);
}

void VerbsWire::post_receive() {
  ibv_recv_wr request{}, *bad = nullptr;
  if (const int rc = ibv_post_recv(link_.pair(0), &request, &bad); rc != 0)
    verbs::fail("ibv_post_recv", link_.device().name(), rc);
}

void VerbsWire::post_writes(std::span<const Piece> messages, bool ends_layer, uint32_t layer) {
  std::array<ibv_sge, kMostOfAPost> pieces{};
  std::array<ibv_send_wr, kMostOfAPost> list{};
  const size_t n = messages.size();
  for (size_t i = 0; i < n; ++i) {
    const Piece& p = messages[i];
    pieces[i] = {link_.memory().address() + origin_ + p.from, static_cast<uint32_t>(p.bytes),
                 link_.key()};
    list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
    list[i].sg_list = &pieces[i];
    list[i].num_sge = 1;
    list[i].opcode = IBV_WR_RDMA_WRITE;
    list[i].wr.rdma.remote_addr = link_.peer().in + origin_ + p.to;
    list[i].wr.rdma.rkey = link_.peer().key;
  }
  ibv_send_wr& last = list[n - 1];
  last.send_flags = IBV_SEND_SIGNALED;
  last.wr_id = n;
  if (ends_layer) {
    last.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    last.imm_data = htonl(layer);
  }
  post(list.data());
  posted_ += n;
}

void VerbsWire::post_layer(const std::vector<Piece>& messages, uint32_t layer, verbs::Idle& idle) {
  const std::span<const Piece> all = messages;
  for (size_t first = 0; first < all.size();) {
    const size_t n = std::min({kMostOfAPost, all.size() - first, static_cast<size_t>(depth())});
    wait_for_room(n, idle);
    post_writes(all.subspan(first, n), first + n == all.size(), layer);
    first += n;
  }
}

void VerbsWire::post_ack(uint32_t layer) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = htonl(layer);
  request.wr_id = 1;
  post(&request);
  ++posted_;
}

bool VerbsWire::reap_sends() {
  std::array<ibv_wc, kPolled> wc;
  const int n = ibv_poll_cq(link_.send_cq(), kPolled, wc.data());
  if (n < 0) verbs::fail("ibv_poll_cq", link_.device().name(), n);
  for (int i = 0; i < n; ++i) {
    verbs::check_completion(link_, wc[static_cast<size_t>(i)], 0);
    completed_ += wc[static_cast<size_t>(i)].wr_id;
  }
  return n > 0;
}

// At most one, so that each layer's time is taken by itself.
bool VerbsWire::reap_layers() {
  ibv_wc wc{};
  const int n = ibv_poll_cq(link_.receive_cq(), 1, &wc);
  if (n < 0) verbs::fail("ibv_poll_cq", link_.device().name(), n);
  if (n == 0) return false;
  verbs::check_completion(link_, wc, 0);
  if (ntohl(wc.imm_data) != told_)
    throw Error(
        said("kv.told_layer", link_.peer().name, link_.device().name(), ntohl(wc.imm_data), told_));
  ++told_;
  post_receive();
  end_.moved();
  return true;
}

void VerbsWire::hear(verbs::Idle& idle) {
  const auto message = link_.control().try_receive();
  if (message && message->kind == Message::failed)
    throw Error(said("said.of", link_.peer().name, message->text));
  if (!idle.go_on())
    throw Error(idle.cancelled()
                    ? said("run.interrupted")
                    : said("verbs.not_finished", link_.device().name(), link_.peer().name));
}

void VerbsWire::pause(verbs::Idle& idle) {
  if (idle.again()) hear(idle);
}

// Where this end sends: the acknowledgement of a layer comes while the next one is posted.
bool VerbsWire::take_ack() {
  if (!end_.sends || !reap_layers()) return false;
  acked_.push_back(monotonic_seconds() - start_);
  return true;
}

void VerbsWire::wait_for_room(uint64_t messages, verbs::Idle& idle) {
  while (posted_ - completed_ + messages > depth()) {
    const bool acked = take_ack();
    if (reap_sends() || acked)
      idle.found();
    else
      pause(idle);
  }
}

void VerbsWire::wait_for_acks(size_t layers, verbs::Idle& idle) {
  while (acked_.size() < layers) {
    const bool acked = take_ack();
    if (reap_sends() || acked)
      idle.found();
    else
      pause(idle);
  }
}

void VerbsWire::send_layers(const TransferPlan& plan, verbs::Idle& idle) {
  acked_.clear();
  start_ = monotonic_seconds();
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    if (plan.staged && l >= 2) wait_for_acks(l - 1, idle);
    copy(plan.layers[l].gather);
    post_layer(plan.layers[l].messages, static_cast<uint32_t>(l), idle);
    while (take_ack()) continue;
  }
  wait_for_acks(plan.layers.size(), idle);
  wait_for_room(depth(), idle);
}

void VerbsWire::receive_layers(const TransferPlan& plan, verbs::Idle& idle) {
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    while (!reap_layers()) {
      reap_sends();
      pause(idle);
    }
    idle.found();
    copy(plan.layers[l].scatter);
    wait_for_room(1, idle);
    post_ack(static_cast<uint32_t>(l));
  }
  wait_for_room(depth(), idle);
}

}  // namespace

std::unique_ptr<PageWire> make_verbs_wire(const PairEnd& end, uint64_t bytes, uint64_t origin,
                                          verbs::DevicePool& pool, const RdmaPort& port,
                                          const verbs::Spec& spec, const CancelToken& cancel) {
  std::unique_ptr<VerbsWire> wire;
  std::string mine;
  Said failed;
  try {
    wire = std::make_unique<VerbsWire>(end, bytes, origin, pool.get(port), spec, cancel);
    mine = wire->address();
  } catch (const std::exception& e) {
    failed = said_by(e);
  }
  const std::string peer = address_of_peer(end, mine);
  if (!failed.empty()) throw Error(failed);
  if (peer.empty()) throw Error(said("kv.no_other_end"));
  wire->connect(peer);
  return wire;
}

}  // namespace cb::kv
