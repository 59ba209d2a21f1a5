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

namespace cb::io {

// The file of one rank, or its part of a file of all ranks, from opening or making it to its
// removal. The constructor looks and refuses; create() and lay_out() write, and only after
// require_space(). Nothing of a file given with --file is changed unless the job writes.
class Target {
 public:
  // Throws Error where the directory or file cannot be used or there is too little memory,
  // UsageError with every reason where data would be hurt.
  Target(const Params& params, Context& context);

  // Creates the own file with room for `parts` ranks.
  void create(int parts = 1);
  // --shared-file: rank 0 creates; the others open what its invitation says, which is a file of the
  // same user in rank 0's own directory, with one name and of the whole size.
  bool shared() const { return shared_; }
  int rank() const { return rank_; }
  bool is_maker() const { return !shared_ || rank_ == 0; }
  std::string invitation() const;
  void join(const std::string& invitation);
  // From now on works on that rank's part of a shared file.
  void take_part_of(int rank);
  // Lays out what the job reads or overwrites of an own file, with the content of pattern(), and
  // brings it to the device. Not part of any figure. Returns early if the hooks want a stop.
  void lay_out(Engine engine, const RunHooks& hooks, const CancelToken& cancel);

  // The job with what is now known of the file (its size).
  const Job& job() const { return job_; }
  const Storage& storage() const { return storage_; }
  const Alignment& alignment() const { return alignment_; }
  bool direct() const { return direct_; }
  bool is_device() const { return is_device_; }
  bool own() const { return own_ != nullptr; }
  FileView view() const;
  // Of a file below --dir, its directory and marker. The file is not made yet.
  SpaceNeed space_need() const;
  // How the space of a file that is written in sequence came to be: for the facts.
  const Said& allocation() const { return allocation_; }
  const std::vector<std::string>& leftovers() const { return leftovers_; }
  // Mount point, or name of the block device.
  std::string id() const;

  double flush();     // fsync; seconds. Throws Error.
  void drop_cache();  // of this file: what is read afterwards comes from the device
  void remove() {
    if (own_) own_->remove();
  }
  // Closes and opens the own file again; seconds of the closing, at which some network file systems
  // write.
  double close();
  // From now on reads that file, made by another rank; its pattern is in it.
  void read_from(const std::string& path);
  // From now on stands for what that rank wrote: its file or its part of a shared one, in its
  // order.
  void stand_for(int rank, const std::string& path, uint64_t seed);
  const std::string& path() const { return path_; }
  // "rank3.dat", or "part 3 of shared.dat".
  std::string part_name() const;
  void set_queue_depth(unsigned depth) { job_.queue_depth = depth; }
  void bind_threads(std::vector<int> cpus) { job_.cpus = std::move(cpus); }
  // Leaves the file where it is; its path.
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
  int part_ = 0;  // of a shared file
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
