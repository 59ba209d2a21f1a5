// What limited a GPU, from the shares of its units: both sides of each threshold.
#include "model/gpu_activity.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// All SMs have work, and every unit of the GPU itself is known.
GpuActivity with_units_idle() {
  return {.utilisation = 1,
          .sm = 1,
          .tensor = 0,
          .fp64 = 0,
          .fp32 = 0,
          .fp16 = 0,
          .integer = 0,
          .dram = 0};
}

}  // namespace

TEST_CASE("the sentence of a product that waits for its memory") {
  const GpuActivity a{.utilisation = 0.98, .sm = 0.97, .tensor = 0.11, .dram = 0.91};
  CHECK(bound_of(a) == GpuBound::memory);
  const Said sentence = activity_sentence(a);
  CHECK(sentence.text() == "utilisation 98 %, SM 97 %, tensor 11 %, DRAM 91 %: bound by memory");
  CHECK(sentence.in(Lang::zh) ==
        "利用率 98 %、SM 97 %、张量核 11 %、显存带宽 91 %：受限于显存带宽");
}

TEST_CASE("a unit limits from three fifths on") {
  GpuActivity a = with_units_idle();
  a.tensor = 0.6;
  CHECK(bound_of(a) == GpuBound::tensor);
  a.tensor = 0.599;
  CHECK(bound_of(a) == GpuBound::latency);
  for (const auto unit :
       {&GpuActivity::fp64, &GpuActivity::fp32, &GpuActivity::fp16, &GpuActivity::integer}) {
    GpuActivity v = with_units_idle();
    v.*unit = 0.6;
    CHECK(bound_of(v) == GpuBound::vector);
    v.*unit = 0.599;
    CHECK(bound_of(v) == GpuBound::latency);
  }
  for (const auto& [unit, bound] : {std::pair{&GpuActivity::nvlink, GpuBound::nvlink},
                                    std::pair{&GpuActivity::pcie, GpuBound::pcie},
                                    std::pair{&GpuActivity::dram, GpuBound::memory}}) {
    GpuActivity v = with_units_idle();
    v.*unit = 0.6;
    CHECK(bound_of(v) == bound);
    v.*unit = 0.599;
    CHECK(bound_of(v) == GpuBound::latency);
  }
}

TEST_CASE("of two busy units the busier one limits, of equal ones the memory") {
  GpuActivity a{.utilisation = 1, .sm = 1, .tensor = 0.8, .dram = 0.79};
  CHECK(bound_of(a) == GpuBound::tensor);
  a.dram = 0.81;
  CHECK(bound_of(a) == GpuBound::memory);
  a.dram = 0.8;
  CHECK(bound_of(a) == GpuBound::memory);
}

TEST_CASE(
    "less than half of the time with a kernel is the host's, less than half of the SMs are few") {
  GpuActivity a{.utilisation = 0.49, .sm = 0.49, .tensor = 0.2, .dram = 0.2};
  CHECK(bound_of(a) == GpuBound::host);
  a.utilisation = 0.5;
  CHECK(bound_of(a) == GpuBound::few_sms);
  a = with_units_idle();
  a.sm = 0.5;
  CHECK(bound_of(a) == GpuBound::latency);
}

TEST_CASE("a utilisation below the share of SMs with work is of another time") {
  // A training step and a factoring of an H100, in windows of half a second.
  CHECK(activity_sentence({.utilisation = 0.46,
                           .sm = 0.67,
                           .tensor = 0,
                           .fp64 = 0,
                           .fp32 = 0.44,
                           .fp16 = 0,
                           .integer = 0,
                           .dram = 0.17}) ==
        "SM 67 %, tensor 0 %, DRAM 17 %, FP32 44 %: bound by latency: the SMs had work and no unit "
        "was busy");
  GpuActivity a{.utilisation = 0.4, .sm = 0.42, .tensor = 0.2, .dram = 0.2};
  CHECK(bound_of(a) == GpuBound::few_sms_or_host);
  CHECK(activity_sentence(a).text().starts_with("SM 42 %, tensor 20 %, DRAM 20 %: most SMs "));
  a.sm = 0.41;  // NVML tells whole percents
  CHECK(bound_of(a) == GpuBound::host);
  CHECK(activity_sentence(a).text().starts_with("utilisation 40 %, SM 41 %, "));
}

TEST_CASE("without a utilisation a little work is no idling, and few SMs may be the host's") {
  GpuActivity a{.sm = 0.005, .tensor = 0, .dram = 0};
  CHECK(bound_of(a) == GpuBound::few_sms_or_host);
  a.sm = 0.0049;
  CHECK(bound_of(a) == GpuBound::idle);
  a.sm = 0.49;
  CHECK(bound_of(a) == GpuBound::few_sms_or_host);
  a.sm = 0.5;
  CHECK(bound_of(a) == GpuBound::unknown);  // not all units are known
}

TEST_CASE("idle is less than a twentieth of everything") {
  GpuActivity a{.utilisation = 0.049, .sm = 0.01, .tensor = 0, .dram = 0.02};
  CHECK(bound_of(a) == GpuBound::idle);
  a.utilisation = 0.05;
  CHECK(bound_of(a) == GpuBound::host);
  a = {.utilisation = 0, .sm = 0, .pcie = 0.7};  // a copy without a kernel
  CHECK(bound_of(a) == GpuBound::pcie);
}

TEST_CASE("what is not known is neither zero nor told") {
  CHECK(bound_of({}) == GpuBound::unknown);
  CHECK(activity_sentence({}).empty());
  const GpuActivity only{.utilisation = 0.98};
  CHECK(bound_of(only) == GpuBound::unknown);
  CHECK(activity_sentence(only) == "utilisation 98 %: what limits is not known");
  CHECK(bound_of({.utilisation = 0.2}) == GpuBound::host);
  CHECK(bound_of({.dram = 0.9}) == GpuBound::memory);
  for (const auto unit : {&GpuActivity::tensor, &GpuActivity::dram, &GpuActivity::fp64,
                          &GpuActivity::fp32, &GpuActivity::fp16, &GpuActivity::integer}) {
    GpuActivity v = with_units_idle();
    (v.*unit).reset();  // it may have been the busy one
    CHECK(bound_of(v) == GpuBound::unknown);
  }
}

TEST_CASE("another unit is told from a tenth on") {
  GpuActivity a{
      .utilisation = 1, .sm = 1, .tensor = 0.7, .fp32 = 0.1, .dram = 0.3, .nvlink = 0.099};
  CHECK(
      activity_sentence(a) ==
      "utilisation 100 %, SM 100 %, tensor 70 %, DRAM 30 %, FP32 10 %: bound by the tensor cores");
  a.nvlink = 0.1;
  CHECK(activity_sentence(a).text().find("NVLink 10 %") != std::string::npos);
}
