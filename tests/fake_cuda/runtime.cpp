// The part of the CUDA runtime that clusterbench calls.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include <sched.h>

#include "tests/device_executor/cuda/device_executor/values.h"
#include "tests/fake_cuda/devices.h"

using namespace fake;

// The kernels on the CPU know the runtime by numbers of their own.
namespace values = device_executor::values;
static_assert(values::success == cudaSuccess);
static_assert(values::invalid_value == cudaErrorInvalidValue);
static_assert(values::invalid_configuration == cudaErrorInvalidConfiguration);
static_assert(values::misaligned_address == cudaErrorMisalignedAddress);
static_assert(values::launch_failure == cudaErrorLaunchFailure);
static_assert(values::cooperative_launch_too_large == cudaErrorCooperativeLaunchTooLarge);
static_assert(values::not_supported == cudaErrorNotSupported);
static_assert(values::multiprocessor_count == cudaDevAttrMultiProcessorCount);
static_assert(values::function_attributes_bytes >= sizeof(cudaFuncAttributes));

namespace {

// Larger ones begin at a page, as those of CUDA do, so that a NIC can be given them.
void* allocated(size_t bytes) {
  const size_t unit = bytes < (size_t{2} << 20) ? 256 : 4096;
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorSystemNotReady:
      return "system not yet initialized";
    default:
      return "some error";
  }
}

cudaError_t cudaGetDeviceCount(int* out) {
  const auto code = static_cast<cudaError_t>(static_cast<int>(fake::number("count_error", -1, 0)));
  *out = code == cudaSuccess ? count() : 0;
  return result(code);
}
cudaError_t cudaDriverGetVersion(int* out) {
  *out = static_cast<int>(fake::number("driver", -1, 13000));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* out) {
  *out = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* out) {
  *out = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  if (ordinal < 0 || ordinal >= count()) return result(cudaErrorInvalidDevice);
  current = ordinal;
  return result(state(ordinal));
}

// What launchers of kernels ask for.
// One, since the kernels are really computed: as many blocks as a device holds at once are few.
constexpr int multiprocessors = 1;
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  if (attribute != cudaDevAttrMultiProcessorCount) return result(cudaErrorInvalidValue);
  *value = multiprocessors;
  return result(state(ordinal));
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void*, int, size_t) {
  *out = 1;
  return result(state(current));
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
  return static_cast<cudaError_t>(static_cast<int>(fake::number("no_kernels", -1, 0)));
}

// As fake_nvml numbers and names its GPUs.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int ordinal) {
  *out = {};
  std::string name =
      fake::text("name", ordinal).empty() ? "NVIDIA_H20" : fake::text("name", ordinal);
  std::ranges::replace(name, '_', ' ');
  std::strcpy(out->name, name.c_str());
  out->uuid.bytes[0] = static_cast<char>(fake::number("host", -1, 0));
  out->uuid.bytes[15] = static_cast<char>(ordinal);
  out->pciBusID = 0x1b + 0x10 * ordinal;
  const int capability = static_cast<int>(fake::number("capability", ordinal, 90));
  out->major = capability / 10;
  out->minor = capability % 10;
  out->multiProcessorCount = multiprocessors;
  out->l2CacheSize = 1 << 16;
  out->totalGlobalMem = static_cast<size_t>(fake::number("total", ordinal, 102625181696.0));
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (++device(current).memory_infos == static_cast<int>(number("fail_memory_info", current, -1)))
    return result(cudaErrorUnknown);
  *free = device(current).free;
  *total = device(current).total;
  return result(state(current));
}

// What would wait, or is no work of a stream, ends a recording: so strict is the real runtime with
// a thread that records.
static bool somebody_records() {
  return std::ranges::any_of(streams, [](const Stream* s) { return s->capturing; });
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  fake::spend("malloc_cost");
  if (somebody_records()) return result(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t code = state(current); code != cudaSuccess) return result(code);
  Device& on = device(current);
  if (on.counted >= fake::number("full", current, 1e18)) return result(cudaErrorMemoryAllocation);
  if (bytes > on.free) return result(cudaErrorMemoryAllocation);
  *out = allocated(bytes);
  on.free -= bytes;
  blocks[*out] = {current, bytes};
  return cudaSuccess;
}

