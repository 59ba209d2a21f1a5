// Pairs over NCCL's sends and receives. A rail is a GPU of the process: GPU i of one process
// exchanges with GPU i of the other. Both ends must know the number of messages, so all ranks agree
// on it before each round, from the median time of the round before. A slow pair thus takes longer
// instead of sending less. The timed part lasts from the start until the receiving GPU has the last
// message.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "bench/collectives/group.h"
#include "bench/collectives/nccl/affinity.h"
#include "bench/collectives/nccl/call.h"
#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/nccl/ranks.h"
#include "bench/network/pairs/transports.h"
#include "core/clock.h"
#include "core/stats.h"
#include "core/units.h"

namespace cb {
namespace {

using nccl::Library;

constexpr uint64_t kUsualMessage = 16U << 20;
constexpr int kTrialMessages = 4;
constexpr int kMinMessages = 4;
// Messages that are queued at once. More would fill the GPU's queue, and queueing would wait.
constexpr int kQueuedMessages = 64;
constexpr double kMaxMessages = 1e6;
constexpr size_t kMapLines = 64;

// The median of the ranks' figures, on all ranks; a rank without a figure passes 0.
double agreed_median(Context& context, double mine) {
  std::vector<double> there;
  for (const std::string& text : context.comm.gather(mine > 0 ? fmt::format("{}", mine) : "")) {
    if (const auto value = parse_number(text)) there.push_back(*value);
  }
  const std::string all =
      context.comm.broadcast_text(there.empty() ? "" : fmt::format("{}", median(there)));
  return parse_number(all).value_or(0);
}

class NcclTransport final : public PairTransport {
 public:
  NcclTransport(Context& context, std::unique_ptr<nccl::NearDevices> near, Library library,
                nccl::Devices devices, const TransportOptions& options)
      : context_(context),
        near_(std::move(near)),
        library_(std::move(library)),
        devices_(std::move(devices)),
        group_(make_group(context.place, context.comm.rank(), "")),
        comms_(library_, context, group_.comm, devices_,
               {.init_seconds = options.init_seconds, .wait_seconds = options.wait_seconds}),
        buffers_(devices_.size()) {}

  std::string name() const override { return library_.name(); }
  int rails() const override { return static_cast<int>(devices_.size()); }
  std::string rail_name(int rail) const override {
    return devices_.size() > 1 ? std::to_string(rail) : "";
  }
  const char* rail_kind() const override { return "gpu"; }
  bool ranks_have_own_ways() const override { return true; }
  uint64_t usual_bytes() const override { return kUsualMessage; }

  // The library connects a pair with its first message.
  void connect(std::span<const PairTask> mine, double) override {
    ++epoch_;
    prepare(mine);
    exchange(mine, 1);
    if (epoch_ == 1) timed_exchange(mine, kTrialMessages);
    const double typical = agreed_median(context_, mine_took_);
    const double seconds = context_.comm.max(mine.empty() ? 0 : mine[0].seconds);
    if (typical > 0)
      messages_ =
          static_cast<int>(std::clamp<double>(seconds / typical, kMinMessages, kMaxMessages));
  }

  std::vector<PairFigure> run(std::span<const PairTask> mine, double) override {
    timed_exchange(mine, messages_);
    std::vector<PairFigure> out;
    for (const PairTask& task : mine) out.push_back(figure(task, mine_took_));
    return out;
  }

 private:
  // Joins two results: an error wins over "in progress", which wins over success.
  static nccl::abi::Result joined(nccl::abi::Result a, nccl::abi::Result b) {
    const bool fine = a == nccl::abi::kSuccess || a == nccl::abi::kInProgress;
    return !fine || b == nccl::abi::kSuccess ? a : b;
  }

  struct Buffers {
    uint64_t bytes = 0;
    std::unique_ptr<nccl::DeviceBuffer> send, receive;
  };

  static bool sends(const PairTask& t) {
    return t.sends || t.two_way || t.measure == PairMeasure::latency;
  }
  static bool receives(const PairTask& t) {
    return !t.sends || t.two_way || t.measure == PairMeasure::latency;
  }
  size_t rail(const PairTask& t) const { return static_cast<size_t>(t.rail); }
  // The rank in the communicator, which counts GPUs.
  int nccl_rank(int rank, int rail) const {
    return rank * static_cast<int>(devices_.size()) + rail;
  }

  void prepare(std::span<const PairTask> mine) {
    for (const PairTask& t : mine) {
      Buffers& b = buffers_.at(rail(t));
      if (b.bytes != t.bytes) {
        b = {t.bytes, devices_[rail(t)]->buffer(t.bytes, nullptr),
             devices_[rail(t)]->buffer(t.bytes, nullptr)};
      }
      if (sends(t)) b.send->fill_pattern({0, t.bytes}, sender(context_.comm.rank(), t), epoch_, 0);
      if (receives(t)) b.receive->set({0, t.bytes}, 0);
    }
  }

  uint64_t sender(int rank, const PairTask& t) const {
    return static_cast<uint64_t>(nccl_rank(rank, t.rail));
  }

