#include "bench/cpu/memory.h"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.h"
#include "core/units.h"

namespace cb {

std::optional<int64_t> available_memory_bytes(const FsRoot& fs) {
  const auto text = fs.text("/proc/meminfo");
  constexpr std::string_view key = "MemAvailable:";
  const size_t at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text->c_str() + at + key.size(), nullptr, 10) * 1024;
}

void require_memory(const FsRoot& fs, const std::string& host, int ranks_on_host, int64_t bytes) {
  const auto available = available_memory_bytes(fs);
  if (!available) return;
  const double mine = 0.8 * static_cast<double>(*available) / ranks_on_host;
  if (static_cast<double>(bytes) <= mine) return;
  throw Error(fmt::format(
      "{} bytes are needed and {} has {} available for {} rank(s); next: a smaller --size",
      format_size(bytes), host, format_value(static_cast<double>(*available), "bytes"),
      ranks_on_host));
}

void FreeMemory::operator()(void* p) const { std::free(p); }

void* allocate_pages(int64_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  const size_t rounded = (static_cast<size_t>(bytes) + kPage - 1) / kPage * kPage;
  void* p = std::aligned_alloc(kPage, rounded);
  if (p == nullptr)
    throw Error(fmt::format("no memory for an array of {} bytes; next: a smaller --size", bytes));
  madvise(p, rounded, MADV_HUGEPAGE);  // advice: without it only the pages are smaller
  return p;
}

}  // namespace cb
