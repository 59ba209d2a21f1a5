#include "bench/cpu/memory.h"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.h"
#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb {

void require_memory(Context& context, int64_t bytes) {
  const auto available = available_memory_bytes(context.fs);
  const int ranks = context.place.local_size;
  const bool fits =
      !available || static_cast<double>(bytes) <= 0.8 * static_cast<double>(*available) / ranks;
  throw_where_failed(
      context.comm,
      fits ? Said()
           : said("memory.needs", context.who(), format_value(static_cast<double>(bytes), "bytes"),
                  format_value(static_cast<double>(*available), "bytes"), ranks));
}

void FreeMemory::operator()(void* p) const { std::free(p); }

void* allocate_pages(int64_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  const size_t rounded = (static_cast<size_t>(bytes) + kPage - 1) / kPage * kPage;
  void* p = std::aligned_alloc(kPage, rounded);
  if (p == nullptr) throw Error(said("memory.no_room", bytes));
  madvise(p, rounded, MADV_HUGEPAGE);  // only advice: without it the pages are smaller
  return p;
}

}  // namespace cb
