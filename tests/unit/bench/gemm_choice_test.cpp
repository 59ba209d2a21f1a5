#include "bench/cpu/blas_choice.h"

#include <doctest/doctest.h>

#include "bench/cpu/peak.h"
#include "bench/cpu/rank_cores.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;

namespace {

const ProbeRequest kRequest{
    .candidate = {}, .types = {GemmType::fp64, GemmType::int8}, .cpus = {0}};

// Answers for one candidate: a figure per type, or a failure.
ProbeAnswer figures(double fp64, std::variant<ProbeFigure, std::string> int8) {
  return {{GemmType::fp64, ProbeFigure{fp64, "1.0", "K"}}, {GemmType::int8, std::move(int8)}};
}

ProbeAnswer all_failed(const std::string& why) {
  return {{GemmType::fp64, why}, {GemmType::int8, why}};
}

}  // namespace

TEST_CASE("the fastest candidate wins, type by type, and its rivals' figures are kept") {
  const auto prober = [](const ProbeRequest& r) {
    if (r.candidate.library == "blis") return figures(90e9, std::string("has no int8 product"));
    if (r.candidate.library == "onednn")
      return ProbeAnswer{{GemmType::fp64, std::string("has no fp64 product")},
                         {GemmType::int8, ProbeFigure{400e9, "2.6", "avx2"}}};
    return figures(40e9, ProbeFigure{10e9, "", ""});
  };
  const auto chosen = choose(kRequest, "auto", prober, [] {});
  CHECK(chosen.at(GemmType::fp64).candidate == Candidate{"blis", ""});
  CHECK(chosen.at(GemmType::int8).candidate == Candidate{"onednn", ""});
  CHECK(chosen.at(GemmType::fp64).figures.text().starts_with("blis (K) 90.0 GFLOP/s, "));
  CHECK(chosen.at(GemmType::fp64).figures.text().find("onednn failed: has no fp64 product") !=
        std::string::npos);
  CHECK(chosen.at(GemmType::int8).figures.text().starts_with("onednn (avx2) 400 GOP/s"));
}

TEST_CASE("a candidate that crashes costs only itself, also in a later round") {
  int asked = 0;
  const auto prober = [&](const ProbeRequest& r) {
    if (r.candidate.library == "onednn") return all_failed("killed by signal 4");
    if (r.candidate.library == "blis" && ++asked > 1) return all_failed("killed by signal 11");
    return figures(r.candidate.library == "blis" ? 60e9 : 50e9, ProbeFigure{1e9, "", ""});
  };
  const auto chosen = choose(kRequest, "auto", prober, [] {});
  CHECK(chosen.at(GemmType::fp64).candidate.library != "blis");
  CHECK(chosen.at(GemmType::fp64).candidate.library != "onednn");
  CHECK(chosen.at(GemmType::fp64).figures.text().find("blis (K) failed: killed by signal 11") !=
        std::string::npos);
}

TEST_CASE("one lucky round does not win: the median of the rounds does") {
  int round = 0;
  const auto prober = [&](const ProbeRequest& r) {
    if (r.candidate.library == "blis")
      return figures(++round == 1 ? 60e9 : 30e9, ProbeFigure{1, "", ""});
    return figures(r.candidate.library == "builtin" ? 20e9 : 50e9, ProbeFigure{1, "", ""});
  };
  CHECK(choose(kRequest, "auto", prober, [] {}).at(GemmType::fp64).candidate.library != "blis");
}

TEST_CASE("where nothing works the error names what was tried") {
  const auto prober = [](const ProbeRequest&) { return all_failed("not found"); };
  CHECK_THROWS_WITH_AS(choose(kRequest, "blis", prober, [] {}),
                       "no library multiplies fp64 here: blis failed: not found; next: --library "
                       "builtin",
                       Error);
}

// What three hosts choose together: onednn is faster on the first, blis on the others. `refuses`:
// the last host cannot run this one.
static std::vector<std::string> chosen_alike(const std::string& refuses) {
  std::vector<std::string> names(3);
  const auto choose_one = [&](Context& context, const Params&) {
    const int rank = context.comm.rank();
    const auto prober = [&](const ProbeRequest& r) {
      if (rank == 2 && r.candidate.library == refuses) return all_failed("killed by signal 4");
      const std::string fastest = rank == 0 ? "onednn" : "blis";
      return figures(r.candidate.library == fastest ? 90e9 : 40e9, ProbeFigure{1, "", ""});
    };
    names[static_cast<size_t>(rank)] =
        candidate_name(choose_alike(context, kRequest, "auto", prober).candidate);
    return std::vector<Record>{};
  };
  static_cast<void>(run_on(3, case_of(choose_one)));
  return names;
}

TEST_CASE("ranks that compare their bits multiply with the library of the first host") {
  CHECK(chosen_alike("") == std::vector<std::string>(3, "onednn"));
}

