#include "bench/collectives/nccl/call.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace cb::nccl {
namespace {

// Inside a group, a non-blocking call may report that it is in progress.
bool fine(abi::Result result) { return result == abi::kSuccess || result == abi::kInProgress; }

constexpr double kIterationSeconds = 0.02;
constexpr double kMinCalls = 5, kMaxCalls = 20;

}  // namespace

int calls_of_iteration(double seconds) {
  const double filling = std::ceil(kIterationSeconds / std::max(seconds, 1e-9));
  return static_cast<int>(std::clamp(filling, kMinCalls, kMaxCalls));
}

abi::DataType data_type(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return abi::kInt8;
    case ElementType::uint8:
      return abi::kUint8;
    case ElementType::int32:
      return abi::kInt32;
    case ElementType::uint32:
      return abi::kUint32;
    case ElementType::int64:
      return abi::kInt64;
    case ElementType::uint64:
      return abi::kUint64;
    case ElementType::float32:
      return abi::kFloat32;
    case ElementType::float64:
      return abi::kFloat64;
    case ElementType::float16:
      return abi::kFloat16;
    case ElementType::bfloat16:
      return abi::kBfloat16;
    case ElementType::fp8_e4m3:
      return abi::kFloat8e4m3;
    case ElementType::fp8_e5m2:
      break;
  }
  return abi::kFloat8e5m2;
}

abi::RedOp reduction_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return abi::kSum;
    case Reduction::prod:
      return abi::kProd;
    case Reduction::min:
      return abi::kMin;
    case Reduction::max:
      return abi::kMax;
    default:
      break;
  }
  return abi::kAvg;
}

NcclCall::NcclCall(RankBuffersSpec spec, Communicators& comms, const CallOptions& options)
    : comms_(comms), options_(options), type_(data_type(spec.type)) {
  const Library* allocator = options.registering == Register::none ? nullptr : &comms.library();
  spec.ranks = comms.ranks();
  for (size_t i = 0; i < comms.count(); ++i) {
    spec.rank = comms.rank(i);
    rank_buffers_.push_back(std::make_unique<RankBuffers>(spec, [&](uint64_t bytes) {
      auto buffer = comms.devices()[i]->buffer(bytes, allocator);
      registered_.push_back({i, buffer->base(), buffer->base_bytes()});
      return std::unique_ptr<CollectiveBuffer>(std::move(buffer));
    }));
  }
  make_reductions(spec.reduction);
  register_buffers();
}

void NcclCall::set_calls(int calls) {
  calls_ = calls;
  if (options_.graph) record_graph();
}

// A sum of premultiplied terms needs an operation of its own on every communicator, with this
// rank's factor.
void NcclCall::make_reductions(Reduction reduction) {
  own_ops_ = reduction == Reduction::mulsum;
  if (!own_ops_) {
    ops_.assign(comms_.count(), reduction_op(reduction));
    return;
  }
  const Functions& call = comms_.library().call();
  for (size_t i = 0; i < comms_.count(); ++i) {
    std::vector<std::byte> factor =
        mulsum_factor(rank_buffers_[i]->spec().type, static_cast<uint64_t>(comms_.rank(i)));
    comms_.devices()[i]->select();
    comms_.library().check(
        call.red_op_create_pre_mul_sum(&ops_.emplace_back(), factor.data(), type_,
                                       abi::kScalarHostImmediate, comms_.comm(i)),
        "ncclRedOpCreatePreMulSum", comms_.comm(i));
  }
}

NcclCall::~NcclCall() {
  try {
    give_back();
  } catch (const std::exception&) {
    // The error was reported where it happened; the communicator is aborted next.
  }
}

// Registers the k-th buffer of every device together: registering a window is collective.
void NcclCall::register_buffers() {
  if (options_.registering == Register::none) return;
  const Functions& call = comms_.library().call();
  const size_t each = registered_.size() / comms_.count();
  for (size_t k = 0; k < each; ++k) {
    comms_.grouped("registering a buffer", [&](size_t i) {
      Registered& r = registered_[i * each + k];
      if (options_.registering == Register::user)
        return call.comm_register(comms_.comm(i), r.base, r.bytes, &r.handle);
      return call.window_register(comms_.comm(i), r.base, r.bytes, &r.window,
                                  abi::kWindowSymmetric);
    });
  }
}

NcclCall::Registrations NcclCall::registrations() const {
  if (options_.registering == Register::none) return {};
  const auto taken = [](const Registered& r) { return r.handle != nullptr || r.window != nullptr; };
  const auto count = std::count_if(registered_.begin(), registered_.end(), taken);
  return {static_cast<size_t>(count), registered_.size()};
}

