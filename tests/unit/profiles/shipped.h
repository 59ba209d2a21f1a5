#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "core/file.h"
#include "core/profile.h"

namespace cb::test {

// A profile of the folder profiles/, or several joined by '+'.
inline Profile shipped(const std::string& name) {
  const std::filesystem::path root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  return load_profile(name, [&](const std::string& n) -> std::optional<std::string> {
    const auto file = root / "profiles" / (n + ".json");
    return std::filesystem::exists(file) ? std::optional(read_file(file)) : std::nullopt;
  });
}

// The profile of the network that goes with a product; fast: ports of 400 Gb/s, else of 200.
inline std::string network_profile(bool ethernet, bool fast) {
  if (ethernet) return fast ? "roce-400g" : "roce-200g";
  return fast ? "ib-ndr400" : "ib-hdr200";
}

}  // namespace cb::test
