#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

// What a real <mpi.h> says of the constants that the table of src/sys/mpi/api.h has. Each header is
// read in a file of its own, because their names are the same.
struct HeaderConstant {
  const char* name;  // "MPI_COMM_WORLD"
  const char* text;  // what the macro stands for
  intptr_t value;
};
std::span<const HeaderConstant> open_mpi_header();
std::span<const HeaderConstant> mpich_header();

template <typename T>
intptr_t as_number(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<intptr_t>(value);
  else
    return static_cast<intptr_t>(value);
}

#define CB_TEXT_OF(...) #__VA_ARGS__
#define CB_MPI_CONSTANT(name) HeaderConstant{#name, CB_TEXT_OF_VALUE(name), as_number(name)},
#define CB_TEXT_OF_VALUE(...) CB_TEXT_OF(__VA_ARGS__)
#define CB_MPI_CONSTANTS                  \
  CB_MPI_CONSTANT(MPI_COMM_WORLD)         \
  CB_MPI_CONSTANT(MPI_COMM_NULL)          \
  CB_MPI_CONSTANT(MPI_REQUEST_NULL)       \
  CB_MPI_CONSTANT(MPI_ERRORS_RETURN)      \
  CB_MPI_CONSTANT(MPI_STATUS_IGNORE)      \
  CB_MPI_CONSTANT(MPI_IN_PLACE)           \
  CB_MPI_CONSTANT(MPI_BYTE)               \
  CB_MPI_CONSTANT(MPI_INT)                \
  CB_MPI_CONSTANT(MPI_UNSIGNED_LONG_LONG) \
  CB_MPI_CONSTANT(MPI_FLOAT)              \
  CB_MPI_CONSTANT(MPI_DOUBLE)             \
  CB_MPI_CONSTANT(MPI_INT8_T)             \
  CB_MPI_CONSTANT(MPI_UINT8_T)            \
  CB_MPI_CONSTANT(MPI_INT32_T)            \
  CB_MPI_CONSTANT(MPI_UINT32_T)           \
  CB_MPI_CONSTANT(MPI_INT64_T)            \
  CB_MPI_CONSTANT(MPI_UINT64_T)           \
  CB_MPI_CONSTANT(MPI_MAX)                \
  CB_MPI_CONSTANT(MPI_MIN)                \
  CB_MPI_CONSTANT(MPI_SUM)                \
  CB_MPI_CONSTANT(MPI_PROD)
