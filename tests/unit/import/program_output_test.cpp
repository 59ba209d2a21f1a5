#include "import/program_output.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/unit/import/outputs.h"

namespace cb {
namespace {

using namespace outputs;

ProgramResult only(Program program, const std::string& text) {
  const ProgramOutput out = read_program_output(program, text, "o.txt");
  REQUIRE(out.results.size() == 1);
  return out.results[0];
}

// The names of the checks that failed, and nothing else failed.
std::string failed(const ProgramResult& result) {
  std::string out;
  for (const Check& c : result.checks) {
    CHECK(c.passed == c.detail.empty());
    if (!c.passed) out += (out.empty() ? "" : " ") + c.name;
  }
  return out;
}

std::string failed(Program program, const std::string& text) { return failed(only(program, text)); }

std::string why(Program program, const std::string& text, const std::string& name) {
  const ProgramResult result = only(program, text);
  const auto found = std::ranges::find(result.checks, name, &Check::name);
  REQUIRE(found != result.checks.end());
  return found->detail.text();
}

}  // namespace

TEST_CASE("a good row of HPL is its parameters, its rate and its residual") {
  const ProgramOutput out = read_program_output(Program::hpl, hpl(), "o.txt");
  CHECK(out.version == "2.3");
  const ProgramResult& r = out.results.at(0);
  CHECK(r.parameters ==
        std::map<std::string, int64_t>{{"N", 1000}, {"NB", 80}, {"P", 1}, {"Q", 2}});
  CHECK(r.seconds == 2);
  CHECK(r.flops_per_second == doctest::Approx(3.341e8));
  CHECK(r.line == 6);
  CHECK(r.good());
  CHECK(failed(r) == "");
  CHECK(*r.checks[0].value == 0.0051437);
  CHECK(*r.checks[0].limit == 16);
  CHECK(*r.checks[1].value == doctest::Approx(3.341e8 / (668166666.7 / 2)));
}

TEST_CASE("a residual counts only as a number below 16 that the program compared with 16") {
  const auto with_residual = [](const std::string& value, const std::string& verdict = "PASSED") {
    return hpl_head() + kHplRow + with(with(kHplResidual, "0.0051437", value), "PASSED", verdict) +
           hpl_tail();
  };
  CHECK(failed(Program::hpl, with_residual("15.9999999")) == "");
  CHECK(failed(Program::hpl, with_residual("16.0000000")) == "residual");
  CHECK(failed(Program::hpl, with_residual("nan")) == "residual");
  CHECK(failed(Program::hpl, with_residual("-nan")) == "residual");
  CHECK(failed(Program::hpl, with_residual("inf")) == "residual");
  CHECK(failed(Program::hpl, with_residual("-0.5000000")) == "residual");
  CHECK(failed(Program::hpl, with_residual("0.0051437", "FAILED")) == "residual");
  // The program counts a test that it did not check as passed.
  const std::string unchecked = hpl_head("0.0") + kHplRow + hpl_tail();
  CHECK(failed(Program::hpl, unchecked) == "residual");
  CHECK(why(Program::hpl, unchecked, "residual").find("skips the check") != std::string::npos);
  CHECK(failed(Program::hpl, hpl_head("-16.0") + kHplRow + hpl_tail()) == "residual");
  CHECK(failed(Program::hpl, hpl_head("1600.0") + kHplRow + kHplResidual + hpl_tail()) ==
        "residual");
  CHECK(failed(Program::hpl, hpl_head() + kHplRow + hpl_tail()) == "residual");
  // The formula of versions before 2.0 is another one.
  const std::string old =
      "||Ax-b||_oo / ( eps * ||A||_1  * N        ) =        0.05 ...... PASSED\n";
  CHECK(failed(Program::hpl, hpl_head() + kHplRow + old + hpl_tail()) == "residual");
}

TEST_CASE("the printed rate must follow from order and time within what printing rounds") {
  const auto with_row = [](const std::string& seconds, const std::string& rate) {
    return with(with(hpl(), "2.00", seconds), "3.341e-01", rate);
  };
  CHECK(failed(Program::hpl, with_row("2.00", "3.349e-01")) == "");  // 1.995 s gives 0.3349
  CHECK(failed(Program::hpl, with_row("2.00", "3.351e-01")) == "rate");
  CHECK(failed(Program::hpl, with_row("2.00", "3.333e-01")) == "");  // 2.005 s gives 0.33325
  CHECK(failed(Program::hpl, with_row("2.00", "3.331e-01")) == "rate");
  CHECK(failed(Program::hpl, with_row("0.00", "3.341e-01")) == "rate");
  CHECK(failed(Program::hpl, with_row("2.00", "nan")) == "rate");
  CHECK(failed(Program::hpl, with_row("2.00", "0.000e+00")) == "rate");
  CHECK(failed(Program::hpl, with_row("-nan", "3.341e-01")) == "rate");
}

TEST_CASE("a run that was cut short keeps its rows and fails the check of its output") {
  const std::string whole = hpl();
  CHECK(failed(Program::hpl, hpl_head() + kHplRow) == "residual output");
  CHECK(failed(Program::hpl, hpl_head() + kHplRow + kHplResidual) == "output");
  CHECK(failed(Program::hpl, with(whole, "End of Tests.", "")) == "output");
  CHECK(failed(Program::hpl, hpl_head() + kHplRow + kHplResidual + hpl_tail(2)) == "output");
  CHECK(failed(Program::hpl, with(whole, "0 tests skipped", "1 tests skipped")) == "output");
  // Every beginning of an output gives what stands in it, or is refused.
  for (size_t length = 0; length < whole.size() - 14; ++length) {
    try {
      const auto out = read_program_output(Program::hpl, whole.substr(0, length), "o.txt");
      CHECK(out.results.size() == 1);
      CHECK_FALSE(out.results[0].good());
    } catch (const UsageError&) {
    }
  }
}

TEST_CASE("several results in one file are several, and a repeated one is one") {
  const std::string other = with(kHplRow, "    80", "   160");
  const std::string two = hpl_head() + kHplRow + kHplResidual + other +
                          with(kHplResidual, "0.005", "0.007") + hpl_tail(2);
  const ProgramOutput out = read_program_output(Program::hpl, two, "o.txt");
  REQUIRE(out.results.size() == 2);
  CHECK(out.results[1].parameters.at("NB") == 160);
  CHECK(*out.results[0].checks[0].value == 0.0051437);
  CHECK(*out.results[1].checks[0].value == 0.0071437);
  const ProgramOutput twice = read_program_output(
      Program::hpl, hpl_head() + kHplRow + kHplResidual + kHplRow + kHplResidual + hpl_tail(), "o");
  CHECK(twice.results.size() == 1);
  REQUIRE(twice.notes.size() == 1);
  CHECK(twice.notes[0].message().id == "import.printed_twice");
}

TEST_CASE("rows are found in a log with prefixes, foreign lines and what GPU builds append") {
  std::string log;
  std::string rest = hpl();
  for (size_t at = 0; at < rest.size();) {
    const size_t end = rest.find('\n', at);
    log += "[1,0]<stdout>:" + rest.substr(at, end - at) + "\r\n[1,1]<stdout>:Column=000128 99%\n";
    at = end + 1;
  }
  CHECK(failed(Program::hpl, log) == "");
  CHECK(only(Program::hpl, log).parameters.at("N") == 1000);
  CHECK(failed(Program::hpl, with(hpl(), "3.341e-01", "3.341e-01 ( 1.671e-01)")) == "");
  CHECK(failed(Program::hpl, "Warning: a row of others\n" + hpl()) == "");
}

TEST_CASE("a row that is not written as the program writes it is refused with its line") {
  const auto refused = [](const std::string& text) {
    try {
      read_program_output(Program::hpl, text, "o.txt");
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused(with(hpl(), "    80 ", "")).find("line 6") != std::string::npos);
  CHECK(refused(with(hpl(), "1000", "1e3")).find("'1e3'") != std::string::npos);
  CHECK(refused(with(hpl(), "    1 ", "    0 ")).find("P is '0'") != std::string::npos);
  CHECK(refused(with(hpl(), "2.00", "2,00")).find("Time is '2,00'") != std::string::npos);
  CHECK(refused(hpl_head() + hpl_tail(0)).find("has no result") != std::string::npos);
  CHECK(refused("").find("has no result") != std::string::npos);
}

TEST_CASE("HPL-MxP: the rate with the solution is the figure, that of LU is not") {
  const ProgramResult r = only(Program::hpl_mxp, mxp());
  CHECK(r.flops_per_second == doctest::Approx(3.2e14));
  CHECK(r.parameters.at("N") == 200704);
  CHECK(r.parameters.at("P") * r.parameters.at("Q") == 8);
  CHECK(failed(r) == "");
  CHECK(r.facts.at("lu_rate").text().starts_with("1600 TFLOP/s"));
  CHECK(failed(Program::hpl_mxp, mxp("3.3000e+05")) == "rate");
  CHECK(failed(Program::hpl_mxp, with(mxp(), "6.1E-04", "NaN")) == "residual");
  CHECK(failed(Program::hpl_mxp, with(mxp(), "PASSED", "FAILED")) == "residual");
  CHECK(failed(Program::hpl_mxp, with(mxp(), "1.600000E+01", "1.600000E+06")) == "residual");
  // Eight bits are no longer valid for the list, but the figure stands.
  const ProgramResult small = only(Program::hpl_mxp, mxp("3.2000e+05", "1"));
  CHECK(failed(small) == "official");
  CHECK(small.good());
  const std::string text = mxp();
  CHECK(failed(Program::hpl_mxp, text.substr(0, text.rfind("****** HPL"))) == "output");
  CHECK(read_program_output(Program::hpl_mxp, mxp() + mxp("3.2010e+05"), "o").results.size() == 2);
  CHECK_THROWS_AS(read_program_output(Program::hpl_mxp, with(mxp(), "NPROW", "ROWS"), "o"),
                  UsageError);
}

TEST_CASE("HPL-MxP of rocHPL prints HPL's table and no count behind it") {
  CHECK(failed(Program::hpl_mxp,
               hpl_head() + with(kHplRow, "WR11C2R4", "WR0     ") + kHplResidual) == "");
}

TEST_CASE("HPCG: rating, domain and a run as long as the list asks for") {
  const ProgramResult r = only(Program::hpcg, hpcg());
  CHECK(r.flops_per_second == doctest::Approx(1.9e9));
  CHECK(r.parameters ==
        std::map<std::string, int64_t>{{"processes", 4}, {"nx", 104}, {"ny", 104}, {"nz", 104}});
  CHECK(r.seconds == 2000);
  CHECK(failed(r) == "");
  CHECK(read_program_output(Program::hpcg, hpcg(), "o").version == "3.1");
  CHECK(failed(Program::hpcg, hpcg("1800", "3.6e+12")) == "");
  const ProgramResult brief = only(Program::hpcg, hpcg("1799.9", "3.5998e+12"));
  CHECK(failed(brief) == "official");
  CHECK(brief.good());  // a finding: the figure stands
}

TEST_CASE("HPCG: what a real one wrote") {
  const ProgramResult r = only(Program::hpcg, kHpcgRecorded);
  CHECK(r.flops_per_second == doctest::Approx(0.248688e9));
  CHECK(r.seconds == 2.75014);
  CHECK(r.parameters == std::map<std::string, int64_t>{
                            {"processes", 2}, {"threads", 1}, {"nx", 16}, {"ny", 16}, {"nz", 16}});
  CHECK(r.facts.at("iterations_per_set") == "50");
  CHECK(r.notes.size() == 4);  // reference versions of four kernels
  CHECK(failed(r) == "official");
  CHECK(r.good());
  for (const char* figure : {"Benchmark Time Summary::Total=2", "Operations Summary::Total=6",
                             "GFLOP/s Summary::Raw Total=0.2"}) {
    const std::string other = std::string(figure).substr(0, std::string(figure).size() - 1) + "9";
    CHECK(failed(Program::hpcg, with(kHpcgRecorded, figure, other)) == "rate official");
  }
}

TEST_CASE("HPCG: whatever the program forgives is found") {
  CHECK(failed(Program::hpcg, hpcg("2000", "4e+12", "INVALID with a GFLOP/s rating of=1.9")) ==
        "residual");
  const ProgramResult invalid = only(Program::hpcg, hpcg("2000", "4e+12", "=INVALID."));
  CHECK_FALSE(invalid.good());
  CHECK(invalid.flops_per_second == 0);
  CHECK(failed(Program::hpcg, hpcg("2000", "4e+12", "VALID with a GFLOP/s rating of=1.9", "nan")) ==
        "residual");
  CHECK(failed(Program::hpcg,
               hpcg("2000", "4e+12", "VALID with a GFLOP/s rating of=1.9", "1e-5")) == "residual");
  CHECK(failed(Program::hpcg, hpcg("2000", "4e+12", "VALID with a GFLOP/s rating of=nan")) ==
        "rate");
  CHECK(failed(Program::hpcg, hpcg("2000", "4.1e+12")) == "rate");
  CHECK(failed(Program::hpcg, hpcg("2000", "4e+12", "VALID with a GFLOP/s rating of=2.1")) ==
        "rate");
  CHECK(failed(Program::hpcg, with(hpcg(), "Tests::Result=PASSED", "Tests::Result=FAILED")) ==
        "residual");
  CHECK(failed(Program::hpcg, with(hpcg(), "Spectral Convergence Tests::Result=PASSED\n", "")) ==
        "residual");
  CHECK(failed(Program::hpcg, with(hpcg(), "SpMV=0", "SpMV=nan")) == "residual");
  CHECK(failed(Program::hpcg, with(hpcg(), "::HPCG result is VALID", " :: HPCG result is VALID")) ==
        "");
  const std::string cut = hpcg();
  CHECK(failed(Program::hpcg, cut.substr(0, cut.find("Final Summary"))) == "residual output");
  CHECK(read_program_output(Program::hpcg, hpcg() + hpcg(), "o").results.size() == 2);
  CHECK_THROWS_AS(read_program_output(Program::hpcg, "version=3.1\n", "o"), UsageError);
}

TEST_CASE("a changed digit of a figure changes this figure and no other") {
  const ProgramResult before = only(Program::hpl, hpl());
  const ProgramResult after = only(Program::hpl, with(hpl(), "3.341e-01", "3.342e-01"));
  CHECK(after.flops_per_second == doctest::Approx(3.342e8));
  CHECK(after.parameters == before.parameters);
  CHECK(after.seconds == before.seconds);
}

TEST_CASE("operations of HPL") { CHECK(hpl_operations(3) == doctest::Approx(18 + 13.5)); }

}  // namespace cb
