#pragma once

#include <string>
#include <vector>

namespace cb {

// A known beginning of somebody's data: "gpt" of kind "partition table", "ext4" of kind
// "filesystem", "LVM2_member" of kind "raid".
struct Signature {
  std::string type;
  std::string kind;
};

// Everything that libblkid recognises on a file or block device open for reading, all of it and not
// only the first. Throws Error naming `path` if it cannot be looked at: then nothing is known.
std::vector<Signature> signatures(int fd, const std::string& path);

}  // namespace cb
