#pragma once

#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// A program that computes on GPUs of this host, this process excepted.
struct GpuUser {
  std::string pid;
  std::string name;
  std::vector<std::string> devices;  // device files that it holds open, such as "nvidia3", sorted
};

// From the open files in /proc: a program of CUDA holds /dev/nvidia-uvm and device files of GPUs.
// Programs that hold a GPU alone only look at it or keep the driver loaded: nvidia-persistenced,
// DCGM, exporters. Sees all programs as root, else those of this user.
std::vector<GpuUser> gpu_users(const FsRoot& fs);

}  // namespace cb
