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
#include "bench/collectives/nccl/failure_words.h"

namespace cb::kv {
namespace {

constexpr double kShareOfGpuMemory = 0.85;  // the library needs some too
// Each transfer has tags of its own: what a failed one has left waiting takes nothing of the next.
constexpr int kFirstTag = 1000, kTransfersOfTags = 9000;
constexpr int kFirstTagOfWords = 21000, kTagsOfWords = 1000;
// Seconds: a word of the other end comes within; behind an abort a GPU has done what was queued.
constexpr double kWordSeconds = 0.5, kAfterAbortSeconds = 10;
constexpr size_t kCopiesBetweenLooks = 16, kMostCopies = 256;

// What the wires of all points share.
struct PairTools {
  Context& context;
  const nccl::RankGpu& mine;
  const GroupComm& pair;
  double hang_after;
  int& transfers;  // of this rank
};

// What lies on the GPU, left behind there where it has failed: freeing would wait for what is
// queued, perhaps for ever.
struct PoolOnGpu {
  PoolOnGpu(const GpuUnit& unit, double hang_after, uint64_t bytes)
      : devices(nccl::gpu_alone(unit, hang_after)),
        gpu(static_cast<nccl::Gpu*>(devices.front().get())),
        pool(room(bytes)) {}

  std::unique_ptr<nccl::DeviceBuffer> room(uint64_t bytes) const {
    const double free = static_cast<double>(gpu->free_bytes());
    if (static_cast<double>(bytes) > kShareOfGpuMemory * free)
      throw Error(said("coll.no_room", Quantity{static_cast<double>(bytes), "bytes"}, gpu->name(),
                       Quantity{free, "bytes"}));
    return gpu->buffer(bytes, nullptr);
  }

  nccl::Devices devices;
  nccl::Gpu* gpu;
  std::unique_ptr<nccl::DeviceBuffer> pool;
  std::deque<cuda::Event> whole;  // behind each layer
  cuda::Event full;
};

class NcclWire final : public PageWire {
 public:
  NcclWire(const PairEnd& end, uint64_t bytes, uint64_t origin, const PairTools& tools)
      : end_(end),
        tools_(tools),
        here_(host_buffer(bytes)),
        there_(std::make_unique<PoolOnGpu>(tools.mine.unit(), tools.hang_after, bytes)),
        gpu_(there_->gpu),
        origin_(origin) {}
  ~NcclWire() override {
    if (lost_) static_cast<void>(there_.release());
  }

  // Collective over the pair. The library connects two ranks within their first group, which ends
  // only when both have come to it: here, where neither waits for a word of the other.
  void connect(int number) {
    words_ =
        std::make_unique<nccl::FailureWords>(tools_.pair, kFirstTagOfWords + number % kTagsOfWords);
    nccl::CommOptions options;
    options.wait_seconds = end_.deadline_seconds;
    options.meanwhile = [this] { words_->listen(); };
    comms_ = std::make_unique<nccl::Communicators>(tools_.mine.library, tools_.context, tools_.pair,
                                                   there_->devices, options);
    guarded("connecting", [&] {
      const Piece first{0, 0, 1};
      groups(
          std::span(&first, 1),
          [&](const Piece& p) { return end_.sends ? send_piece(p) : receive_piece(p); }, [] {});
      comms_->finish("connecting");
    });
  }

  std::span<std::byte> memory() override { return {here_->data(), here_->bytes()}; }

  void load() override {
    ++tools_.transfers;
    guarded("copying pages", [&] {
      cuda::copy(there_->pool->data(), here_->data(), here_->bytes(), gpu_->queue());
      cuda::wait(gpu_->queue(), tools_.hang_after, "copying pages");
    });
  }
  bool waits_for_the_failed() const override { return true; }
  void unload() override {
    guarded("copying pages", [&] {
      cuda::fetch(here_->data(), there_->pool->data(), here_->bytes(), gpu_->queue(),
                  tools_.hang_after, "copying pages");
    });
  }

  std::vector<double> send(const TransferPlan& plan) override {
    LayerAcks acks(end_, plan.layers.size(), tag(1));
    MPI_Request ready = MPI_REQUEST_NULL;
    need_events(plan.layers.size());
    mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, end_.peer, tag(0), end_.comm, &ready), "MPI_Irecv");
    guarded("sending pages", [&] {
      wait_until("the receiver", [&] { return is_complete(ready); });
      acks.start();
      const auto look = [&] {
        while (acks.poll()) {
        }
      };
      for (size_t l = 0; l < plan.layers.size(); ++l) {
        await_layer_before_last(l, look);
        copy(plan.layers[l].gather, look);
        groups(
            plan.layers[l].messages, [&](const Piece& p) { return send_piece(p); }, look);
        there_->whole[l].record(gpu_->queue());
      }
      comms_->mark();
      wait_until("sending pages", [&] {
        look();
        return acks.all() && comms_->done("sending pages");
      });
    });
    return std::move(acks).seconds();
  }

