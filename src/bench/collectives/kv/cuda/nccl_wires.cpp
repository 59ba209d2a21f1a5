// Pages between pools in the memory of two GPUs: messages of a layer in groups of ncclSend and
// ncclRecv in one stream. Words about a transfer go by MPI. A copy of the pool in host memory is
// what pages are made in and looked at.
#include "bench/collectives/kv/nccl_wires.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "bench/collectives/buffer.h"
#include "bench/collectives/kv/layer_acks.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/nccl/cuda/gpu.h"
#include "bench/collectives/nccl/cuda/rank_gpu.h"

namespace cb::kv {
namespace {

constexpr double kShareOfGpuMemory = 0.85;  // the library needs some too
// Each transfer has tags of its own: what a failed one has left waiting takes nothing of the next.
constexpr int kFirstTag = 1000, kTransfersOfTags = 9000;

// What the wires of all points share.
struct PairTools {
  Context& context;
  const nccl::RankGpu& mine;
  const GroupComm& pair;
  double hang_after;
  int& transfers;  // of this rank
};

nccl::Devices devices_of_pair(const GpuUnit& unit) {
  nccl::Devices out;
  out.push_back(std::make_unique<nccl::Gpu>(unit.device));  // selects it
  return out;
}

class NcclWire final : public PageWire {
 public:
  NcclWire(const PairEnd& end, uint64_t bytes, uint64_t origin, const PairTools& tools)
      : end_(end),
        tools_(tools),
        devices_(devices_of_pair(tools.mine.unit())),
        gpu_(static_cast<nccl::Gpu*>(devices_.front().get())),
        here_(host_buffer(bytes)),
        there_(room(bytes)),
        origin_(origin) {}

  // Collective over the pair.
  void connect() {
    nccl::CommOptions options;
    options.wait_seconds = end_.deadline_seconds;
    comms_ = std::make_unique<nccl::Communicators>(tools_.mine.library, tools_.context, tools_.pair,
                                                   devices_, options);
  }

  std::span<std::byte> memory() override { return {here_->data(), here_->bytes()}; }

  void load() override {
    ++tools_.transfers;
    guarded("copying pages", [&] {
      cuda::copy(there_->data(), here_->data(), here_->bytes(), gpu_->queue());
      cuda::wait(gpu_->queue(), tools_.hang_after, "copying pages");
    });
  }
  void unload() override {
    guarded("copying pages", [&] {
      cuda::fetch(here_->data(), there_->data(), here_->bytes(), gpu_->queue(), tools_.hang_after,
                  "copying pages");
    });
  }

  std::vector<double> send(const TransferPlan& plan) override {
    LayerAcks acks(end_, plan.layers.size(), tag(1));
    MPI_Request ready = MPI_REQUEST_NULL;
    mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, end_.peer, tag(0), end_.comm, &ready), "MPI_Irecv");
    guarded("sending pages", [&] {
      wait_until("the receiver", [&] { return is_complete(ready); });
      acks.start();
      for (const LayerPlan& layer : plan.layers) {
        copy(layer.gather);
        groups(
            layer.messages, [&](const Piece& p) { return send_piece(p); }, [&] { acks.poll(); });
      }
      comms_->mark();
      wait_until("sending pages", [&] {
        acks.poll();
        return acks.all() && comms_->done("sending pages");
      });
    });
    return std::move(acks).seconds();
  }

  // Ready once the first messages are waited for; the rest is queued while they come.
  void receive(const TransferPlan& plan) override {
    const size_t layers = plan.layers.size();
    while (whole_.size() < layers) whole_.emplace_back();
    std::vector<MPI_Request> acks(layers, MPI_REQUEST_NULL);
    guarded("receiving pages", [&] {
      size_t queued = 0, told = 0;
      bool ready = false;
      const auto tell = [&] {
        if (!std::exchange(ready, true)) say(tag(0), nullptr);
        for (; told < queued && whole_[told].reached(); ++told) {
          say(tag(1), &acks[told]);
          end_.moved();
        }
      };
      for (const LayerPlan& layer : plan.layers) {
        groups(
            layer.messages, [&](const Piece& p) { return receive_piece(p); }, tell);
        copy(layer.scatter);
        whole_[queued++].record(gpu_->queue());
      }
      comms_->mark();
      wait_until("receiving pages", [&] {
        tell();
        return told == layers && comms_->done("receiving pages");
      });
      wait_until("the acknowledgements", [&] { return std::ranges::all_of(acks, is_complete); });
    });
  }

  void describe(Record& record) const override {
    tools_.mine.describe(record);
    record.facts["memory"] = gpu_->name();
  }

 private:
  std::unique_ptr<nccl::DeviceBuffer> room(uint64_t bytes) {
    const double free = static_cast<double>(gpu_->free_bytes());
    if (static_cast<double>(bytes) > kShareOfGpuMemory * free)
      throw Error(said("coll.no_room", Quantity{static_cast<double>(bytes), "bytes"}, gpu_->name(),
                       Quantity{free, "bytes"}));
    return gpu_->buffer(bytes, nullptr);
  }
  int tag(int which) const { return kFirstTag + 2 * (tools_.transfers % kTransfersOfTags) + which; }
  std::byte* at(uint64_t place) const { return there_->data() + origin_ + place; }

