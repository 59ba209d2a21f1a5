#include "sys/storage/cufile.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"

namespace cb::cufile {
namespace {

using abi::BatchEvent;
using abi::BatchRequest;
using abi::Descriptor;
using abi::Status;

// Types of the library's functions.
using Plain = Status();
using Register = Status(void**, Descriptor*);
using Deregister = void(void*);
using BufferRegister = Status(const void*, size_t, int);
using BufferDeregister = Status(const void*);
using Transfer = ssize_t(void*, void*, size_t, off_t, off_t);
using TransferOut = ssize_t(void*, const void*, size_t, off_t, off_t);
using BatchSetUp = Status(void**, unsigned);
using BatchSubmit = Status(void*, unsigned, BatchRequest*, unsigned);
using BatchStatus = Status(void*, unsigned, unsigned*, BatchEvent*, timespec*);
using BatchDestroy = void(void*);
using StreamRegister = Status(void*, unsigned);
using StreamDeregister = Status(void*);
using AsyncTransfer = Status(void*, void*, size_t*, off_t*, off_t*, ssize_t*, void*);

// Promises that buffer offset, file offset and size are fixed when a request is queued, and aligned
// to 4 KiB.
constexpr unsigned kAllFixedAndAligned = 0xF;
constexpr double kShortStays = 1, kShortStaysUnsettled = 5;  // seconds
// Not a valid count of bytes: it is in a slot until cuFile writes the request's result.
constexpr ssize_t kNotYet = std::numeric_limits<ssize_t>::min();

void check(const Status& status, const std::string& what,
           const char* next = "run gdscheck -p and look at cufile.log") {
  if (status.error == 0) return;
  throw Error(fmt::format("cuFile: {} failed: {}{}; next: {}", what, error_text(status.error),
                          status.cuda != 0 ? fmt::format(", CUDA error {}", status.cuda) : "",
                          next));
}

// cuFile 1.15.1 refuses a file of whose volume udev knows nothing with 5027, in compatibility mode
// too. Older ones are said to do so with 5030, an internal error (rapidsai/kvikio issue 33).
void check_registered(const Status& status, const std::string& path) {
  const bool volume = status.error == 5027 || status.error == 5030;
  const std::string what = "registering " + path;
  if (!volume) return check(status, what);
  check(status, what,
        "cuFile asks udev for the file's volume: in a container mount the host's /run/udev "
        "(docker: --volume /run/udev:/run/udev:ro), and take a filesystem of a block "
        "device, no tmpfs and no overlay; cufile.log says more, or run gdscheck -p");
}

// Explains a negative result of cuFileRead or cuFileWrite: -1 means errno, others are
// -CUfileOpError.
std::string result_text(ssize_t result, int error) {
  return result == -1 ? std::strerror(error) : error_text(static_cast<int>(-result));
}

// cuFile refuses a descriptor that was opened with O_NOFOLLOW or O_NOATIME (cuFile API Reference
// Guide, cuFileHandleRegister: 5019), and F_SETFL cannot take O_NOFOLLOW away. The kernel's link
// leads to the open file itself, whatever its path has become: no other file can slip in.
cb::Descriptor opened_again(int fd, const std::string& path) {
  const int flags = ::fcntl(fd, F_GETFL) & (O_ACCMODE | O_DIRECT | O_SYNC | O_DSYNC);
  cb::Descriptor out(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC));
  if (!out.open())
    throw Error(
        fmt::format("cannot open {} again for cuFile: {}; next: look whether /proc is "
                    "mounted and the file may still be opened",
                    path, std::strerror(errno)));
  return out;
}

DynamicLibrary open_library() {
  return DynamicLibrary::open("CLUSTERBENCH_CUFILE_LIBRARY", {"libcufile.so.0", "libcufile.so"});
}

Said why_not_opened(const DynamicLibrary& library) { return said("gds.no_cufile", library.why()); }

}  // namespace

Said why_absent(const FsRoot&) {
  const DynamicLibrary library = open_library();
  return library.present() ? "" : why_not_opened(library);
}

template <typename F>
F* Driver::need(const char* name) const {
  F* function = library_.symbol<F>(name);
  if (function == nullptr)
    throw Error(fmt::format("{} has no {}: too old; next: install GDS of CUDA 12.2 or newer",
                            library_.path(), name));
  return function;
}

Driver::Driver() : library_(open_library()) {
  if (!library_.present()) throw Error(why_not_opened(library_));
  check(need<Plain>("cuFileDriverOpen")(), "opening the driver");
}

Driver::~Driver() {
  // The header maps cuFileDriverClose to this name.
  if (auto* close = library_.symbol<Plain>("cuFileDriverClose_v2")) close();
}

