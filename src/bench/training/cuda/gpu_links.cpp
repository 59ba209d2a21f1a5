#include "bench/training/cuda/gpu_links.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "bench/harness/comm_mpi.h"

namespace cb::training {
namespace {

using nccl::abi::kFloat32;
using nccl::abi::kMax;
using nccl::abi::kSum;
using nccl::abi::RedOp;
using LaneComm = nccl::abi::Comm;
using LaneStream = nccl::abi::Stream;

size_t elements(int64_t count) { return static_cast<size_t>(count); }

class LanePending final : public Pending {
 public:
  explicit LanePending(Lane& lane) : point_(lane) {}
  bool done() override { return point_.done(); }
  void wait() override {
    const Watchdog::Waiting waiting(point_.told());
    Pending::wait();
  }

 private:
  LanePoint point_;
};

class GpuGroup final : public Group<float> {
 public:
  explicit GpuGroup(Lane& lane) : lane_(lane) {}
  int size() const override { return lane_.size(); }
  int rank() const override { return lane_.rank(); }

  void all_reduce(float* data, int64_t count) override {
    lane_.run("all_reduce", reduce(data, count, kSum));
  }
  void all_reduce_max(float* data, int64_t count) override {
    lane_.run("all_reduce", reduce(data, count, kMax));
  }
  void reduce_scatter(const float* whole, float* part, int64_t each) override {
    lane_.run("reduce_scatter", scatter(whole, part, each));
  }
  void all_gather(const float* part, float* whole, int64_t each) override {
    lane_.run("all_gather", [&](LaneComm comm, LaneStream stream) {
      return lane_.library().all_gather(part, whole, elements(each), kFloat32, comm, stream);
    });
  }
  std::unique_ptr<Pending> start_all_reduce(float* data, int64_t count) override {
    lane_.start("all_reduce", reduce(data, count, kSum));
    return std::make_unique<LanePending>(lane_);
  }
  std::unique_ptr<Pending> start_reduce_scatter(const float* whole, float* part,
                                                int64_t each) override {
    lane_.start("reduce_scatter", scatter(whole, part, each));
    return std::make_unique<LanePending>(lane_);
  }

 private:
  Lane::Call reduce(float* data, int64_t count, RedOp op) {
    return [=, this](LaneComm comm, LaneStream stream) {
      return lane_.library().all_reduce(data, data, elements(count), kFloat32, op, comm, stream);
    };
  }
  Lane::Call scatter(const float* whole, float* part, int64_t each) {
    return [=, this](LaneComm comm, LaneStream stream) {
      return lane_.library().reduce_scatter(whole, part, elements(each), kFloat32, kSum, comm,
                                            stream);
    };
  }

  Lane& lane_;
};

// Of two neighbouring stages, the one with the lower number is rank 0 of a lane between them.
struct Neighbour {
  Lane* to = nullptr;
  Lane* from = nullptr;
  int peer = 0;
};

// A message that was sent lies in memory of its own until the neighbour has taken it.
class GpuPipeline final : public Pipeline<float> {
 public:
  GpuPipeline(int stages, int stage, Neighbour previous, Neighbour next, const DeviceQueue& queue)
      : stages_(stages), stage_(stage), previous_(previous), next_(next), queue_(queue) {}
  ~GpuPipeline() override {
    for (Message& one : messages_) {
      one.sent.reset();
      if (queue_.lost()) static_cast<void>(one.room.release());
    }
  }
  GpuPipeline(const GpuPipeline&) = delete;
  GpuPipeline& operator=(const GpuPipeline&) = delete;

  int stages() const override { return stages_; }
  int stage() const override { return stage_; }

  void send(int direction, const float* data, int64_t count) override {
    const Neighbour& to = neighbour(direction);
    Message& one = free_message(elements(count) * sizeof(float));
    DeviceQueue& queue = to.to->tools().queue;
    queue.queue([&] {
      cuda::copy(one.room->data(), data, elements(count) * sizeof(float), queue.stream());
    });
    to.to->start("send", [&](LaneComm comm, LaneStream stream) {
      return to.to->library().send(one.room->data(), elements(count), kFloat32, to.peer, comm,
                                   stream);
    });
    one.sent = std::make_unique<LanePoint>(*to.to);
  }
  // The host waits: a stage has nothing else to do.
  void receive(int direction, float* data, int64_t count) override {
    const Neighbour& from = neighbour(direction);
    from.from->start("receive", [&](LaneComm comm, LaneStream stream) {
      return from.from->library().recv(data, elements(count), kFloat32, from.peer, comm, stream);
    });
    LanePoint(*from.from).wait();
  }
  void flush() override {
    for (Message& one : messages_) {
      if (one.sent) one.sent->wait();
    }
  }

 private:
  struct Message {
    std::unique_ptr<cuda::DeviceMemory> room = {};
    std::unique_ptr<LanePoint> sent = {};
  };

  const Neighbour& neighbour(int direction) const { return direction > 0 ? next_ : previous_; }
  Message& free_message(size_t bytes) {
    for (Message& one : messages_) {
      if (one.room->bytes() >= bytes && one.sent->done()) return one;
    }
    messages_.push_back({std::make_unique<cuda::DeviceMemory>(bytes)});
    return messages_.back();
  }

