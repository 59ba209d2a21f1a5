// One system call path per phase, one file after the other, as a training job's start does it. The
// names are written into the directory's marker before, untimed.
#include "bench/storage/io/metadata.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/storage/io/directory.h"
#include "bench/storage/io/measurement.h"
#include "bench/storage/io/space.h"
#include "bench/storage/io/storage.h"
#include "bench/storage/io/worker.h"
#include "core/clock.h"

namespace cb::io {
namespace {

constexpr size_t kFileBytes = 4096;
using Content = std::array<std::byte, kFileBytes>;

class Files {
 public:
  // Makes the directory, on rank 0 only if it is `shared`, and notes the names of the files that
  // will be in it.
  Files(Context& context, const Params& params, bool shared)
      : context_(context),
        directory_(params.text("dir"), context.place.host, context.logger),
        faulty_(plants_fault(context, params)) {
    const int rank = context.comm.rank();
    const int64_t count = params.integer("files");
    for (int64_t i = 0; i < count; ++i) names_.push_back(name_of(rank, i));
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<std::byte>(i * 31);
    if (shared && rank != 0) return;
    directory_.create();
    fd_ = directory_.fd();
    path_ = directory_.path_of("");
    for (int r = shared ? 0 : rank; r < (shared ? context.comm.size() : rank + 1); ++r)
      for (int64_t i = 0; i < count; ++i) directory_.announce(name_of(r, i));
  }

  // Opens the directory that rank 0 made.
  void join(const std::string& path) {
    path_ = path;
    joined_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st {};
    if (joined_.get() < 0 || ::fstat(joined_.get(), &st) != 0 || st.st_uid != ::geteuid())
      throw Error(
          fmt::format("cannot open {}, which rank 0 made: {}; next: a --dir that all ranks share",
                      path, std::strerror(errno)));
    fd_ = joined_.get();
  }
  const std::string& path() const { return path_; }

