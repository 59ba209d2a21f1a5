// Reads and writes a file through cuFile (GPUDirect Storage), and by way of host memory (bounce) to
// compare. A call that succeeded proves no direct path: what the kernel counted decides, and
// compatibility mode fails the check "path". Making the file and checking data are not timed.
// docs/methods/gds.md.
#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "bench/storage/gds/memory.h"
#include "bench/storage/gds/path.h"
#include "bench/storage/io/measurement.h"
#include "bench/storage/io/target.h"
#include "bench/storage/io/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/param_builder.h"
#include "sys/storage/cufile.h"
#include "sys/storage/slot_buffers.h"
#include "sys/storage/uring.h"

namespace cb {
namespace {

constexpr double kBatchDeadline = 60;
constexpr double kMaxFull = 0.95;  // of the filesystem

CaseInfo describe() {
  using namespace param;
  return {
      .name = "gds",
      .device = "",
      .summary = "GPUDirect Storage: files to and from GPU memory, and which way they really went",
      .example = "clusterbench gds --dir /data --mode sync,batch,stream,bounce --block-size 1M",
      .domain = "storage",
      .needs = {.directory = true},
      .params =
          {text("dir").help("directory to create an own fresh directory in"),
           choice("rw", {"read", "write"}).help("access, in sequence").by_default("read"),
           choice("mode", {"sync", "batch", "stream", "bounce"})
               .help("cuFileRead and cuFileWrite, their batches, their requests in a CUDA stream, "
                     "or pread and pwrite with a copy")
               .by_default("sync,batch,bounce")
               .list(),
           choice("memory", {"gpu", "host"})
               .help("memory that data moves to and from")
               .by_default("gpu"),
           integer("gpu")
               .help("CUDA's number of it; by default each rank's own, by its place on the host")
               .range(0, 1023),
           size("block-size").help("bytes per request").by_default("1M").range(4096, 1 << 28),
           integer("queue-depth")
               .help("requests of a batch")
               .by_default("16")
               .range(1, static_cast<double>(cufile::Batch::kMax)),
           size("size").help("bytes per rank's file").by_default("1G").at_least(4096),
           flag("register").help("register the memory with cuFile").by_default("true"),
           flag("allow-compat")
               .help("give figures also where compatibility mode was used or no path is proven"),
           duration("duration").help("time limit of each mode").by_default("5s").at_least(0.01),
           seed_param("of the data"),
           fault_param("spoils a block of its own file as it is read or written, to prove that it "
                       "is seen")},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of a round of requests over its time"},
                  {"round_seconds", "seconds", Better::lower,
                   "of a round: one batch, as many requests in a stream, or one after the other"}},
      .checks = {"data", "path"},
      .fault = {.planted = said("fault.block"),
                .checks = {"data"},
                .brief = {{"duration", {"100ms"}}},
                .point_seconds = 2},
  };
}

// The file is made, laid out and removed as `io` does it.
Params io_params(const Params& params) {
  Problems problems;
  const auto number = [&](const char* name) { return std::to_string(params.integer(name)); };
  Params out = resolve_params(io_case().info.params,
                              {{"dir", {params.text("dir")}},
                               {"rw", {params.text("rw")}},
                               {"block-size", {number("block-size")}},
                               {"queue-depth", {number("queue-depth")}},
                               {"size", {number("size")}},
                               {"seed", {number("seed")}}},
                              problems);
  if (!problems.empty()) throw UsageError("clusterbench gds", problems);
  return out;
}

// One rank's file, memory and what is needed to move between them.
class GdsTransfer {
 public:
  GdsTransfer(const Params& params, const io::Target& target, const cufile::Driver& driver,
              int local_rank, bool faulty)
      : faulty_(faulty),
        view_(target.view()),
        reads_(params.text("rw") == "read"),
        block_(static_cast<size_t>(params.integer("block-size"))),
        depth_(static_cast<size_t>(params.integer("queue-depth"))),
        blocks_(target.job().file_bytes / block_),
        memory_(params.text("memory") == "gpu"
                    ? gds::gpu_memory(gpu_of(params), local_rank, depth_ * block_)
                    : gds::host_memory(depth_ * block_)),
        staging_(memory_->staging()),
        file_(driver, view_.fd, view_.path) {
    if (params.flag("register")) buffer_.emplace(driver, memory_->data(), depth_ * block_);
    const auto modes = params.texts("mode");
    batch_.emplace(driver, static_cast<unsigned>(depth_));
    // Older libraries have none, which is no matter where it is not asked for.
    if (std::find(modes.begin(), modes.end(), "stream") != modes.end())
      stream_.emplace(driver, memory_->stream(), settler());
  }

