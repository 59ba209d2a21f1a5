#include "bench/collectives/moe/cuda/gpu_exchange.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/collectives/nccl/cuda/rank_gpu.h"
#include "core/clock.h"

namespace cb::moe {
namespace {

// A GPU that hangs is found by its own rank first, which says so.
double limit_of_exchange(double hang_after) { return 1.25 * hang_after + 2; }

bool went_well(nccl::abi::Result result) {
  return result == nccl::abi::kSuccess || result == nccl::abi::kInProgress;
}

nccl::Devices device_of(const GpuUnit& unit) {
  nccl::Devices out;
  out.push_back(std::make_unique<nccl::Gpu>(unit.device));  // selects it
  return out;
}

}  // namespace

GpuExchange::GpuExchange(Routes routes, const TokenData& data, std::vector<std::string> who_of_rank,
                         const GpuMoeTools& tools, std::string point)
    : ExpertExchange(std::move(routes), data, std::move(who_of_rank)),
      tools_(tools),
      point_(std::move(point)),
      devices_(device_of(tools.unit)),
      gpu_(static_cast<nccl::Gpu*>(devices_.front().get())),
      tokens_there_(room(tokens_->bytes())),
      send_there_(room(out_.bytes())),
      receive_there_(room(in_.bytes())),
      results_there_(room(back_out_.bytes())),
      returned_there_(room(back_in_.bytes())),
      sums_there_(room(sums_->bytes())),
      experts_there_(routes_.sent.experts.size() * sizeof(int32_t)),
      weights_there_(routes_.sent.experts.size() * sizeof(float)),
      places_there_(static_cast<size_t>(routes_.router.tokens) * counts_from_.size() *
                    sizeof(int32_t)),
      counts_there_(2 * counts_from_.size() * sizeof(int32_t)),
      told_(counts_from_.size() * sizeof(int32_t), true) {
  upload_routes();
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
  cuda::copy(experts_there_.data(), routes_.sent.experts.data(), experts_there_.bytes(), stream());
  cuda::copy(weights_there_.data(), weights.data(), weights_there_.bytes(), stream());
  cuda::wait(stream(), tools_.hang_after, "copying the router's choices");
}

void GpuExchange::connect() {
  const nccl::CommOptions options{.wait_seconds = limit_of_exchange(tools_.hang_after)};
  comms_ = std::make_unique<nccl::Communicators>(tools_.library, tools_.context, tools_.group,
                                                 devices_, options);
}

// What fails here is told by agree(), in which all ranks meet. Those that wait for this one's
// exchange are let go.
void GpuExchange::attempt(const char* what, const std::function<void()>& call) {
  if (!failed_.empty()) return;
  try {
    gpu_->select();
    call();
  } catch (const std::exception& e) {
    failed_ = nccl::gpu_failure(tools_.unit, what, e);
    seconds_.reset();
    comms_->abort();
  }
}

void GpuExchange::agree() {
  if (!tools_.context.comm.any(!failed_.empty())) return;
  if (failed_.empty()) throw FailedElsewhere();
  throw Error(failed_);
}

void GpuExchange::timed_call(const char* what, const std::function<void()>& queue) {
  attempt(what, [&] {
    tools_.context.watchdog.note(
        fmt::format("{}, {} on {}", point_, what, entity_name(tools_.unit.entity)));
    begin_.record(stream());
    queue();
    end_.record(stream());
    comms_->finish(what);
    seconds_ = end_.seconds_since(begin_);
  });
}

kernels::MoeRoutes GpuExchange::routes_there() const {
  return {static_cast<const int32_t*>(experts_there_.data()),
          routes_.router.tokens,
          routes_.router.top_k,
          routes_.router.ranks,
          routes_.router.experts_of_rank(),
          static_cast<int32_t*>(places_there_.data()),
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
      result =
          call.send(counts(0) + r, 1, nccl::abi::kInt32, peer, comms_->comm(0), gpu_->stream());
      if (went_well(result))
        result =
            call.recv(counts(1) + r, 1, nccl::abi::kInt32, peer, comms_->comm(0), gpu_->stream());
    }
    return result;
  });
  cuda::copy(told_.data(), counts(1), told_.bytes(), stream());
}

