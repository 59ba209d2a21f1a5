// HPCG 3 writes lines "Section::Subsection::key=value"; some variants put blanks around "::".
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "import/output_lines.h"
#include "import/readers.h"
#include "import/result_checks.h"

namespace cb {
namespace {

constexpr std::string_view kFirst = "HPCG-Benchmark";
constexpr std::string_view kRating = "Final Summary::HPCG result is ";

struct HpcgSection {
  size_t line = 0;
  std::map<std::string, std::string, std::less<>> values = {};

  std::optional<PrintedNumber> number(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : printed_number(found->second);
  }
  const std::string* text(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
};

// "a :: b=c" as key "a::b" and value "c". The key of the symmetry test has "=" nowhere, but the
// last one is the border.
std::optional<std::pair<std::string, std::string>> key_and_value(std::string_view line) {
  const size_t equals = line.rfind('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::string key;
  std::string_view rest = line.substr(0, equals);
  for (;;) {
    const size_t border = rest.find("::");
    key += trimmed(rest.substr(0, border));
    if (border == std::string_view::npos) break;
    key += "::";
    rest.remove_prefix(border + 2);
  }
  return std::pair(std::move(key), std::string(trimmed(line.substr(equals + 1))));
}

// The four tests of the program itself, each of which must stand there.
Said wrong_tests(const HpcgSection& s) {
  for (const char* section : {"Spectral Convergence Tests", "Iteration Count Information",
                              "Reproducibility Information"}) {
    const std::string* result = s.text(fmt::format("{}::Result", section));
    if (result == nullptr) return said("import.test_missing", section);
    if (*result != "PASSED") return said("import.test_failed", section);
  }
  for (const auto& [key, value] : s.values) {
    if (!key.starts_with("Departure from Symmetry") || !key.ends_with("::Result")) continue;
    return value == "PASSED" ? Said() : said("import.test_failed", "Departure from Symmetry");
  }
  return said("import.test_missing", "Departure from Symmetry");
}

// A NaN passes three of the program's four tests, so every figure of theirs is looked at.
Said wrong_figures(const HpcgSection& s) {
  for (const auto& [key, value] : s.values) {
    if (!key.starts_with("Departure from Symmetry") &&
        !key.starts_with("Reproducibility Information") &&
        !key.starts_with("Iteration Count Information"))
      continue;
    const auto number = printed_number(value);
    if (number && !std::isfinite(number->value)) return said("import.not_finite_at", key);
  }
  const auto mean = s.number("Reproducibility Information::Scaled residual mean");
  const auto variance = s.number("Reproducibility Information::Scaled residual variance");
  if (!mean || !variance) return said("import.no_residual");
  if (mean->value < 0 || !(variance->value >= 0) || !(variance->value < 1e-6))
    return said("import.residual_varies", variance->value);
  return {};
}

// The limit is the program's own: the variance of the final residuals of all sets.
Check solution_check(const HpcgSection& s, bool valid) {
  Check out{.name = "residual", .limit = 1e-6};
  const auto variance = s.number("Reproducibility Information::Scaled residual variance");
  if (variance && std::isfinite(variance->value)) out.value = variance->value;
  out.detail = wrong_tests(s);
  if (out.detail.empty()) out.detail = wrong_figures(s);
  if (out.detail.empty() && !valid) out.detail = said("import.says_invalid");
  out.passed = out.detail.empty();
  return out;
}

// All operations over all time are the raw rate; the rating, from which overhead is taken, is not
// above it.
Check hpcg_rate_check(const HpcgSection& s, const PrintedNumber& rating) {
  Check out{.name = "rate"};
  const auto total = s.number("Benchmark Time Summary::Total");
  const auto operations = s.number("Floating Point Operations Summary::Total");
  const auto raw = s.number("GFLOP/s Summary::Raw Total");
  const bool usable = total && operations && raw && std::isfinite(rating.value) &&
                      rating.value > 0 && total->value > 0 && std::isfinite(operations->value) &&
                      std::isfinite(raw->value);
  if (!usable) {
    out.detail = said("import.rate_not_finite");
    return out;
  }
  out.value = raw->value * 1e9 / (operations->value / total->value);
  out.passed = std::abs(*out.value - 1) < 1e-3 && rating.value <= raw->value * 1.001;
  if (!out.passed) out.detail = said("import.rate_differs", *out.value);
  return out;
}

Check official_duration(const HpcgSection& s) {
  Check out{.name = "official", .limit = kHpcgOfficialSeconds, .finding = true};
  const auto total = s.number("Benchmark Time Summary::Total");
  if (total && std::isfinite(total->value)) out.value = total->value;
  out.passed = total && total->value >= kHpcgOfficialSeconds;
  if (!out.passed) out.detail = said("import.not_official", out.value.value_or(0));
  return out;
}

void take_domain(const HpcgSection& s, ProgramResult& out) {
  const auto take = [&](const char* key, const char* name) {
    const std::string* text = s.text(key);
    if (text == nullptr) return;
    const auto value = printed_integer(*text);
    if (value && *value > 0) out.parameters[name] = *value;
  };
  take("Machine Summary::Distributed Processes", "processes");
  take("Machine Summary::Threads per processes", "threads");
  for (const char* axis : {"nx", "ny", "nz"})
    take(fmt::format("Local Domain Dimensions::{}", axis).c_str(), axis);
}

void take_notes(const HpcgSection& s, ProgramResult& out) {
  for (const auto& [key, value] : s.values) {
    if (key.starts_with("Final Summary::Reference version of"))
      out.notes.push_back(said("import.reference_version", key.substr(15)));
  }
  if (const auto iterations =
          s.number("Iteration Count Information::Optimized CG iterations per set"))
    out.facts["iterations_per_set"] = fmt::format("{:g}", iterations->value);
}

ProgramResult result_of_section(const HpcgSection& s) {
  ProgramResult out{.line = s.line};
  std::optional<PrintedNumber> rating;
  bool valid = false;
  for (const auto& [key, value] : s.values) {
    // "VALID" is the end of "INVALID": the whole beginning decides.
    if (!key.starts_with(kRating)) continue;
    valid = key.starts_with(std::string(kRating) + "VALID ");
    rating = printed_number(value);
  }
  take_domain(s, out);
  take_notes(s, out);
  if (!rating) {
    // "HPCG result is=INVALID." has no rating; where there is nothing, the run was cut short.
    const bool told = s.text("Final Summary::HPCG result is") != nullptr;
    out.checks = {solution_check(s, false), output_check(told ? Said() : said("import.cut_short"))};
    return out;
  }
  if (const auto total = s.number("Benchmark Time Summary::Total")) out.seconds = total->value;
  out.flops_per_second = rating->value * 1e9;
  out.checks = {solution_check(s, valid), hpcg_rate_check(s, *rating), output_check({}),
                official_duration(s)};
  return out;
}

}  // namespace

ProgramOutput read_hpcg(std::string_view text, const std::string& source) {
  ProgramOutput out;
  std::vector<HpcgSection> sections;
  for (const OutputLine& line : output_lines(text, kFirst)) {
    const std::string_view shown = trimmed(line.text);
    if (shown == kFirst) {
      sections.push_back({.line = line.number});
    } else if (!sections.empty()) {
      auto pair = key_and_value(shown);
      if (!pair) continue;
      if (pair->first == "version") out.version = pair->second;
      sections.back().values.emplace(std::move(*pair));
    }
  }
  if (sections.empty()) throw UsageError(source, "output", said("import.no_result", kFirst));
  for (const HpcgSection& s : sections) out.results.push_back(result_of_section(s));
  return out;
}

}  // namespace cb
