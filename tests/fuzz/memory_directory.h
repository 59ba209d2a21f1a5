#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

// A directory in memory for targets whose reader takes a path; one for the life of the process.
namespace fuzz {

inline const std::filesystem::path& memory_directory() {
  static const std::filesystem::path directory = [] {
    std::string name =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    std::atexit([] { std::filesystem::remove_all(memory_directory()); });
    return std::filesystem::path(name);
  }();
  return directory;
}

inline std::filesystem::path write(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = memory_directory() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

[[noreturn]] inline void finding(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace fuzz
