#include "bench/storage/io/space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace cb::io {
namespace {

using nlohmann::json;

constexpr uint64_t kMargin = uint64_t{16} << 20;  // bytes left free beyond what is written

std::string human(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string pack(const SpaceNeed& n) {
  json out{{"filesystem", n.filesystem}, {"mount", n.mount_point}, {"bytes", n.bytes},
           {"files", n.files},           {"free", n.free_bytes},   {"used", n.used_bytes},
           {"total", n.total_bytes}};
  if (n.free_files) out["free_files"] = *n.free_files;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

SpaceNeed unpack(const std::string& text) {
  const json in = json::parse(text);
  SpaceNeed out{in.at("filesystem"), in.at("mount"), in.at("bytes"), in.at("files"),
                in.at("free"),       in.at("used"),  in.at("total")};
  if (in.contains("free_files")) out.free_files = in.at("free_files").get<uint64_t>();
  return out;
}

struct Sum {
  SpaceNeed all;
  int ranks = 0;
};

std::map<std::string, Sum> by_filesystem(const std::vector<SpaceNeed>& ranks) {
  std::map<std::string, Sum> out;
  for (const SpaceNeed& n : ranks) {
    Sum& sum = out[n.filesystem];
    if (sum.ranks++ == 0) {
      sum.all = n;
      continue;
    }
    sum.all.bytes += n.bytes;
    sum.all.files += n.files;
    // Ranks ask at slightly different moments; the smallest answer counts.
    sum.all.free_bytes = std::min(sum.all.free_bytes, n.free_bytes);
  }
  return out;
}

void add_problems(const Sum& sum, double most_full, std::vector<Said>& out) {
  const SpaceNeed& n = sum.all;
  const uint64_t need = n.bytes + n.bytes / 100 + kMargin;
  if (need > n.free_bytes)
    out.push_back(
        said_count("io.not_free", sum.ranks, n.mount_point, human(n.free_bytes), human(need)));
  else if (static_cast<double>(n.used_bytes + n.bytes) >
           most_full * static_cast<double>(n.total_bytes))
    out.push_back(
        said_count("io.too_full", sum.ranks, n.mount_point,
                   fmt::format("{:.1f}", 100 * static_cast<double>(n.used_bytes + n.bytes) /
                                             static_cast<double>(n.total_bytes)),
                   human(n.bytes), fmt::format("{:.0f}", 100 * most_full)));
  if (n.free_files && n.files > *n.free_files)
    out.push_back(said_count("io.no_inodes", sum.ranks, n.mount_point, *n.free_files, n.files));
}

}  // namespace

SpaceNeed space_need(int directory, const Storage& storage, const std::string& host,
                     const FsRoot& fs, uint64_t bytes, uint64_t files) {
  struct statvfs vfs {};
  struct stat st {};
  if (::fstatvfs(directory, &vfs) != 0 || ::fstat(directory, &st) != 0)
    throw Error(said("io.no_statvfs", storage.mount_point, std::strerror(errno)));
  const bool local = storage.on_device || storage.in_memory;
  SpaceNeed out{.mount_point = storage.mount_point, .bytes = bytes, .files = files};
  out.filesystem = local ? fmt::format("{} {}", host, static_cast<uint64_t>(st.st_dev))
                         : fmt::format("{} {}", storage.filesystem, storage.source);
  const auto unit = static_cast<uint64_t>(vfs.f_frsize);
  out.free_bytes = free_bytes(directory, storage, fs);
  out.total_bytes = vfs.f_blocks * unit;
  out.used_bytes = (vfs.f_blocks - vfs.f_bfree) * unit;
  if (vfs.f_files > 0) out.free_files = vfs.f_favail;
  return out;
}

std::vector<Said> space_problems(const std::vector<SpaceNeed>& ranks, double most_full) {
  std::vector<Said> out;
  for (const auto& [name, sum] : by_filesystem(ranks)) add_problems(sum, most_full, out);
  return out;
}

void require_space(Comm& comm, const SpaceNeed& mine, double most_full) {
  std::vector<SpaceNeed> ranks;
  for (const std::string& blob : comm.gather(pack(mine))) ranks.push_back(unpack(blob));
  const Said trouble =
      unpack_said(comm.broadcast_text(pack_said(said_list(space_problems(ranks, most_full)))));
  if (!trouble.empty()) throw Error(trouble);
}

}  // namespace cb::io