TEST_CASE("where one host cannot run the first host's library, all take the own loops") {
  CHECK(chosen_alike("onednn") == std::vector<std::string>(3, "builtin"));
}

TEST_CASE("a child's answer is read back, figures and reasons") {
  const ProbeAnswer a = parse_probe(
      R"({"fp64":{"operations_per_second":5e9,"version":"v","core":"c"},"int8":{"reason":"no"}})");
  CHECK(std::get<ProbeFigure>(a.at(GemmType::fp64)).operations_per_second == 5e9);
  CHECK(std::get<std::string>(a.at(GemmType::int8)) == "no");
  CHECK_THROWS(parse_probe("{\"fp64\":"));
}

TEST_CASE("peak rows give FLOP per cycle of known processors, and nothing of others") {
  const auto per_cycle = [](const CpuId& cpu, GemmType type, double measured) {
    const auto found = flops_per_cycle(cpu, type, measured);
    return found ? found->value : 0;
  };
  const CpuId genoa{"AuthenticAMD", 25, 17, true, true}, milan{"AuthenticAMD", 25, 1, false, true},
      turin{"AuthenticAMD", 26, 2, true, true}, naples{"AuthenticAMD", 23, 1, false, true},
      sapphire{"GenuineIntel", 6, 143, true, true}, skylake{"GenuineIntel", 6, 85, true, true},
      grace{"arm", 0, 0xd4f, false, false};
  CHECK(per_cycle(genoa, GemmType::fp64, 0) == 16);
  CHECK(per_cycle(genoa, GemmType::fp32, 0) == 32);
  CHECK(per_cycle(milan, GemmType::fp64, 0) == 16);
  CHECK(per_cycle(turin, GemmType::fp64, 0) == 32);
  CHECK(per_cycle(naples, GemmType::fp64, 0) == 8);
  CHECK(per_cycle(sapphire, GemmType::fp64, 0) == 32);
  CHECK(per_cycle(sapphire, GemmType::fp32, 0) == 64);
  CHECK(per_cycle(grace, GemmType::fp64, 0) == 16);
  // One or two 512-bit units: three quarters of the rate of two decide.
  CHECK(per_cycle(skylake, GemmType::fp64, 31) == 32);
  CHECK(per_cycle(skylake, GemmType::fp64, 24.1) == 32);
  CHECK(per_cycle(skylake, GemmType::fp64, 24) == 16);
  CHECK(per_cycle(skylake, GemmType::fp64, 15.9) == 16);
  // A hypervisor that hides AVX-512, or AVX2 as well.
  CHECK(per_cycle({"GenuineIntel", 6, 143, false, true}, GemmType::fp64, 0) == 16);
  CHECK(per_cycle({"GenuineIntel", 6, 143, false, false}, GemmType::fp64, 0) == 0);
  CHECK(per_cycle(genoa, GemmType::bf16, 0) == 0);
  CHECK(per_cycle({"GenuineIntel", 6, 250, true, true}, GemmType::fp64, 0) == 0);
  CHECK(peak_row({"AuthenticAMD", 25, 0x10, true, true})->name.starts_with("Zen 4"));
  CHECK(peak_row({"AuthenticAMD", 25, 0x20, true, true})->name == "Zen 3");
}

TEST_CASE("the processor is read from /proc/cpuinfo") {
  const auto x86 = parse_cpu_id(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
      "model name\t: Intel(R) Xeon(R)\nflags\t\t: fpu avx2 fma avx512f\n");
  REQUIRE(x86);
  CHECK(x86->vendor == "GenuineIntel");
  CHECK(x86->model == 143);
  CHECK(x86->avx512);
  const auto arm = parse_cpu_id("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  REQUIRE(arm);
  CHECK(arm->model == 0xd40);
  CHECK_FALSE(parse_cpu_id("").has_value());
}

TEST_CASE("ranks of a host divide its cores evenly, and share them where there are too few") {
  std::vector<Core> cores;
  for (int i = 0; i < 7; ++i) cores.push_back({{i, i + 7}, 0});
  std::vector<int> seen;
  for (int r = 0; r < 3; ++r) {
    const auto mine = divide_cores(cores, 3, r);
    CHECK((mine.size() == 2 || mine.size() == 3));
    for (const Core& c : mine) seen.push_back(c.cpus[0]);
  }
  CHECK(seen == std::vector<int>{0, 1, 2, 3, 4, 5, 6});
  CHECK(divide_cores({{{4}, 0}, {{5}, 0}}, 4, 3).at(0).cpus[0] == 5);
}

TEST_CASE("threads take one core each before a second thread of any core") {
  const RankCores cores{.cores = {{{0, 4}, 0}, {{1, 5}, 0}}, .machine = {}};
  CHECK(cores.cpus(0) == std::vector<int>{0, 1});
  CHECK(cores.cpus(1) == std::vector<int>{0});
  CHECK(cores.cpus(3) == std::vector<int>{0, 1, 4});
  CHECK_THROWS_AS(cores.cpus(5), UsageError);
}
