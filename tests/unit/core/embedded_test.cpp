#include "core/embedded.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/build_info.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

// ctest sets it; without it there is nothing to compare with.
fs::path source_dir() {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  return dir;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool wanted(const fs::path& relative) {
  if (relative.filename().string().starts_with('.')) return false;
  return *relative.begin() == "templates" || relative.extension() == ".json";
}

}  // namespace

TEST_CASE("every profile and template is embedded, byte for byte, and nothing else") {
  std::set<std::string> on_disk;
  for (const auto* room : {"profiles", "templates"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / room)) {
      const auto relative = entry.path().lexically_relative(source_dir());
      if (entry.is_regular_file() && wanted(relative)) on_disk.insert(relative.string());
    }
  }
  std::set<std::string> embedded;
  for (const auto& file : embedded_files()) {
    embedded.emplace(file.path);
    CHECK_MESSAGE(file.content == content_of(source_dir() / file.path), file.path);
    CHECK(embedded_file(file.path) == file.content);
  }
  CHECK(embedded == on_disk);
  REQUIRE_FALSE(on_disk.empty());
}

TEST_CASE("embedded files are sorted and an unknown path is nothing") {
  CHECK(std::ranges::is_sorted(embedded_files(), {}, &EmbeddedFile::path));
  CHECK_FALSE(embedded_file("profiles/").has_value());
  CHECK_FALSE(embedded_file("").has_value());
}

TEST_CASE("build information is complete") {
  const auto& info = build_info();
  CHECK(std::ranges::count(info.version, '.') == 2);
  CHECK((info.commit == "unknown" || info.commit.size() == 40));
  CHECK_FALSE(info.compiler.empty());
  CHECK_FALSE(info.build_type.empty());
  CHECK_FALSE(info.cuda.empty());
}
