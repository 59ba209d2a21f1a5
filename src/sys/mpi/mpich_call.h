#pragma once

#include <cstdint>

#include "sys/mpi/api.h"

// Wraps a function of MPICH's interface: MPICH's handles are 32-bit numbers, ours are pointers that
// hold them.
namespace cb::mpi {

template <typename T>
constexpr bool kIsHandle = false;
template <>
inline constexpr bool kIsHandle<MPI_Comm> = true;
template <>
inline constexpr bool kIsHandle<MPI_Datatype> = true;
template <>
inline constexpr bool kIsHandle<MPI_Op> = true;
template <>
inline constexpr bool kIsHandle<MPI_Request> = true;
template <>
inline constexpr bool kIsHandle<MPI_Errhandler> = true;

// An argument that is not a handle is passed unchanged.
template <typename T>
struct Narrowed {
  using Type = T;
  explicit Narrowed(T v) : value(v) {}
  T get() { return value; }
  T value;
};

template <typename T>
requires kIsHandle<T>
struct Narrowed<T> {
  using Type = int;
  explicit Narrowed(T v) : value(static_cast<int>(reinterpret_cast<intptr_t>(v))) {}
  int get() { return value; }
  int value;
};

// A handle that the call reads and writes.
template <typename T>
requires kIsHandle<T>
struct Narrowed<T*> {
  using Type = int*;
  explicit Narrowed(T* p) : wide(p), value(static_cast<int>(reinterpret_cast<intptr_t>(*p))) {}
  ~Narrowed() { *wide = reinterpret_cast<T>(static_cast<intptr_t>(value)); }
  Narrowed(const Narrowed&) = delete;
  Narrowed& operator=(const Narrowed&) = delete;
  int* get() { return &value; }
  T* wide;
  int value;
};

// Each member of the table has its own type, and so its own `native`.
template <auto Member, typename Function>
struct MpichCall;

template <auto Member, typename... Args>
struct MpichCall<Member, int (*)(Args...)> {
  static inline int (*native)(typename Narrowed<Args>::Type...) = nullptr;
  static int call(Args... args) { return pass(Narrowed<Args>(args)...); }

 private:
  template <typename... Ns>
  static int pass(Ns&&... narrowed) {
    return native(narrowed.get()...);
  }
};

}  // namespace cb::mpi