  std::string where() const { return memory_->name(); }
  uint64_t round_bytes() const { return depth_ * block_; }
  const std::optional<io::Mismatch>& wrong() const { return wrong_; }
  uint64_t checked() const { return checked_; }
  uint64_t calls() const { return calls_; }

  // Moves the next blocks of the file; seconds. Data is made before and checked after.
  double round(const std::string& mode) {
    std::vector<cufile::Batch::Request> requests(depth_);
    for (size_t i = 0; i < depth_; ++i) requests[i] = {(next_ + i) % blocks_ * block_, i * block_};
    if (!reads_) make_data(requests);
    const double start = monotonic_seconds();
    move(mode, requests);
    const double seconds = monotonic_seconds() - start;
    if (reads_) check_data(requests);
    next_ = (next_ + depth_) % blocks_;
    rounds_ = std::min(rounds_ + 1, (blocks_ + depth_ - 1) / depth_);
    return seconds;
  }

  // After writing: every block that was written is read again past the page cache.
  void read_back() {
    const SlotBuffers buffer(1, block_);
    for (uint64_t b = 0; b < std::min<uint64_t>(rounds_ * depth_, blocks_) && !wrong_; ++b) {
      read_fully({buffer.slot(0), block_}, b * block_);
      note_wrong({buffer.slot(0), block_}, b * block_, io::Pattern::kWritten);
    }
  }

 private:
  static std::optional<int> gpu_of(const Params& params) {
    if (!params.has("gpu")) return std::nullopt;
    return static_cast<int>(params.integer("gpu"));
  }

  // Waits for the stream; none where the memory has no stream that could be waited for.
  std::function<void()> settler() const {
    if (memory_->stream() == nullptr) return {};
    return [this] { memory_->settle(); };
  }

  std::span<std::byte> slot(const cufile::Batch::Request& r) const {
    return staging_.subspan(r.buffer_offset, block_);
  }

  void move(const std::string& mode, const std::vector<cufile::Batch::Request>& requests) {
    const auto direction = reads_ ? cufile::Direction::read : cufile::Direction::write;
    if (mode == "batch") {
      batch_->run(file_, direction, memory_->data(), block_, requests, kBatchDeadline);
      calls_ += requests.size();
      return;
    }
    if (mode == "stream") {
      stream_->run(file_, direction, memory_->data(), block_, requests, kBatchDeadline);
      calls_ += requests.size();
      return;
    }
    if (mode == "bounce") return reads_ ? bounce_up(requests) : bounce_down(requests);
    for (const auto& r : requests)
      calls_ += static_cast<uint64_t>(
          file_.transfer(direction, memory_->data(), block_, r.file_offset, r.buffer_offset));
  }

  // Each block is copied while the next one is read.
  void bounce_up(const std::vector<cufile::Batch::Request>& requests) {
    for (const auto& r : requests) {
      read_fully(slot(r), r.file_offset);
      memory_->put(r.buffer_offset, block_);
    }
    memory_->settle();
    calls_ += requests.size();
  }

  void bounce_down(const std::vector<cufile::Batch::Request>& requests) {
    for (const auto& r : requests) memory_->get(r.buffer_offset, block_);
    memory_->settle();
    for (const auto& r : requests) {
      if (::pwrite(view_.fd, slot(r).data(), block_, static_cast<off_t>(r.file_offset)) !=
          static_cast<ssize_t>(block_))
        throw io::request_error(io::Direction::write, op(r.file_offset), view_.path, errno);
    }
    calls_ += requests.size();
  }

