// Any bytes as the output of HPL, HPL-MxP or HPCG: either refused as bad input, or read into
// results of which a good one has a finite rate above zero, and which are the same when read again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "import/program_output.h"

namespace {

[[noreturn]] void finding(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void look_at(cb::Program program, std::string_view text) {
  cb::ProgramOutput out;
  try {
    out = cb::read_program_output(program, text, "fuzz");
  } catch (const cb::UsageError&) {
    return;
  }
  if (out.results.empty()) finding("neither refused nor read");
  for (const cb::ProgramResult& r : out.results) {
    if (r.good() && !(std::isfinite(r.flops_per_second) && r.flops_per_second > 0))
      finding("a good result without a rate");
    if (r.good() && r.checks.size() < 3) finding("a good result that was not checked");
  }
  const auto again = cb::read_program_output(program, text, "fuzz");
  if (again.results.size() != out.results.size()) finding("read twice, it differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto program : {cb::Program::hpl, cb::Program::hpl_mxp, cb::Program::hpcg})
    look_at(program, text);
  return 0;
}
