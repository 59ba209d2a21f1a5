#include "sys/gpu/nccl.h"

#include <fmt/format.h>

#include "core/error.h"

namespace cb::nccl {
namespace {

// Says what a user can do about a failed call.
const char* advice(abi::Result result) {
  switch (result) {
    case abi::kUnhandledCudaError:
      return "look at the kernel log (dmesg | grep -i xid)";
    case abi::kSystemError:
      return "look at /dev/shm, at the limits and at NCCL_SOCKET_IFNAME, with NCCL_DEBUG=WARN";
    case abi::kInvalidUsage:
      return "two ranks on one GPU? look at the map of ranks, with NCCL_DEBUG=WARN";
    case abi::kRemoteError:
      return "look at the other ranks and at the network between the hosts";
    default:
      return "run it again with NCCL_DEBUG=WARN";
  }
}

}  // namespace

std::string version_text(int version) {
  const int base = version >= 10000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / base, version % base / 100, version % 100);
}

std::variant<Library, Said> Library::find() {
  Library out;
  out.library_ = DynamicLibrary::open("CLUSTERBENCH_NCCL_LIBRARY",
                                      {"libnccl.so.2", "libnccl.so", "librccl.so.1", "librccl.so"});
  if (!out.library_.present()) return said("gpu.nccl_not_opened", out.library_.why());
  if (const std::string missing = out.bind(); !missing.empty())
    return said("gpu.nccl_lacks", out.path(), missing);
  if (out.functions_.get_version(&out.version_) != abi::kSuccess || out.version_ <= 0)
    return said("gpu.nccl_no_version", out.path());
  return out;
}

std::variant<Library, Said> Library::open() {
  auto found = find();
  if (const Said* why = std::get_if<Said>(&found)) return said("gpu.nccl_next", *why);
  return found;
}

std::string Library::bind() {
  std::string missing;
  const auto bind_one = [&]<typename F>(F*& function, const char* name, bool needed) {
    function = library_.symbol<F>(name);
    if (function == nullptr && needed && missing.empty()) missing = name;
  };
  Functions& f = functions_;
  bind_one(f.get_version, "ncclGetVersion", true);
  bind_one(f.get_unique_id, "ncclGetUniqueId", true);
  bind_one(f.comm_init_rank, "ncclCommInitRank", true);
  bind_one(f.comm_destroy, "ncclCommDestroy", true);
  bind_one(f.comm_abort, "ncclCommAbort", true);
  bind_one(f.comm_get_async_error, "ncclCommGetAsyncError", true);
  bind_one(f.get_error_string, "ncclGetErrorString", true);
  bind_one(f.group_start, "ncclGroupStart", true);
  bind_one(f.group_end, "ncclGroupEnd", true);
  bind_one(f.all_reduce, "ncclAllReduce", true);
  bind_one(f.reduce, "ncclReduce", true);
  bind_one(f.reduce_scatter, "ncclReduceScatter", true);
  bind_one(f.all_gather, "ncclAllGather", true);
  bind_one(f.broadcast, "ncclBroadcast", true);
  bind_one(f.send, "ncclSend", true);
  bind_one(f.recv, "ncclRecv", true);
  bind_one(f.red_op_create_pre_mul_sum, "ncclRedOpCreatePreMulSum", false);
  bind_one(f.red_op_destroy, "ncclRedOpDestroy", false);
  bind_one(f.comm_init_rank_config, "ncclCommInitRankConfig", false);
  bind_one(f.get_last_error, "ncclGetLastError", false);
  bind_one(f.mem_alloc, "ncclMemAlloc", false);
  bind_one(f.mem_free, "ncclMemFree", false);
  bind_one(f.comm_register, "ncclCommRegister", false);
  bind_one(f.comm_deregister, "ncclCommDeregister", false);
  bind_one(f.window_register, "ncclCommWindowRegister", false);
  bind_one(f.window_deregister, "ncclCommWindowDeregister", false);
  bind_one(f.group_simulate_end, "ncclGroupSimulateEnd", false);
  bind_one(f.all_to_all, "ncclAlltoAll", false);
  bind_one(f.gather, "ncclGather", false);
  bind_one(f.scatter, "ncclScatter", false);
  return missing;
}

bool Library::at_least(int major, int minor) const {
  const int base = version_ >= 10000 ? 10000 : 1000;
  const int mine = version_ / base * 100 + version_ % base / 100;
  return mine >= major * 100 + minor;
}

std::string Library::name() const {
  const bool amd = path().find("rccl") != std::string::npos;
  return fmt::format("{} {}", amd ? "RCCL" : "NCCL", version_text(version_));
}

std::string Library::text(abi::Result result, abi::Comm comm) const {
  std::string out = functions_.get_error_string(result);
  const char* last = functions_.get_last_error != nullptr && comm != nullptr
                         ? functions_.get_last_error(comm)
                         : nullptr;
  if (last != nullptr && *last != '\0') out += fmt::format(" ({})", last);
  return out;
}

void Library::check(abi::Result result, const char* what, abi::Comm comm) const {
  if (result == abi::kSuccess || result == abi::kInProgress) return;
  throw LibraryError(
      fmt::format("{}: {}: {}; next: {}", name(), what, text(result, comm), advice(result)));
}

}  // namespace cb::nccl