// Waits for all that the device has to do, as the real one: for ever, if it hangs.
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  fake::spend("malloc_cost");
  const auto found = blocks.find(memory);
  if (found == blocks.end()) return result(cudaErrorInvalidValue);
  for (Stream* stream : streams) {
    while (stream->device == found->second.device && !drain(*stream, nullptr))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (found->second.device >= 0) device(found->second.device).free += found->second.bytes;
  blocks.erase(found);
  std::free(memory);
  return cudaSuccess;
}

// The pool keeps what was given back in the stream: nothing waits.
cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t) {
  fake::spend("pool_cost");
  if (const cudaError_t code = state(current); code != cudaSuccess) return result(code);
  if (bytes > device(current).free) return result(cudaErrorMemoryAllocation);
  *out = allocated(bytes);
  device(current).free -= bytes;
  blocks[*out] = {current, bytes};
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t handle) {
  fake::spend("pool_cost");
  const auto found = blocks.find(memory);
  if (found == blocks.end()) return result(cudaErrorInvalidValue);
  device(found->second.device).free += found->second.bytes;
  blocks.erase(found);
  stream_of(handle).queue.push_back(
      {.launched_at = fake::clock_or_zero(), .run = [memory] { std::free(memory); }});
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  if (fake::number("pinned_full", -1, 0) != 0) return result(cudaErrorMemoryAllocation);
  *out = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  blocks[*out] = {-1, bytes};
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

// The lower number is the higher priority.
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return result(state(current));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int priority) {
  auto* stream = new Stream{.device = current, .priority = priority};
  streams.insert(stream);
  *out = reinterpret_cast<cudaStream_t>(stream);
  return result(state(current));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  drain(stream_of(stream), nullptr);
  streams.erase(reinterpret_cast<Stream*>(stream));
  delete reinterpret_cast<Stream*>(stream);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* out) {
  *out = reinterpret_cast<cudaEvent_t>(new Event{.device = current});
  return result(state(current));
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  delete reinterpret_cast<Event*>(handle);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t queue) {
  auto* event = reinterpret_cast<Event*>(handle);
  Stream& stream = stream_of(queue);
  if (const cudaError_t code = state(stream.device); code != cudaSuccess) return result(code);
  if (stream.capturing) return result(cudaErrorStreamCaptureUnsupported);
  if (event->device != stream.device) return result(cudaErrorInvalidResourceHandle);
  event->point = std::make_shared<Point>(Point{.stream = &stream});
  event->recorded = true;
  event->asked = false;
  stream.queue.push_back({.launched_at = fake::clock_or_zero(), .reached = event->point});
  return cudaSuccess;
}

// Not ready when asked for the first time, which is remembered like an error.
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  if (const cudaError_t code = state(event->device); code != cudaSuccess) return result(code);
  if (fake::clock_or_zero() > 0) host_now += fake::number("query", -1, 0);
  fake::begin_foreign_work();
  if (event->point->stream != nullptr) {
    if (!std::exchange(event->asked, true) || !drain(*event->point->stream, event->point.get())) {
      fake::nap();
      return result(cudaErrorNotReady);
    }
  }
  host_now = std::max(host_now, event->point->at);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t begin, cudaEvent_t end) {
  if (!reinterpret_cast<Event*>(begin)->recorded || !reinterpret_cast<Event*>(end)->recorded)
    return result(cudaErrorInvalidResourceHandle);
  const auto from = reinterpret_cast<Event*>(begin)->point;
  const auto to = reinterpret_cast<Event*>(end)->point;
  if (from->stream != nullptr || to->stream != nullptr) return result(cudaErrorNotReady);
  *out = static_cast<float>((to->at - from->at) * 1e3);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Stream& waiting = stream_of(stream);
  const int forgotten = static_cast<int>(fake::number("forget_wait", waiting.device, -1));
  if (++device(waiting.device).waits == forgotten) return cudaSuccess;
  waiting.queue.push_back({.awaits = reinterpret_cast<Event*>(event)->point});
  return cudaSuccess;
}

// Where pageable copies are staged: on the CPUs of the thread that asks for them.
static void log_staging_cpus() {
  const char* name = std::getenv("CLUSTERBENCH_FAKE_CUDA_STAGING");
  FILE* file = name == nullptr ? nullptr : std::fopen(name, "a");
  if (file == nullptr) return;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) std::fprintf(file, "%d ", cpu);
  std::fprintf(file, "\n");
  std::fclose(file);
}

