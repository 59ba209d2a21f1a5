#include "tests/fake_cuda/devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

namespace fake {

// Constructed before the objects below and so destroyed after them: a thread that still uses them
// has time to meet that.
struct SlowExit {
  ~SlowExit() {
    if (std::getenv("CLUSTERBENCH_FAKE_CUDA_SLOW_EXIT") != nullptr)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
};
static SlowExit slow_exit;

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;
static std::map<int, Device> devices;
std::map<void*, Block> blocks;
std::set<Stream*> streams;

double host_now = 0;
static int foreign_works = 0;  // that are queued

// Writes when each device was busy, for whoever wants to know whether it ever idled.
struct BusyLog {
  ~BusyLog() {
    const char* name = std::getenv("CLUSTERBENCH_FAKE_CUDA_BUSY");
    FILE* file = name == nullptr ? nullptr : std::fopen(name, "w");
    for (const auto& [ordinal, on] : devices) {
      for (const auto& [from, to] : on.busy)
        if (file != nullptr) std::fprintf(file, "%d %.9f %.9f\n", ordinal, from, to);
    }
    if (file != nullptr) std::fclose(file);
  }
};
static BusyLog busy_log;

cudaError_t result(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

int count() { return static_cast<int>(number("devices", -1, 2)); }

Device& device(int i) {
  const auto found = devices.find(i);
  if (found != devices.end()) return found->second;
  Device out;
  out.free = out.total = static_cast<size_t>(number("memory", i, 1 << 30));
  return devices[i] = out;
}

int device_of(void* stream) { return stream_of(stream).device; }
int selected_device() { return current; }

void kill(int i) { device(i).dead = true; }

cudaError_t state(int i) { return device(i).dead ? cudaErrorLaunchFailure : cudaSuccess; }

// Work begins when the one before has ended and it has been launched: between the two the device
// idles.
static void pass_time(Stream& stream, const Work& work) {
  stream.now = std::max(stream.now, work.launched_at);
  const double begun = stream.now;
  stream.now += work.seconds;
  if (number("launch", -1, 0) <= 0 || work.seconds <= 0) return;
  auto& busy = device(stream.device).busy;
  if (!busy.empty() && begun - busy.back().second < 1e-9)
    busy.back().second = stream.now;
  else
    busy.emplace_back(begun, stream.now);
}

bool take_one(Stream& stream, std::shared_ptr<Point>* reached) {
  if (stream.blocked && Clock::now() < stream.blocked_until) return false;
  stream.blocked = false;
  Work& work = stream.queue.front();
  if (Clock::now() < work.ready) return false;
  if (work.blocks > 0) {
    stream.blocked = true;
    const double most = std::min(work.blocks, 1e6);
    stream.blocked_until = Clock::now() + std::chrono::milliseconds(static_cast<int>(most * 1e3));
    stream.now += most;
    stream.queue.pop_front();
    return true;
  }
  if (work.awaits != nullptr) {
    if (work.awaits->stream != nullptr && !drain(*work.awaits->stream, work.awaits.get()))
      return false;
    stream.now = std::max(stream.now, work.awaits->at);
  }
  if (work.over) {
    if (!work.over()) return false;
    --foreign_works;
  }
  pass_time(stream, work);
  if (work.run) {
    work.run();
    ++device(stream.device).computed;
  }
  const std::shared_ptr<Point> point = std::move(work.reached);
  stream.queue.pop_front();
  if (!point) return true;
  point->stream = nullptr;
  point->at = stream.now;
  if (reached != nullptr) *reached = point;
  return true;
}

// A device works on all its streams: what another library does in one begins as soon as its turn
// has come, whatever the host waits for.
void begin_foreign_work() {
  if (foreign_works == 0) return;
  for (Stream* stream : streams) {
    const bool has =
        std::ranges::any_of(stream->queue, [](const Work& w) { return w.over != nullptr; });
    if (has) drain(*stream, nullptr);
  }
}

bool drain(Stream& stream, const Point* until) {
  while (!stream.queue.empty()) {
    std::shared_ptr<Point> reached;
    if (!take_one(stream, &reached)) return false;
    if (reached && reached.get() == until) return true;
  }
  return !(stream.blocked && Clock::now() < stream.blocked_until);
}

Stream& stream_of(void* handle) { return *static_cast<Stream*>(handle); }

const Block* block_of(const void* address) {
  for (const auto& [begin, block] : blocks) {
    const auto* from = static_cast<const std::byte*>(begin);
    if (address >= from && address < from + block.bytes) return &block;
  }
  return nullptr;
}

void spend(const char* key) {
  const double seconds = number(key, -1, 0);
  if (seconds <= 0) return;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
  }
}

void nap() {
  const double seconds = number("nap", -1, 0);
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double clock_or_zero() { return number("launch", -1, 0) > 0 ? host_now : 0; }

bool flips(void* stream, const char* operation) {
  return text("flip", stream_of(stream).device) == operation;
}

int enqueue(void* handle, double seconds, bool counted, std::function<void()> work) {
  Stream& stream = stream_of(handle);
  if (const cudaError_t code = state(stream.device); code != cudaSuccess) return result(code);
  if (stream.device != current) return result(cudaErrorInvalidResourceHandle);
  if (stream.capturing) {
    stream.nodes.push_back({seconds, counted, std::move(work)});
    return cudaSuccess;
  }
  spend(counted ? "launch_cost" : "copy_cost");
  host_now += number("launch", -1, 0);
  return enqueue_launched(stream, seconds, counted, std::move(work));
}

// Tells a test that waits for it that a kernel hangs from now on.
static void tell_hang() {
  const char* name = std::getenv("CLUSTERBENCH_FAKE_CUDA_HUNG");
  if (FILE* file = name == nullptr ? nullptr : std::fopen(name, "w")) std::fclose(file);
}

int enqueue_launched(Stream& stream, double seconds, bool counted, std::function<void()> work) {
  Device& on = device(stream.device);
  if (counted) {
    ++on.counted;
    if (on.counted == static_cast<int>(number("hang", stream.device, -1))) {
      stream.queue.push_back({.blocks = std::numeric_limits<double>::infinity()});
      tell_hang();
    }
    if (on.counted == static_cast<int>(number("lost", stream.device, -1))) work = nullptr;
    if (on.counted == static_cast<int>(number("die", stream.device, -1))) on.dead = true;
  }
  stream.queue.push_back(
      {.seconds = number("start", -1, 2e-6) + seconds / number("slow", stream.device, 1),
       .launched_at = clock_or_zero(),
       .run = std::move(work)});
  if (counted && number("wall", stream.device, 0) != 0) {
    const std::chrono::duration<double> takes(stream.queue.back().seconds);
    stream.last_ready = std::max(stream.last_ready, Clock::now()) +
                        std::chrono::duration_cast<Clock::duration>(takes);
    stream.queue.back().ready = stream.last_ready;
  }
  // A stream takes about a thousand launches; the next one waits within its call: for ever, if the
  // device hangs.
  while (stream.queue.size() > 1024) {
    if (!take_one(stream)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    host_now = std::max(host_now, stream.now);
  }
  // What went wrong before is told by the next launch, as the real runtime does.
  return last_error == cudaSuccess ? cudaSuccess : std::exchange(last_error, cudaSuccess);
}

static int enqueue_foreign(Stream& stream, const std::function<bool()>& begun_and_over) {
  if (const cudaError_t code = state(stream.device); code != cudaSuccess) return result(code);
  ++foreign_works;
  Work work{.launched_at = clock_or_zero()};
  work.over = [begun_and_over, &stream, begun = std::optional<Clock::time_point>()]() mutable {
    if (!begun) begun = Clock::now();
    if (!begun_and_over()) return false;
    stream.now += std::chrono::duration<double>(Clock::now() - *begun).count();
    return true;
  };
  stream.queue.push_back(std::move(work));
  return cudaSuccess;
}

int enqueue_spin(void* handle, double seconds) {
  stream_of(handle).queue.push_back({.blocks = seconds});
  return cudaSuccess;
}

}  // namespace fake

// For another library whose work belongs into a stream: `over(what)` begins it when it is asked for
// the first time, and says whether it has ended.
extern "C" int fake_cuda_foreign(void* stream, int (*over)(void*), void* what) {
  return fake::enqueue_foreign(fake::stream_of(stream), [over, what] { return over(what) != 0; });
}
// The same where the stream is recorded: 1, and each launch of the graph calls launch(what), which
// queues the work; drop(what) when the graph is gone. 0 where it is not.
extern "C" int fake_cuda_capture(void* handle, void (*launch)(void*), void (*drop)(void*),
                                 void* what) {
  fake::Stream& stream = fake::stream_of(handle);
  if (!stream.capturing) return 0;
  const std::shared_ptr<void> held(what, drop);
  stream.nodes.push_back({.queue = [held, launch] { launch(held.get()); }});
  return 1;
}
// Kernels, products and copies that the device of that stream has done.
extern "C" int fake_cuda_computed(void* stream) {
  return fake::device(fake::stream_of(stream).device).computed;
}
