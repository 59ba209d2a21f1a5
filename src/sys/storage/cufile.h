#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/descriptor.h"
#include "core/messages/said.h"
#include "sys/os/dl.h"
#include "sys/os/fs_root.h"

namespace cb::cufile {

// The part of NVIDIA's cuFile interface that this program calls. It is declared here because not
// every CUDA toolkit comes with cufile.h. Layouts and values: cuFile API Reference Guide and the
// header of nvidia-cufile-cu12 1.13.
namespace abi {
struct Status {
  int error = 0;  // 0, or 5001 … (CUfileOpError)
  int cuda = 0;   // CUresult if error is 5011
};
struct Descriptor {
  int type = 1;  // means a Linux file descriptor
  union {
    int fd;
    void* handle;
  } file = {};
  const void* operations = nullptr;
};
struct BatchRequest {
  int mode = 1;  // means batch
  struct {
    void* base;
    off_t file_offset;
    off_t buffer_offset;
    size_t bytes;
  } io = {};
  void* file = nullptr;
  int opcode = 0;  // 0 reads, 1 writes
  void* cookie = nullptr;
};
struct BatchEvent {
  void* cookie = nullptr;
  int status = 0;  // kComplete, or the failure
  size_t bytes = 0;
};
constexpr int kPending = 0x03, kComplete = 0x10;
static_assert(sizeof(Descriptor) == 24 && sizeof(BatchRequest) == 64 && sizeof(BatchEvent) == 24);
}  // namespace abi

enum class Direction { read, write };

// Says why the library cannot be opened; empty if it can. Does not start its driver.
Said why_absent(const FsRoot& fs);

// The library with its driver, which is open while the object lives. If it cannot be opened, throws
// Error with what was tried and what to do next.
class Driver {
 public:
  Driver();
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  const std::string& path() const { return library_.path(); }

 private:
  friend class File;
  friend class Buffer;
  friend class Batch;
  friend class StreamQueue;
  template <typename F>
  F* need(const char* name) const;

  DynamicLibrary library_;
};

// An open file registered with cuFile, by a descriptor of its own: the caller's stays the caller's.
class File {
 public:
  File(const Driver& driver, int fd, std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Transfers all bytes, in as many calls as that takes, and returns the number of calls. Throws
  // Error naming file, offset and cuFile's or the system's error; a read at the end of the file is
  // an error.
  int transfer(Direction direction, void* base, size_t bytes, uint64_t file_offset,
               uint64_t buffer_offset) const;
  void* handle() const { return handle_; }
  const std::string& path() const { return path_; }

 private:
  const Driver& driver_;
  std::string path_;
  Descriptor own_;
  void* handle_ = nullptr;
};

// Memory that is registered while the object lives.
class Buffer {
 public:
  Buffer(const Driver& driver, void* base, size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  const Driver& driver_;
  void* base_;
};

// Several requests at once. Each moves `bytes` to or from its own part of the buffer.
class Batch {
 public:
  static constexpr unsigned kMax = 128;  // default of io_batchsize
  Batch(const Driver& driver, unsigned requests);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  struct Request {
    uint64_t file_offset = 0;
    uint64_t buffer_offset = 0;
  };
  // Submits all requests and waits for all, at most `deadline_seconds`. Throws Error naming the
  // request that failed, was short, or did not come back.
  void run(const File& file, Direction direction, void* base, size_t bytes,
           const std::vector<Request>& requests, double deadline_seconds) const;

 private:
  const Driver& driver_;
  void* id_ = nullptr;
};

// Requests in a CUDA stream (cuFileReadAsync, cuFileWriteAsync), which are done in the stream's
// order. The stream is registered while the object lives, with the promise that offsets and sizes
// are fixed when a request is queued and are multiples of 4 KiB.
class StreamQueue {
 public:
  // `stream` is a cudaStream_t; null is the default stream. `settle` waits for it, with a deadline.
  StreamQueue(const Driver& driver, void* stream, std::function<void()> settle = {});
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  // Queues all requests, waits for the stream, and waits for what has not come back until
  // `deadline_seconds` after all were queued. Throws Error naming the request that was refused,
  // failed, was short, or did not come back.
  void run(const File& file, Direction direction, void* base, size_t bytes,
           const std::vector<Batch::Request>& requests, double deadline_seconds);

 private:
  // cuFile reads it when the request's turn comes and writes it when the request is done: it must
  // live until then.
  struct Slot {
    size_t bytes = 0;
    off_t file_offset = 0;
    off_t buffer_offset = 0;
    ssize_t moved = 0;
  };
  void put(const File& file, Direction direction, void* base, Slot& slot) const;
  // The stream's deadline, if it came; other errors of it are thrown.
  std::exception_ptr settle() const;
  void wait(const File& file, double until, bool settled) const;
  static void abandon(std::unique_ptr<std::vector<Slot>> slots);

  const Driver& driver_;
  void* stream_;
  std::function<void()> settle_;
  // outlive this object if a request never came back
  std::unique_ptr<std::vector<Slot>> slots_ = {};
};

// Returns "5008 (not supported on this file)".
std::string error_text(int error);

}  // namespace cb::cufile