// Of the way that a copy takes.
static double copy_rate(const Block* source, const Block* target) {
  const bool host =
      source == nullptr || target == nullptr || source->device < 0 || target->device < 0;
  const bool peers = !host && source->device != target->device;
  return fake::number(host    ? "host_rate"
                      : peers ? "peer_rate"
                              : "memory_rate",
                      -1, fake::bytes_per_second);
}

// From pageable memory the bytes are taken at once; to pageable memory the call waits for the
// stream, whatever it does: for ever, if that hangs.
// A copy to or from the host that is said to go wrong.
static void copy_goes_wrong(Stream& stream) {
  const int copies = ++device(stream.device).host_copies;
  if (copies == static_cast<int>(fake::number("hang_copy", stream.device, -1)))
    stream.queue.push_back({.blocks = std::numeric_limits<double>::infinity()});
  if (copies == static_cast<int>(fake::number("die_copy", stream.device, -1)))
    fake::kill(stream.device);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t handle) {
  Stream& stream = stream_of(handle);
  const Block* source = block_of(from);
  const Block* target = block_of(to);
  if (stream.capturing && (source == nullptr || target == nullptr))
    return result(cudaErrorStreamCaptureUnsupported);
  if ((source == nullptr || target == nullptr) && bytes > 4096) log_staging_cpus();
  const auto in_host = [](const Block* b) { return b == nullptr || b->device < 0; };
  if (in_host(source) || in_host(target)) copy_goes_wrong(stream);
  std::vector<std::byte> staged;
  if (source == nullptr) {
    const auto* begin = static_cast<const std::byte*>(from);
    staged.assign(begin, begin + bytes);
  }
  const bool flip = bytes > 4096 && fake::flips(handle, "copy");
  const int code = fake::enqueue(handle, static_cast<double>(bytes) / copy_rate(source, target),
                                 false, [to, from, bytes, flip, staged = std::move(staged)] {
                                   std::memcpy(to, staged.empty() ? from : staged.data(), bytes);
                                   if (flip) static_cast<unsigned char*>(to)[bytes / 2] ^= 4;
                                 });
  if (code != cudaSuccess) return static_cast<cudaError_t>(code);
  if (target == nullptr) {
    while (!drain(stream, nullptr)) {
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return static_cast<cudaError_t>(fake::enqueue(stream,
                                                static_cast<double>(bytes) / fake::bytes_per_second,
                                                false, [=] { std::memset(to, value, bytes); }));
}

cudaError_t cudaDeviceCanAccessPeer(int* out, int from, int to) {
  *out = from != to && fake::number("peer", -1, 1) != 0 ? 1 : 0;
  return result(state(from));
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  static std::map<std::pair<int, int>, bool> enabled;
  if (std::exchange(enabled[{current, peer}], true))
    return result(cudaErrorPeerAccessAlreadyEnabled);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t queue, cudaStreamCaptureMode) {
  if (const auto code = static_cast<int>(fake::number("no_capture", stream_of(queue).device, 0));
      code != 0)
    return result(static_cast<cudaError_t>(code));
  stream_of(queue).capturing = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t queue, cudaGraph_t* out) {
  Stream& stream = stream_of(queue);
  stream.capturing = false;
  auto* graph = new std::vector<Node>(std::exchange(stream.nodes, {}));
  if (const auto code = static_cast<int>(fake::number("no_end", stream.device, 0)); code != 0) {
    delete graph;
    *out = nullptr;
    return result(static_cast<cudaError_t>(code));
  }
  *out = reinterpret_cast<cudaGraph_t>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  *out = reinterpret_cast<cudaGraphExec_t>(
      new std::vector<Node>(*reinterpret_cast<std::vector<Node>*>(graph)));
  return cudaSuccess;
}
// One launch, whatever it holds.
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t queue) {
  Stream& stream = stream_of(queue);
  if (const cudaError_t code = state(stream.device); code != cudaSuccess) return result(code);
  fake::spend("graph_cost");
  host_now += fake::number("launch", -1, 0);
  for (const Node& node : *reinterpret_cast<std::vector<Node>*>(graph)) {
    if (node.queue)
      node.queue();
    else
      fake::enqueue_launched(stream, node.seconds, node.counted, node.run);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<std::vector<Node>*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<std::vector<Node>*>(graph);
  return cudaSuccess;
}

}  // extern "C"
