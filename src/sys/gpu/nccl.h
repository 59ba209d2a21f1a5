#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>
#include <variant>

#include "core/error.h"
#include "core/messages/said.h"
#include "sys/os/dl.h"

// NVIDIA's collective library, or AMD's RCCL, which has the same interface. Opened at run time.
namespace cb::nccl {

// The part of the interface that this program calls. It is declared here because nccl.h does not
// come with the CUDA toolkit. Layouts and values: nccl.h of 2.28.9; if that is installed,
// tests/unit/sys/nccl_test.cpp compares them.
namespace abi {
using Comm = struct ncclComm*;
using Window = struct ncclWindow_vidmem*;
using Stream = struct CUstream_st*;

enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError,
  kSystemError,
  kInternalError,
  kInvalidArgument,
  kInvalidUsage,
  kRemoteError,
  kInProgress
};
enum RedOp : int { kSum = 0, kProd, kMax, kMin, kAvg };
enum DataType : int {
  kInt8 = 0,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2
};

struct UniqueId {
  std::array<char, 128> internal = {};
};

// The library reads at most `size` bytes, and only the fields that `version` had.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22809;
  int blocking = INT_MIN;  // INT_MIN or null lets the library decide
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* comm_name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
  int channels_per_net_peer = INT_MIN;
  int nvlink_centric_sched = INT_MIN;
};

struct SimInfo {
  size_t size = sizeof(SimInfo);
  unsigned magic = 0x74685283;
  unsigned version = 22809;
  float estimated_microseconds = -1;
};

constexpr int kWindowSymmetric = 1;
constexpr int kScalarHostImmediate = 1;  // the scalar is read when the operation is created
}  // namespace abi

// Formats NCCL's number, 2809 before 2.9 or 22809 since, as "2.28.9".
std::string version_text(int version);

// Every function that is called. Those from red_op_create_pre_mul_sum on may be null in older
// libraries.
struct Functions {
  using R = abi::Result;
  R (*get_version)(int*) = nullptr;
  R (*get_unique_id)(abi::UniqueId*) = nullptr;
  R (*comm_init_rank)(abi::Comm*, int, abi::UniqueId, int) = nullptr;
  R (*comm_destroy)(abi::Comm) = nullptr;
  R (*comm_abort)(abi::Comm) = nullptr;
  R (*comm_get_async_error)(abi::Comm, R*) = nullptr;
  const char* (*get_error_string)(R) = nullptr;
  R (*group_start)() = nullptr;
  R (*group_end)() = nullptr;
  R(*all_reduce)
  (const void*, void*, size_t, abi::DataType, abi::RedOp, abi::Comm, abi::Stream) = nullptr;
  R(*reduce)
  (const void*, void*, size_t, abi::DataType, abi::RedOp, int, abi::Comm, abi::Stream) = nullptr;
  R(*reduce_scatter)
  (const void*, void*, size_t, abi::DataType, abi::RedOp, abi::Comm, abi::Stream) = nullptr;
  R (*all_gather)(const void*, void*, size_t, abi::DataType, abi::Comm, abi::Stream) = nullptr;
  R (*broadcast)(const void*, void*, size_t, abi::DataType, int, abi::Comm, abi::Stream) = nullptr;
  R (*send)(const void*, size_t, abi::DataType, int, abi::Comm, abi::Stream) = nullptr;
  R (*recv)(void*, size_t, abi::DataType, int, abi::Comm, abi::Stream) = nullptr;

  R(*red_op_create_pre_mul_sum)
  (abi::RedOp*, void*, abi::DataType, int residence, abi::Comm) = nullptr;  // 2.11
  R (*red_op_destroy)(abi::RedOp, abi::Comm) = nullptr;
  R (*comm_init_rank_config)(abi::Comm*, int, abi::UniqueId, int, abi::Config*) = nullptr;  // 2.14
  const char* (*get_last_error)(abi::Comm) = nullptr;                                       // 2.13
  R (*mem_alloc)(void**, size_t) = nullptr;                                                 // 2.19
  R (*mem_free)(void*) = nullptr;
  R (*comm_register)(abi::Comm, void*, size_t, void**) = nullptr;  // 2.19
  R (*comm_deregister)(abi::Comm, void*) = nullptr;
  R (*window_register)(abi::Comm, void*, size_t, abi::Window*, int) = nullptr;  // 2.27
  R (*window_deregister)(abi::Comm, abi::Window) = nullptr;
  R (*group_simulate_end)(abi::SimInfo*) = nullptr;  // 2.22
  R(*all_to_all)
  (const void*, void*, size_t, abi::DataType, abi::Comm,
   abi::Stream) = nullptr;  // 2.28
  R (*gather)(const void*, void*, size_t, abi::DataType, int, abi::Comm, abi::Stream) = nullptr;
  R (*scatter)(const void*, void*, size_t, abi::DataType, int, abi::Comm, abi::Stream) = nullptr;
};

// What the library itself tells of a call. Often another rank is the reason.
class LibraryError : public Error {
 public:
  using Error::Error;
};

class Library {
 public:
  // Returns the library, or why there is none: nothing was found, or it lacks a function that every
  // version since 2.7 has. CLUSTERBENCH_NCCL_LIBRARY names another file, which may be RCCL's.
  static std::variant<Library, Said> find();
  // The same, and the reason has a next step.
  static std::variant<Library, Said> open();

  const Functions& call() const { return functions_; }
  int version() const { return version_; }  // 22809
  bool at_least(int major, int minor) const;
  const std::string& path() const { return library_.path(); }
  std::string name() const;  // "NCCL 2.28.9", "RCCL 2.21.5"

  // Describes the error in words, with the library's own last error if it keeps one.
  std::string text(abi::Result result, abi::Comm comm) const;
  // Throws Error unless the call succeeded or is still in progress (kInProgress).
  void check(abi::Result result, const char* what, abi::Comm comm = nullptr) const;

 private:
  std::string bind();  // returns the first missing function, or ""
  DynamicLibrary library_;
  Functions functions_;
  int version_ = 0;
};

}  // namespace cb::nccl
