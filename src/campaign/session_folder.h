#pragma once

#include <filesystem>

namespace cb {

// mpirun of Open MPI 4 makes TMP/ompi.HOST.UID where it is not there, and removes it where it is
// empty. Where one begins while another ends, mkdir says "File exists" or "No such file", and the
// job of a sound host fails. For its life an object of this class keeps that folder from being
// empty. It is no error if it cannot: then jobs begin as without it.
class KeptSessionFolder {
 public:
  // `temporary`: the folder that mpirun uses for temporary files.
  explicit KeptSessionFolder(const std::filesystem::path& temporary);
  ~KeptSessionFolder();
  KeptSessionFolder(const KeptSessionFolder&) = delete;
  KeptSessionFolder& operator=(const KeptSessionFolder&) = delete;

 private:
  std::filesystem::path folder_, own_;
  bool made_ = false, has_own_ = false;  // whether this made folder_, and whether own_ is there
};

// The folder that Open MPI 4 uses for temporary files with this process's environment
// (opal_tmp_directory() and the parameter orte_tmpdir_base).
std::filesystem::path open_mpi_temporary();

}  // namespace cb
