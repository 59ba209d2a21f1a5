#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cb {

// What the user chose for a cluster. Texts go into shell scripts and YAML as they are, so the
// caller refuses everything that is not a plain word.
struct ClusterChoice {
  std::string profile;
  bool profile_is_file = false;
  std::vector<std::pair<std::string, int>> hosts = {};  // names and slots; empty: not named
  int nodes = 1;                                        // number of hosts
  int slots = 1;                                        // of each host
  int gpus = 0;                                         // of each host; 0: none asked for
  std::string image;
  bool image_given = false;
  std::string program;
  std::string directory;
  std::string partition = {};
  std::string account = {};
  std::string time = {};
  std::string name_space = {};
  std::string claim = {};
  std::string rdma = {};  // name of a Kubernetes resource
  int rdma_count = 1;
};

struct ClusterFile {
  std::string_view name;
  bool executable = false;
};

// One way to start on a cluster. The first file is the one that is submitted or run.
struct ClusterKind {
  std::string_view name;
  std::string_view summary;
  std::vector<ClusterFile> files;
  bool container = false;   // what runs sees only the directory, and what is in the image
  bool even_slots = false;  // each host has the same number of slots
};

std::span<const ClusterKind> cluster_kinds();

// One file of a kind, filled in: the same bytes for the same choice, at any time and place.
std::string cluster_file(const ClusterKind& kind, std::string_view file,
                         const ClusterChoice& choice);

}  // namespace cb
