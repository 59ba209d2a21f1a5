#include "sys/storage/uring.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <linux/nvme_ioctl.h>

namespace cb {
namespace {

struct SetupMode {
  unsigned flags;
  const char* name;
};

// The best mode comes first. A kernel that does not know a flag answers EINVAL; any other error has
// nothing to do with flags.
constexpr std::array<SetupMode, 4> kModes{{
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "SINGLE_ISSUER DEFER_TASKRUN"},
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN, "SINGLE_ISSUER COOP_TASKRUN"},
    {IORING_SETUP_COOP_TASKRUN, "COOP_TASKRUN"},
    {0, "no setup flags"},
}};
constexpr std::array<SetupMode, 2> kSqpollModes{{
    {IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER, "SQPOLL SINGLE_ISSUER"},
    {IORING_SETUP_SQPOLL, "SQPOLL"},
}};
constexpr unsigned kSqpollIdleMilliseconds = 50;
constexpr uint8_t kNvmeRead = 0x02;  // NVM command set, opcode Read

std::span<const SetupMode> modes(UringPoll poll) {
  if (poll == UringPoll::sqpoll) return kSqpollModes;
  return kModes;
}

__kernel_timespec timespec_of(double seconds) {
  const double whole = std::floor(seconds);
  return {.tv_sec = static_cast<long long>(whole),
          .tv_nsec = static_cast<long long>((seconds - whole) * 1e9)};
}

bool under_seccomp(const FsRoot& fs) {
  const std::string status = fs.text("/proc/self/status").value_or("");
  return status.find("\nSeccomp:\t2") != std::string::npos;
}

Said reason(int error, const FsRoot& fs) {
  const auto disabled = fs.integer("/proc/sys/kernel/io_uring_disabled");
  if (error == EPERM && disabled.value_or(0) > 0) return said("uring.sysctl", *disabled);
  if ((error == EPERM || error == EACCES || error == ENOSYS) && under_seccomp(fs))
    return said("uring.seccomp");
  if (error == ENOSYS) return said("uring.none");
  if (error == ENOMEM) return said("uring.memlock");
  return said("uring.setup", std::strerror(error));
}

}  // namespace

Uring::Uring(unsigned entries, const FsRoot& fs, UringOptions options) {
  int rc = -EINVAL;
  for (const SetupMode& mode : modes(options.poll)) {
    io_uring_params params{};
    params.flags = mode.flags;
    params.sq_thread_idle = kSqpollIdleMilliseconds;
    if (options.poll == UringPoll::iopoll) params.flags |= IORING_SETUP_IOPOLL;
    if (options.wide) params.flags |= IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
    rc = io_uring_queue_init_params(entries, &ring_, &params);
    flags_ = mode.name;
    if (options.poll == UringPoll::iopoll) flags_ += " IOPOLL";
    if (rc != -EINVAL) break;
  }
  if (rc < 0) throw UringUnavailable(reason(-rc, fs));
  // Without this feature a wait with a deadline would cost a second request.
  if ((ring_.features & IORING_FEAT_EXT_ARG) == 0) {
    io_uring_queue_exit(&ring_);
    throw UringUnavailable(said("uring.old"));
  }
  fixed_ring_ = io_uring_register_ring_fd(&ring_) == 1;
}

Uring::~Uring() { io_uring_queue_exit(&ring_); }

bool Uring::register_buffer(std::span<std::byte> whole) {
  const iovec one{whole.data(), whole.size()};
  fixed_buffer_ = io_uring_register_buffers(&ring_, &one, 1) == 0;
  return fixed_buffer_;
}

bool Uring::register_file(int fd) {
  fixed_file_ = io_uring_register_files(&ring_, &fd, 1) == 0;
  return fixed_file_;
}

void Uring::queue(bool write, int fd, std::span<std::byte> data, uint64_t offset, uint64_t tag) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) throw Error("io_uring: the submission queue is full");
  const int file = fixed_file_ ? 0 : fd;
  const auto length = static_cast<unsigned>(data.size());
  if (fixed_buffer_ && write) {
    io_uring_prep_write_fixed(sqe, file, data.data(), length, offset, 0);
  } else if (fixed_buffer_) {
    io_uring_prep_read_fixed(sqe, file, data.data(), length, offset, 0);
  } else if (write) {
    io_uring_prep_write(sqe, file, data.data(), length, offset);
  } else {
    io_uring_prep_read(sqe, file, data.data(), length, offset);
  }
  if (fixed_file_) sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = tag;
}

void Uring::queue_nvme_read(int fd, uint32_t nsid, std::span<std::byte> data, uint64_t first_block,
                            uint32_t blocks, uint64_t tag) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) throw Error("io_uring: the submission queue is full");
  // Entries are twice as long in a wide ring, and liburing clears only the first half.
  std::memset(static_cast<void*>(sqe), 0, 2 * sizeof(*sqe));
  sqe->opcode = IORING_OP_URING_CMD;
  sqe->fd = fixed_file_ ? 0 : fd;
  if (fixed_file_) sqe->flags |= IOSQE_FIXED_FILE;
  sqe->cmd_op = NVME_URING_CMD_IO;
  sqe->user_data = tag;
  const nvme_uring_cmd command{.opcode = kNvmeRead,
                               .nsid = nsid,
                               .addr = reinterpret_cast<uint64_t>(data.data()),
                               .data_len = static_cast<uint32_t>(data.size()),
                               .cdw10 = static_cast<uint32_t>(first_block),
                               .cdw11 = static_cast<uint32_t>(first_block >> 32),
                               .cdw12 = blocks - 1};
  std::memcpy(sqe->cmd, &command, sizeof(command));
}

void Uring::queue_timer(double seconds, uint64_t tag) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) throw Error("io_uring: the submission queue is full");
  timer_ = timespec_of(seconds);
  io_uring_prep_timeout(sqe, &timer_, 0, 0);
  sqe->user_data = tag;
}

namespace {

// EAGAIN and EBUSY: the kernel is short of requests for now; the queue stays unchanged.
void check_enter(int rc) {
  if (rc >= 0 || rc == -ETIME || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY) return;
  throw Error(fmt::format("io_uring_enter: {}", std::strerror(-rc)));
}

}  // namespace

void Uring::submit_and_wait(unsigned least) {
  ++calls_;
  check_enter(io_uring_submit_and_wait(&ring_, least));
}

void Uring::submit_and_wait_at_most(double seconds, unsigned least) {
  ++calls_;
  __kernel_timespec limit = timespec_of(seconds);
  io_uring_cqe* unused = nullptr;
  check_enter(io_uring_submit_and_wait_timeout(&ring_, &unused, least, &limit, nullptr));
}

Said Uring::how() const {
  std::vector<Said> out;
  if (!flags_.empty()) out.emplace_back(flags_);
  if (fixed_ring_) out.push_back(said("uring.ring"));
  if (fixed_buffer_) out.push_back(said("uring.buffers"));
  if (fixed_file_) out.push_back(said("uring.file"));
  return said_names(out);
}

std::optional<Said> why_no_uring(unsigned entries, const FsRoot& fs) {
  try {
    const Uring probe(entries, fs);
    return std::nullopt;
  } catch (const UringUnavailable& e) {
    return e.said();
  }
}

}  // namespace cb