void NcclCall::give_back() {
  const Functions& call = comms_.library().call();
  for (auto& device : comms_.devices()) device->drop_graph();
  for (size_t i = 0; own_ops_ && i < ops_.size(); ++i) {
    if (comms_.comm(i) != nullptr) call.red_op_destroy(ops_[i], comms_.comm(i));
  }
  for (const Registered& r : registered_) {
    const abi::Comm comm = comms_.comm(r.comm);
    if (comm == nullptr) continue;
    if (r.handle != nullptr) call.comm_deregister(comm, r.handle);
    if (r.window != nullptr) call.window_deregister(comm, r.window);
  }
}

// Calls everything once beforehand, so that connections are made outside the graph.
void NcclCall::record_graph() {
  queue();
  comms_.finish("the call before the graph");
  for (auto& device : comms_.devices()) device->begin_graph();
  for (int i = 0; i < calls_; ++i) queue();
  for (auto& device : comms_.devices()) device->end_graph();
  recorded_ = true;
}

void NcclCall::prepare(uint64_t iteration) {
  for (auto& buffers : rank_buffers_) buffers->prepare(iteration);
}

void NcclCall::run() {
  if (recorded_) {
    for (auto& device : comms_.devices()) device->launch_graph();
  } else {
    for (int i = 0; i < calls_; ++i) queue();
  }
  comms_.finish(collective_name(rank_buffers_.front()->spec().collective));
}

std::optional<Mismatch> NcclCall::verify(uint64_t iteration) {
  std::optional<Mismatch> all;
  for (auto& buffers : rank_buffers_) {
    auto wrong = buffers->verify(iteration);
    if (!wrong) continue;
    if (comms_.count() > 1)
      wrong->text = said("coll.library_rank", buffers->spec().rank, wrong->text);
    if (all)
      all->count += wrong->count;
    else
      all = std::move(wrong);
  }
  return all;
}

std::optional<double> NcclCall::estimate() {
  if (rank_buffers_.front()->spec().collective == Collective::pingpong) return std::nullopt;
  return comms_.estimate([&](size_t i) { return one(i); });
}

void NcclCall::queue() {
  const Collective collective = rank_buffers_.front()->spec().collective;
  if (collective == Collective::pingpong) return queue_ping_pong();
  comms_.grouped(collective_name(collective), [&](size_t i) { return one(i); });
  if (collective != Collective::pair_one_way) return;
  // The receiver answers with one element, so that the sender's time ends after the arrival.
  comms_.grouped("pair_one_way", [&](size_t i) {
    RankBuffers& s = *rank_buffers_[i];
    const Functions& call = comms_.library().call();
    abi::Stream stream = comms_.devices()[i]->stream();
    if (!s.partner()) return abi::kSuccess;
    if (s.initiates())
      return call.recv(s.receive(), 1, type_, *s.partner(), comms_.comm(i), stream);
    return call.send(s.send(), 1, type_, *s.partner(), comms_.comm(i), stream);
  });
}

// Queues two groups, one behind the other on the stream: there and back.
void NcclCall::queue_ping_pong() {
  for (const bool there : {true, false}) {
    comms_.grouped("pingpong", [&](size_t i) {
      const bool sends = rank_buffers_[i]->initiates() == there;
      return to_partner(i, sends, !sends);
    });
  }
}

abi::Result NcclCall::to_partner(size_t i, bool sends, bool receives) {
  RankBuffers& s = *rank_buffers_[i];
  const Functions& call = comms_.library().call();
  const abi::Stream stream = comms_.devices()[i]->stream();
  if (!s.partner()) return abi::kSuccess;
  abi::Result result = abi::kSuccess;
  if (sends)
    result = call.send(s.send(), s.spec().size.block, type_, *s.partner(), comms_.comm(i), stream);
  if (receives && fine(result))
    result =
        call.recv(s.receive(), s.spec().size.block, type_, *s.partner(), comms_.comm(i), stream);
  return result;
}

