#include "sys/gpu/cuda/cuda.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"
#include "sys/gpu/cuda_runtime.h"

namespace cb::cuda {
namespace {

int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which the next launch would report as its own
  const std::string what = fmt::format("{} on CUDA device {}: {} ({})", call, current_device(),
                                       cudaGetErrorString(code), cudaGetErrorName(code));
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(what);
  throw Error(what + "; see `dmesg | grep -i xid`");
}

cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string out = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return out;
}

Device describe(int ordinal) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, ordinal), "cudaGetDeviceProperties");
  Device out{.ordinal = ordinal, .name = p.name, .uuid = uuid_text(p.uuid)};
  out.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
  out.compute_capability = p.major * 10 + p.minor;
  out.sms = p.multiProcessorCount;
  out.l2_bytes = p.l2CacheSize;
  out.memory_bytes = static_cast<int64_t>(p.totalGlobalMem);
  return out;
}

std::string dashed(std::string version) {
  std::ranges::replace(version, '.', '-');
  return version;
}

// Says what to do on a machine on which CUDA does not start; "" if CUDA's own message says it.
std::string next_step(cudaError_t code) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  switch (code) {
    case cudaErrorInsufficientDriver:
      if (driver == 0) return "; the NVIDIA driver's libcuda.so.1 is not there";
      return fmt::format(
          "; the driver knows CUDA {}, this program was built with {}: update the driver to {} or "
          "newer, or put NVIDIA's package cuda-compat-{} before it (LD_LIBRARY_PATH=/usr/local/"
          "cuda-{}/compat, data-centre GPUs), or build with a toolkit of CUDA {}",
          version_text(driver), version_text(runtime), least_driver(runtime / 1000),
          dashed(version_text(runtime)), version_text(runtime), driver / 1000);
    case cudaErrorSystemNotReady:
      return "; the NVSwitch fabric is not ready: `systemctl status nvidia-fabricmanager`";
    case cudaErrorSystemDriverMismatch:
      return "; the kernel module and libcuda are of different versions: reboot or reload it";
    case cudaErrorDevicesUnavailable:
      return "; a GPU is in exclusive or prohibited mode: `nvidia-smi -c 0`";
    default:
      return "";
  }
}

}  // namespace

std::variant<std::vector<Device>, Absent> devices() {
  if (const auto module = module_in_use(); module && module->runtime == 0)
    return Absent{module->reason};
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    cudaGetLastError();
    return Absent{fmt::format("CUDA finds no usable device: {}{}", cudaGetErrorString(code),
                              next_step(code))};
  }
  if (count == 0) return Absent{said("gpu.no_device")};
  std::vector<Device> out;
  for (int i = 0; i < count; ++i) out.push_back(describe(i));
  return out;
}

std::string driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return version_text(version);
}

int driver_major() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version / 1000 : 0;
}

std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  return version_text(version);
}

void select(int ordinal) { check(cudaSetDevice(ordinal), "cudaSetDevice"); }

MemoryInfo memory_info() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, bytes), "cudaMalloc");
}
// Ignores the result: a failure here follows one that was reported where it happened.
DeviceMemory::~DeviceMemory() { cudaFree(data_); }
DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PoolMemory::PoolMemory(size_t bytes, const Stream& stream) : stream_(stream) {
  check(cudaMallocAsync(&data_, bytes, native(stream)), "cudaMallocAsync");
}
// Ignores the result: a failure here follows one that was reported where it happened.
PoolMemory::~PoolMemory() { cudaFreeAsync(data_, native(stream_)); }

