// What the shipped profiles say of their sources.
#include <cctype>
#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "shipped.h"

using namespace cb;

namespace {

std::vector<std::string> all_names() {
  std::vector<std::string> out;
  const std::filesystem::path root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  for (const auto& entry : std::filesystem::directory_iterator(root / "profiles"))
    out.push_back(entry.path().stem().string());
  return out;
}

// "nccl issue 812": somebody wrote it on a day that the page shows.
bool is_numbered_issue(const std::string& ref) {
  const size_t at = ref.find("issue ");
  return at != std::string::npos && at + 6 < ref.size() &&
         std::isdigit(static_cast<unsigned char>(ref[at + 6])) != 0;
}

}  // namespace

TEST_CASE("a source on an issue's page bears the day of its statement, not that of the looking") {
  int found = 0;
  for (const std::string& name : all_names()) {
    for (const Criterion& criterion : test::shipped(name).criteria) {
      if (!is_numbered_issue(criterion.source.ref.en)) continue;
      INFO(name, " ", criterion.id, ": ", criterion.source.ref.en);
      CHECK(criterion.source.date < "2026-09");
      ++found;
    }
  }
  CHECK(found >= 15);
}
