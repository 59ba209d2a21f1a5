// NVIDIA's HPL-MxP prints a block between two lines of asterisks for each run. "LU GFLOPS" is the
// rate without the refinement that makes the solution one: it is a fact, never the figure.
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "import/output_lines.h"
#include "import/readers.h"
#include "import/result_checks.h"

namespace cb {
namespace {

constexpr std::string_view kBlock = "****** HPL MxP Result";

struct MxpBlock {
  size_t line = 0;
  std::map<std::string, int64_t> parameters = {};
  std::optional<int64_t> sloppy = {};  // bytes of the type in which LU computes
  std::optional<PrintedNumber> gflops = {}, per_gpu = {}, lu_gflops = {};
  PrintedResidual residual = {};
  bool closed = false;
};

void take_parameters(std::string_view line, MxpBlock& block) {
  const auto take = [&](std::string_view label, const char* name) {
    const auto value = number_behind(line, label);
    if (value && value->value >= 1 && value->value < 1e15)
      block.parameters[name] = static_cast<int64_t>(value->value);
  };
  if (!line.starts_with("N =")) return;
  take("N =", "N");
  take(" NB =", "NB");
  take(" NPROW =", "P");
  take(" NPCOL =", "Q");
  if (const auto type = number_behind(line, "SLOPPY-TYPE =");
      type && type->value >= 0 && type->value < 100)
    block.sloppy = static_cast<int64_t>(type->value);
}

void take_line(std::string_view line, MxpBlock& block) {
  take_parameters(line, block);
  if (line.starts_with("Threshold")) {
    if (const auto limit = number_behind(line, "=")) block.residual.threshold = limit->value;
  }
  if (line.starts_with("||Ax-b||_oo / (EPS")) {
    block.residual.value = number_behind(line, "N) =");
    block.residual.passed = line.ends_with("PASSED");
  }
  if (line.starts_with("GFLOPS =")) {
    block.gflops = number_behind(line, "GFLOPS =");
    block.per_gpu = number_behind(line, "per GPU =");
  }
  if (line.starts_with("LU GFLOPS =")) block.lu_gflops = number_behind(line, "LU GFLOPS =");
}

// The block has no time: what can be compared is the rate of all GPUs with that of one.
Check rate_of_gpus(const MxpBlock& block) {
  Check out{.name = "rate"};
  const auto gpus = static_cast<double>(block.parameters.at("P") * block.parameters.at("Q"));
  if (!block.per_gpu || !std::isfinite(block.gflops->value) ||
      !std::isfinite(block.per_gpu->value) || !(block.gflops->value > 0)) {
    out.detail = said("import.rate_not_finite");
    return out;
  }
  const double all = block.per_gpu->value * gpus;
  const double slack = block.gflops->half_step + block.per_gpu->half_step * gpus + 1e-6 * all;
  out.value = block.gflops->value / all;
  out.passed = std::abs(block.gflops->value - all) <= slack;
  if (!out.passed) out.detail = said("import.rate_of_gpus", *out.value, static_cast<int64_t>(gpus));
  return out;
}

// Types of less than 16 bits are not valid for the list.
Check official_type(const MxpBlock& block) {
  Check out{.name = "official", .passed = block.sloppy.value_or(0) >= 2, .finding = true};
  out.limit = 2;
  if (block.sloppy) out.value = static_cast<double>(*block.sloppy);
  if (!out.passed) out.detail = said("import.type_too_small");
  return out;
}

ProgramResult result_of_block(const MxpBlock& block, const std::string& source) {
  for (const char* name : {"N", "NB", "P", "Q"}) {
    if (!block.parameters.contains(name))
      throw UsageError(source, fmt::format("line {}", block.line),
                       said("import.no_parameter", name));
  }
  if (!block.gflops)
    throw UsageError(source, fmt::format("line {}", block.line),
                     said("import.no_parameter", "GFLOPS"));
  ProgramResult out{.parameters = block.parameters,
                    .flops_per_second = block.gflops->value * 1e9,
                    .line = block.line};
  out.checks = {residual_check(block.residual), rate_of_gpus(block),
                output_check(block.closed ? Said() : said("import.cut_short")),
                official_type(block)};
  if (block.lu_gflops && std::isfinite(block.lu_gflops->value))
    out.facts["lu_rate"] =
        said("import.lu_rate", Quantity{block.lu_gflops->value * 1e9, "flops_per_second"});
  return out;
}

}  // namespace

ProgramOutput read_mxp_block(std::string_view text, const std::string& source) {
  ProgramOutput out;
  std::unique_ptr<MxpBlock> block;
  const auto finish = [&] {
    if (block) out.results.push_back(result_of_block(*block, source));
    block.reset();
  };
  for (const OutputLine& line : output_lines(text, kBlock)) {
    const std::string_view shown = trimmed(line.text);
    if (shown.starts_with("HPL-NVIDIA") || shown.starts_with("HPL-MxP-NVIDIA")) {
      if (const auto words = words_of(shown); words.size() > 1) out.version = std::string(words[1]);
    }
    if (shown.starts_with(kBlock)) {
      const bool closes = block && block->gflops;
      if (closes) block->closed = true;
      finish();
      if (!closes) block = std::make_unique<MxpBlock>(MxpBlock{.line = line.number});
    } else if (block) {
      take_line(shown, *block);
    }
  }
  finish();
  if (out.results.empty()) throw UsageError(source, "output", said("import.no_result", kBlock));
  return out;
}

}  // namespace cb
