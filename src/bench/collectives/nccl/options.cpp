#include "bench/collectives/nccl/options.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb::nccl {
namespace {

constexpr int kMaxCtas = 64;  // MAXCHANNELS of NCCL

}  // namespace

void check_library(const Library& library, const Params& params, Problems& problems) {
  const auto& call = library.call();
  const auto need = [&](bool there, const char* option, const char* since) {
    if (!there)
      problems.add(option, fmt::format("{} at {} is too old: needs {} or newer", library.name(),
                                       library.path(), since));
  };
  const std::string how = params.text("register");
  if (how == "user") need(call.comm_register && call.mem_alloc, "--register user", "2.19");
  if (how == "window") need(call.window_register && call.mem_alloc, "--register window", "2.27");
  const bool config = call.comm_init_rank_config != nullptr;
  if (params.text("communicator") == "non-blocking")
    need(config && library.at_least(2, 14), "--communicator non-blocking", "2.14");
  if (params.has("min-ctas")) need(config && library.at_least(2, 17), "--min-ctas", "2.17");
  if (params.has("max-ctas")) need(config && library.at_least(2, 17), "--max-ctas", "2.17");
  const bool zero = params.has("cta-policy") && params.text("cta-policy") == "zero";
  if (params.has("cta-policy"))
    need(config && library.at_least(2, zero ? 28 : 27), "--cta-policy", zero ? "2.28" : "2.27");
  for (const std::string& type : params.texts("dtype")) {
    if (type == "bfloat16") need(library.at_least(2, 10), "--dtype bfloat16", "2.10");
    if (type.starts_with("f8")) need(library.at_least(2, 24), "--dtype", "2.24");
  }
  for (const std::string& reduction : params.texts("reduction")) {
    if (reduction == "mulsum")
      need(call.red_op_create_pre_mul_sum && call.red_op_destroy, "--reduction mulsum", "2.11");
    if (reduction == "avg") need(library.at_least(2, 10), "--reduction avg", "2.10");
  }
}

CommOptions comm_options(const Params& params) {
  CommOptions out{.blocking = params.text("communicator") != "non-blocking",
                  .init_seconds = params.number("init-deadline"),
                  .wait_seconds = params.number("wait-deadline")};
  if (params.has("min-ctas")) out.min_ctas = static_cast<int>(params.integer("min-ctas"));
  if (params.has("max-ctas")) out.max_ctas = static_cast<int>(params.integer("max-ctas"));
  // NCCL compares the minimum with the maximum, and an unset maximum counts as less than any.
  if (out.min_ctas && !out.max_ctas) out.max_ctas = std::max(*out.min_ctas, kMaxCtas);
  if (params.has("cta-policy")) {
    const std::string policy = params.text("cta-policy");
    out.cta_policy = policy == "default" ? 0 : policy == "efficiency" ? 1 : 2;
  }
  return out;
}

}  // namespace cb::nccl
