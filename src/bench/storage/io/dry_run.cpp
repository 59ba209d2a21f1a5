#include "bench/storage/io/dry_run.h"

#include <fmt/format.h>

#include "core/units.h"

namespace cb::io {
namespace {

std::string size(uint64_t bytes) { return format_size(static_cast<int64_t>(bytes)); }

Said own_text(const Context& context, const Params& params, const Target& target) {
  const SpaceNeed need = target.space_need();
  const Said out =
      said("dry.own", context.who(), params.text("dir"), OwnDirectory::kPrefix,
           size(target.job().file_bytes), job_text(params), need.mount_point,
           target.storage().filesystem, target.storage().source, size(need.free_bytes));
  return need.free_files ? said("dry.own_inodes", out, *need.free_files) : out;
}

Said existing_text(const Context& context, const Params& params, const Target& target) {
  const Job& job = target.job();
  return said(job.writes() ? "dry.destroy" : "dry.read", context.who(),
              said(target.is_device() ? "dry.device" : "dry.file"), params.text("file"),
              said(target.direct() ? "dry.past" : "dry.through"), job_text(params), job.file_bytes);
}

}  // namespace

Record dry_run_record(const Context& context, const Params& params, const Target& target) {
  Record record{.case_name = "io", .params = params};
  record.entity({context.place.host, target.is_device() ? "disk" : "filesystem", target.id()});
  record.facts["dry_run"] = said("dry.nothing");
  record.notes.push_back(target.own() ? own_text(context, params, target)
                                      : existing_text(context, params, target));
  return record;
}

}  // namespace cb::io