  int stages_, stage_;
  Neighbour previous_, next_;
  const DeviceQueue& queue_;
  std::deque<Message> messages_;
};

std::string ranks_text(const std::vector<int>& ranks) {
  std::string out;
  for (const int rank : ranks) out += fmt::format("{}{}", out.empty() ? "" : ", ", rank);
  return out;
}

// The ranks with these coordinates, of which `member` is counted from 0 to `count`.
std::string ranks_along(Coordinates at, int Coordinates::*member, int count, const Layout& layout) {
  std::vector<int> ranks;
  for (at.*member = 0; at.*member < count; ++(at.*member)) ranks.push_back(rank_at(at, layout));
  return ranks_text(ranks);
}

}  // namespace

GpuLinks::GpuLinks(const LaneTools& tools, const Layout& layout)
    : tools_(tools), fabric_(connect<float>(tools.context.comm, Layout())) {
  const Coordinates at = coordinates_of(tools.context.comm.rank(), layout);
  // A colour is the first rank of its group.
  if (layout.tensor > 1)
    fabric_.tensor = std::make_unique<GpuGroup>(
        *add(rank_at({0, at.data, at.stage}, layout), at.tensor,
             said("train.of_tensor", ranks_along(at, &Coordinates::tensor, layout.tensor, layout)),
             true));
  if (layout.data > 1)
    fabric_.data = std::make_unique<GpuGroup>(*add(
        rank_at({at.tensor, 0, at.stage}, layout), at.data,
        said("train.of_data", ranks_along(at, &Coordinates::data, layout.data, layout)), true));
  if (layout.pipeline > 1) add_pipeline(layout, at);
  for (const auto& lane : lanes_) {
    std::vector<nccl::Communicators*> others;
    for (const auto& other : lanes_)
      if (other != lane) others.push_back(&other->comms());
    lane->comms().abort_too(std::move(others));
  }
  const auto each = [this](void (Lane::*call)()) {
    return [this, call] {
      for (const auto& lane : lanes_) ((*lane).*call)();
    };
  };
  tools_.queue.beside(each(&Lane::look), [this] {
    return std::ranges::any_of(lanes_, [](const auto& lane) { return lane->exchanging(); });
  });
  tools_.queue.around_launches(each(&Lane::before_launch), each(&Lane::behind_launch));
  connect_stages();
}

GpuLinks::~GpuLinks() {
  tools_.queue.beside({}, {});
  tools_.queue.around_launches({}, {});
}

// Collective over the fabric's ranks; a rank that does not use its group makes no lane.
Lane* GpuLinks::add(int colour, int key, const Said& ranks, bool used) {
  const GroupComm group(mpi_part_of(tools_.context.comm, colour, key));
  if (!used) return nullptr;
  lanes_.push_back(std::make_unique<Lane>(tools_, group, ranks));
  return lanes_.back().get();
}

// First the pairs that begin with an even stage, then the others: no stage waits for a chain.
void GpuLinks::add_pipeline(const Layout& layout, const Coordinates& at) {
  Neighbour previous{.peer = 0}, next{.peer = 1};
  for (const int parity : {0, 1}) {
    const int lower = at.stage % 2 == parity ? at.stage : at.stage - 1;
    const bool paired = lower >= 0 && lower + 1 < layout.pipeline;
    const bool is_lower = paired && lower == at.stage;
    const auto rank_of = [&](int stage) { return rank_at({at.tensor, at.data, stage}, layout); };
    const int colour = rank_of(paired ? lower : at.stage);
    const Said ranks = said("train.of_stages", ranks_text({colour, rank_of(lower + 1)}));
    Lane* upward = add(colour, at.stage, ranks, paired);
    Lane* downward = add(colour, at.stage, ranks, paired);
    if (!paired) continue;
    between_stages_.push_back({upward, is_lower});
    between_stages_.push_back({downward, !is_lower});
    Neighbour& to = is_lower ? next : previous;
    to.to = is_lower ? upward : downward;
    to.from = is_lower ? downward : upward;
  }
  fabric_.pipeline =
      std::make_unique<GpuPipeline>(layout.pipeline, at.stage, previous, next, tools_.queue);
}

// The library connects two ranks within the first message between them, and the call that queues it
// comes back only when both have called. In a step a neighbour may have something to do before.
void GpuLinks::connect_stages() {
  if (between_stages_.empty()) return;
  auto word = std::make_unique<cuda::DeviceMemory>(sizeof(float));
  auto* const data = static_cast<float*>(word->data());
  try {
    for (const OneWay& way : between_stages_) {
      way.lane->start("connecting", [&](LaneComm comm, LaneStream stream) {
        const nccl::Functions& call = way.lane->library();
        const int peer = 1 - way.lane->rank();
        return way.sends ? call.send(data, 1, kFloat32, peer, comm, stream)
                         : call.recv(data, 1, kFloat32, peer, comm, stream);
      });
      LanePoint(*way.lane).wait();
    }
  } catch (...) {
    static_cast<void>(word.release());  // giving it back may wait for what does not end
    throw;
  }
}

void GpuLinks::abort() noexcept {
  tools_.queue.abandon();
  for (const auto& lane : lanes_) lane->comms().abort();
}

double GpuLinks::buffer_bytes(const Layout& layout, int64_t count) {
  if (layout.pipeline == 1) return 0;
  return 2.0 * layout.pipeline * static_cast<double>(elements(count) * sizeof(float));
}

}  // namespace cb::training
