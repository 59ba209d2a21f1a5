#include "campaign/directory.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "campaign/tool_json.h"
#include "core/file.h"
#include "core/json/json_read.h"
#include "core/json/json_text.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_leftover(const fs::path& file) { return file.extension() == ".partial"; }

// True if the directory is empty, or holds only what a run leaves that was killed in its first
// moment.
bool holds_nothing(const fs::path& directory) {
  return std::all_of(fs::directory_iterator(directory), fs::directory_iterator(),
                     [](const fs::directory_entry& e) {
                       return e.path().filename().string().starts_with("campaign.json.") &&
                              is_leftover(e.path());
                     });
}

// Gives the file its name, but only if that name is free. Returns 0 or errno. It tries a hard link,
// then a rename that replaces nothing: some file systems lack links (exFAT, some of FUSE), others
// lack this rename.
int name_once(const fs::path& fresh, const fs::path& path) {
  if (::link(fresh.c_str(), path.c_str()) == 0) return 0;
  const int linking = errno;
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  return errno == EEXIST ? EEXIST : linking;
}

// If two runs write at once, one fails: unlike a plain rename, this never replaces a file. The run
// that is first takes the other's temporary file for a leftover and removes it.
void write_once(const fs::path& path, std::string_view content) {
  const fs::path fresh = path.string() + fmt::format(".{}.new.partial", ::getpid());
  const auto refuse_used = [&] {
    std::error_code ignored;
    if (fs::exists(path, ignored))
      throw UsageError(path.parent_path().string(), "--out", "is being used by another run");
  };
  try {
    write_file_atomically(fresh, content);
  } catch (const Error&) {
    refuse_used();
    throw;
  }
  const int failed = name_once(fresh, path);
  ::unlink(fresh.c_str());
  if (failed != 0) {
    refuse_used();
    throw Error(
        fmt::format("cannot write {}: {}: this file system has neither hard links nor renames that "
                    "replace nothing; next: --out on another file system, and copy it afterwards",
                    path.string(), std::strerror(failed)));
  }
}

Launcher launcher_from(const std::string& name) {
  for (const Launcher launcher : {Launcher::none, Launcher::mpirun, Launcher::srun}) {
    if (name == launcher_name(launcher)) return launcher;
  }
  throw Error(fmt::format("launcher {} is not known", name));
}

bool is_hex(const std::string& text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The file may come from somebody else: names of hosts become part of command lines and file names,
// and arguments are executed.
void refuse_malformed(const CampaignFile& file) {
  std::set<std::string> seen;
  std::vector<HostSlots> all = file.hosts;
  all.insert(all.end(), file.spares.begin(), file.spares.end());
  for (const HostSlots& h : all) {
    const std::string name = terminal_safe(h.name);
    if (!is_host_name(h.name)) throw Error(fmt::format("'{}' is not a host name", name));
    if (!is_slot_count(h.slots)) throw Error(fmt::format("{} has {} slots", name, h.slots));
    if (!seen.insert(h.name).second) throw Error(fmt::format("host {} stands twice", name));
  }
  if (const auto why = bad_launcher_arguments(file.launch.arguments)) throw Error(*why);
  if (!file.public_key.empty() && !is_hex(file.public_key, 64))
    throw Error("its public key is not 64 hex digits");
}

HostSlots host_from_json(const json& h) { return {text_at(h, "name"), int_at(h, "slots")}; }

json hosts_to_json(const std::vector<HostSlots>& hosts) {
  json out = json::array();
  for (const HostSlots& h : hosts) out.push_back({{"name", h.name}, {"slots", h.slots}});
  return out;
}

Exclude exclude_from(const std::string& name) {
  for (const Exclude exclude : {Exclude::never, Exclude::lost, Exclude::failing}) {
    if (name == exclude_name(exclude)) return exclude;
  }
  throw Error(fmt::format("exclude {} is not known", name));
}

CampaignFile from_json(const json& j, const std::string& source) {
  CampaignFile file;
  file.id = text_at(j, "id");
  if (!is_hex(file.id, 16)) throw Error("its id is not 16 hex digits");
  file.started = text_at(j, "started");
  file.profile = parse_resolved_profile(dump_json(j.at("profile")), source + ": profile");
  if (file.profile.sha256 != text_at(j, "profile_sha256"))
    throw Error("the profile was changed after the campaign began (its sha256 differs)");
  file.tool = tool_from_json(j.at("tool"));
  file.hosts = read_each<HostSlots>(j, "hosts", host_from_json);
  if (j.contains("spares")) file.spares = read_each<HostSlots>(j, "spares", host_from_json);
  file.exclude = exclude_from(j.value("exclude", exclude_name(Exclude::lost)));
  if (file.hosts.empty()) throw Error("it has no hosts");
  file.launch.launcher = launcher_from(text_at(j, "launcher"));
  file.launch.arguments = text_list_at(j, "launcher_arguments");
  file.launch.as_root = j.at("as_root").get<bool>();
  file.launch.hydra = j.value("hydra", false);
  file.command = text_list_at(j, "command");
  file.public_key = j.value("public_key", "");
  file.chained = j.value("chained", false);
  file.redact = j.value("redact", false);
  refuse_malformed(file);
  return file;
}

}  // namespace

