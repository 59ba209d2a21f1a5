#include "sys/net/verbs.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/resource.h>

namespace cb::verbs {

void fail(const std::string& call, const std::string& what, int error, const std::string& hint) {
  throw Error(fmt::format("{} on {}: {}{}{}", call, what, std::strerror(error),
                          hint.empty() ? "" : "; ", hint));
}

ContextPtr open_device(const std::string& device) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr)
    fail("ibv_get_device_list", "this host", errno, "is the module ib_uverbs loaded?");
  const std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> owner(list,
                                                                            ibv_free_device_list);
  for (int i = 0; i < count; ++i) {
    if (device != ibv_get_device_name(list[i])) continue;
    ContextPtr context(ibv_open_device(list[i]));
    if (!context) fail("ibv_open_device", device, errno, "may this user open /dev/infiniband?");
    return context;
  }
  throw Error(
      fmt::format("{}: libibverbs does not know this device, although /sys does; is its "
                  "user-space driver (ibverbs-providers) installed?",
                  device));
}

uint32_t mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

ibv_mtu mtu_of(uint64_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
    if (mtu_bytes(mtu) == bytes) return mtu;
  }
  return static_cast<ibv_mtu>(0);
}

namespace {

std::string memlock_hint(size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(
      "{} bytes are to be locked and the limit of locked memory (ulimit -l) is {} bytes: raise it "
      "in /etc/security/limits.conf or in the launcher's unit (LimitMEMLOCK=infinity)",
      bytes, limit.rlim_cur);
}

unsigned all_access(bool relaxed_ordering) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;
  if (relaxed_ordering) access |= static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING);
  return access;
}

}  // namespace

MrPtr register_memory(ibv_pd* pd, void* memory, size_t bytes, bool relaxed_ordering,
                      const std::string& what) {
  const unsigned access = all_access(relaxed_ordering);
  // The brackets avoid the macro of that name, which calls a newer function that rdma-core before
  // 28 lacks.
  MrPtr mr(relaxed_ordering
               ? ibv_reg_mr_iova2(pd, memory, bytes, reinterpret_cast<uintptr_t>(memory), access)
               : (ibv_reg_mr)(pd, memory, bytes, static_cast<int>(access)));
  if (!mr) fail("ibv_reg_mr", what, errno, memlock_hint(bytes));
  return mr;
}

MrPtr register_dma_buf(ibv_pd* pd, int descriptor, const void* memory, size_t bytes,
                       bool relaxed_ordering, const std::string& what) {
  const unsigned access = all_access(relaxed_ordering);
  MrPtr mr(ibv_reg_dmabuf_mr(pd, 0, bytes, reinterpret_cast<uintptr_t>(memory), descriptor,
                             static_cast<int>(access)));
  if (!mr) fail("ibv_reg_dmabuf_mr", what, errno);
  return mr;
}

}  // namespace cb::verbs
