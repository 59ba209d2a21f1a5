#include "tests/device_executor/memory.h"

#include <cstdlib>
#include <list>
#include <new>

#include "tests/device_executor/executor.h"

namespace device_executor {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

constexpr std::size_t kAlignment = 256;
// AddressSanitizer has its own beside what is allocated exactly.
constexpr std::size_t kGuardBytes = kAddressSanitizer ? 0 : 256;
constexpr unsigned char kGuard = 0xb5;

struct Guarded {
  const unsigned char* begin;
  std::size_t bytes;
  std::string name;
};

std::list<Region>& all_regions() {
  static std::list<Region> regions;
  return regions;
}
std::list<Guarded>& all_guarded() {
  static std::list<Guarded> guarded;
  return guarded;
}

bool intact(const unsigned char* guard) {
  for (std::size_t i = 0; i < kGuardBytes; ++i)
    if (guard[i] != kGuard) return false;
  return true;
}

}  // namespace

Region& add_region(const void* begin, std::size_t bytes, std::string name, bool writable) {
  all_regions().push_front({.begin = reinterpret_cast<std::uintptr_t>(begin),
                            .bytes = bytes,
                            .name = std::move(name),
                            .writable = writable});
  return all_regions().front();
}

void remove_region(const void* begin) {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  for (auto it = all_regions().begin(); it != all_regions().end(); ++it) {
    if (it->begin != at) continue;
    all_regions().erase(it);
    return;
  }
}

Region* region_of(std::uintptr_t address) {
  for (Region& region : all_regions())
    if (region.holds(address)) return &region;
  return nullptr;
}

Region* nearest_region(std::uintptr_t address) {
  Region* nearest = nullptr;
  std::uintptr_t least = ~std::uintptr_t{0};
  for (Region& region : all_regions()) {
    const std::uintptr_t away =
        address < region.begin ? region.begin - address : address - (region.begin + region.bytes);
    if (nearest != nullptr && away >= least) continue;
    nearest = &region;
    least = away;
  }
  return nearest;
}

DeviceMemory::DeviceMemory(std::size_t bytes, std::string name, std::size_t offset)
    : memory_(static_cast<unsigned char*>(
          ::operator new (bytes + offset + 2 * kGuardBytes, std::align_val_t{kAlignment}))),
      begin_(memory_ + kGuardBytes + offset) {
  std::memset(memory_, kGuard, bytes + offset + 2 * kGuardBytes);
  add_region(begin_, bytes, name);
  all_guarded().push_back({begin_, bytes, std::move(name)});
}

DeviceMemory::~DeviceMemory() {
  remove_region(begin_);
  all_guarded().remove_if([&](const Guarded& g) { return g.begin == begin_; });
  ::operator delete (memory_, std::align_val_t{kAlignment});
}

void check_guards(const std::string& kernel) {
  if constexpr (kGuardBytes == 0) return;
  for (const Guarded& g : all_guarded()) {
    if (intact(g.begin - kGuardBytes) && intact(g.begin + g.bytes)) continue;
    throw Fault("kernel " + kernel + ": wrote beside " + g.name + " of " + std::to_string(g.bytes) +
                " bytes");
  }
}

}  // namespace device_executor