  // Ready once the first messages are waited for; the rest is queued while they come.
  void receive(const TransferPlan& plan) override {
    const size_t layers = plan.layers.size();
    need_events(layers);
    std::vector<MPI_Request> acks(layers, MPI_REQUEST_NULL);
    guarded("receiving pages", [&] {
      size_t queued = 0, told = 0;
      bool ready = false;
      const auto tell = [&] {
        if (!std::exchange(ready, true)) say(tag(0), nullptr);
        for (; told < queued && there_->whole[told].reached(); ++told) {
          say(tag(1), &acks[told]);
          end_.moved();
        }
      };
      for (const LayerPlan& layer : plan.layers) {
        await_layer_before_last(queued, tell);
        groups(
            layer.messages, [&](const Piece& p) { return receive_piece(p); }, tell);
        copy(layer.scatter, tell);
        there_->whole[queued++].record(gpu_->queue());
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
  int tag(int which) const { return kFirstTag + 2 * (tools_.transfers % kTransfersOfTags) + which; }
  std::byte* at(uint64_t place) const { return there_->pool->data() + origin_ + place; }

  // What fails here lets go the other end, which waits. A GPU that still ends what is queued behind
  // the abort keeps nothing.
  template <typename Call>
  void guarded(const char* what, Call call) {
    const Watchdog::Bounded bounded(tools_.context.watchdog, end_.deadline_seconds);
    try {
      try {
        gpu_->select();
        call();
      } catch (const nccl::LibraryError&) {
        words_->listen_for(kWordSeconds);
        throw;
      }
    } catch (const nccl::PeerFailed&) {
      let_go();
      look_at_gpu(what);
      throw;
    } catch (const nccl::LibraryError& e) {
      let_go();
      look_at_gpu(what);
      throw Error(nccl::exchange_failure(tools_.mine.unit(), what, e));
    } catch (const std::exception& e) {
      lost_ = true;
      let_go();
      throw Error(nccl::gpu_failure(tools_.mine.unit(), what, e));
    }
  }

  void let_go() {
    words_->tell();
    comms_->abort();
  }

  // The library's error and the other end's word say nothing of this GPU, which may have failed.
  void look_at_gpu(const char* what) {
    try {
      cuda::wait(gpu_->queue(), std::min(tools_.hang_after, kAfterAbortSeconds), "what was queued");
    } catch (const std::exception& e) {
      lost_ = true;
      throw Error(nccl::gpu_failure(tools_.mine.unit(), what, e));
    }
  }

  void need_events(size_t layers) {
    gpu_->select();
    while (there_->whole.size() < layers) there_->whole.emplace_back();
  }

  // A stream takes about a thousand entries. The next one waits within its call, where nobody
  // listens to the other end.
  template <typename Between>
  void await_layer_before_last(size_t layer, Between between) {
    if (layer >= 2) wait_for(there_->whole[layer - 2], between);
  }

  template <typename Between>
  void wait_for(const cuda::Event& point, Between between) {
    wait_until("the layers before", [&] {
      between();
      return point.reached();
    });
  }

  template <typename Between>
  void copy(const std::vector<Piece>& pieces, Between between) {
    size_t queued = 0;
    for (const Piece& p : pieces) {
      cuda::copy(at(p.to), at(p.from), p.bytes, gpu_->queue());
      if (++queued % kCopiesBetweenLooks == 0) between();
      if (queued % kMostCopies != 0) continue;
      there_->full.record(gpu_->queue());
      wait_for(there_->full, between);
    }
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
  std::unique_ptr<CollectiveBuffer> here_;
  std::unique_ptr<PoolOnGpu> there_;
  nccl::Gpu* gpu_;
  uint64_t origin_;
  bool lost_ = false;
  std::unique_ptr<nccl::Communicators> comms_;
  std::unique_ptr<nccl::FailureWords> words_;  // what comms_ listens to
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
        devices_(nccl::gpu_alone(mine_.unit(), hang_after)),
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
    wire->connect(++wires_);
    return wire;
  }

 private:
  Context& context_;
  nccl::RankGpu mine_;
  nccl::Devices devices_;
  nccl::NearDevices near_;
  GroupComm pair_;
  double hang_after_;
  int transfers_ = 0, wires_ = 0;
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
