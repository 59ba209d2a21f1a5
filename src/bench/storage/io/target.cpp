#include "bench/storage/io/target.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bench/harness/fault.h"
#include "bench/storage/io/raw_guard.h"
#include "core/clock.h"
#include "core/units.h"
#include "sys/storage/nvme_namespace.h"
#include "sys/storage/slot_buffers.h"

namespace cb::io {
namespace {

constexpr uint64_t kLayoutBlock = uint64_t{1} << 20;
constexpr uint64_t kLayoutInFlight = uint64_t{8} << 20;

// A key that differs for every file and run, so that data of an earlier run is never taken for
// ours.
uint64_t fresh_key() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32) | random();
}

void require_memory(const Job& job, const FsRoot& fs) {
  const uint64_t need = SlotBuffers::stride(job.block_bytes) * job.queue_depth * job.threads;
  const auto there = memory_available(fs);
  if (there && need > *there / 2)
    throw Error(fmt::format(
        "buffers need {}, more than half of the {} of memory that are free; "
        "next: lower --queue-depth, --threads or --block-size",
        format_size(static_cast<int64_t>(need)), format_size(static_cast<int64_t>(*there))));
}

int open_flags(const Job& job, bool direct) {
  return (job.writes() ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0) | O_CLOEXEC;
}

// Opens a foreign file without changing its time of access, where this is allowed (for its owner
// and root). This also saves the kernel a check on every request.
int open_without_access_time(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_NOATIME);
  return fd < 0 && errno == EPERM ? ::open(path.c_str(), flags) : fd;
}

WritePermission permission_of(const Params& params) {
  WritePermission out{.overwrite = params.flag("allow-overwrite")};
  if (params.has("allow-raw-write")) out.serial = params.text("allow-raw-write");
  return out;
}

std::string size_text(uint64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{} bytes", bytes)
                           : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

Target::Target(const Params& params, Context& context)
    : job_(job_of(params)),
      direct_(params.flag("direct")),
      shared_(params.flag("shared-file")),
      rank_(context.comm.rank()),
      ranks_(context.comm.size()),
      host_(context.place.host),
      file_name_(shared_ ? "shared.dat" : fmt::format("rank{}.dat", rank_)),
      fs_(context.fs) {
  // Each rank gets its own order of requests.
  job_.seed = mix64(job_.seed + static_cast<uint64_t>(rank_));
  job_.faulty = plants_fault(context, params);
  if (shared_) take_part_of(rank_);
  require_memory(job_, fs_);
  if (params.has("file")) {
    if (job_.writes() && context.comm.size() > 1)
      throw Error(
          "--file is written by one rank only; next: use --dir, where each rank has its own");
    std::optional<WritableTarget> writable;
    if (job_.writes()) writable = writable_target(fs_, params.text("file"), permission_of(params));
    open_existing(params.text("file"), writable);
  } else {
    own_ = std::make_unique<OwnDirectory>(params.text("dir"), host_, context.logger);
    storage_ = storage_of(own_->parent_fd(), own_->parent_path());
    leftovers_ = own_->leftovers();
  }
  if (job_.verify_only) adopt_pattern();
  if (job_.writes() || own_)
    pattern_.emplace(Origin{fresh_key(), static_cast<uint16_t>(shared_ ? 0 : rank_), 0},
                     Pattern::period_for(job_.block_bytes));
}

// Opens an NVMe namespace without the block layer between: it is only read, in its own blocks.
void Target::open_nvme_characters() {
  if (job_.writes()) throw Error(fmt::format("{} is only ever read", path_));
  fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd_.get() < 0) throw Error(fmt::format("cannot open {}: {}", path_, std::strerror(errno)));
  const NvmeNamespace space = identify_nvme_namespace(fd_.get());
  nvme_namespace_ = space.id;
  nvme_block_ = space.block_bytes;
  is_device_ = true;
  job_.file_bytes = space.blocks * space.block_bytes / job_.block_bytes * job_.block_bytes;
  alignment_ = {space.block_bytes, 4, "NVMe identify namespace"};
  storage_.filesystem = "none (NVMe passthrough)";
  storage_.mount_point = storage_.source = path_;
  require_alignment();
}

