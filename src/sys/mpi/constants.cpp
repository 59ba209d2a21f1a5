#include "sys/mpi/constants.h"

#include <cstdint>

namespace cb::mpi {
namespace {

struct Handle {
  intptr_t value;
  template <typename T>
  operator T*() const {  // NOLINT(google-explicit-constructor): the member tells the type
    return reinterpret_cast<T*>(value);
  }
};

}  // namespace

Constants mpich_constants() {
  Constants out{};
  out.comm_world = Handle{0x44000000};
  out.comm_null = Handle{0x04000000};
  out.request_null = Handle{0x2c000000};
  out.errors_return = Handle{0x54000001};
  out.status_ignore = Handle{1};
  out.in_place = Handle{-1};
  out.byte = Handle{0x4c00010d};
  out.int_ = Handle{0x4c000405};
  out.unsigned_long_long = Handle{0x4c000819};
  out.float_ = Handle{0x4c00040a};
  out.double_ = Handle{0x4c00080b};
  out.int8 = Handle{0x4c000137};
  out.uint8 = Handle{0x4c00013b};
  out.int32 = Handle{0x4c000439};
  out.uint32 = Handle{0x4c00043d};
  out.int64 = Handle{0x4c00083a};
  out.uint64 = Handle{0x4c00083e};
  out.max = Handle{0x58000001};
  out.min = Handle{0x58000002};
  out.sum = Handle{0x58000003};
  out.prod = Handle{0x58000004};
  return out;
}

Constants standard_constants() {
  Constants out{};
  out.comm_world = Handle{0x101};
  out.comm_null = Handle{0x100};
  out.request_null = Handle{0x180};
  out.errors_return = Handle{0x143};
  out.status_ignore = nullptr;
  out.in_place = Handle{1};
  out.byte = Handle{0x247};
  out.int_ = Handle{0x209};
  out.unsigned_long_long = Handle{0x20f};
  out.float_ = Handle{0x210};
  out.double_ = Handle{0x214};
  out.int8 = Handle{0x240};
  out.uint8 = Handle{0x241};
  out.int32 = Handle{0x250};
  out.uint32 = Handle{0x251};
  out.int64 = Handle{0x258};
  out.uint64 = Handle{0x259};
  out.max = Handle{0x23};
  out.min = Handle{0x22};
  out.sum = Handle{0x21};
  out.prod = Handle{0x24};
  return out;
}

Constants open_mpi_constants(const std::function<void*(const char*)>& symbol) {
  const auto at = [&](const char* name) {
    return Handle{reinterpret_cast<intptr_t>(symbol(name))};
  };
  Constants out{};
  out.comm_world = at("ompi_mpi_comm_world");
  out.comm_null = at("ompi_mpi_comm_null");
  out.request_null = at("ompi_request_null");
  out.errors_return = at("ompi_mpi_errors_return");
  out.status_ignore = nullptr;
  out.in_place = Handle{1};
  out.byte = at("ompi_mpi_byte");
  out.int_ = at("ompi_mpi_int");
  out.unsigned_long_long = at("ompi_mpi_unsigned_long_long");
  out.float_ = at("ompi_mpi_float");
  out.double_ = at("ompi_mpi_double");
  out.int8 = at("ompi_mpi_int8_t");
  out.uint8 = at("ompi_mpi_uint8_t");
  out.int32 = at("ompi_mpi_int32_t");
  out.uint32 = at("ompi_mpi_uint32_t");
  out.int64 = at("ompi_mpi_int64_t");
  out.uint64 = at("ompi_mpi_uint64_t");
  out.max = at("ompi_mpi_op_max");
  out.min = at("ompi_mpi_op_min");
  out.sum = at("ompi_mpi_op_sum");
  out.prod = at("ompi_mpi_op_prod");
  return out;
}

}  // namespace cb::mpi