void GpuExchange::pack() {
  const TokenFormat& format = data_.format();
  cuda::check_launch(
      kernels::launch_moe_pack(
          {routes_there(), static_cast<const float*>(weights_there_.data()),
           reinterpret_cast<const unsigned char*>(tokens_there_->data()),
           reinterpret_cast<unsigned char*>(send_there_->data()), format.dispatch_payload(),
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
        result = call.send(from, leave, nccl::abi::kUint8, peer, comms_->comm(0), gpu_->stream());
      if (come > 0 && went_well(result))
        result = call.recv(to, come, nccl::abi::kUint8, peer, comms_->comm(0), gpu_->stream());
      from += leave;
      to += come;
    }
    return result;
  });
}

void GpuExchange::add() {
  const TokenFormat& format = data_.format();
  cuda::check_launch(kernels::launch_moe_add({routes_there(), returned_there_->data(),
                                              reinterpret_cast<float*>(sums_there_->data()),
                                              format.hidden, format.combine_bytes == 2 ? 1 : 0},
                                             stream().handle()),
                     "moe_add");
}

// As an engine does that makes room for what comes: the host waits for the counts.
void GpuExchange::dispatch() {
  timed_call("dispatch", [&] {
    const double began = monotonic_seconds();
    find_places();
    counting_.record(stream());
    exchange_counts();
    counting_.spin(tools_.hang_after, "finding the places of tokens");
    comms_->finish("exchange of counts");
    const auto* told = static_cast<const int32_t*>(told_.data());
    std::copy(told, told + counts_from_.size(), counts_from_.begin());
    pack();
    packed_.record(stream());
    exchange(send_there_, out_, receive_there_, in_);
    packed_.spin(tools_.hang_after, "packing tokens");
    counting_at_ = began + counting_.seconds_since(begin_);
    packed_at_ = began + packed_.seconds_since(begin_);
  });
}

void GpuExchange::dispatch_rows() {
  timed_call("exchange of tokens", [&] { exchange(send_there_, out_, receive_there_, in_); });
}

void GpuExchange::combine() {
  timed_call("combine", [&] {
    exchange(results_there_, back_out_, returned_there_, back_in_);
    add();
  });
}

void GpuExchange::combine_rows() {
  timed_call("exchange of results",
             [&] { exchange(results_there_, back_out_, returned_there_, back_in_); });
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
    store(tokens_there_, *tokens_);
    sums_there_->set({0, sums_there_->bytes()}, poison_value());
    cuda::fill(counts_there_.data(), 0xff, counts_there_.bytes(), stream());
    cuda::fill(places_there_.data(), 0xff, places_there_.bytes(), stream());
    comms_->finish("making tokens");
  });
}

void GpuExchange::poison_rows() {
  ExpertExchange::poison_rows();
  attempt("overwriting rows", [&] {
    receive_there_->set({0, receive_there_->bytes()}, poison_value());
  });
}

void GpuExchange::poison_returned() {
  attempt("overwriting rows", [&] {
    returned_there_->set({0, returned_there_->bytes()}, poison_value());
  });
}

void GpuExchange::run_experts() {
  ExpertExchange::run_experts();
  attempt("copying results", [&] { store(results_there_, *results_); });
}

bool GpuExchange::guards_intact() const {
  if (!failed_.empty()) return true;  // nothing is known of it
  for (const Buffer* one : {&tokens_there_, &send_there_, &receive_there_, &results_there_,
                            &returned_there_, &sums_there_})
    if (!(*one)->guards_intact()) return false;
  return ExpertExchange::guards_intact();
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
  attempt("copying rows", [&] { fetch(*receive_, receive_there_); });
}

void GpuExchange::store_rows() {
  attempt("copying rows", [&] { store(receive_there_, *receive_); });
}

void GpuExchange::fetch_sums() {
  attempt("copying sums", [&] { fetch(*sums_, sums_there_); });
}

void GpuExchange::store_sums() {
  attempt("copying sums", [&] { store(sums_there_, *sums_); });
}

}  // namespace cb::moe