// --verify-only: the file itself says who wrote it.
void Target::adopt_pattern() {
  const SlotBuffers buffer(1, job_.block_bytes);
  const ssize_t rc = ::pread(fd_.get(), buffer.slot(0), job_.block_bytes, 0);
  const std::span<const std::byte> first{buffer.slot(0), Pattern::kSector};
  if (rc >= static_cast<ssize_t>(Pattern::kSector)) pattern_ = Pattern::of_file(first);
  if (!pattern_)
    throw Error(
        fmt::format("{} does not begin with a whole sector of ours: lost, or never written "
                    "by clusterbench io --keep; next: name the file that --keep printed",
                    path_));
}

void Target::open_existing(const std::string& path, const std::optional<WritableTarget>& writable) {
  path_ = path;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0)
    throw Error(
        fmt::format("{}: {}; next: name an existing file with --file", path, std::strerror(errno)));
  if (S_ISCHR(st.st_mode) && std::filesystem::path(path).filename().string().starts_with("ng"))
    return open_nvme_characters();
  is_device_ = S_ISBLK(st.st_mode);
  if (!is_device_ && !S_ISREG(st.st_mode))
    throw Error(fmt::format("{} is neither a file nor a block device", path));
  const int flags = open_flags(job_, direct_);
  fd_ = Fd(writable ? writable->open(flags) : open_without_access_time(path, flags));
  if (fd_.get() < 0)
    throw Error(fmt::format(
        "cannot open {}{}: {}{}", path, direct_ ? " for direct IO" : "", std::strerror(errno),
        direct_ && errno == EINVAL ? "; this filesystem has no direct IO: use --no-direct" : ""));
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  job_.file_bytes =
      static_cast<uint64_t>(std::max<off_t>(end, 0)) / job_.block_bytes * job_.block_bytes;
  if (job_.blocks() < job_.threads)
    throw Error(
        fmt::format("{} has {} bytes, fewer than one block for each thread; next: lower "
                    "--block-size or --threads",
                    path, end));
  std::error_code ignored;
  storage_ = storage_of(fd_.get(), std::filesystem::canonical(path, ignored).string());
  alignment_ = direct_alignment(fd_.get(), fs_);
  require_alignment();
}

SpaceNeed Target::space_need() const {
  const uint64_t files = is_maker() ? 3 : 0;  // the directory, the marker, the file
  return io::space_need(own_->parent_fd(), storage_, host_, fs_, job_.file_bytes, files);
}

void Target::require_alignment() const {
  if (direct_ && alignment_.refused)
    throw Error(
        fmt::format("{} has no direct IO for this file, by statx: it would buffer what it is asked "
                    "for; next: use --no-direct",
                    storage_.mount_point));
  if (!direct_ || job_.block_bytes % alignment_.offset == 0) return;
  throw Error(
      fmt::format("direct IO on {} needs a block size in multiples of {} bytes ({}), not "
                  "{}; next: change --block-size or use --no-direct",
                  storage_.mount_point, alignment_.offset, alignment_.how, job_.block_bytes));
}

void Target::create(int parts) {
  own_->create();
  path_ = own_->path_of(file_name_);
  own_->create_file(file_name_, O_RDWR);
  fd_ = own_->reopen(file_name_, O_RDWR | (direct_ ? O_DIRECT : 0));
  alignment_ = direct_alignment(fd_.get(), fs_);
  require_alignment();
  reserve(job_.file_bytes * static_cast<uint64_t>(parts));
}

std::string Target::invitation() const {
  return fmt::format("{} {}", pattern_->origin().run, path_);
}

void Target::join(const std::string& invitation) {
  const size_t space = invitation.find(' ');
  const uint64_t run = std::stoull(invitation.substr(0, space));
  path_ = invitation.substr(space + 1);
  pattern_.emplace(Origin{run, 0, 0}, Pattern::period_for(job_.block_bytes));
  open_shared();
  struct stat st {};
  const uint64_t whole = job_.file_bytes * static_cast<uint64_t>(ranks_);
  if (::fstat(fd_.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != ::geteuid() ||
      st.st_nlink != 1 || static_cast<uint64_t>(st.st_size) > whole)
    throw Error(
        fmt::format("{} is not the file that rank 0 has just made; next: a --dir that is "
                    "the same filesystem on all hosts",
                    path_));
  alignment_ = direct_alignment(fd_.get(), fs_);
  require_alignment();
  allocation_ = said("io.from_rank_0");
}

void Target::open_shared() {
  fd_ = Fd(::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | (direct_ ? O_DIRECT : 0)));
  if (fd_.get() < 0)
    throw Error(
        fmt::format("cannot open {}, which rank 0 made: {}; next: a --dir that all ranks share",
                    path_, std::strerror(errno)));
}

