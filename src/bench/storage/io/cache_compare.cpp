#include "bench/storage/io/cache_compare.h"

#include <fmt/format.h>

#include "bench/storage/io/session.h"

namespace cb::io {
namespace {

double rate_of(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const Metric* m = record.find("bytes_per_second")) return m->samples.summary().mean;
  }
  return 0;
}

void require_memory(const Params& params, const Context& context) {
  const std::string dir = params.text("cache-dir");
  const OwnDirectory place(dir, context.place.host);
  const Storage storage = storage_of(place.parent_fd(), place.parent_path());
  if (!storage.in_memory)
    throw Error(
        fmt::format("--cache-dir {} is on {}, which is no memory; next: name a tmpfs, such "
                    "as /dev/shm",
                    dir, storage.filesystem));
}

}  // namespace

std::vector<Record> measure_memory_cache(Context& context, const Params& params) {
  if (!all_well(context, [&] { require_memory(params, context); })) return {};
  // Before Linux 6.6 tmpfs has no direct IO, and there is no cache to bypass.
  const Params cached = params.with("dir", params.text("cache-dir")).with("direct", false);
  std::vector<Record> records = measure_target(context, cached);
  if (records.empty()) return {};
  if (context.comm.any(!records.front().measured())) return records;
  const std::vector<Record> stored = measure_target(context, params);
  if (stored.empty()) return {};
  const double memory = rate_of(records), disk = rate_of(stored);
  if (memory > 0 && disk > 0)
    records.front().add("speedup_over_storage", records.front().metrics.front().entity,
                        {memory / disk});
  records.insert(records.end(), stored.begin(), stored.end());
  return records;
}

}  // namespace cb::io
