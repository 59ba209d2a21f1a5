// Our declarations of NCCL's interface against nccl.h, where that is installed.
#include "sys/gpu/nccl.h"

#include <cstddef>
#include <type_traits>

#include <doctest/doctest.h>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <nccl.h>
#pragma GCC diagnostic pop
#if NCCL_VERSION_CODE >= 22809
#define CB_HAS_NCCL_HEADER
#endif
#endif

using namespace cb::nccl;

TEST_CASE("versions in NCCL's two ways of numbering") {
  CHECK(version_text(2705) == "2.7.5");
  CHECK(version_text(22809) == "2.28.9");
  CHECK(version_text(21805) == "2.18.5");
}

#ifdef CB_HAS_NCCL_HEADER
TEST_CASE("layouts and values are those of nccl.h") {
  CHECK(sizeof(abi::UniqueId) == sizeof(ncclUniqueId));
  CHECK(sizeof(abi::SimInfo) == sizeof(ncclSimInfo_t));
  CHECK(offsetof(abi::SimInfo, estimated_microseconds) == offsetof(ncclSimInfo_t, estimatedTime));
  CHECK(offsetof(abi::Config, blocking) == offsetof(ncclConfig_t, blocking));
  CHECK(offsetof(abi::Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
  CHECK(offsetof(abi::Config, comm_name) == offsetof(ncclConfig_t, commName));
  CHECK(offsetof(abi::Config, cta_policy) == offsetof(ncclConfig_t, CTAPolicy));
  CHECK(offsetof(abi::Config, nvlink_centric_sched) == offsetof(ncclConfig_t, nvlinkCentricSched));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const abi::Config ours;
  CHECK(ours.magic == theirs.magic);
  CHECK(ours.blocking == theirs.blocking);
  const ncclSimInfo_t sim = NCCL_SIM_INFO_INITIALIZER;
  CHECK(abi::SimInfo{}.magic == sim.magic);
  CHECK(int{abi::kInProgress} == int{ncclInProgress});
  CHECK(int{abi::kRemoteError} == int{ncclRemoteError});
  CHECK(int{abi::kAvg} == int{ncclAvg});
  CHECK(int{abi::kMin} == int{ncclMin});
  CHECK(int{abi::kBfloat16} == int{ncclBfloat16});
  CHECK(int{abi::kFloat8e5m2} == int{ncclFloat8e5m2});
  CHECK(abi::kWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
  CHECK(abi::kScalarHostImmediate == int{ncclScalarHostImmediate});
}
#endif

TEST_CASE("the library that is installed has what is called, and says its version") {
  const auto opened = Library::open();
  if (const auto* absent = std::get_if<cb::Said>(&opened)) {
    CHECK(absent->text().find("next: install") != std::string::npos);
    return;
  }
  const Library& library = std::get<Library>(opened);
  CHECK(library.version() >= 2700);
  CHECK(library.name().starts_with("NCCL "));
  if (library.at_least(2, 28)) {
    CHECK((library.call().all_to_all != nullptr));
    CHECK((library.call().window_register != nullptr));
    CHECK((library.call().group_simulate_end != nullptr));
  }
}
