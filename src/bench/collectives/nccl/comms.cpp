#include "bench/collectives/nccl/comms.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "bench/collectives/nccl/ras.h"
#include "core/clock.h"
#include "sys/os/deadline_call.h"

namespace cb::nccl {
namespace {

// Seconds; a longer abort is left behind, and the watchdog ends the process.
constexpr double kAbortSeconds = 5;
// The watchdog ends the job within this time.
constexpr auto kEndSeconds = std::chrono::seconds(30);
constexpr double kRasSeconds = 3;
// Seconds; communicators that take longer to be destroyed are left behind.
constexpr double kDestroySeconds = 30;

bool failed(abi::Result result) { return result != abi::kSuccess && result != abi::kInProgress; }

// ncclCommDestroy waits for what is queued: for ever if a peer is gone. Uses nothing of the object
// that it works for, since it may outlive it.
bool destroy_all(const std::vector<abi::Comm>& comms, const Functions& call) {
  for (const abi::Comm comm : comms) {
    if (comm == nullptr) continue;
    abi::Result state = abi::kSuccess;
    call.comm_get_async_error(comm, &state);
    if (state == abi::kSuccess)
      call.comm_destroy(comm);
    else
      call.comm_abort(comm);
  }
  return true;
}

}  // namespace

Communicators::Communicators(const Library& library, Context& context, const GroupComm& group,
                             Devices& devices, const CommOptions& options)
    : library_(library),
      context_(context),
      devices_(devices),
      wait_seconds_(options.wait_seconds),
      comms_(devices.size(), nullptr),
      first_rank_(group.rank() * static_cast<int>(devices.size())),
      ranks_(group.size() * static_cast<int>(devices.size())),
      blocking_(options.blocking || library.call().comm_init_rank_config == nullptr),
      meanwhile_(options.meanwhile),
      guard_([this](const char*, double) { release(); }) {
  abi::UniqueId id;
  if (group.rank() == 0) library.check(library.call().get_unique_id(&id), "ncclGetUniqueId");
  group.broadcast(std::as_writable_bytes(std::span(id.internal)));
  init(id, options);
}

void Communicators::init(const abi::UniqueId& id, const CommOptions& options) {
  context_.watchdog.note(fmt::format("making a communicator of {} ranks", ranks_));
  const Watchdog::Waiting waiting(&context_.watchdog);
  const Functions& call = library_.call();
  const bool configured = call.comm_init_rank_config != nullptr;
  abi::Config config;
  config.version =
      static_cast<unsigned>(std::min<int>(library_.version(), static_cast<int>(config.version)));
  config.blocking = blocking_ ? 1 : 0;
  if (options.min_ctas) config.min_ctas = *options.min_ctas;
  if (options.max_ctas) config.max_ctas = *options.max_ctas;
  if (options.cta_policy) config.cta_policy = *options.cta_policy;
  library_.check(call.group_start(), "ncclGroupStart");
  abi::Result begun = abi::kSuccess;
  for (size_t i = 0; i < count() && !failed(begun); ++i) {
    devices_[i]->select();
    begun = configured ? call.comm_init_rank_config(&comms_[i], ranks_, id, rank(i), &config)
                       : call.comm_init_rank(&comms_[i], ranks_, id, rank(i));
  }
  // Ends the group in any case: an open group would collect the calls after it, the abort too.
  const abi::Result ended = within("making the communicator", options.init_seconds, call.group_end);
  library_.check(begun, "ncclCommInitRank");
  library_.check(ended, "ncclGroupEnd");
  settle("making the communicator", options.init_seconds, [] { return true; });
}

Communicators::~Communicators() {
  const double patience = std::min(wait_seconds_, kDestroySeconds);
  try {
    if (call_with_deadline<bool>(patience, [comms = comms_, call = library_.call()] {
          return destroy_all(comms, call);
        }))
      return;
    context_.log(fmt::format(
        "{}: ncclCommDestroy has not come back in {:.0f} s and is left behind; what was measured "
        "stands; next: look for a rank or GPU that is gone (dmesg | grep -i xid)",
        context_.who(), patience));
  } catch (const std::exception& e) {
    context_.log(
        fmt::format("{}: the communicators were not destroyed: {}", context_.who(), e.what()));
  }
}

void Communicators::grouped(const char* what, const std::function<abi::Result(size_t i)>& f) {
  const Functions& call = library_.call();
  library_.check(call.group_start(), "ncclGroupStart");
  try {
    for (size_t i = 0; i < count(); ++i) {
      if (count() > 1) devices_[i]->select();
      library_.check(f(i), what, comms_[i]);
    }
  } catch (...) {
    // Otherwise the calls of the next point would join this group.
    within(what, wait_seconds_, call.group_end);
    throw;
  }
  const abi::Result ended = within(what, wait_seconds_, call.group_end);
  library_.check(ended, what, comms_[0]);
  // The result tells whether the library has taken the calls. If not, it refuses the next call.
  if (ended == abi::kInProgress) settle(what, wait_seconds_, [] { return true; });
}

void Communicators::finish(const char* what) {
  mark();
  settle(what, wait_seconds_, [&] {
    return std::all_of(devices_.begin(), devices_.end(), [](auto& d) { return d->idle(); });
  });
}

void Communicators::grouped_together(const std::vector<Communicators*>& all, const char* what,
                                     const std::function<abi::Result(size_t, size_t)>& f) {
  Communicators& first = *all.front();
  const Functions& call = first.library_.call();
  first.library_.check(call.group_start(), "ncclGroupStart");
  try {
    for (size_t lane = 0; lane < all.size(); ++lane) {
      for (size_t i = 0; i < all[lane]->count(); ++i) {
        all[lane]->devices_[i]->select();
        first.library_.check(f(lane, i), what, all[lane]->comms_[i]);
      }
    }
  } catch (...) {
    call.group_end();  // otherwise the calls of the next point would join this group
    throw;
  }
  first.library_.check(first.within(what, first.wait_seconds_, call.group_end), what,
                       first.comms_[0]);
}

void Communicators::settle_taken(const char* what) {
  settle(what, wait_seconds_, [] { return true; });
}

void Communicators::mark() {
  for (auto& device : devices_) device->mark();
}

bool Communicators::done(const char* what) {
  if (meanwhile_) meanwhile_();
  return quiet(what) &&
         std::all_of(devices_.begin(), devices_.end(), [](auto& d) { return d->idle(); });
}

void Communicators::give_up(const char* what) {
  release();
  end_here(what, wait_seconds_);
}

bool Communicators::quiet(const char* what) const {
  bool settled = true;
  for (const abi::Comm comm : comms_) {
    if (comm == nullptr) continue;
    abi::Result state = abi::kSuccess;
    library_.check(library_.call().comm_get_async_error(comm, &state), "ncclCommGetAsyncError",
                   comm);
    library_.check(state, what, comm);
    settled = settled && state == abi::kSuccess;
  }
  return settled;
}

// Polls without pause for a millisecond, since small collectives take microseconds. After that it
// gives the processor away between two looks.
void Communicators::settle(const char* what, double seconds, const std::function<bool()>& also) {
  const double start = monotonic_seconds();
  for (;;) {
    if (quiet(what) && also()) return;
    if (meanwhile_) meanwhile_();
    const double waited = monotonic_seconds() - start;
    if (waited > seconds) {
      release();
      end_here(what, seconds);
    }
    if (waited > 1e-3) sched_yield();
  }
}

std::optional<double> Communicators::estimate(const std::function<abi::Result(size_t i)>& f) {
  const Functions& call = library_.call();
  // In a non-blocking communicator, NCCL runs what it is to simulate (groupLaunchNonBlocking of
  // 2.22 to 2.30), and refuses the next call until that has settled.
  if (call.group_simulate_end == nullptr || !blocking_) return std::nullopt;
  abi::SimInfo info;
  info.version = static_cast<unsigned>(library_.version());
  if (call.group_start() != abi::kSuccess) return std::nullopt;
  bool good = true;
  for (size_t i = 0; i < count(); ++i) {
    devices_[i]->select();
    const abi::Result result = f(i);
    good = good && (result == abi::kSuccess || result == abi::kInProgress);
  }
  const auto end = [&] { return call.group_simulate_end(&info); };
  good = within("an estimate", wait_seconds_, end) == abi::kSuccess && good;
  if (!good || !(info.estimated_microseconds > 0)) return std::nullopt;
  return static_cast<double>(info.estimated_microseconds) * 1e-6;
}

abi::Result Communicators::within(const char* what, double seconds,
                                  const std::function<abi::Result()>& f) {
  guard_.begin(what, seconds);
  const abi::Result result = f();
  if (!guard_.end()) end_here(what, seconds);
  return result;
}

void Communicators::abort_all() const {
  std::vector<abi::Comm> all = comms_;
  for (const Communicators* fellow : fellows_)
    all.insert(all.end(), fellow->comms_.begin(), fellow->comms_.end());
  const auto aborted =
      call_with_deadline<bool>(kAbortSeconds, [comms = all, abort = library_.call().comm_abort] {
        for (const abi::Comm comm : comms) {
          if (comm != nullptr) abort(comm);
        }
        return true;
      });
  if (!aborted)
    context_.log(context_.who() +
                 ": ncclCommAbort has not come back; next: look for a rank or GPU that is gone "
                 "(dmesg | grep -i xid)");
}

void Communicators::abort() noexcept {
  try {
    abort_all();
  } catch (const std::exception& e) {
    context_.log(fmt::format("{}: ncclCommAbort: {}", context_.who(), e.what()));
  }
  forget_all();
}

void Communicators::forget_all() noexcept {
  std::fill(comms_.begin(), comms_.end(), nullptr);
  for (Communicators* fellow : fellows_)
    std::fill(fellow->comms_.begin(), fellow->comms_.end(), nullptr);
}

void Communicators::release() {
  // Ask before the abort, which ends what RAS could tell.
  if (const std::string ras = ask_ras(kRasSeconds); !ras.empty() && context_.comm.is_root())
    context_.log("what NCCL's RAS says:\n" + ras);
  // Expire before the abort, too: the abort makes peers fail, which would hide who did not arrive.
  context_.watchdog.expire();
  abort_all();
}

// The communicators are aborted or about to be: nothing may use them.
void Communicators::end_here(const char* what, double seconds) {
  std::this_thread::sleep_for(kEndSeconds);
  forget_all();
  throw Error(fmt::format("{} did not end within {:.0f} s; next: look at the ranks that are behind",
                          what, seconds),
              ExitCode::deadline);
}

}  // namespace cb::nccl