  void read_fully(std::span<std::byte> to, uint64_t offset) const {
    if (::pread(view_.fd, to.data(), to.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(to.size()))
      throw io::request_error(io::Direction::read, op(offset), view_.path, errno);
  }

  io::Op op(uint64_t offset) const {
    return {io::Direction::read, offset, static_cast<uint32_t>(block_)};
  }

  void make_data(const std::vector<cufile::Batch::Request>& requests) {
    for (const auto& r : requests) {
      view_.pattern->fill(slot(r), r.file_offset, io::Pattern::kWritten);
      spoil_first(slot(r), r.file_offset);
      memory_->put(r.buffer_offset, block_);
    }
    memory_->settle();
    forget_staged();
  }

  // What lies in the staging memory must not stand for what comes next.
  void forget_staged() const { std::fill(staging_.begin(), staging_.end(), std::byte{0xff}); }

  void spoil_first(std::span<std::byte> block, uint64_t offset) const {
    if (faulty_ && offset == 0) block[block.size() / 2] ^= std::byte{0x40};
  }

  // All of it: a path that moves wrong bytes fast is worse than none.
  void check_data(const std::vector<cufile::Batch::Request>& requests) {
    forget_staged();
    for (const auto& r : requests) memory_->get(r.buffer_offset, block_);
    memory_->settle();
    for (const auto& r : requests) {
      if (wrong_) return;
      spoil_first(slot(r), r.file_offset);
      note_wrong(slot(r), r.file_offset, io::Pattern::kPrepared);
    }
    forget_staged();
    for (const auto& r : requests) memory_->put(r.buffer_offset, block_);
    memory_->settle();
  }

  void note_wrong(std::span<const std::byte> block, uint64_t offset, unsigned generation) {
    wrong_ = view_.pattern->check(block, offset, {generation});
    ++checked_;
  }

  bool faulty_;  // spoils the first block of the file whenever it is moved
  io::FileView view_;
  bool reads_;
  size_t block_, depth_;
  uint64_t blocks_;
  std::unique_ptr<gds::IoMemory> memory_;
  std::span<std::byte> staging_;  // its, in the host
  cufile::File file_;
  std::optional<cufile::Buffer> buffer_;  // behind memory_: deregistered before it is freed
  std::optional<cufile::Batch> batch_;
  std::optional<cufile::StreamQueue> stream_;
  uint64_t next_ = 0, rounds_ = 0, checked_ = 0, calls_ = 0;
  std::optional<io::Mismatch> wrong_;
};

struct Outcome {
  SampleRun run;
  gds::Evidence evidence;
};

Outcome measure_mode(Context& context, const Params& params, GdsTransfer& mover,
                     const std::string& mode) {
  const SamplePlan plan{.stop = {.max_seconds = params.number("duration"), .target_half_width = 0},
                        .warm_up_samples = 3,
                        .together = false,
                        .what = "gds " + params.text("rw") + " " + mode};
  const gds::Counters before = gds::read_counters(context.fs);
  uint64_t rounds = 0;
  Outcome out{context.sampler.measure_self_timed(plan,
                                                 [&] {
                                                   ++rounds;
                                                   return mover.round(mode);
                                                 }),
              {}};
  out.evidence = gds::judge(before, gds::read_counters(context.fs), rounds * mover.round_bytes());
  return out;
}

Record record_of(Context& context, const Params& params, const io::Target& target,
                 const cufile::Driver& driver, const GdsTransfer& mover, const std::string& mode,
                 const Outcome& outcome) {
  Record record{.case_name = "gds", .params = params.with("mode", mode)};
  std::string id = target.id();
  if (context.place.local_size > 1) id += fmt::format(" rank {}", context.comm.rank());
  const size_t self = record.entity({context.place.host, "filesystem", std::move(id)});
  record.facts = {{"library", driver.path()},
                  {"filesystem", target.storage().filesystem},
                  {"path", mode == "bounce" ? said("gds.bounce") : outcome.evidence.text},
                  {"memory", params.text("memory")}};
  if (params.text("memory") == "gpu") record.facts["gpu"] = mover.where();
  const auto& wrong = mover.wrong();
  record.checks.push_back({.name = "data",
                           .passed = !wrong,
                           .entity = self,
                           .detail = wrong ? said("io.wrong_at", context.who(), target.view().path,
                                                  wrong->offset, wrong->what)
                                           : Said()});
  const bool direct = outcome.evidence.path == gds::Path::nvidia_fs;
  if (mode != "bounce" && !params.flag("allow-compat"))
    record.checks.push_back(
        {.name = "path",
         .passed = direct,
         .value = outcome.evidence.posix_share,
         .entity = self,
         .detail = direct ? Said() : said("said.next", outcome.evidence.text, said("gds.advice"))});
  if (mode != "bounce" && params.flag("allow-compat") && !direct)
    record.notes.push_back(said("gds.not_of", context.who(), outcome.evidence.text));
  if (wrong || (mode != "bounce" && !direct && !params.flag("allow-compat"))) return record;
  const auto bytes = static_cast<double>(mover.round_bytes());
  record.add("bytes_per_second", self,
             outcome.run.seconds.mapped([&](double seconds) { return bytes / seconds; }));
  record.add("round_seconds", self, outcome.run.seconds);
  return record;
}

// A request that never came back still uses the memory, and freeing that may wait for it for ever:
// it stays until the process ends.
void leave_behind(std::unique_ptr<GdsTransfer> mover) {
  static auto* const kept = new std::vector<std::unique_ptr<GdsTransfer>>;
  kept->push_back(std::move(mover));
}

// Collective. A rank that goes well while another fails returns what nobody reads.
Record measure_point(Context& context, const Params& params, io::Target& target,
                     const cufile::Driver& driver, const std::string& mode) {
  Record record{.case_name = "gds", .params = params.with("mode", mode)};
  std::unique_ptr<GdsTransfer> mover;
  if (!io::all_well(context, [&] {
        mover = std::make_unique<GdsTransfer>(params, target, driver, context.place.local_rank,
                                              plants_fault(context, params));
      }))
    return record;
  context.comm.barrier();
  io::all_well(context, [&] {
    try {
      const Outcome outcome = measure_mode(context, params, *mover, mode);
      if (params.text("rw") == "write") {
        target.flush();
        target.drop_cache();
        mover->read_back();
      }
      record = record_of(context, params, target, driver, *mover, mode, outcome);
    } catch (const Error& e) {
      if (e.code() == ExitCode::deadline) leave_behind(std::move(mover));
      throw;
    }
  });
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  require_faulty_rank(context, params);
  std::optional<cufile::Driver> driver;
  std::optional<io::Target> target;
  std::optional<io::SpaceNeed> need;
  if (!io::all_well(context, [&] {
        driver.emplace();
        target.emplace(io_params(params), context);
        need = target->space_need();
      }))
    return {};
  io::require_space(context.comm, *need, kMaxFull);
  if (!io::all_well(context, [&] {
        const bool uring = !why_no_uring(16, context.fs);
        target->create();
        target->lay_out(uring ? io::Engine::io_uring : io::Engine::threads,
                        io::hooks_of(context, "laying out the file"), context.cancel);
      }))
    return {};
  std::vector<Record> records = run_points(
      context, "gds", params.texts("mode"),
      [&](const std::string& mode) {
        return PointName{params.with("mode", mode), fmt::format("gds {}", mode)};
      },
      [&](const std::string& mode) {
        return measure_point(context, params, *target, *driver, mode);
      });
  target->remove();
  return records;
}

void check(const Params& params, Problems& problems) {
  if (!params.has("dir"))
    problems.add("--dir", "is needed: a directory to create a file in, on the storage to measure");
  if (params.integer("block-size") % 4096 != 0)
    problems.add("--block-size", "must be a multiple of 4096 bytes: cuFile bounces what is not");
  if (params.integer("size") < params.integer("block-size") * params.integer("queue-depth"))
    problems.add("--size", "is less than --queue-depth blocks");
}

}  // namespace

Case gds_case() { return {describe(), run, check, cufile::why_absent}; }

}  // namespace cb