  // The errno of a call that succeeded for a part only is that of an earlier one.
  void create(const std::string& name) {
    errno = 0;
    const Fd fd(::openat(fd_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (fd.get() < 0 || ::write(fd.get(), content_.data(), kFileBytes) != kFileBytes)
      fail("create", name);
  }
  void stat(const std::string& name) {
    errno = 0;
    struct stat st {};
    if (::fstatat(fd_, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_size != kFileBytes)
      fail("stat", name);
  }
  void read(const std::string& name) {
    errno = 0;
    Content got{};
    const Fd fd(::openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.get() < 0 || ::read(fd.get(), got.data(), kFileBytes) != kFileBytes) fail("read", name);
    if (std::exchange(faulty_, false)) got[kFileBytes / 2] ^= std::byte{0x40};
    if (got != content_) ++wrong_;
  }
  void unlink(const std::string& name) {
    if (::unlinkat(fd_, name.c_str(), 0) != 0) fail("unlink", name);
  }

  // One phase over all files; each call's latency goes into the histogram. Seconds.
  double phase(void (Files::*call)(const std::string&), const char* text, Histogram& latency) {
    context_.watchdog.note(text);
    context_.comm.barrier();
    const double start = monotonic_seconds();
    double before = start;
    for (const std::string& name : names_) {
      if (context_.cancel.cancelled()) throw Interrupted();
      (this->*call)(name);
      const double now = monotonic_seconds();
      latency.add(now - before);
      before = now;
      context_.watchdog.progress();
    }
    return before - start;
  }

  void remove() { directory_.remove(); }
  size_t count() const { return names_.size(); }
  size_t wrong() const { return wrong_; }
  const OwnDirectory& directory() const { return directory_; }

 private:
  static std::string name_of(int rank, int64_t i) { return fmt::format("rank{}.{}.dat", rank, i); }

  [[noreturn]] void fail(const char* what, const std::string& name) const {
    throw Error(said("io.call_failed", what, path_ + name,
                     errno == 0 ? said("io.fewer_bytes", kFileBytes) : failure_text(errno)));
  }

  Context& context_;
  OwnDirectory directory_;
  Fd joined_;
  int fd_ = -1;
  std::string path_;
  std::vector<std::string> names_;
  Content content_{};
  bool faulty_;  // the next content that is read is spoilt
  size_t wrong_ = 0;
};

struct Phase {
  const char* name;
  void (Files::*call)(const std::string&);
  const char *rate, *latency, *rate_of_all;  // its metrics
};
constexpr std::array<Phase, 4> kPhases{
    {{"create", &Files::create, "create_per_second", "create_latency_seconds",
      "aggregate_create_per_second"},
     {"stat", &Files::stat, "stat_per_second", "stat_latency_seconds", "aggregate_stat_per_second"},
     {"read", &Files::read, "read_per_second", "read_latency_seconds", "aggregate_read_per_second"},
     {"unlink", &Files::unlink, "unlink_per_second", "unlink_latency_seconds",
      "aggregate_unlink_per_second"}}};

// Before anything is made: room for all ranks' files and inodes. Collective; false if a rank could
// not ask.
bool require_room(Context& context, const Params& params) {
  SpaceNeed need;
  if (!all_well(context, [&] {
        const OwnDirectory place(params.text("dir"), context.place.host);
        const auto files = static_cast<uint64_t>(params.integer("files"));
        need = space_need(place.parent_fd(), storage_of(place.parent_fd(), place.parent_path()),
                          context.place.host, context.fs, files * kFileBytes, files + 2);
      }))
    return false;
  require_space(context.comm, need, static_cast<double>(params.integer("max-fill")) / 100);
  return true;
}

// Collective; false if some rank could not.
bool make_files(Context& context, const Params& params, std::optional<Files>& files) {
  const bool shared = params.flag("shared-directory");
  if (!all_well(context, [&] { files.emplace(context, params, shared); })) return false;
  if (!shared) return true;
  const std::string path = context.comm.broadcast_text(files->path());
  return all_well(context, [&] {
    if (!context.comm.is_root()) files->join(path);
  });
}

// The record's own entity of this rank, and what is known before anything is measured.
size_t describe_place(Record& record, const Context& context, const Params& params,
                      const Files& files) {
  const Storage storage =
      storage_of(files.directory().parent_fd(), files.directory().parent_path());
  std::string id = storage.mount_point;
  if (context.place.local_size > 1) id += fmt::format(" rank {}", context.comm.rank());
  record.facts["filesystem"] = storage.filesystem;
  record.facts["directory"] =
      params.flag("shared-directory") ? said("io.one_directory") : said("io.own_directories");
  record.facts["path"] = said("io.metadata_cached");
  return record.entity({context.place.host, "filesystem", id});
}

// The phases are the points. What they measure is one record, which comes with the last of them.
class PhaseRun {
 public:
  PhaseRun(Context& context, const Params& params, Files& files)
      : context_(context), params_(params), files_(files) {
    record_.params = params;
    self_ = describe_place(record_, context, params, files);
  }

  std::vector<Record> run() {
    try {
      const std::vector<Phase> phases(kPhases.begin(), kPhases.end());
      const auto name = [&](const Phase& p) {
        return PointName{params_, fmt::format("metadata {}", p.name)};
      };
      std::vector<Record> records = run_points(context_, "io", phases, name,
                                               [&](const Phase& p) { return measure_phase(p); });
      if (failed_ && !record_.metrics.empty()) records.insert(records.begin(), record_);
      return records;
    } catch (const Interrupted&) {
      if (!record_.metrics.empty()) keep_unfinished(context_, record_);
      throw;
    }
  }

 private:
  // Collective. Nothing before the last phase, and nothing behind one that failed.
  std::vector<Record> measure_phase(const Phase& p) {
    if (failed_) return {};
    failed_ = true;  // until it went well
    Histogram latency;
    double seconds = 0;
    if (!all_well(context_, [&] { seconds = files_.phase(p.call, p.name, latency); })) return {};
    add_figures(p, seconds, latency);
    const bool last = p.call == kPhases.back().call;
    if (last && !all_well(context_, [&] { files_.remove(); })) return {};
    failed_ = false;
    if (!last) return {};
    add_data_check();
    return {record_};
  }

  void add_figures(const Phase& p, double seconds, const Histogram& latency) {
    const auto count = static_cast<double>(files_.count());
    record_.add(p.rate, self_, {count / seconds});
    record_.add(p.latency, self_, Samples::from_histogram(latency));
    const double slowest = context_.comm.max(seconds), all = context_.comm.sum(count);
    if (context_.comm.size() > 1 && context_.comm.is_root())
      record_.add(p.rate_of_all, record_.entity({"", "cluster", "cluster"}), {all / slowest});
  }

  void add_data_check() {
    Check check{.name = "data", .passed = files_.wrong() == 0, .entity = self_};
    check.value = static_cast<double>(files_.wrong());
    check.limit = 0;
    if (!check.passed) check.detail = said("io.files_wrong", context_.who(), files_.wrong());
    record_.checks.push_back(std::move(check));
  }

  Context& context_;
  const Params& params_;
  Files& files_;
  Record record_{.case_name = "io", .started = utc_now()};
  size_t self_ = 0;
  bool failed_ = false;
};

Record dry_run(const Context& context, const Params& params) {
  Record record{.case_name = "io", .params = params};
  record.entity({context.place.host, "filesystem", params.text("dir")});
  record.notes.push_back(
      said("dry.files", context.who(), params.integer("files"), kFileBytes, params.text("dir")));
  record.facts["dry_run"] = said("dry.nothing");
  return record;
}

}  // namespace

std::vector<Record> measure_metadata(Context& context, const Params& params) {
  const Record nothing{.case_name = "io", .params = params};  // another rank failed, and says why
  if (!require_room(context, params)) return {nothing};
  if (params.flag("dry-run")) return {dry_run(context, params)};
  std::optional<Files> files;
  if (!make_files(context, params, files)) return {nothing};
  return PhaseRun(context, params, *files).run();
}

}  // namespace cb::io
