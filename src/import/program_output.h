#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"
#include "core/result.h"

// What official benchmark programs print, read into figures and checks. Pure: text in, values out.
// Every figure is verified harder than the program verifies it itself (docs/methods/external.md).
namespace cb {

enum class Program { hpl, hpl_mxp, hpcg };

// The limit of the scaled residual in the rules of HPL and HPL-MxP, whatever the input file says.
inline constexpr double kHplResidualLimit = 16;
// Least duration of a run that the HPCG list accepts.
inline constexpr double kHpcgOfficialSeconds = 1800;

// One result of a program.
struct ProgramResult {
  // As the program names them: N, NB, P, Q; for HPCG nx, ny, nz (of one process) and processes.
  std::map<std::string, int64_t> parameters = {};
  double seconds = 0;           // as printed; 0: the program does not print it
  double flops_per_second = 0;  // the rate that the program reports
  // Of entity 0: "residual", "rate", "output", for HPCG and HPL-MxP also "official" (a finding).
  // Without a number where a check fails that is no finding.
  std::vector<Check> checks = {};
  std::map<std::string, Said> facts = {};
  std::vector<Said> notes = {};
  size_t line = 0;  // of the result in the text, from 1

  // True if every check passed that is no finding.
  bool good() const;
};

// All that one output says.
struct ProgramOutput {
  std::string version = {};  // of the program, as printed; empty: it does not say
  std::vector<ProgramResult> results = {};
  std::vector<Said> notes = {};
};

// Reads the output of that program, which may stand in a log with other lines, with a prefix on
// each line ("[1,0]<stdout>:") and with several results. `source` names it in messages. Throws
// UsageError for a text without any result, or with a result that is not written as the program
// writes it; a run that was cut short gives its results with a failed check "output".
ProgramOutput read_program_output(Program program, std::string_view text,
                                  const std::string& source);

// Operations of HPL and of HPL-MxP for order n: 2/3·n³ + 3/2·n² (the rate that both print counts
// these, however the program solves).
double hpl_operations(double n);

}  // namespace cb
