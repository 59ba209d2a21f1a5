// Stands in for libcufile in tests. FAKE_CUFILE says how it behaves: "direct" moves the bytes
// without a read or write call of the process and counts them in the file FAKE_NVFS_STATS as
// nvidia-fs would; "compat" uses pread and pwrite; "silent" is direct and counts nothing; "short"
// moves at most 4,096 bytes a call; "wrong" flips a byte; "error" fails with EIO, "refuse" with
// 5008, "nodriver" does not open, "novolume" knows no volume of a file, "nobuffer" has an internal
// error where memory is registered, "lost" never ends a request of a stream or batch. A stream is
// one thread that takes requests in their order. A request takes at least FAKE_CUFILE_MICROSECONDS.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Status {
  int error, cuda;
};
struct Descriptor {
  int type;
  union {
    int fd;
    void* handle;
  } file;
  const void* operations;
};
struct Request {
  int mode;
  void* base;
  off_t file_offset, buffer_offset;
  size_t bytes;
  void* file;
  int opcode;
  void* cookie;
};
struct Event {
  void* cookie;
  int status;
  size_t bytes;
};

// Those of the cuFile API Reference Guide, cuFileHandleRegister. cuFile 1.15.1 refuses O_NOFOLLOW,
// O_APPEND and O_NONBLOCK, in compatibility mode too, and takes O_NOATIME.
constexpr int kRefusedFlags =
    O_APPEND | O_NOCTTY | O_NONBLOCK | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_TMPFILE;

std::vector<Event> finished;
unsigned long reads = 0, writes = 0;

bool is(const char* mode) {
  const char* text = std::getenv("FAKE_CUFILE");
  return std::strcmp(text == nullptr ? "direct" : text, mode) == 0;
}

void count() {
  const char* path = std::getenv("FAKE_NVFS_STATS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file,
               "GDS Version: 1.7.2.10\nNVFS statistics(ver: 4.0)\nIO stats: Enabled\n\n"
               "Batches\t\t\t\t: n=0 ok=0 err=0 Avg-Submit-Latency(usec)=0\n"
               "Reads\t\t\t\t: n=%lu ok=%lu err=0 readMiB=0 io_state_err=0\n"
               "Writes\t\t\t\t: n=%lu ok=%lu err=0 writeMiB=0 io_state_err=0\n"
               "Ops\t\t\t\t: Read=0 Write=0 BatchIO=0\n",
               reads, reads, writes, writes);
  std::fclose(file);
}

int fd_of(void* handle) { return static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1; }

// Moves bytes by way of a mapping, which no counter of read and write calls sees.
void move(int fd, char* memory, size_t bytes, off_t offset, bool read) {
  const off_t page = offset / 4096 * 4096;
  const size_t length = bytes + static_cast<size_t>(offset - page);
  auto* map = static_cast<char*>(
      mmap(nullptr, length, read ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, page));
  if (map == MAP_FAILED) std::abort();
  char* there = map + (offset - page);
  std::memcpy(read ? memory : there, read ? there : memory, bytes);
  munmap(map, length);
}

// By read and write calls and a page-aligned copy, since files are open without the cache.
ssize_t by_host(int fd, char* memory, size_t bytes, off_t offset, bool read) {
  const std::unique_ptr<char, decltype(&std::free)> copy(
      static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)), &std::free);
  if (!read) std::memcpy(copy.get(), memory, bytes);
  const ssize_t moved =
      read ? pread(fd, copy.get(), bytes, offset) : pwrite(fd, copy.get(), bytes, offset);
  if (read && moved > 0) std::memcpy(memory, copy.get(), static_cast<size_t>(moved));
  return moved;
}

void take_time() {
  if (const char* text = std::getenv("FAKE_CUFILE_MICROSECONDS"))
    std::this_thread::sleep_for(std::chrono::microseconds(std::atol(text)));
}

ssize_t transfer(void* handle, char* memory, size_t bytes, off_t offset, bool read) {
  take_time();
  if (is("error")) {
    errno = EIO;
    return -1;
  }
  if (is("refuse")) return -5008;
  const int fd = fd_of(handle);
  if (is("short")) bytes = std::min<size_t>(bytes, 4096);
  if (is("compat")) return by_host(fd, memory, bytes, offset, read);
  if (is("wrong") && !read) memory[bytes / 2] ^= 1;
  move(fd, memory, bytes, offset, read);
  if (is("wrong") && read) memory[bytes / 2] ^= 1;
  if (is("silent")) return static_cast<ssize_t>(bytes);
  ++(read ? reads : writes);
  count();
  return static_cast<ssize_t>(bytes);
}