HostMemory::HostMemory(size_t bytes, bool pinned) : bytes_(bytes), pinned_(pinned) {
  if (pinned) {
    check(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return;
  }
  constexpr size_t kPage = 4096;
  data_ = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (data_ == nullptr) throw Error(fmt::format("no host memory for {} bytes", bytes));
}
HostMemory::~HostMemory() {
  if (pinned_)
    cudaFreeHost(data_);
  else
    std::free(data_);
}
HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pinned_(std::exchange(other.pinned_, false)) {}

Stream::Stream(Priority priority) {
  cudaStream_t stream = nullptr;
  if (priority == Priority::high) {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest),
          "cudaStreamCreateWithPriority");
  } else {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  handle_ = stream;
}
Stream::~Stream() {
  if (handle_ != nullptr) cudaStreamDestroy(native(*this));
}
Stream::Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Event::Event() : ordinal_(current_device()) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  handle_ = event;
}
Event::~Event() {
  if (handle_ != nullptr) cudaEventDestroy(static_cast<cudaEvent_t>(handle_));
}
Event::Event(Event&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), ordinal_(other.ordinal_) {}

void Event::record(const Stream& stream) {
  check(cudaEventRecord(static_cast<cudaEvent_t>(handle_), native(stream)), "cudaEventRecord");
}

bool Event::reached() const {
  const cudaError_t code = cudaEventQuery(static_cast<cudaEvent_t>(handle_));
  if (code == cudaErrorNotReady) {
    cudaGetLastError();  // clears "not ready", which the next launch would report as an error
    return false;
  }
  check(code, "cudaEventQuery");
  return true;
}

double Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(start.handle_),
                             static_cast<cudaEvent_t>(handle_)),
        "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

void Event::hold(const Stream& stream) const {
  check(cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(handle_), 0),
        "cudaStreamWaitEvent");
}

static constexpr double kNapSeconds = 50e-6;

void Event::wait(double deadline_seconds, const std::string& what) const {
  poll(deadline_seconds, what,
       [] { std::this_thread::sleep_for(std::chrono::duration<double>(kNapSeconds)); });
}

void Event::spin(double deadline_seconds, const std::string& what,
                 const std::function<void()>& meanwhile) const {
  poll(deadline_seconds, what, meanwhile);
}

void Event::poll(double deadline_seconds, const std::string& what,
                 const std::function<void()>& meanwhile) const {
  const double start = monotonic_seconds();
  while (!reached()) {
    if (monotonic_seconds() - start > deadline_seconds) {
      throw Error(fmt::format("CUDA device {} has not finished {} after {:.0f} s: it hangs; see "
                              "`dmesg | grep -i xid`, then reset or replace it",
                              ordinal_, what, deadline_seconds),
                  ExitCode::deadline);
    }
    if (meanwhile) meanwhile();
  }
}

void wait(const Stream& stream, double deadline_seconds, const std::string& what) {
  Event end;
  end.record(stream);
  end.wait(deadline_seconds, what);
}

void copy(void* to, const void* from, size_t bytes, const Stream& stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
}

void fetch(void* to, const void* from, size_t bytes, const Stream& stream, double deadline_seconds,
           const std::string& what) {
  wait(stream, deadline_seconds, what);
  copy(to, from, bytes, stream);
  wait(stream, deadline_seconds, what);
}

void zero(void* to, size_t bytes, const Stream& stream) {
  check(cudaMemsetAsync(to, 0, bytes, native(stream)), "cudaMemsetAsync");
}

void fill(void* to, uint8_t value, size_t bytes, const Stream& stream) {
  check(cudaMemsetAsync(to, value, bytes, native(stream)), "cudaMemsetAsync");
}

void poison(void* to, size_t bytes, const Stream& stream) {
  check(cudaMemsetAsync(to, 0xff, bytes, native(stream)), "cudaMemsetAsync");
}

bool enable_peer(int ordinal, int peer) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, ordinal, peer), "cudaDeviceCanAccessPeer");
  if (can == 0) return false;
  select(ordinal);
  const cudaError_t code = cudaDeviceEnablePeerAccess(peer, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // clears the error, which the next launch would report again
    return true;
  }
  check(code, "cudaDeviceEnablePeerAccess");
  return true;
}

void forget_error() { cudaGetLastError(); }

bool lacks_code(int code) {
  return code == cudaErrorInvalidDeviceFunction || code == cudaErrorNoKernelImageForDevice ||
         code == cudaErrorUnsupportedPtxVersion;
}

void check_launch(int code, const char* kernel) { check(static_cast<cudaError_t>(code), kernel); }

}  // namespace cb::cuda
