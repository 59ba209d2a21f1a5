#include "bench/storage/io/measurement.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "sys/storage/uring.h"

namespace cb::io {
namespace {

constexpr uint64_t kReadBackBlocks = 2048;  // blocks sampled after a write without --verify

std::optional<double> cached_share_of(const Target& target) {
  return cached_share(target.view().fd, target.job().file_bytes, target.job().first_byte);
}

}  // namespace

EngineChoice choose_engine(const std::string& wanted, unsigned queue_depth, const FsRoot& fs) {
  if (wanted == "threads") return {Engine::threads};
  if (wanted == "null") return {Engine::null};
  const auto why = why_no_uring(queue_depth, fs);
  if (!why) return {Engine::io_uring};
  if (wanted == "io_uring") throw Error(said("io.uring_unusable", *why));
  return {Engine::threads, why};
}

RunHooks hooks_of(Context& context, const std::string& text, Agreement* agreement) {
  context.watchdog.note(text);
  RunHooks hooks;
  hooks.progress = [&context, text](double share) {
    context.watchdog.progress();
    context.progress.update(share, text);
  };
  if (agreement != nullptr)
    hooks.consult = [agreement](RunState mine) { return agreement->exchange(mine); };
  return hooks;
}

void run_measured(Context& context, Target& target, const std::string& text, Agreement& agreement,
                  Measurement& m) {
  RunHooks hooks = hooks_of(context, text, &agreement);
  hooks.before_start = [&] {
    context.comm.barrier();
    m.read_before = bytes_read_from_storage();
  };
  if (!target.direct() && target.own() && target.job().reads())
    m.cached_at_start = cached_share_of(target);
  FileView view = target.view();
  if (m.choice.engine == Engine::null) view.content_known = false;
  m.run = run_job(target.job(), view, m.choice.engine, context.fs, context.cancel, hooks);
  m.read_after = bytes_read_from_storage();
  if (target.direct() && target.own())
    m.cached = cached_share(target.view().fd, target.job().file_bytes, target.job().first_byte);
}

void make_durable(Context& context, Target& target, const Params& params, Measurement& m) {
  if (!target.job().writes() || m.run.wrong || m.choice.engine == Engine::null) return;
  if (!params.flag("fsync")) return;
  context.watchdog.note("fsync");
  m.fsync_seconds = target.flush();
  if (target.own()) m.close_seconds = target.close();
}

void read_back_writes(Context& context, Target& target, const Params& params, Measurement& m) {
  if (!target.job().writes() || m.run.wrong || m.choice.engine == Engine::null) return;
  // A read-back must come from the device: dirty pages stay in the cache, so they are flushed
  // first.
  if (!target.direct() && !params.flag("fsync")) target.flush();
  target.drop_cache();
  if (!target.direct()) m.cached_at_read_back = cached_share_of(target);
  uint64_t issued = 0;
  for (const uint64_t n : m.run.issued) issued += n;
  issued = std::min(issued, target.job().blocks());
  const auto every = params.flag("verify")
                         ? 1u
                         : static_cast<unsigned>(std::max<uint64_t>(1, issued / kReadBackBlocks));
  const RunHooks hooks = hooks_of(context, "reading back");
  m.read_back = read_back(target.job(), target.view(), m.run.issued, every, context.cancel,
                          hooks.progress, m.run.fault_left);
}

void require_planted(const Measurement& m) {
  if (m.run.fault_left && m.read_back.blocks_checked == 0) throw Error(said("fault.not_planted"));
}

}  // namespace cb::io
