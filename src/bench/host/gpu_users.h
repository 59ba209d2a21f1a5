#pragma once

#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// A program that holds a GPU of this host open, this process excepted.
struct GpuUser {
  std::string pid;
  std::string name;
};

// From the open files in /proc: device files of NVIDIA's driver. Sees all programs as root, else
// those of this user.
std::vector<GpuUser> gpu_users(const FsRoot& fs);

}  // namespace cb
