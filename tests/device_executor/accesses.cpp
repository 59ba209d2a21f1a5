// Each access of a kernel to memory, where the compiler tells of it: kernels are compiled with
// ThreadSanitizer's instrumentation, and its functions are these here instead of its own library.
// They look whose memory it is, and whether another thread used the same byte without an order
// between the two.
#include <algorithm>
#include <cstring>

#include <link.h>

#include "tests/device_executor/grid.h"

namespace device_executor {
namespace {

struct Range {
  std::uintptr_t begin, end;
};

// What no kernel can write: constants of the program and its libraries.
const std::vector<Range>& constants() {
  static const auto found = [] {
    std::vector<Range> out;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* to) {
          for (int i = 0; i < object->dlpi_phnum; ++i) {
            const auto& part = object->dlpi_phdr[i];
            if (part.p_type != PT_GNU_RELRO &&
                (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0))
              continue;
            const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
            static_cast<std::vector<Range>*>(to)->push_back({begin, begin + part.p_memsz});
          }
          return 0;
        },
        &out);
    return out;
  }();
  return found;
}

bool constant(std::uintptr_t address) {
  return std::any_of(constants().begin(), constants().end(), [&](const Range& range) {
    return address >= range.begin && address < range.end;
  });
}

std::string done_to(std::size_t bytes, bool writes) {
  return (writes ? "writes " : "reads ") + std::to_string(bytes) + " bytes ";
}

std::string place_of(std::uintptr_t address) {
  const Region* near = nearest_region(address);
  if (near == nullptr) return "of no known memory";
  const std::string whole =
      " of " + near->name + ", which has " + std::to_string(near->bytes) + " bytes";
  if (address < near->begin)
    return std::to_string(near->begin - address) + " bytes before the beginning" + whole;
  return "at byte " + std::to_string(address - near->begin) + whole;
}

}  // namespace

void Grid::access(std::uintptr_t address, std::size_t bytes, bool writes) {
  if (threads_[running_].fiber->holds(reinterpret_cast<const void*>(address))) return;
  Region* region = region_of(address);
  if (region == nullptr && !writes && constant(address)) return;
  if (region == nullptr || !region->holds(address + bytes - 1))
    fail([&] {
      return done_to(bytes, writes) + place_of(region == nullptr ? address : address + bytes - 1);
    });
  const std::size_t at = address - region->begin;
  if (writes && !region->writable) fail([&] { return done_to(bytes, writes) + place_of(address); });
  if (!region->writable) return;
  if (region->uses.empty()) region->uses.resize(region->bytes);
  if (pending_copies_ > 0) check_arrived(*region, at, bytes, writes);
  check_initialised(*region, at, bytes, writes);
  const unsigned lane = running_ % kLanes;
  const Use now{.launch = serial_,
                .block = block_,
                .time = ++time_,
                .thread = running_,
                .epoch = epoch_,
                .clock = warps_[running_ / kLanes].known[lane][lane],
                .atomic = atomic_};
  for (std::size_t i = 0; i < bytes; ++i) use(*region, at + i, writes, now);
}

void Grid::check_arrived(const Region& region, std::size_t at, std::size_t bytes, bool writes) {
  if (!region.of_block) return;
  for (std::size_t i = at; i < at + bytes; ++i)
    if (region.uses[i].arriving)
      fail([&] {
        return done_to(bytes, writes) + "at byte " + std::to_string(at) + " of " + region.name +
               ", to which a copy was begun and not waited for";
      });
}

void Grid::check_initialised(const Region& region, std::size_t at, std::size_t bytes, bool writes) {
  if (!region.of_block || writes) return;
  for (std::size_t i = at; i < at + bytes; ++i)
    if (region.uses[i].write.launch == 0 && region.uses[i].atomic.launch == 0)
      fail([&] {
        return done_to(bytes, false) + "at byte " + std::to_string(at) + " of " + region.name +
               ", where no thread has written";
      });
}

bool Grid::ordered(const Use& before, const Use& now) const {
  if (before.launch != now.launch) return true;
  if (before.block != now.block) {
    const auto known = known_blocks_.find(before.block);
    return known != known_blocks_.end() && known->second >= before.time;
  }
  if (before.thread == now.thread || before.epoch != now.epoch) return true;
  if (threads_[now.thread].heard >= before.time) return true;
  if (before.thread / kLanes != now.thread / kLanes) return false;
  return warps_[now.thread / kLanes].known[now.thread % kLanes][before.thread % kLanes] >=
         before.clock;
}

void Grid::use(Region& region, std::size_t at, bool writes, const Use& now) {
  ByteUses& uses = region.uses[at];
  const auto check = [&](const Use& before, const char* what) {
    if (ordered(before, now)) return;
    fail([&] {
      const char* does = now.atomic ? "changes by an atomic" : writes ? "writes" : "reads";
      return std::string(does) + " byte " + std::to_string(at) + " of " + region.name + ", which " +
             name_of_thread(before.thread) +
             (before.block == now.block ? "" : " of block " + std::to_string(before.block)) + what +
             " without a barrier between the two";
    });
  };
  const auto keep = [&](Use& last, Use& other) {
    if (last.thread != now.thread || last.block != now.block) other = last;
    last = now;
  };
  check(uses.write, " has written");
  if (writes || now.atomic) {
    check(uses.read, " has read");
    check(uses.other_read, " has read");
  }
  if (!now.atomic) {
    check(uses.atomic, " has changed by an atomic");
    check(uses.other_atomic, " has changed by an atomic");
  }
  if (now.atomic)
    keep(uses.atomic, uses.other_atomic);
  else if (writes)
    uses.write = now;
  else
    keep(uses.read, uses.other_read);
}