File::File(const Driver& driver, int fd, std::string path)
    : driver_(driver), path_(std::move(path)), own_(opened_again(fd, path_)) {
  Descriptor descriptor;
  descriptor.file.fd = own_.get();
  check_registered(driver.need<Register>("cuFileHandleRegister")(&handle_, &descriptor), path_);
}

File::~File() {
  if (auto* f = driver_.library_.symbol<Deregister>("cuFileHandleDeregister")) f(handle_);
}

int File::transfer(Direction direction, void* base, size_t bytes, uint64_t file_offset,
                   uint64_t buffer_offset) const {
  const bool reads = direction == Direction::read;
  auto* read = driver_.need<Transfer>("cuFileRead");
  auto* write = driver_.need<TransferOut>("cuFileWrite");
  int calls = 0;
  for (size_t done = 0; done < bytes; ++calls) {
    const auto at = static_cast<off_t>(file_offset + done);
    const auto to = static_cast<off_t>(buffer_offset + done);
    errno = 0;
    const ssize_t n = reads ? read(handle_, base, bytes - done, at, to)
                            : write(handle_, base, bytes - done, at, to);
    const int error = errno;
    if (n < 0)
      throw Error(
          fmt::format("cuFile {} of {} bytes at offset {} of {} failed: {}; next: look at "
                      "cufile.log and the kernel log",
                      reads ? "read" : "write", bytes - done, at, path_, result_text(n, error)));
    if (n == 0)
      throw Error(
          fmt::format("cuFile {} at offset {} of {}: nothing was transferred (end of the "
                      "file?)",
                      reads ? "read" : "write", at, path_));
    done += static_cast<size_t>(n);
  }
  return calls;
}

Buffer::Buffer(const Driver& driver, void* base, size_t bytes) : driver_(driver), base_(base) {
  check(driver.need<BufferRegister>("cuFileBufRegister")(base, bytes, 0),
        fmt::format("registering {} bytes of memory", bytes));
}

Buffer::~Buffer() {
  if (auto* f = driver_.library_.symbol<BufferDeregister>("cuFileBufDeregister")) f(base_);
}

Batch::Batch(const Driver& driver, unsigned requests) : driver_(driver) {
  check(driver.need<BatchSetUp>("cuFileBatchIOSetUp")(&id_, requests),
        fmt::format("setting up a batch of {}", requests));
}

Batch::~Batch() {
  if (auto* f = driver_.library_.symbol<BatchDestroy>("cuFileBatchIODestroy")) f(id_);
}

void Batch::run(const File& file, Direction direction, void* base, size_t bytes,
                const std::vector<Request>& requests, double deadline_seconds) const {
  std::vector<BatchRequest> list(requests.size());
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].io = {base, static_cast<off_t>(requests[i].file_offset),
                  static_cast<off_t>(requests[i].buffer_offset), bytes};
    list[i].file = file.handle();
    list[i].opcode = direction == Direction::read ? 0 : 1;
    list[i].cookie = reinterpret_cast<void*>(i + 1);
  }
  const auto count = static_cast<unsigned>(list.size());
  check(driver_.need<BatchSubmit>("cuFileBatchIOSubmit")(id_, count, list.data(), 0),
        "submitting a batch to " + file.path());
  auto* status = driver_.need<BatchStatus>("cuFileBatchIOGetStatus");
  std::vector<BatchEvent> events(list.size());
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline_seconds);
  for (unsigned done = 0; done < count;) {
    if (std::chrono::steady_clock::now() > until)
      throw Error(fmt::format("cuFile batch on {}: {} of {} requests did not come back within {} s",
                              file.path(), count - done, count, deadline_seconds),
                  ExitCode::deadline);
    unsigned got = count;
    timespec wait{.tv_sec = 1, .tv_nsec = 0};
    check(status(id_, 1, &got, events.data(), &wait), "asking for a batch on " + file.path());
    for (unsigned i = 0; i < got; ++i) {
      const BatchEvent& e = events[i];
      if ((e.status & abi::kPending) != 0 && e.status != abi::kComplete) continue;
      const uint64_t offset = requests.at(reinterpret_cast<uintptr_t>(e.cookie) - 1).file_offset;
      if (e.status != abi::kComplete || e.bytes != bytes)
        throw Error(
            fmt::format("cuFile batch request at offset {} of {}: {} of {} bytes, status "
                        "{:#x}; next: look at cufile.log",
                        offset, file.path(), e.bytes, bytes, e.status));
      ++done;
    }
  }
}

