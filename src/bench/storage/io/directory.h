#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/progress.h"
#include "bench/storage/io/fd.h"

namespace cb::io {

// A directory of this run's own, "clusterbench-io-<host>-<pid>-<random>", below one that the user
// named. Makes files only in it and removes only what it made. Files are named relative to the open
// directory, never through a path that somebody may have changed meanwhile.
class OwnDirectory {
 public:
  static constexpr const char* kPrefix = "clusterbench-io-";
  static constexpr const char* kKeptPrefix = "clusterbench-kept-";

  // Opens `parent`. Throws Error if it does not exist, is no directory, is a loop of links or is
  // not writable.
  OwnDirectory(const std::string& parent, std::string host, Log log = {});
  // Removes what is left. Logs once what it cannot remove.
  ~OwnDirectory();
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

  // name_of_host: how a host is written in directory names. is_of_host: the name is one of that
  // host. maker_lives: the process that made the directory still runs there.
  static std::string name_of_host(std::string host);
  static bool is_of_host(const std::string& name, const std::string& host);
  static bool maker_lives(const std::string& name, const std::string& host);

  int parent_fd() const { return parent_.get(); }
  const std::string& parent_path() const { return parent_path_; }  // absolute, without links

  // Directories in the parent that earlier runs left behind (kill -9, power loss). Does not list
  // those of processes that live on this host. Changes nothing.
  std::vector<std::string> leftovers() const;

  // create() makes the directory and its marker (marker.h), create_file() a file in it. `flags` are
  // for open(2); O_CREAT | O_EXCL are added.
  void create();
  Fd create_file(const std::string& name, int flags);
  // Notes a file that the caller is going to create below fd(), so that it is removed with the
  // others.
  void announce(const std::string& name);
  int fd() const { return own_.get(); }
  // Opens a file of this directory again, with other flags.
  Fd reopen(const std::string& name, int flags) const;
  std::string path_of(const std::string& file) const;

  // Removes the files and the directory. Throws Error that names what stays.
  void remove();
  // Keeps files and directory, and renames the directory to "clusterbench-kept-…", which is no
  // leftover. Returns its path.
  std::string keep();

 private:
  std::string remove_quietly() noexcept;  // returns "" or what went wrong

  std::string parent_path_;
  std::string host_;
  std::string name_;  // empty until created
  Fd parent_;
  Fd own_;
  Fd marker_;  // holds the lock as long as it is open
  std::vector<std::string> files_;
  Log log_;
};

}  // namespace cb::io
