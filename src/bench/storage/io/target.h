#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/storage/io/directory.h"
#include "bench/storage/io/pattern.h"
#include "bench/storage/io/raw_guard.h"
#include "bench/storage/io/run.h"
#include "bench/storage/io/space.h"
#include "bench/storage/io/storage.h"
#include "sys/storage/direct_io.h"

namespace cb::io {

// The file of one rank, or its part of a file of all ranks, from opening or making it to its
// removal. The constructor checks and refuses. create() and lay_out() write; call them only after
// require_space(). A file given with --file is not changed unless the job writes.
class Target {
 public:
  // Throws Error if the directory or file cannot be used or there is too little memory, and
  // UsageError with every reason if data would be hurt.
  Target(const Params& params, Context& context);

  // Creates the own file with room for the parts of `parts` ranks.
  void create(int parts = 1);
  // --shared-file: rank 0 creates the file; the others join() it by its invitation. join() accepts
  // only a regular file of the same user that has one name and is not larger than all parts.
  bool shared() const { return shared_; }
  int rank() const { return rank_; }
  bool is_maker() const { return !shared_ || rank_ == 0; }
  std::string invitation() const;
  void join(const std::string& invitation);
  // Makes that rank's part of a shared file the one to work on.
  void take_part_of(int rank);
  // Writes what the job will read or overwrite of an own file, with the pattern's content, and
  // brings it to the device. It is not part of any figure. Returns early if the hooks want a stop.
  void lay_out(Engine engine, const RunHooks& hooks, const CancelToken& cancel);

  // The job, including what is now known of the file (its size).
  const Job& job() const { return job_; }
  const Storage& storage() const { return storage_; }
  const Alignment& alignment() const { return alignment_; }
  bool direct() const { return direct_; }
  bool is_device() const { return is_device_; }
  bool own() const { return own_ != nullptr; }
  FileView view() const;
  // Needs of a file below --dir, its directory and marker. The file is not made yet.
  SpaceNeed space_need() const;
  // How the space of the own file was allocated, for the facts.
  const Said& allocation() const { return allocation_; }
  const std::vector<std::string>& leftovers() const { return leftovers_; }
  // The name of the block device, else the mount point.
  std::string id() const;

  double flush();     // calls fsync, returns its seconds, throws Error
  void drop_cache();  // evicts this file, so that later reads come from the device
  void remove() {
    if (own_) own_->remove();
  }
  // Closes and opens the own file again. Returns the seconds of the closing, in which some network
  // file systems write.
  double close();
  // Reads the file at `path`, made by another rank, from now on. Its pattern is in it.
  void read_from(const std::string& path);
  // Takes the place of that rank: its file or its part of a shared one, in its order of requests.
  void stand_for(int rank, const std::string& path, uint64_t seed);
  const std::string& path() const { return path_; }
  // "rank3.dat", or "part 3 of shared.dat".
  std::string part_name() const;
  void set_queue_depth(unsigned depth) { job_.queue_depth = depth; }
  void bind_threads(std::vector<int> cpus) { job_.cpus = std::move(cpus); }
  // Leaves the file in place and returns its path.
  std::string keep() { return own_->keep() + "/" + file_name_; }

 private:
  void open_existing(const std::string& path, const std::optional<WritableTarget>& writable);
  void require_alignment() const;
  void open_nvme_characters();
  void adopt_pattern();
  void reserve(uint64_t bytes);
  void open_shared();

  Job job_;
  bool direct_;
  bool is_device_ = false;
  uint32_t nvme_namespace_ = 0, nvme_block_ = 0;
  bool shared_;
  int rank_, ranks_;
  int part_ = 0;  // the part's number in a shared file
  std::string host_;
  std::string file_name_;
  std::string path_;
  std::unique_ptr<OwnDirectory> own_;
  Fd fd_;
  Storage storage_;
  Alignment alignment_;
  Said allocation_;
  std::vector<std::string> leftovers_;
  std::optional<Pattern> pattern_;
  const FsRoot& fs_;
};

}  // namespace cb::io