  void timed_exchange(std::span<const PairTask> mine, int count) {
    const double start = monotonic_seconds();
    exchange(mine, count);
    mine_took_ = mine.empty() ? 0 : (monotonic_seconds() - start) / count;
  }

  // Exchanges `count` messages (or round trips) of every task. Ranks without a task do nothing.
  void exchange(std::span<const PairTask> mine, int count) {
    if (mine.empty()) return;
    for (int done = 0; done < count; done += kQueuedMessages) {
      for (int i = 0; i < std::min(kQueuedMessages, count - done); ++i) {
        if (mine[0].measure == PairMeasure::latency) {
          queue(mine, [](const PairTask& t) { return t.sends; });
          queue(mine, [](const PairTask& t) { return !t.sends; });
        } else {
          queue(mine, {});
        }
      }
      comms_.finish("a pair's transfer");
    }
  }

  // Queues one message of every task. `sending` tells which ends send in this leg of a round trip.
  void queue(std::span<const PairTask> mine, const std::function<bool(const PairTask&)>& sending) {
    comms_.grouped("a pair's transfer", [&](size_t device) {
      nccl::abi::Result result = nccl::abi::kSuccess;
      for (const PairTask& t : mine) {
        if (rail(t) != device) continue;
        if (sending ? sending(t) : sends(t)) result = joined(result, send(t));
        if (sending ? !sending(t) : receives(t)) result = joined(result, receive(t));
      }
      return result;
    });
  }

  nccl::abi::Result send(const PairTask& t) {
    return library_.call().send(buffers_[rail(t)].send->data(), t.bytes, nccl::abi::kInt8,
                                nccl_rank(t.peer, t.rail), comms_.comm(rail(t)),
                                devices_[rail(t)]->stream());
  }
  nccl::abi::Result receive(const PairTask& t) {
    return library_.call().recv(buffers_[rail(t)].receive->data(), t.bytes, nccl::abi::kInt8,
                                nccl_rank(t.peer, t.rail), comms_.comm(rail(t)),
                                devices_[rail(t)]->stream());
  }

  PairFigure figure(const PairTask& t, double seconds) {
    if (receives(t)) {
      const auto wrong =
          buffers_[rail(t)].receive->verify_pattern({0, t.bytes}, sender(t.peer, t), epoch_, 0, 1);
      if (wrong)
        return {std::nullopt, said("locate.wrong_data", t.peer, wrong->first, wrong->text)};
    }
    if (t.measure == PairMeasure::latency)
      return t.sends ? PairFigure{seconds / 2} : PairFigure{std::nullopt};
    if (!receives(t)) return {std::nullopt};
    return {static_cast<double>(t.bytes) / seconds};
  }

  Context& context_;
  std::unique_ptr<nccl::NearDevices> near_;
  Library library_;
  nccl::Devices devices_;
  Group group_;
  nccl::Communicators comms_;
  std::vector<Buffers> buffers_;  // one per GPU
  uint64_t epoch_ = 0;
  int messages_ = kMinMessages;  // messages of a transfer
  double mine_took_ = 0;         // seconds per message of this rank's last transfer; 0: it had none
};

// Returns the first rank's reason why it has no library, the same on all ranks; empty if all have
// one.
Said agreed_absence(Context& context, const Said& mine) {
  std::string found;
  for (const std::string& text :
       context.comm.gather(mine.empty() ? "" : pack_said(said("said.of", context.who(), mine)))) {
    if (found.empty()) found = text;
  }
  return unpack_said(context.comm.broadcast_text(found));
}

// Adds a problem for a host whose version differs from rank 0's.
void require_same_library(Context& context, const Library& library, Problems& problems) {
  const std::string first =
      context.comm.broadcast_text(library.name() + " on " + context.place.host);
  if (!first.starts_with(library.name() + " "))
    problems.add(context.place.host,
                 fmt::format("has {}, and rank 0 has {}: install the same on every host",
                             library.name(), first));
}

}  // namespace

OpenedTransport make_nccl_transport(Context& context, const TransportOptions& options) {
  auto found = options.host_memory ? std::variant<nccl::Devices, Said>(nccl::host_devices(1))
                                   : nccl::gpu_devices(context);
  if (auto* reason = std::get_if<Said>(&found)) return {nullptr, *reason};
  auto near = std::make_unique<nccl::NearDevices>(context, std::get<nccl::Devices>(found));
  auto opened = Library::open();
  const auto* absent = std::get_if<Said>(&opened);
  Said reason = agreed_absence(context, absent != nullptr ? *absent : Said());
  if (!reason.empty()) return {nullptr, std::move(reason)};
  Library& library = std::get<Library>(opened);
  nccl::Devices& devices = std::get<nccl::Devices>(found);
  Problems problems;
  const std::vector<nccl::RankDevices> map =
      nccl::gather_rank_map(context, devices, near->fit().text);
  nccl::check_rank_map(map, problems);
  require_same_library(context, library, problems);
  throw_agreed(context.comm, "clusterbench locate", problems);
  if (context.comm.is_root())
    context.log(library.name() + ": " + nccl::rank_map_text(map, kMapLines));
  return {std::make_unique<NcclTransport>(context, std::move(near), std::move(library),
                                          std::move(devices), options)};
}

}  // namespace cb