  // What fails here lets go the other end, which waits.
  template <typename Call>
  void guarded(const char* what, Call call) {
    try {
      gpu_->select();
      call();
    } catch (const std::exception& e) {
      if (comms_) comms_->abort();
      throw Error(nccl::gpu_failure(tools_.mine.unit(), what, e));
    }
  }

  void copy(const std::vector<Piece>& pieces) {
    for (const Piece& p : pieces) cuda::copy(at(p.to), at(p.from), p.bytes, gpu_->queue());
  }

  nccl::abi::Result send_piece(const Piece& p) const {
    return tools_.mine.library.call().send(at(p.from), p.bytes, nccl::abi::kUint8, other(),
                                           comms_->comm(0), gpu_->stream());
  }
  nccl::abi::Result receive_piece(const Piece& p) const {
    return tools_.mine.library.call().recv(at(p.to), p.bytes, nccl::abi::kUint8, other(),
                                           comms_->comm(0), gpu_->stream());
  }
  int other() const { return 1 - comms_->rank(0); }

  // At most a window of messages in a group of the library. Both ends cut alike.
  template <typename One, typename Between>
  void groups(std::span<const Piece> messages, One one, Between between) {
    while (!messages.empty()) {
      const auto some = messages.first(std::min(messages.size(), static_cast<size_t>(end_.window)));
      comms_->grouped("pages", [&](size_t) {
        nccl::abi::Result result = nccl::abi::kSuccess;
        for (const Piece& p : some) {
          result = one(p);
          if (result != nccl::abi::kSuccess && result != nccl::abi::kInProgress) break;
        }
        return result;
      });
      messages = messages.subspan(some.size());
      between();
    }
  }

  void say(int tag, MPI_Request* request) const {
    MPI_Request own = MPI_REQUEST_NULL;
    MPI_Request& used = request == nullptr ? own : *request;
    mpi::check(MPI_Isend(nullptr, 0, MPI_BYTE, end_.peer, tag, end_.comm, &used), "MPI_Isend");
    if (request == nullptr) wait_until("a word to the other end", [&] { return is_complete(own); });
  }

  // Past the deadline the watchdog ends the job and says where each rank was.
  template <typename Condition>
  void wait_until(const char* what, Condition condition) const {
    const double end = monotonic_seconds() + end_.deadline_seconds;
    while (!condition()) {
      static_cast<void>(comms_->done(what));  // throws for errors of the library and the GPU
      if (monotonic_seconds() > end) comms_->give_up(what);
      ::sched_yield();
    }
  }

  PairEnd end_;
  PairTools tools_;
  nccl::Devices devices_;
  nccl::Gpu* gpu_;
  std::unique_ptr<CollectiveBuffer> here_;
  std::unique_ptr<nccl::DeviceBuffer> there_;
  uint64_t origin_;
  std::deque<cuda::Event> whole_;  // of the receiver: each layer is there
  std::unique_ptr<nccl::Communicators> comms_;
};

// The communicator of this rank's pair, in which the sender is the first; alone without a partner.
GroupComm pair_of(const Context& context) {
  const std::vector<HostPair> pairs = half_to_half(context.place.host_of_rank);
  const int rank = context.comm.rank();
  const auto mine = std::ranges::find_if(
      pairs, [rank](const HostPair& p) { return p.from == rank || p.to == rank; });
  const auto colour = static_cast<int>(mine - pairs.begin());
  if (mine == pairs.end()) return GroupComm(mpi::Communicator::split_world(colour + rank, 0));
  return GroupComm(mpi::Communicator::split_world(colour, mine->to == rank ? 1 : 0));
}

class NcclPairs final : public NcclWires {
 public:
  NcclPairs(Context& context, nccl::RankGpu mine, double hang_after)
      : context_(context),
        mine_(std::move(mine)),
        devices_(devices_of_pair(mine_.unit())),
        near_(context, devices_),
        pair_(pair_of(context)),
        hang_after_(hang_after) {}

  std::unique_ptr<PageWire> make(const PairEnd& end, uint64_t bytes, uint64_t origin) override {
    std::unique_ptr<NcclWire> wire;
    Said failed;
    try {
      wire = std::make_unique<NcclWire>(end, bytes, origin,
                                        PairTools{context_, mine_, pair_, hang_after_, transfers_});
    } catch (const std::exception& e) {
      failed = nccl::gpu_failure(mine_.unit(), "taking memory", e);
    }
    const bool both = pair_.max({wire ? 0.0 : 1.0}).front() == 0;
    if (!failed.empty()) throw Error(failed);
    if (!both) throw Error(said("kv.no_other_end"));
    wire->connect();
    return wire;
  }

 private:
  Context& context_;
  nccl::RankGpu mine_;
  nccl::Devices devices_;
  nccl::NearDevices near_;
  GroupComm pair_;
  double hang_after_;
  int transfers_ = 0;
};

}  // namespace

std::variant<std::unique_ptr<NcclWires>, Said> open_nccl_wires(Context& context,
                                                               double hang_after) {
  auto opened = nccl::open_rank_gpu(context, "clusterbench kv-transfer");
  if (auto* why = std::get_if<Said>(&opened)) return *why;
  return std::make_unique<NcclPairs>(context, std::get<nccl::RankGpu>(std::move(opened)),
                                     hang_after);
}

}  // namespace cb::kv