// Requests of the one stream, done by a thread some time after they were put in, as a GPU does.
class Stream {
 public:
  ~Stream() {
    if (thread_.joinable()) thread_.join();
  }
  void put(std::function<void()> work) {
    if (thread_.joinable()) previous_ = std::move(thread_);
    thread_ = std::thread([work = std::move(work), before = std::move(previous_)]() mutable {
      if (before.joinable()) before.join();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      work();
    });
  }

 private:
  std::thread thread_, previous_;
};
Stream stream;
bool stream_registered = false;

// Offsets and sizes are read when the request's turn comes.
Status put_in(void* h, char* base, size_t* bytes, off_t* at, off_t* to, ssize_t* moved, bool read) {
  if (!stream_registered) return {5022, 0};
  if (is("refuse")) return {5008, 0};
  if (is("lost")) return {0, 0};
  stream.put([=] {
    __atomic_store_n(moved, 0, __ATOMIC_RELEASE);  // as cuFile 1.15 in compatibility mode
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const ssize_t n = transfer(h, base + *to, *bytes, *at, read);
    __atomic_store_n(moved, n < 0 ? -5011 : n, __ATOMIC_RELEASE);
  });
  return {0, 0};
}

}  // namespace

extern "C" {
Status cuFileDriverOpen() {
  if (is("nodriver")) return {5001, 0};
  count();
  return {0, 0};
}
Status cuFileDriverClose_v2() { return {0, 0}; }
Status cuFileHandleRegister(void** handle, Descriptor* d) {
  if (d->type == 1 && (fcntl(d->file.fd, F_GETFL) & kRefusedFlags) != 0) return {5019, 0};
  if (is("novolume")) return {5027, 0};
  *handle = reinterpret_cast<void*>(static_cast<intptr_t>(d->file.fd) + 1);
  return {d->type == 1 ? 0 : 5022, 0};
}
void cuFileHandleDeregister(void*) {}
Status cuFileBufRegister(const void*, size_t, int) { return {is("nobuffer") ? 5030 : 0, 0}; }
Status cuFileBufDeregister(const void*) { return {0, 0}; }
ssize_t cuFileRead(void* h, void* base, size_t bytes, off_t at, off_t to) {
  return transfer(h, static_cast<char*>(base) + to, bytes, at, true);
}
ssize_t cuFileWrite(void* h, const void* base, size_t bytes, off_t at, off_t from) {
  return transfer(h, static_cast<char*>(const_cast<void*>(base)) + from, bytes, at, false);
}
Status cuFileBatchIOSetUp(void** id, unsigned) {
  *id = &finished;
  return {0, 0};
}
Status cuFileBatchIOSubmit(void*, unsigned n, Request* list, unsigned) {
  if (is("lost")) return {0, 0};
  for (unsigned i = 0; i < n; ++i) {
    const Request& r = list[i];
    const ssize_t got = transfer(r.file, static_cast<char*>(r.base) + r.buffer_offset, r.bytes,
                                 r.file_offset, r.opcode == 0);
    finished.push_back({r.cookie, got < 0 ? 0x40 : 0x10, got < 0 ? 0 : static_cast<size_t>(got)});
  }
  return {0, 0};
}
// In small portions and not in order, as hardware does.
Status cuFileBatchIOGetStatus(void*, unsigned, unsigned* n, Event* out, timespec*) {
  *n = std::min<unsigned>({*n, 3u, static_cast<unsigned>(finished.size())});
  for (unsigned i = 0; i < *n; ++i) {
    out[i] = finished.back();
    finished.pop_back();
  }
  return {0, 0};
}
void cuFileBatchIODestroy(void*) { finished.clear(); }
Status cuFileStreamRegister(void*, unsigned flags) {
  stream_registered = flags == 0xF;
  return {stream_registered ? 0 : 5022, 0};
}
Status cuFileStreamDeregister(void*) {
  stream_registered = false;
  return {0, 0};
}
Status cuFileReadAsync(void* h, void* base, size_t* bytes, off_t* at, off_t* to, ssize_t* moved,
                       void*) {
  return put_in(h, static_cast<char*>(base), bytes, at, to, moved, true);
}
Status cuFileWriteAsync(void* h, void* base, size_t* bytes, off_t* at, off_t* from, ssize_t* moved,
                        void*) {
  return put_in(h, static_cast<char*>(base), bytes, at, from, moved, false);
}
}
