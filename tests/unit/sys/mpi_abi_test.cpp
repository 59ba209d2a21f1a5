// The constants of each MPI's binary interface against its own header.
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "mpi_headers/constants.h"
#include "sys/mpi/constants.h"

using namespace cb::mpi;

namespace {

std::map<std::string, intptr_t> by_name(const Constants& c) {
  return {{"MPI_COMM_WORLD", as_number(c.comm_world)},
          {"MPI_COMM_NULL", as_number(c.comm_null)},
          {"MPI_REQUEST_NULL", as_number(c.request_null)},
          {"MPI_ERRORS_RETURN", as_number(c.errors_return)},
          {"MPI_STATUS_IGNORE", as_number(c.status_ignore)},
          {"MPI_IN_PLACE", as_number(c.in_place)},
          {"MPI_BYTE", as_number(c.byte)},
          {"MPI_INT", as_number(c.int_)},
          {"MPI_UNSIGNED_LONG_LONG", as_number(c.unsigned_long_long)},
          {"MPI_FLOAT", as_number(c.float_)},
          {"MPI_DOUBLE", as_number(c.double_)},
          {"MPI_INT8_T", as_number(c.int8)},
          {"MPI_UINT8_T", as_number(c.uint8)},
          {"MPI_INT32_T", as_number(c.int32)},
          {"MPI_UINT32_T", as_number(c.uint32)},
          {"MPI_INT64_T", as_number(c.int64)},
          {"MPI_UINT64_T", as_number(c.uint64)},
          {"MPI_MAX", as_number(c.max)},
          {"MPI_MIN", as_number(c.min)},
          {"MPI_SUM", as_number(c.sum)},
          {"MPI_PROD", as_number(c.prod)}};
}

// Without what is no part of a name: "((MPI_Comm)((void*)&(ompi_mpi_comm_world)))" has one symbol.
std::string symbol_in(const std::string& text) {
  constexpr const char* kNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const size_t begin = text.rfind("ompi_");
  return begin == std::string::npos
             ? ""
             : text.substr(begin, text.find_first_not_of(kNames, begin) - begin);
}

}  // namespace

TEST_CASE("MPICH's constants are those of its header") {
  const auto ours = by_name(mpich_constants());
  REQUIRE(mpich_header().size() == ours.size());
  for (const HeaderConstant& theirs : mpich_header())
    CHECK_MESSAGE(ours.at(theirs.name) == theirs.value, theirs.name);
}

TEST_CASE("Open MPI's constants are the objects that its header names") {
  std::set<std::string> asked;
  const auto ours = by_name(open_mpi_constants([&](const char* name) -> void* {
    return const_cast<char*>(asked.insert(name).first->c_str());
  }));
  for (const HeaderConstant& theirs : open_mpi_header()) {
    const std::string symbol = symbol_in(theirs.text);
    if (symbol.empty()) continue;
    REQUIRE_MESSAGE(asked.contains(symbol), theirs.name << " is " << symbol);
    CHECK_MESSAGE(std::string(reinterpret_cast<const char*>(ours.at(theirs.name))) == symbol,
                  theirs.name);
  }
  CHECK(asked.size() == 19);
  // What is no object: numbers.
  CHECK(ours.at("MPI_STATUS_IGNORE") == 0);
  CHECK(ours.at("MPI_IN_PLACE") == 1);
}

TEST_CASE("a library's interface: the standard's by its name, the others by what they hold") {
  CHECK(abi_of("/opt/hpcx/lib/libmpi.so.40", true) == Abi::open_mpi);
  CHECK(abi_of("libmpi.so.12", true) == Abi::open_mpi);
  CHECK(abi_of("libmpi.so.12", false) == Abi::mpich);
  CHECK(abi_of("/usr/lib/libmpich.so.12", false) == Abi::mpich);
  CHECK(abi_of("/opt/mpich/lib/libmpi_abi.so.1", false) == Abi::standard);
  CHECK(abi_of("/opt/ompi/lib/libmpi_abi.so.1", true) == Abi::standard);
}

// MPI 5.0, table of appendix A.1: the three bits of a kind, then its member.
TEST_CASE("the standard's constants: sizes stand in the numbers of fixed-size types") {
  const Constants c = standard_constants();
  for (const auto& [type, bytes] : std::map<MPI_Datatype, int>{
           {c.int8, 1}, {c.uint8, 1}, {c.int32, 4}, {c.uint32, 4}, {c.int64, 8}, {c.uint64, 8}})
    CHECK((1 << ((as_number(type) >> 3) & 7)) == bytes);
  CHECK(as_number(c.comm_world) == 0x101);
}