std::string campaign_file_text(const CampaignFile& file) {
  json out = {{"schema", "clusterbench.campaign/1"},
              {"id", file.id},
              {"started", file.started},
              {"profile", json::parse(file.profile.resolved)},
              {"profile_sha256", file.profile.sha256},
              {"tool", tool_to_json(file.tool)},
              {"hosts", hosts_to_json(file.hosts)},
              {"launcher", launcher_name(file.launch.launcher)},
              {"launcher_arguments", file.launch.arguments},
              {"as_root", file.launch.as_root},
              {"command", file.command}};
  if (file.chained) out["chained"] = true;
  if (file.redact) out["redact"] = true;
  if (file.launch.hydra) out["hydra"] = true;
  if (!file.public_key.empty()) out["public_key"] = file.public_key;
  if (!file.spares.empty()) out["spares"] = hosts_to_json(file.spares);
  if (file.exclude != Exclude::lost) out["exclude"] = exclude_name(file.exclude);
  return dump_json(out);
}

ChainRoot chain_root(const CampaignFile& file, std::string_view text) {
  return {sha256_hex(text), file.public_key, file.chained};
}

CampaignFile parse_campaign_file(std::string_view text, const std::string& source) {
  const json j = parse_json(text, source);
  require_schema(j, "clusterbench.campaign", 1, source);
  try {
    return from_json(j, source);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(source, "", fmt::format("is not a usable campaign: {}", reading_problem(e)));
  }
}

CampaignLock::CampaignLock(const CampaignPaths& paths)
    : fd_(::open(paths.campaign().c_str(), O_RDWR | O_CLOEXEC)) {
  if (fd_ < 0)
    throw Error(fmt::format("cannot open {}: {}", paths.campaign().string(), std::strerror(errno)));
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int failed = errno;
  ::close(fd_);
  if (failed == EWOULDBLOCK)
    throw UsageError(paths.root.string(), "", "is being used by another run: wait for it to end");
  throw Error(fmt::format(
      "cannot lock {}: {}: this file system has no locks; next: mount it with them (Lustre: -o "
      "flock, NFS: with lockd), or use another one and copy the directory afterwards",
      paths.campaign().string(), std::strerror(failed)));
}

CampaignLock::~CampaignLock() { ::close(fd_); }

void refuse_used_directory(const CampaignPaths& paths) {
  std::error_code failed;
  if (!fs::exists(paths.root, failed)) return;
  if (!fs::is_directory(paths.root, failed))
    throw UsageError(paths.root.string(), "--out", "is not a directory");
  if (!holds_nothing(paths.root)) {
    throw UsageError(paths.root.string(), "--out",
                     "is not empty: name another directory, or continue a campaign with --resume");
  }
}

void create_campaign(const CampaignPaths& paths, const CampaignFile& file) {
  refuse_used_directory(paths);
  std::error_code failed;
  fs::create_directories(paths.root, failed);
  if (failed)
    throw Error(
        fmt::format("cannot create {}: {}; next: name a directory that can be written, with --out",
                    paths.root.string(), failed.message()));
  write_once(paths.campaign(), campaign_file_text(file));
}

void remove_leftovers(const CampaignPaths& paths) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::path& directory : {paths.root, paths.records(), paths.proofs()}) {
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (is_leftover(entry.path()) && entry.is_regular_file(ignored))
        found.push_back(entry.path());
    }
  }
  for (const fs::path& file : found) fs::remove(file, ignored);
  ::rmdir(paths.scratch().c_str());  // fails if anything is in it, which is wanted
}

std::vector<std::string> manifest_files(const CampaignPaths& paths) {
  const fs::path& root = paths.root;
  std::vector<std::string> out;
  for (const char* name : {"campaign.json", "journal.jsonl"}) {
    if (fs::is_regular_file(root / name)) out.emplace_back(name);
  }
  for (const char* name : {"records", "proofs", "logs"}) {
    if (!fs::is_directory(root / name)) continue;
    for (const auto& entry : fs::directory_iterator(root / name)) {
      if (entry.is_regular_file() && !entry.is_symlink() && !is_leftover(entry.path()))
        out.push_back(std::string(name) + "/" + entry.path().filename().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string evidence_digest(const std::vector<std::pair<std::string, std::string>>& manifest) {
  std::string text;
  for (const auto& [file, sha256] : manifest) {
    if (file != "journal.jsonl") text += fmt::format("{}  {}\n", sha256, file);
  }
  return sha256_hex(text);
}

std::string evidence_digest(const CampaignPaths& paths) {
  std::vector<std::pair<std::string, std::string>> manifest;
  for (std::string& file : manifest_files(paths)) {
    if (file == "journal.jsonl") continue;
    std::string sha256 = sha256_hex_of_file(paths.root / file);
    manifest.emplace_back(std::move(file), std::move(sha256));
  }
  return evidence_digest(manifest);
}

void write_manifest(const CampaignPaths& paths) {
  std::string text;
  for (const std::string& file : manifest_files(paths))
    text += fmt::format("{}  {}\n", sha256_hex_of_file(paths.root / file), file);
  write_file_atomically(paths.manifest(), text);
}

std::vector<std::pair<std::string, std::string>> read_manifest(const CampaignPaths& paths) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!fs::exists(paths.manifest())) return out;
  const std::string text = read_file(paths.manifest());
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.size() < 67 || line.substr(64, 2) != "  ")
      throw UsageError(paths.manifest().string(), "", said("manifest.no_list"));
    out.emplace_back(line.substr(66), line.substr(0, 64));
  }
  return out;
}

}  // namespace cb
