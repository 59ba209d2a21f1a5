// Any bytes as a profile, and behind the first NUL byte as its base: either refused as bad input,
// or resolved, validated and read again from its resolved text to the same text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/profile.h"

namespace {

const cb::Catalogue& catalogue() {
  static const cb::Catalogue cases{
      {.name = "gemm",
       .device = "cpu",
       .params = {{"device", cb::ParamType::choice, "cpu", "", {"cpu"}},
                  {"size", cb::ParamType::size, "4K", "", {}, true, 1, 1e9},
                  {"dtype", cb::ParamType::choice, "fp64", "", {"fp64", "fp32"}, true},
                  {"threads", cb::ParamType::integer, "", "", {}, false, 1, 4096},
                  {"duration", cb::ParamType::duration, "5s", "", {}, false, 0, 1e6},
                  {"direct", cb::ParamType::flag, "true", ""}},
       .metrics = {{"flops_per_second", "flops_per_second", cb::Better::higher, ""},
                   {"latency_seconds", "seconds", cb::Better::lower, ""},
                   {"share_of_peak", "share", cb::Better::higher, ""}},
       .checks = {"product"}},
      {.name = "info"}};
  return cases;
}

std::optional<cb::Profile> load(const std::string& derived, const std::string& base) {
  try {
    return cb::load_profile("derived", [&](const std::string& name) -> std::optional<std::string> {
      if (name == "derived") return derived;
      if (name == "base") return base;
      return std::nullopt;
    });
  } catch (const cb::UsageError&) {
    return std::nullopt;
  }
}

[[noreturn]] void finding(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  const std::string derived(input.substr(0, nul));
  const std::string base(nul == std::string_view::npos ? "" : input.substr(nul + 1));
  const auto profile = load(derived, base);
  if (!profile) return 0;
  const std::string problems = cb::validate_profile(*profile, catalogue()).text();
  // What was resolved is stored in campaigns and must be readable for ever.
  const cb::Profile again = cb::parse_resolved_profile(profile->resolved, "resolved");
  if (again.resolved != profile->resolved || again.sha256 != profile->sha256)
    finding("resolved twice, it differs", profile->resolved);
  if (cb::validate_profile(again, catalogue()).text() != problems)
    finding("validated twice, it differs", profile->resolved);
  return 0;
}
