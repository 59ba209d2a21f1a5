// The part of oneDNN that this program calls. It is declared here because versions 2 and 3 are both
// in use and a header knows only one of them. They describe a matmul differently; all other calls
// are the same. Layouts and values: dnnl_types.h of 2.6 and of 3.6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sys/cpu/host_blas.h"
#include "sys/os/dl.h"

namespace cb::onednn {
namespace abi {
using Handle = struct Opaque*;  // engine, stream, memory, primitive, and version 3's descriptors
using Dims = int64_t[12];
struct Argument {
  int place;
  Handle memory;
};
struct Version {
  int major, minor, patch;
};
constexpr int kSuccess = 0;
constexpr int kBf16 = 2, kF32 = 3;                    // types
constexpr int kCpu = 1, kInOrder = 1, kRowMajor = 3;  // engine, stream, layout of two dimensions
constexpr int kSource = 1, kWeights = 33, kDestination = 17;  // argument numbers
// Version 2's descriptors are structs: 696 bytes for memory, 2800 for a matmul.
struct alignas(16) MemoryBytes {
  unsigned char bytes[1024] = {};
};
struct alignas(16) MatmulBytes {
  unsigned char bytes[4096] = {};
};
}  // namespace abi

struct Table {
  const abi::Version* (*version)();
  int (*sgemm)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
               int64_t, float, float*, int64_t);
  int (*gemm_s8s8s32)(char, char, char, int64_t, int64_t, int64_t, float, const int8_t*, int64_t,
                      int8_t, const int8_t*, int64_t, int8_t, float, int32_t*, int64_t,
                      const int32_t*);
  int (*isa)();
  int (*engine_create)(abi::Handle*, int, size_t);
  int (*engine_destroy)(abi::Handle);
  int (*stream_create)(abi::Handle*, abi::Handle, unsigned);
  int (*stream_destroy)(abi::Handle);
  int (*stream_wait)(abi::Handle);
  int (*memory_create)(abi::Handle*, const void*, abi::Handle, void*);
  int (*memory_destroy)(abi::Handle);
  int (*memory_set)(abi::Handle, void*);
  int (*primitive_desc_destroy)(abi::Handle);
  int (*primitive_create)(abi::Handle*, abi::Handle);
  int (*primitive_destroy)(abi::Handle);
  int (*primitive_execute)(abi::Handle, abi::Handle, int, const abi::Argument*);
  // These exist in version 2 only.
  int (*memory_desc_init)(abi::MemoryBytes*, int, const abi::Dims, int, int);
  int (*matmul_desc_init)(abi::MatmulBytes*, const void*, const void*, const void*, const void*);
  int (*primitive_desc_create)(abi::Handle*, const abi::MatmulBytes*, abi::Handle, abi::Handle,
                               abi::Handle);
  // These exist in version 3 only.
  int (*memory_desc_create)(abi::Handle*, int, const abi::Dims, int, int);
  int (*memory_desc_destroy)(abi::Handle);
  int (*matmul_create)(abi::Handle*, abi::Handle, abi::Handle, abi::Handle, abi::Handle,
                       abi::Handle, abi::Handle);
  int major = 0;
};

// Returns nothing, and sets `why`, if the library is not oneDNN 2 or 3.
std::optional<Table> bind(const DynamicLibrary& library, std::string& why);

// Returns the instruction set that the library uses, "avx512_core"; "" for an unknown number.
std::string isa_name(int major, int isa);

// Throws Error naming the call and the status, unless the status is success.
void check(int status, const char* call);

// A matmul primitive with plain row-major operands for one shape and one type. Immovable: the
// destructor releases what the constructor made.
class Matmul {
 public:
  Matmul(const Table& table, const host_blas::Shape& shape, int in, int out);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  bool is_for(const host_blas::Shape& shape) const;
  void run(const void* a, const void* b, void* c);

 private:
  struct Operand;
  void describe(const Operand (&operands)[3]);
  void destroy();

  const Table t_;
  const host_blas::Shape shape_;
  abi::Handle engine_ = nullptr;
  abi::Handle stream_ = nullptr;
  abi::Handle description_ = nullptr;
  abi::Handle primitive_ = nullptr;
  abi::Handle memory_[3] = {};
};

}  // namespace cb::onednn
