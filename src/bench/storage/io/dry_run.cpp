#include "bench/storage/io/dry_run.h"

#include <fmt/format.h>

#include "core/units.h"

namespace cb::io {
namespace {

std::string size(uint64_t bytes) { return format_size(static_cast<int64_t>(bytes)); }

std::string own_text(const Params& params, const Target& target) {
  const SpaceNeed need = target.space_need();
  std::string out = fmt::format(
      "would make {}/{}… with a file of {} for {}, and remove both afterwards; {} is {} ({}) with "
      "{} free",
      params.text("dir"), OwnDirectory::kPrefix, size(target.job().file_bytes), job_text(params),
      need.mount_point, target.storage().filesystem, target.storage().source,
      size(need.free_bytes));
  if (need.free_files) out += fmt::format(" and {} inodes free", *need.free_files);
  return out;
}

std::string existing_text(const Params& params, const Target& target) {
  const Job& job = target.job();
  return fmt::format("would {} {} {} {}, {}: {} bytes from offset 0",
                     job.writes() ? "DESTROY the content of" : "read",
                     target.is_device() ? "the block device" : "the file", params.text("file"),
                     target.direct() ? "past the page cache" : "through the page cache",
                     job_text(params), job.file_bytes);
}

}  // namespace

Record dry_run_record(const Context& context, const Params& params, const Target& target) {
  Record record{.case_name = "io", .params = params};
  record.entity({context.place.host, target.is_device() ? "disk" : "filesystem", target.id()});
  record.facts["dry_run"] = "nothing was made, written or measured";
  record.notes.push_back(
      fmt::format("{}: {}", context.who(),
                  target.own() ? own_text(params, target) : existing_text(params, target)));
  return record;
}

}  // namespace cb::io
