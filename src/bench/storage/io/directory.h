#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/progress.h"
#include "bench/storage/io/fd.h"

namespace cb::io {

// A directory of this run's own, "clusterbench-io-<host>-<pid>-<random>" below one that the user
// named. Makes files only in it, and removes only what it made: by name relative to the open
// directory, never through a path that somebody may have changed meanwhile.
class OwnDirectory {
 public:
  static constexpr const char* kPrefix = "clusterbench-io-";
  static constexpr const char* kKeptPrefix = "clusterbench-kept-";

  // Opens `parent`. Throws Error if it is not there, no directory, a loop of links or not writable.
  OwnDirectory(const std::string& parent, std::string host, Log log = {});
  // Removes what is left; what cannot be removed is logged once.
  ~OwnDirectory();
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

  // How a host stands in the names; whether a name is of that host, and whether the process that
  // made the directory still runs there.
  static std::string name_of_host(std::string host);
  static bool is_of_host(const std::string& name, const std::string& host);
  static bool maker_lives(const std::string& name, const std::string& host);

  int parent_fd() const { return parent_.get(); }
  const std::string& parent_path() const { return parent_path_; }  // absolute, without links

  // Directories of earlier runs in the parent that nobody removed (kill -9, power loss). Those of
  // processes that live on this host are not listed. Nothing is done to them.
  std::vector<std::string> leftovers() const;

  // Makes the directory and its marker (marker.h); then files in it. `flags`: for open(2), O_CREAT
  // | O_EXCL are added.
  void create();
  Fd create_file(const std::string& name, int flags);
  // Notes a file that the caller is going to create himself below fd(): it is removed with the
  // rest.
  void announce(const std::string& name);
  int fd() const { return own_.get(); }
  // The same file again with other flags.
  Fd reopen(const std::string& name, int flags) const;
  std::string path_of(const std::string& file) const;

  // Removes the files and the directory. Throws Error naming what stays.
  void remove();
  // Leaves them instead, the directory under the name "clusterbench-kept-…", which is no leftover.
  // Returns its path.
  std::string keep();

 private:
  std::string remove_quietly() noexcept;  // empty, or what went wrong

  std::string parent_path_;
  std::string host_;
  std::string name_;  // empty until created
  Fd parent_;
  Fd own_;
  Fd marker_;  // locked while it is open
  std::vector<std::string> files_;
  Log log_;
};

}  // namespace cb::io
