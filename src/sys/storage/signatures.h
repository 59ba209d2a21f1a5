#pragma once

#include <string>
#include <vector>

namespace cb {

// A known pattern that marks data: "gpt" of kind "partition table", "ext4" of kind "filesystem",
// "LVM2_member" of kind "raid".
struct Signature {
  std::string type;
  std::string kind;
};

// Returns everything that libblkid recognises on a file or block device open for reading, not only
// the first find. Throws Error naming `path` if it cannot be searched: then nothing is known.
std::vector<Signature> signatures(int fd, const std::string& path);

}  // namespace cb
