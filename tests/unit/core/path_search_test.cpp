// Where a program is found in PATH.
#include "core/path_search.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/fresh_directory.h"

using namespace cb;

namespace fs = std::filesystem;

TEST_CASE("a program is a file that may be executed, and no directory of that name") {
  const FreshDirectory top(fs::temp_directory_path(), "cb-path");
  const fs::path root = top.path();
  for (const char* place : {"folder/mpirun", "text", "program", "link"})
    fs::create_directories(root / place);
  for (const char* place : {"text", "program"})
    std::ofstream(root / place / "mpirun") << "#!/bin/sh\n";
  ::chmod((root / "program/mpirun").c_str(), 0755);
  fs::create_symlink(root / "program/mpirun", root / "link/mpirun");
  const auto place = [&](const char* name) { return (root / name).string(); };
  const std::string before = place("folder") + ":" + place("absent") + ":" + place("text") + ":";
  CHECK(file_in_path("mpirun", before + place("program")) == place("program/mpirun"));
  CHECK(file_in_path("mpirun", before + place("link")) == place("link/mpirun"));
  CHECK(file_in_path("mpirun", before).empty());
}
