#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"

namespace cb {

// A program that computes on GPUs of this host, this process excepted.
struct GpuUser {
  std::string pid;
  std::string name;
  std::vector<std::string> devices;  // device files that it holds open, such as "nvidia3", sorted
};

struct GpuUsers {
  std::vector<GpuUser> users = {};
  // False if a program's files could not be looked at (those of other users, without root), or if
  // this process sees the programs of a container only.
  bool all_seen = true;
};

// From the open files in /proc: a program of CUDA holds /dev/nvidia-uvm and device files of GPUs.
// Programs that hold a GPU alone only look at it or keep the driver loaded: nvidia-persistenced,
// DCGM, exporters.
GpuUsers gpu_users(const FsRoot& fs);

// The same as the driver tells it: "GPU 3: 4711, 4712"; "" if nobody computes. Nothing, and sets
// `why`, if NVML does not say so of every GPU.
std::optional<std::string> gpu_users_by_driver(Said& why);

}  // namespace cb