abi::Result NcclCall::one(size_t i) {
  RankBuffers& s = *rank_buffers_[i];
  const RankBuffersSpec& spec = s.spec();
  const Functions& call = comms_.library().call();
  const abi::Comm comm = comms_.comm(i);
  const abi::Stream stream = comms_.devices()[i]->stream();
  const uint64_t block = spec.size.block;
  const int next = (spec.rank + 1) % spec.ranks, before = (spec.rank + spec.ranks - 1) % spec.ranks;
  switch (spec.collective) {
    case Collective::all_reduce:
      return call.all_reduce(s.send(), s.receive(), block, type_, ops_[i], comm, stream);
    case Collective::all_gather:
      return call.all_gather(s.send(), s.receive(), block, type_, comm, stream);
    case Collective::reduce_scatter:
      return call.reduce_scatter(s.send(), s.result(), block, type_, ops_[i], comm, stream);
    case Collective::broadcast:
      return call.broadcast(s.send(), s.receive(), block, type_, 0, comm, stream);
    case Collective::reduce:
      return call.reduce(s.send(), s.receive(), block, type_, ops_[i], 0, comm, stream);
    case Collective::alltoall:
      return all_to_all(i);
    case Collective::alltoallv:
      return all_to_all_uneven(i);
    case Collective::gather:
      return to_root(i);
    case Collective::scatter:
      return from_root(i);
    case Collective::sendrecv: {
      const abi::Result sent = call.send(s.send(), block, type_, next, comm, stream);
      return fine(sent) ? call.recv(s.receive(), block, type_, before, comm, stream) : sent;
    }
    case Collective::pair_one_way:
      return to_partner(i, s.initiates(), !s.initiates());
    case Collective::pair_two_way:
      return to_partner(i, true, true);
    case Collective::pingpong:
      break;
  }
  return abi::kInvalidUsage;
}

// Uses the library's own call if it has one (since 2.28), as nccl-tests does.
abi::Result NcclCall::all_to_all(size_t i) {
  RankBuffers& s = *rank_buffers_[i];
  const Functions& call = comms_.library().call();
  const abi::Comm comm = comms_.comm(i);
  const abi::Stream stream = comms_.devices()[i]->stream();
  const uint64_t block = s.spec().size.block, bytes = block * element_bytes(s.spec().type);
  if (call.all_to_all != nullptr)
    return call.all_to_all(s.send(), s.receive(), block, type_, comm, stream);
  abi::Result result = abi::kSuccess;
  for (uint64_t r = 0; r < static_cast<uint64_t>(s.spec().ranks); ++r) {
    const int peer = static_cast<int>(r);
    if (fine(result)) result = call.send(s.send() + r * bytes, block, type_, peer, comm, stream);
    if (fine(result)) result = call.recv(s.receive() + r * bytes, block, type_, peer, comm, stream);
  }
  return result;
}

abi::Result NcclCall::all_to_all_uneven(size_t i) {
  RankBuffers& s = *rank_buffers_[i];
  const Functions& call = comms_.library().call();
  const abi::Comm comm = comms_.comm(i);
  const abi::Stream stream = comms_.devices()[i]->stream();
  const uint64_t width = element_bytes(s.spec().type);
  abi::Result result = abi::kSuccess;
  for (size_t r = 0; r < s.counts().size(); ++r) {
    const uint64_t at = s.offsets()[r] * width, count = s.counts()[r];
    const int peer = static_cast<int>(r);
    if (fine(result)) result = call.send(s.send() + at, count, type_, peer, comm, stream);
    if (fine(result)) result = call.recv(s.receive() + at, count, type_, peer, comm, stream);
  }
  return result;
}

abi::Result NcclCall::to_root(size_t i) {
  RankBuffers& s = *rank_buffers_[i];
  const Functions& call = comms_.library().call();
  const abi::Comm comm = comms_.comm(i);
  const abi::Stream stream = comms_.devices()[i]->stream();
  const uint64_t block = s.spec().size.block, bytes = block * element_bytes(s.spec().type);
  if (call.gather != nullptr)
    return call.gather(s.send(), s.receive(), block, type_, 0, comm, stream);
  abi::Result result = call.send(s.send(), block, type_, 0, comm, stream);
  if (s.spec().rank != 0) return result;
  for (uint64_t r = 0; r < static_cast<uint64_t>(s.spec().ranks); ++r) {
    if (fine(result))
      result = call.recv(s.receive() + r * bytes, block, type_, static_cast<int>(r), comm, stream);
  }
  return result;
}

abi::Result NcclCall::from_root(size_t i) {
  RankBuffers& s = *rank_buffers_[i];
  const Functions& call = comms_.library().call();
  const abi::Comm comm = comms_.comm(i);
  const abi::Stream stream = comms_.devices()[i]->stream();
  const uint64_t block = s.spec().size.block, bytes = block * element_bytes(s.spec().type);
  if (call.scatter != nullptr)
    return call.scatter(s.send(), s.receive(), block, type_, 0, comm, stream);
  abi::Result result = abi::kSuccess;
  for (uint64_t r = 0; r < static_cast<uint64_t>(s.spec().ranks) && s.spec().rank == 0; ++r) {
    if (fine(result))
      result = call.send(s.send() + r * bytes, block, type_, static_cast<int>(r), comm, stream);
  }
  return fine(result) ? call.recv(s.receive(), block, type_, 0, comm, stream) : result;
}

}  // namespace cb::nccl
