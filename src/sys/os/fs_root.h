#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// The root below which /sys, /proc and /etc are read: "/" on a machine, a captured tree in tests.
class FsRoot {
 public:
  explicit FsRoot(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // `path` is absolute, as on the machine ("/proc/cpuinfo").
  std::filesystem::path resolve(std::string_view path) const;
  bool is_machine() const { return root_ == "/"; }

  std::optional<std::string> text(
      std::string_view path) const;  // whole file, trailing white space removed
  std::optional<long long> integer(
      std::string_view path) const;  // a file that holds one decimal or 0x number
  std::vector<std::string> entries(
      std::string_view directory) const;  // names, sorted naturally (mlx5_2 before mlx5_10)
  std::optional<std::string> link_name(
      std::string_view path) const;  // last component of a symbolic link's target
  bool exists(std::string_view path) const;

 private:
  std::filesystem::path root_;
};

// "mlx5_2" < "mlx5_10": digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace cb