// Another thread must not come in between, but may come before.
void Grid::begin_atomic(const void* address, bool announces) {
  if (settings_.shuffled && draws_.below(4) == 0) pause();
  if (!settings_.checked) return;
  atomic_ = true;
  const auto& announced = announced_[reinterpret_cast<std::uintptr_t>(address)];
  for (const auto& [block, time] : announced) {
    std::uint64_t& known = block == block_ ? threads_[running_].heard : known_blocks_[block];
    known = std::max(known, time);
  }
  if (announces && threads_[running_].fenced)
    announced_[reinterpret_cast<std::uintptr_t>(address)][block_] = time_;
}

void Grid::end_atomic() { atomic_ = false; }

// ---- What words.h and launch.h call. ----

int meet_block(Meeting kind, int predicate, Site site) {
  const OutsideKernel outside;
  return running_grid->meet_block(kind, predicate, site);
}
std::uint64_t meet_warp(Meeting kind, unsigned mask, std::uint64_t value, int source, Site site) {
  const OutsideKernel outside;
  return running_grid->meet_warp(kind, mask, value, source, site);
}
int shuffle_source(Shuffle way, unsigned operand, int width, Site site) {
  const OutsideKernel outside;
  return running_grid->shuffle_source(way, operand, width, site);
}
void begin_atomic(const void* address, bool announces) {
  const OutsideKernel outside;
  running_grid->begin_atomic(address, announces);
}
void end_atomic() { running_grid->end_atomic(); }
void fence() { running_grid->fence(); }
void pause() {
  const OutsideKernel outside;
  running_grid->pause();
}
void await_more(const std::uint64_t* word, std::uint64_t value, Site site) {
  const OutsideKernel outside;
  running_grid->await_more(word, value, site);
}
std::uint32_t multiprocessor() { return running_grid->multiprocessor(); }
unsigned long long nanoseconds() {
  const OutsideKernel outside;
  running_grid->pause();
  return static_cast<unsigned long long>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}
void* shared_variable(const char* name, std::size_t bytes, std::size_t alignment, Site site) {
  const OutsideKernel outside;
  return running_grid->shared_variable(name, bytes, alignment, site);
}
void* dynamic_shared_memory() {
  const OutsideKernel outside;
  return running_grid->dynamic_shared_memory();
}

#ifdef CB_NO_ACCESSES
bool sees_accesses() { return false; }
#else
bool sees_accesses() { return true; }
#endif

std::string kernel_name(std::string_view pretty) {
  const std::string_view given = "Kernel = ";
  pretty = pretty.substr(pretty.find(given) + given.size());
  pretty = pretty.substr(0, pretty.find_first_of("<;]"));
  const std::size_t colon = pretty.rfind(':');
  return std::string(colon == std::string_view::npos ? pretty : pretty.substr(colon + 1));
}

}  // namespace device_executor

using device_executor::in_kernel;
using device_executor::running_grid;

namespace {

void accessed(const void* address, std::size_t bytes, bool writes) {
  if (!in_kernel || running_grid == nullptr || bytes == 0) return;
  in_kernel = false;
  running_grid->access(reinterpret_cast<std::uintptr_t>(address), bytes, writes);
  in_kernel = true;
}

}  // namespace

#ifndef CB_NO_ACCESSES
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, std::size_t bytes) { accessed(p, bytes, false); }
void __tsan_write_range(void* p, std::size_t bytes) { accessed(p, bytes, true); }
// clang 16 and later call these in place of memset, memcpy and memmove.
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  accessed(to, bytes, true);
  return std::memset(to, value, bytes);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  accessed(from, bytes, false);
  accessed(to, bytes, true);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  accessed(from, bytes, false);
  accessed(to, bytes, true);
  return std::memmove(to, from, bytes);
}
#define CB_ACCESS(bytes)                                                    \
  void __tsan_read##bytes(void* p) { accessed(p, bytes, false); }           \
  void __tsan_write##bytes(void* p) { accessed(p, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* p) { accessed(p, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* p) { accessed(p, bytes, true); } \
  void __tsan_volatile_read##bytes(void* p) { accessed(p, bytes, false); }  \
  void __tsan_volatile_write##bytes(void* p) { accessed(p, bytes, true); }  \
  void __tsan_read_write##bytes(void* p) { accessed(p, bytes, true); }      \
  void __tsan_unaligned_read_write##bytes(void* p) { accessed(p, bytes, true); }
CB_ACCESS(1)
CB_ACCESS(2)
CB_ACCESS(4)
CB_ACCESS(8)
CB_ACCESS(16)
#undef CB_ACCESS

// Of launchers and tests, on the host: no kernel has std::atomic.
#define CB_FETCH(bits, type, word)                                             \
  type __tsan_atomic##bits##_fetch_##word(volatile type* p, type value, int) { \
    return __atomic_fetch_##word(p, value, __ATOMIC_SEQ_CST);                  \
  }
#define CB_ATOMIC(bits, type)                                                                      \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                   \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int) {                            \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {                         \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* wanted, type value,    \
                                                    int, int) {                                    \
    return __atomic_compare_exchange_n(p, wanted, value, false, __ATOMIC_SEQ_CST,                  \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* wanted, type value, int, \
                                                  int) {                                           \
    return __atomic_compare_exchange_n(p, wanted, value, false, __ATOMIC_SEQ_CST,                  \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  CB_FETCH(bits, type, add)                                                                        \
  CB_FETCH(bits, type, sub)                                                                        \
  CB_FETCH(bits, type, and)                                                                        \
  CB_FETCH(bits, type, or)
CB_ATOMIC(8, std::uint8_t)
CB_ATOMIC(32, std::uint32_t)
CB_ATOMIC(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) {}
}
#endif
