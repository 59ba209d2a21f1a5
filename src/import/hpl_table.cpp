// HPL and what prints as HPL does. A row is one setting, not one sample of several; the residual
// that follows belongs to the row before it.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "import/output_lines.h"
#include "import/readers.h"
#include "import/result_checks.h"

namespace cb {
namespace {

constexpr std::string_view kHeading = "T/V ";
constexpr size_t kColumns = 7;  // variant, N, NB, P, Q, time, rate

struct HplRow {
  size_t line = 0;
  std::string words;  // the row's own text, to find a row that was printed twice
  std::map<std::string, int64_t> parameters = {};
  std::string variant;
  PrintedNumber seconds = {}, gflops = {};
  PrintedResidual residual = {};
};

// What the program says behind its rows.
struct HplEnding {
  std::optional<int64_t> tests = {}, passed = {}, failed = {}, skipped = {};
  bool ended = false;
};

[[noreturn]] void refuse_line(const std::string& source, size_t line, const Said& what) {
  throw UsageError(source, fmt::format("line {}", line), what);
}

bool is_row(std::string_view line) {
  return line.size() > 3 && line[0] == 'W' && (line[1] == 'R' || line[1] == 'C') &&
         line[2] >= '0' && line[2] <= '9';
}

HplRow row_of(const OutputLine& line, const std::string& source) {
  const auto words = words_of(line.text);
  // Builds for GPUs append the rate of one GPU in brackets.
  const bool whole =
      words.size() == kColumns || (words.size() > kColumns && words[kColumns].starts_with('('));
  if (!whole) refuse_line(source, line.number, said("import.columns", words.size(), kColumns));
  HplRow out{.line = line.number,
             .words = std::string(trimmed(line.text)),
             .variant = std::string(words[0])};
  constexpr const char* kNames[] = {"N", "NB", "P", "Q"};
  for (size_t i = 0; i < 4; ++i) {
    const auto value = printed_integer(words[i + 1]);
    if (!value || *value <= 0)
      refuse_line(source, line.number, said("import.no_number", kNames[i], words[i + 1]));
    out.parameters[kNames[i]] = *value;
  }
  const auto seconds = printed_number(words[5]);
  const auto gflops = printed_number(words[6]);
  if (!seconds) refuse_line(source, line.number, said("import.no_number", "Time", words[5]));
  if (!gflops) refuse_line(source, line.number, said("import.no_number", "Gflops", words[6]));
  out.seconds = *seconds;
  out.gflops = *gflops;
  return out;
}

// "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=  0.0041 ...... PASSED". Versions before 2.0
// print three residuals by other formulas, which are not this one.
void take_residual(std::string_view line, PrintedResidual& out) {
  constexpr std::string_view kFormula = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=";
  if (!line.starts_with(kFormula)) return;
  const auto words = words_of(line.substr(kFormula.size()));
  if (words.empty()) return;
  out.value = printed_number(words[0]);
  out.passed = words.back() == "PASSED";
}

void take_count(std::string_view line, std::string_view label, std::optional<int64_t>& out) {
  if (line.find(label) == std::string_view::npos) return;
  const auto words = words_of(line);
  if (!words.empty())
    out = printed_integer(words[0] == "Finished" && words.size() > 1 ? words[1] : words[0]);
}

void take_ending(std::string_view line, HplEnding& out) {
  take_count(line, " tests with the following results", out.tests);
  take_count(line, " tests completed and passed", out.passed);
  take_count(line, " tests completed and failed", out.failed);
  take_count(line, " tests skipped", out.skipped);
  out.ended = out.ended || trimmed(line) == "End of Tests.";
}

Said wrong_ending(const HplEnding& ending, size_t rows) {
  if (!ending.ended || !ending.tests) return said("import.cut_short");
  const auto count = static_cast<int64_t>(rows);
  if (ending.passed.value_or(0) + ending.failed.value_or(0) != count)
    return said("import.other_count", *ending.tests, count);
  if (ending.skipped.value_or(0) > 0) return said("import.tests_skipped", *ending.skipped);
  return {};
}

// A row that stands twice with the same figures was printed to screen and file.
bool repeats(const std::vector<HplRow>& rows, const HplRow& row) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const HplRow& r) { return r.words == row.words; });
}

ProgramResult result_of(const HplRow& row, const Said& ending) {
  ProgramResult out{.parameters = row.parameters,
                    .seconds = row.seconds.value,
                    .flops_per_second = row.gflops.value * 1e9,
                    .line = row.line};
  const auto n = static_cast<double>(row.parameters.at("N"));
  const PrintedNumber rate{row.gflops.value * 1e9, row.gflops.half_step * 1e9};
  out.checks = {residual_check(row.residual), rate_check(hpl_operations(n), row.seconds, rate),
                output_check(ending)};
  out.facts["variant"] = row.variant;
  return out;
}

}  // namespace

ProgramOutput read_hpl_table(Program program, std::string_view text, const std::string& source) {
  ProgramOutput out;
  std::vector<HplRow> rows;
  HplEnding ending;
  std::optional<double> threshold;
  bool heading = false, repeated = false;
  for (const OutputLine& line : output_lines(text, kHeading)) {
    heading = heading || line.text.starts_with(kHeading);
    for (const char* name :
         {"HPLinpack ", "HPL-NVIDIA ", "rocHPL-MxP version ", "rocHPL version "}) {
      if (const size_t at = line.text.find(name);
          at != std::string_view::npos && out.version.empty())
        if (const auto words = words_of(line.text.substr(at)); words.size() > 1)
          out.version = std::string(words[words[1] == "version" && words.size() > 2 ? 2 : 1]);
    }
    if (const auto limit = number_behind(line.text, "scaled residuals are less than"))
      threshold = limit->value;
    if (heading && is_row(line.text)) {
      HplRow row = row_of(line, source);
      row.residual.threshold = threshold;
      repeated = repeats(rows, row);
      if (repeated)
        out.notes.push_back(said("import.printed_twice", line.number));
      else
        rows.push_back(std::move(row));
    } else if (!rows.empty() && !repeated && !rows.back().residual.value) {
      take_residual(trimmed(line.text), rows.back().residual);
    }
    take_ending(line.text, ending);
  }
  if (rows.empty()) throw UsageError(source, "output", said("import.no_result", kHeading));
  // rocHPL-MxP ends without a count.
  const Said why = program == Program::hpl ? wrong_ending(ending, rows.size()) : Said();
  for (const HplRow& row : rows) out.results.push_back(result_of(row, why));
  return out;
}

}  // namespace cb
