#include "bench/collectives/moe/cuda/gpu_exchange.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bench/collectives/nccl/cuda/rank_gpu.h"
#include "core/clock.h"

namespace cb::moe {
namespace {

// A GPU that hangs is found by its own rank first, which says so.
double limit_of_exchange(double hang_after) { return 1.25 * hang_after + 2; }

// Seconds; behind an abort a GPU has done what was queued by then.
constexpr double kAfterAbortSeconds = 10;

constexpr int kFirstTagOfWords = 21000, kTagsOfWords = 1000;

bool went_well(nccl::abi::Result result) {
  return result == nccl::abi::kSuccess || result == nccl::abi::kInProgress;
}

}  // namespace

GpuExchange::OnGpu::OnGpu(const GpuExchange& of, const GpuUnit& unit)
    : devices(nccl::gpu_alone(unit, of.tools_.hang_after)),
      gpu(static_cast<nccl::Gpu*>(devices.front().get())),
      tokens(gpu->buffer(of.tokens_->bytes(), nullptr)),
      send(gpu->buffer(of.out_.bytes(), nullptr)),
      receive(gpu->buffer(of.in_.bytes(), nullptr)),
      results(gpu->buffer(of.back_out_.bytes(), nullptr)),
      returned(gpu->buffer(of.back_in_.bytes(), nullptr)),
      sums(gpu->buffer(of.sums_->bytes(), nullptr)),
      experts(of.routes_.sent.experts.size() * sizeof(int32_t)),
      weights(of.routes_.sent.experts.size() * sizeof(float)),
      places(static_cast<size_t>(of.routes_.router.tokens) * of.counts_from_.size() *
             sizeof(int32_t)),
      counts(2 * of.counts_from_.size() * sizeof(int32_t)),
      told(of.counts_from_.size() * sizeof(int32_t), true) {}

GpuExchange::GpuExchange(Routes routes, const TokenData& data, std::vector<std::string> who_of_rank,
                         const GpuMoeTools& tools, std::string point, int number)
    : ExpertExchange(std::move(routes), data, std::move(who_of_rank)),
      tools_(tools),
      point_(std::move(point)),
      number_(number),
      there_(std::make_unique<OnGpu>(*this, tools.unit)) {}

GpuExchange::~GpuExchange() {
  if (broken_ == Broken::here) static_cast<void>(there_.release());
}

uint64_t GpuExchange::device_bytes(const Routes& routes, const TokenFormat& format) {
  const auto tokens = static_cast<uint64_t>(routes.router.tokens);
  const auto choices = static_cast<uint64_t>(routes.router.top_k) * 2;
  return buffer_bytes(routes, format) +
         tokens * (choices + static_cast<uint64_t>(routes.router.ranks)) * 4 +
         12 * CollectiveBuffer::kGuardBytes;
}

// What the router chose lies there before the time begins, as it does behind a router's kernel.
void GpuExchange::upload_routes() {
  const auto k = static_cast<size_t>(routes_.router.top_k);
  std::vector<float> weights;
  for (size_t i = 0; i < routes_.sent.experts.size(); ++i)
    weights.push_back(
        static_cast<float>(weight_of_place(static_cast<int>(i % k), static_cast<int>(k))));
  cuda::copy(there_->experts.data(), routes_.sent.experts.data(), there_->experts.bytes(),
             stream());
  cuda::copy(there_->weights.data(), weights.data(), there_->weights.bytes(), stream());
  cuda::wait(stream(), tools_.hang_after, "copying the router's choices");
}

void GpuExchange::connect() {
  words_ =
      std::make_unique<nccl::FailureWords>(tools_.group, kFirstTagOfWords + number_ % kTagsOfWords);
  const nccl::CommOptions options{.wait_seconds = limit_of_exchange(tools_.hang_after),
                                  .meanwhile = [this] { words_->listen(); }};
  comms_ = std::make_unique<nccl::Communicators>(tools_.library, tools_.context, tools_.group,
                                                 there_->devices, options);
  announce("connecting");
  attempt("connecting", [&] {
    upload_routes();
    exchange_counts();
    comms_->finish("connecting");
  });
  agree();
}

// What fails here is told by agree(), in which all ranks meet. Those that wait for this one's
// exchange are let go.
void GpuExchange::attempt(const char* what, const std::function<void()>& call) {
  if (broken_ != Broken::no) return;
  const Watchdog::Bounded bounded(tools_.context.watchdog, limit_of_exchange(tools_.hang_after));
  try {
    there_->gpu->select();
    call();
  } catch (const nccl::PeerFailed& e) {
    broke(Broken::by_another, what, e);
  } catch (const nccl::LibraryError& e) {
    broke(Broken::by_the_library, what, e);
  } catch (const std::exception& e) {
    broke(Broken::here, what, e);
  }
}

// An abort ends the calls of this rank alone: the others hear a word, or the job's side channel
// tells it where they do not.
void GpuExchange::broke(Broken how, const char* what, const std::exception& e) {
  seconds_.reset();
  failed_ = how == Broken::here ? nccl::gpu_failure(tools_.unit, what, e)
                                : nccl::exchange_failure(tools_.unit, what, e);
  broken_ = how;
  if (how != Broken::by_another) tools_.context.watchdog.fail(pack_said(failed_));
  words_->tell();
  comms_->abort();
  if (how != Broken::here) look_at_gpu(what);
}

// The library's error and another rank's word say nothing of this GPU, which may have failed too.
void GpuExchange::look_at_gpu(const char* what) {
  try {
    cuda::wait(stream(), std::min(tools_.hang_after, kAfterAbortSeconds), "what was queued");
  } catch (const std::exception& e) {
    broken_ = Broken::here;
    failed_ = nccl::gpu_failure(tools_.unit, what, e);
    tools_.context.watchdog.fail(pack_said(failed_));
  }
}

void GpuExchange::announce(const std::string& what) {
  if (broken_ != Broken::no) return;  // its words stand
  tools_.context.watchdog.note(
      fmt::format("{}, {} on {}", point_, what, entity_name(tools_.unit.entity)));
}

// The ranks that know most of why say it.
void GpuExchange::agree() {
  const auto mine = static_cast<double>(broken_);
  const double most = tools_.context.comm.max(mine);
  if (most == static_cast<double>(Broken::no)) return;
  if (mine < most) throw FailedElsewhere();
  throw Error(failed_);
}

// All is queued before anything is waited for: else the host's polls would be in the time.
void GpuExchange::timed_call(const char* what, const std::function<void()>& queue,
                             const std::function<void()>& wait) {
  attempt(what, [&] {
    there_->begin.record(stream());
    queue();
    there_->end.record(stream());
    if (wait) wait();
    comms_->finish(what);
    seconds_ = there_->end.seconds_since(there_->begin);
  });
}

// Until the mark: a kernel that hangs behind it is not an exchange that hangs.
void GpuExchange::await_exchange(const char* what) {
  const double end = monotonic_seconds() + comms_->wait_seconds();
  while (!comms_->done(what))
    if (monotonic_seconds() > end) comms_->give_up(what);
}

kernels::MoeRoutes GpuExchange::routes_there() const {
  return {static_cast<const int32_t*>(there_->experts.data()),
          routes_.router.tokens,
          routes_.router.top_k,
          routes_.router.ranks,
          routes_.router.experts_of_rank(),
          static_cast<int32_t*>(there_->places.data()),
          counts(0)};
}

void GpuExchange::find_places() {
  cuda::check_launch(kernels::launch_moe_places(routes_there(), stream().handle()), "moe_places");
}

void GpuExchange::exchange_counts() {
  const nccl::Functions& call = tools_.library.call();
  comms_->grouped("exchange of counts", [&](size_t) {
    nccl::abi::Result result = nccl::abi::kSuccess;
    for (size_t r = 0; r < counts_from_.size() && went_well(result); ++r) {
      const int peer = static_cast<int>(r);
      result = call.send(counts(0) + r, 1, nccl::abi::kInt32, peer, comms_->comm(0),
                         there_->gpu->stream());
      if (went_well(result))
        result = call.recv(counts(1) + r, 1, nccl::abi::kInt32, peer, comms_->comm(0),
                           there_->gpu->stream());
    }
    return result;
  });
  cuda::copy(there_->told.data(), counts(1), there_->told.bytes(), stream());
}

void GpuExchange::pack() {
  const TokenFormat& format = data_.format();
  cuda::check_launch(
      kernels::launch_moe_pack(
          {routes_there(), static_cast<const float*>(there_->weights.data()),
           reinterpret_cast<const unsigned char*>(there_->tokens->data()),
           reinterpret_cast<unsigned char*>(there_->send->data()), format.dispatch_payload(),
           format.dispatch_row(data_.top_k()), routes_.rank},
          stream().handle()),
      "moe_pack");
}

void GpuExchange::exchange(const Buffer& send, const RowBlocks& out, const Buffer& receive,
                           const RowBlocks& in) {
  const nccl::Functions& call = tools_.library.call();
  comms_->grouped("exchange of rows", [&](size_t) {
    nccl::abi::Result result = nccl::abi::kSuccess;
    std::byte *from = send->data(), *to = receive->data();
    for (size_t r = 0; r < out.rows.size(); ++r) {
      const int peer = static_cast<int>(r);
      const size_t leave = static_cast<size_t>(out.rows[r]) * out.row_bytes;
      const size_t come = static_cast<size_t>(in.rows[r]) * in.row_bytes;
      if (leave > 0 && went_well(result))
        result =
            call.send(from, leave, nccl::abi::kUint8, peer, comms_->comm(0), there_->gpu->stream());
      if (come > 0 && went_well(result))
        result =
            call.recv(to, come, nccl::abi::kUint8, peer, comms_->comm(0), there_->gpu->stream());
      from += leave;
      to += come;
    }
    return result;
  });
}

void GpuExchange::add() {
  const TokenFormat& format = data_.format();
  cuda::check_launch(kernels::launch_moe_add({routes_there(), there_->returned->data(),
                                              reinterpret_cast<float*>(there_->sums->data()),
                                              format.hidden, format.combine_bytes == 2 ? 1 : 0},
                                             stream().handle()),
                     "moe_add");
}

// As an engine does that makes room for what comes: the host waits for the counts.
void GpuExchange::dispatch() {
  double began = 0;
  const auto queue = [&] {
    began = monotonic_seconds();
    find_places();
    there_->counting.record(stream());
    exchange_counts();
    there_->counting.spin(tools_.hang_after, "finding the places of tokens");
    comms_->finish("exchange of counts");
    const auto* told = static_cast<const int32_t*>(there_->told.data());
    std::copy(told, told + counts_from_.size(), counts_from_.begin());
    pack();
    there_->packed.record(stream());
    exchange(there_->send, out_, there_->receive, in_);
  };
  timed_call("dispatch", queue, [&] {
    there_->packed.spin(tools_.hang_after, "packing tokens");
    counting_at_ = began + there_->counting.seconds_since(there_->begin);
    packed_at_ = began + there_->packed.seconds_since(there_->begin);
  });
}

void GpuExchange::dispatch_rows() {
  timed_call("dispatch rows", [&] { exchange(there_->send, out_, there_->receive, in_); });
}

void GpuExchange::combine() {
  const auto queue = [&] {
    exchange(there_->results, back_out_, there_->returned, back_in_);
    comms_->mark();
    add();
    there_->packed.record(stream());
  };
  timed_call("combine", queue, [&] {
    await_exchange("combine");
    there_->packed.spin(tools_.hang_after, "adding results");
  });
}

void GpuExchange::combine_rows() {
  timed_call("combine rows",
             [&] { exchange(there_->results, back_out_, there_->returned, back_in_); });
}

void GpuExchange::add_rows() {
  attempt("adding results", [&] {
    add();
    comms_->finish("adding results");
  });
}

void GpuExchange::prepare(uint64_t iteration) {
  ExpertExchange::prepare(iteration);
  attempt("making tokens", [&] {
    store(there_->tokens, *tokens_);
    std::memset(there_->told.data(), 0xff, there_->told.bytes());
    cuda::fill(there_->counts.data(), 0xff, there_->counts.bytes(), stream());
    cuda::fill(there_->places.data(), 0xff, there_->places.bytes(), stream());
    comms_->finish("making tokens");
  });
}

void GpuExchange::poison_rows() {
  ExpertExchange::poison_rows();
  attempt("overwriting rows", [&] {
    there_->receive->set({0, there_->receive->bytes()}, poison_value());
  });
}

void GpuExchange::poison_returned() {
  attempt("overwriting rows", [&] {
    there_->returned->set({0, there_->returned->bytes()}, poison_value());
    there_->sums->set({0, there_->sums->bytes()}, poison_value());
  });
}

void GpuExchange::run_experts() {
  ExpertExchange::run_experts();
  attempt("copying results", [&] { store(there_->results, *results_); });
}

bool GpuExchange::guards_intact() const { return guards_there_ && ExpertExchange::guards_intact(); }

// Asked together with what is fetched, where a GPU that fails is told.
void GpuExchange::look_at_guards() {
  guards_there_ = true;
  for (const Buffer* one : {&there_->tokens, &there_->send, &there_->receive, &there_->results,
                            &there_->returned, &there_->sums})
    guards_there_ = guards_there_ && (*one)->guards_intact();
}

void GpuExchange::fetch(CollectiveBuffer& to, const Buffer& from) {
  if (to.bytes() > 0)
    cuda::fetch(to.data(), from->data(), to.bytes(), stream(), tools_.hang_after, "copying rows");
}

void GpuExchange::store(const Buffer& to, CollectiveBuffer& from) {
  if (from.bytes() == 0) return;
  cuda::copy(to->data(), from.data(), from.bytes(), stream());
  cuda::wait(stream(), tools_.hang_after, "copying rows");
}

void GpuExchange::fetch_rows() {
  attempt("copying rows", [&] {
    fetch(*receive_, there_->receive);
    look_at_guards();
  });
}

void GpuExchange::store_rows() {
  attempt("copying rows", [&] { store(there_->receive, *receive_); });
}

void GpuExchange::fetch_sums() {
  attempt("copying sums", [&] {
    fetch(*sums_, there_->sums);
    look_at_guards();
  });
}

void GpuExchange::store_sums() {
  attempt("copying sums", [&] { store(there_->sums, *sums_); });
}

void GpuExchange::flip_guard() {
  attempt("spoiling a guard zone", [&] { there_->receive->flip(-1); });
}

}  // namespace cb::moe
