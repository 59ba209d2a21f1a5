// The memory that kernels may use, and who used which byte last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace device_executor {

// The last use of a byte. Two uses within one launch that nothing orders are a race, unless both
// only read or both are atomic.
struct Use {
  std::uint64_t launch = 0;  // 0: none
  std::uint64_t block = 0;
  std::uint64_t time = 0;  // by the executor's count of meetings and launches
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;  // how many barriers of the block were passed
  std::uint32_t clock = 0;  // of the thread's lane: how many warp barriers
  bool atomic = false;
};
struct ByteUses {
  Use write;                 // by a plain store
  Use read, other_read;      // by a plain load: the last, and the last by another thread
  Use atomic, other_atomic;  // by an atomic, likewise
  bool arriving = false;     // by an asynchronous copy that was not waited for
};

// What a kernel may touch.
struct Region {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;
  bool writable = true;
  bool of_block = false;  // shared memory, which holds nothing when the block begins
  std::vector<ByteUses> uses = {};

  bool holds(std::uintptr_t address) const { return address >= begin && address < begin + bytes; }
};

// All regions of the process: those of device arrays, of the running block, and of a launch's
// arguments.
Region& add_region(const void* begin, std::size_t bytes, std::string name, bool writable = true);
void remove_region(const void* begin);
Region* region_of(std::uintptr_t address);
Region* nearest_region(std::uintptr_t address);  // null: there is none at all

// Memory for a kernel under test, exactly as large as asked for. AddressSanitizer sees each access
// beside it; so does the executor where it sees accesses, and a written guard is found by the
// launch's end in any build.
class DeviceMemory {
 public:
  DeviceMemory(std::size_t bytes, std::string name, std::size_t offset);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return begin_; }

 private:
  unsigned char* memory_;
  unsigned char* begin_;
};

// Throws Fault if a guard beside a DeviceMemory was written.
void check_guards(const std::string& kernel);

template <typename T>
class DeviceArray {
 public:
  // `offset` bytes behind an address that is aligned to 256.
  explicit DeviceArray(std::size_t items, std::string name = "array", std::size_t offset = 0)
      : memory_(items * sizeof(T), std::move(name), offset), items_(items) {}
  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  std::size_t size() const { return items_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + items_; }

 private:
  DeviceMemory memory_;
  std::size_t items_;
};

}  // namespace device_executor