StreamQueue::StreamQueue(const Driver& driver, void* stream, std::function<void()> settle)
    : driver_(driver), stream_(stream), settle_(std::move(settle)) {
  check(driver.need<StreamRegister>("cuFileStreamRegister")(stream, kAllFixedAndAligned),
        "registering a stream");
}

StreamQueue::~StreamQueue() {
  if (auto* f = driver_.library_.symbol<StreamDeregister>("cuFileStreamDeregister")) f(stream_);
}

void StreamQueue::run(const File& file, Direction direction, void* base, size_t bytes,
                      const std::vector<Batch::Request>& requests, double deadline_seconds) {
  slots_ = std::make_unique<std::vector<Slot>>();
  for (const Batch::Request& r : requests)
    slots_->push_back(
        {bytes, static_cast<off_t>(r.file_offset), static_cast<off_t>(r.buffer_offset), kNotYet});
  const double until = monotonic_seconds() + deadline_seconds;
  std::exception_ptr refused;
  size_t put_in = 0;
  try {
    for (Slot& slot : *slots_) {
      put(file, direction, base, slot);
      ++put_in;
    }
  } catch (...) {
    refused = std::current_exception();
  }
  // Requests before a refused one must come back too before their slots are freed.
  slots_->resize(put_in);
  try {
    const std::exception_ptr late = settle();
    wait(file, until, !late && settle_);
    if (late) std::rethrow_exception(late);
  } catch (...) {
    abandon(std::move(slots_));
    if (refused) std::rethrow_exception(refused);
    throw;
  }
  if (refused) std::rethrow_exception(refused);
}

// Storage that does not answer keeps the stream busy: which request it is, wait() says.
std::exception_ptr StreamQueue::settle() const {
  try {
    if (settle_) settle_();
  } catch (const Error& e) {
    if (e.code() != ExitCode::deadline) throw;
    return std::current_exception();
  }
  return nullptr;
}

// The library may still write into slots that never came back: they stay until the process ends.
void StreamQueue::abandon(std::unique_ptr<std::vector<Slot>> slots) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<std::vector<Slot>>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(slots));
}

void StreamQueue::put(const File& file, Direction direction, void* base, Slot& slot) const {
  const bool reads = direction == Direction::read;
  auto* call = driver_.need<AsyncTransfer>(reads ? "cuFileReadAsync" : "cuFileWriteAsync");
  check(call(file.handle(), base, &slot.bytes, &slot.file_offset, &slot.buffer_offset, &slot.moved,
             stream_),
        fmt::format("putting a {} at offset {} of {} into the stream", reads ? "read" : "write",
                    slot.file_offset, file.path()));
}

// The library writes the counts from another thread, in compatibility mode first as 0
// (cuFile 1.15): a short one is final when it has stayed. Where nobody has waited for the stream it
// has to stay longer, and 0 says nothing.
void StreamQueue::wait(const File& file, double until, bool settled) const {
  const double stays = settled ? kShortStays : kShortStaysUnsettled;
  double short_since = monotonic_seconds();
  std::vector<ssize_t> counts(slots_->size(), kNotYet);
  while (true) {
    const Slot *open = nullptr, *missing = nullptr;
    for (size_t i = 0; i < counts.size(); ++i) {
      Slot& slot = slots_->at(i);
      const ssize_t count = std::atomic_ref(slot.moved).load(std::memory_order_acquire);
      if (std::exchange(counts[i], count) != count) short_since = monotonic_seconds();
      const bool is_short = count >= 0 && count < static_cast<ssize_t>(slot.bytes);
      const bool is_missing = count == kNotYet || (count == 0 && !settled);
      if (is_missing && missing == nullptr) missing = &slot;
      if ((count == kNotYet || is_short) && open == nullptr) open = &slot;
    }
    const double now = monotonic_seconds();
    if (open == nullptr || (missing == nullptr && now - short_since > stays)) break;
    if (now > until)
      throw Error(fmt::format("cuFile stream request at offset {} of {} did not come back in time; "
                              "next: look at cufile.log, the storage and the GPU's health",
                              (missing != nullptr ? missing : open)->file_offset, file.path()),
                  ExitCode::deadline);
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
  for (const Slot& slot : *slots_) {
    if (slot.moved == static_cast<ssize_t>(slot.bytes)) continue;
    throw Error(fmt::format(
        "cuFile stream request at offset {} of {}: {}; next: look at cufile.log", slot.file_offset,
        file.path(),
        slot.moved < 0 ? error_text(static_cast<int>(-slot.moved))
                       : fmt::format("{} of {} bytes were transferred", slot.moved, slot.bytes)));
  }
}

}  // namespace cb::cufile