void Target::take_part_of(int rank) {
  part_ = rank;
  job_.first_byte = job_.file_bytes * static_cast<uint64_t>(rank);
}

std::string Target::part_name() const {
  const std::string name = path_.substr(path_.rfind('/') + 1);
  return shared_ ? fmt::format("part {} of {}", part_, name) : name;
}

// Takes the space before the clock runs: a full disk is found now, and the figures do not include
// the filesystem's block allocation (fio does the same by default).
void Target::reserve(uint64_t bytes) {
  if (::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes)) == 0) {
    allocation_ = said("io.reserved");
    return;
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    throw Error(said("io.cannot_reserve", size_text(bytes), path_, std::strerror(errno)));
  allocation_ = said("io.while_writing");
}

void Target::lay_out(Engine engine, const RunHooks& hooks, const CancelToken& cancel) {
  if (engine == Engine::null || (!job_.reads() && job_.order == Order::sequential)) return;
  Job layout = job_;
  layout.order = Order::sequential;
  layout.read_percent = 0;
  layout.block_bytes = job_.block_bytes * std::max<uint64_t>(1, kLayoutBlock / job_.block_bytes);
  layout.queue_depth =
      static_cast<unsigned>(std::clamp<uint64_t>(kLayoutInFlight / layout.block_bytes, 1, 8));
  layout.threads = 1;
  layout.seconds.reset();
  layout.warm_up_seconds = 0;
  layout.steady_round = 0;
  layout.faulty = false;
  layout.generation = Pattern::kPrepared;
  layout.rate = 0;
  layout.reap = 1;
  layout.poll = UringPoll::none;
  const RunResult done =
      run_job(layout, {fd_.get(), path_, &*pattern_}, engine, fs_, cancel, hooks);
  if (done.failure)
    throw Error(said("io.layout_failed", done.bytes[1], job_.file_bytes,
                     fmt::format("{:.3f}", done.elapsed), *done.failure));
  if (done.stopped) return;
  allocation_ = said("io.laid_out");
  flush();
  drop_cache();
}

FileView Target::view() const {
  return {fd_.get(),
          path_,
          pattern_ ? &*pattern_ : nullptr,
          own_ != nullptr || job_.verify_only,
          nvme_namespace_,
          nvme_block_,
          is_device_};
}

std::string Target::id() const {
  if (is_device_) return std::filesystem::path(path_).filename().string();
  return storage_.mount_point.empty() ? path_ : storage_.mount_point;
}

double Target::flush() {
  const double start = monotonic_seconds();
  if (::fsync(fd_.get()) != 0) throw Error(said("io.fsync_failed", path_, std::strerror(errno)));
  return monotonic_seconds() - start;
}

double Target::close() {
  const double start = monotonic_seconds();
  fd_ = Fd();
  const double seconds = monotonic_seconds() - start;
  if (is_maker())
    fd_ = own_->reopen(file_name_, O_RDWR | (direct_ ? O_DIRECT : 0));
  else
    open_shared();
  return seconds;
}

void Target::read_from(const std::string& path) {
  fd_ = Fd(
      open_without_access_time(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (direct_ ? O_DIRECT : 0)));
  if (fd_.get() < 0)
    throw Error(
        fmt::format("cannot open {}, which another rank made: {}; next: a --dir that all "
                    "ranks share, or --rank-shift 0",
                    path, std::strerror(errno)));
  path_ = path;
  adopt_pattern();
}

void Target::stand_for(int rank, const std::string& path, uint64_t seed) {
  job_.seed = seed;
  if (shared_) return take_part_of(rank);
  if (path != path_) read_from(path);
}

void Target::drop_cache() { ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED); }

}  // namespace cb::io
