#include "sys/storage/direct_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace cb {
namespace {

// f2fs answers for writes alone; on a zoned device it reads past the page cache all the same.
bool speaks_of_writes(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == F2FS_SUPER_MAGIC;
}

}  // namespace

Alignment direct_alignment(int fd, const FsRoot& fs) {
  struct statx st {};
  const bool known = ::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0;
  if (known && (st.stx_mask & STATX_DIOALIGN) != 0) {
    if (st.stx_dio_offset_align == 0) return {.how = "statx", .refused = !speaks_of_writes(fd)};
    return {st.stx_dio_offset_align, st.stx_dio_mem_align, "statx"};
  }
  const bool is_device = (st.stx_mode & S_IFMT) == S_IFBLK;
  const std::string node =
      fmt::format("/sys/dev/block/{}:{}", is_device ? st.stx_rdev_major : st.stx_dev_major,
                  is_device ? st.stx_rdev_minor : st.stx_dev_minor);
  for (const char* queue : {"/queue", "/../queue"}) {
    const auto size = fs.integer(node + queue + "/logical_block_size");
    if (size && *size > 0) {
      const auto bytes = static_cast<uint64_t>(*size);
      return {bytes, bytes, "logical block size"};
    }
  }
  return {4096, 4096, "assumed"};
}

}  // namespace cb
