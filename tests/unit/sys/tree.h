// Unpacks a machine described in tests/data/sysroot/*.tree into a fresh temporary directory.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "sys/os/fs_root.h"

namespace cb::test {

// Content with \n, \t, \0 and \\ as one character each.
inline std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == '0' ? '\0' : c;
  }
  return out;
}

// "{}" and "{+112}", "{-56}" replaced by the number.
inline std::string with_number(std::string text, int number) {
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open)) {
    const size_t close = text.find('}', open);
    const int offset = std::atoi(text.substr(open + 1, close - open - 1).c_str());
    text.replace(open, close - open + 1, std::to_string(number + offset));
  }
  return text;
}

// Memory, where there is some: a machine is thousands of small files, made and removed again, which
// takes ext4 a hundred times as long where many inodes were freed within the last seconds.
inline std::filesystem::path tree_home() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

class Tree {
 public:
  // The machine of that name ("hgx"), or an empty one.
  explicit Tree(const std::string& name = "") {
    std::string pattern = (tree_home() / "cb-tree-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    root_ = pattern;
    if (!name.empty()) unpack(name);
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  FsRoot fs() const { return FsRoot(root_); }

  void add(const std::string& path, const std::string& content) const {
    const auto file = root_ / path.substr(1);
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary) << content;
  }
  void remove(const std::string& path) const {
    std::filesystem::remove_all(root_ / path.substr(1));
  }

 private:
  void unpack(const std::string& name) const {
    const char* source = std::getenv("CLUSTERBENCH_SOURCE_DIR");
    if (source == nullptr) throw std::runtime_error("CLUSTERBENCH_SOURCE_DIR is not set");
    std::ifstream in(std::string(source) + "/tests/data/sysroot/" + name + ".tree");
    if (!in) throw std::runtime_error("no tree " + name);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line[0] != '#') unpack_line(line);
    }
  }

  void unpack_line(const std::string& line) const {
    const size_t tab = line.find('\t');
    const std::string path = line.substr(0, tab), content = line.substr(tab + 1);
    const size_t open = path.find('{'), dash = path.find('-', open), close = path.find('}', open);
    if (open == std::string::npos) return place(path, content);
    const int first = std::stoi(path.substr(open + 1, dash - open - 1));
    const int last = std::stoi(path.substr(dash + 1, close - dash - 1));
    for (int i = first; i <= last; ++i)
      place(path.substr(0, open) + std::to_string(i) + path.substr(close + 1),
            with_number(content, i));
  }

  void place(const std::string& path, const std::string& content) const {
    if (!content.starts_with("-> ")) return add(path, unescape(content));
    const auto link = root_ / path.substr(1);
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(content.substr(3), link);
  }

  std::filesystem::path root_;
};

}  // namespace cb::test
