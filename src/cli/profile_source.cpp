#include "cli/profile_source.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/judging.h"
#include "core/embedded.h"
#include "core/file.h"
#include "core/profile_composed.h"
#include "core/suggest.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEmbedded = "profiles/";

// What a step or criterion may need: the kinds of parts in the inventory (core/inventory.h), and
// hosts.
const std::vector<std::string> kNeeds{
    "hosts",    "hosts_at_most", "cpu",  "memory", "numa",  "nic",    "rdma",   "gpu",
    "nvswitch", "nvlink_domain", "nvme", "disk",   "mount", "system", "driver", "library"};

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

std::vector<fs::path> directories(const ProfilePlaces& places) {
  std::vector<fs::path> out;
  if (!places.given_directory.empty()) out.emplace_back(places.given_directory);
  if (!places.binary_directory.empty())
    out.push_back(places.binary_directory / ".." / "share" / "clusterbench" / "profiles");
  return out;
}

std::optional<std::string> by_name(const std::string& name, const std::vector<fs::path>& where) {
  for (const fs::path& directory : where) {
    const fs::path file = directory / (name + ".json");
    if (fs::is_regular_file(file)) return read_file(file);
  }
  const auto embedded = embedded_file(fmt::format("{}{}.json", kEmbedded, name));
  if (embedded) return std::string(*embedded);
  return std::nullopt;
}

// The profiles that the user asks for: one, which may have a '+' in its name, or several joined by
// '+'.
std::vector<std::string> asked_profiles(const std::string& asked, const ProfilePlaces& places) {
  std::vector<std::string> parts = composed_parts(asked);
  if (parts.empty()) return {asked};
  const bool one =
      is_path(asked) ? fs::is_regular_file(asked) : by_name(asked, directories(places)).has_value();
  return one ? std::vector{asked} : parts;
}

// Looks for a base that a profile file names beside that file first.
ProfileSource source_for(const std::string& asked, const ProfilePlaces& places) {
  const std::vector<std::string> files = asked_profiles(asked, places);
  std::vector<fs::path> beside, where = directories(places);
  for (const std::string& file : files) {
    if (is_path(file)) beside.push_back(fs::path(file).parent_path());
  }
  where.insert(where.begin(), beside.begin(), beside.end());
  return [=](const std::string& name) -> std::optional<std::string> {
    if (files.size() > 1 && name == asked) return std::nullopt;  // the reader joins the parts
    if (!is_path(name)) return by_name(name, where);
    for (const fs::path& directory : beside) {
      if (std::ranges::find(files, name) == files.end() && fs::is_regular_file(directory / name))
        return read_file(directory / name);
    }
    return read_file(name);
  };
}

// The message for an unknown name. Profiles of a product over a network once had names like
// h100-ib; "PRODUCT+NETWORK" now says the same.
std::string parted_name(const std::string& name, const std::vector<std::string>& names) {
  for (const auto& [end, network] : {std::pair{"-ib", "ib-ndr400"}, {"-roce", "roce-400g"}}) {
    if (!name.ends_with(end)) continue;
    const std::string product = name.substr(0, name.size() - std::string_view(end).size());
    if (std::ranges::find(names, product) == names.end()) continue;
    return fmt::format("is not there: join the product's profile and the network's, such as {}+{}",
                       product, network);
  }
  const std::string text = unknown_name(name, names);
  return text.ends_with('?') ? text : text + "; next: clusterbench profile list";
}

void refuse_unknown_name(const std::string& name, const ProfilePlaces& places) {
  std::vector<std::string> names;
  for (const ProfileEntry& entry : list_profiles(places)) names.push_back(entry.name);
  for (const std::string& part : asked_profiles(name, places)) {
    if (!is_path(part) && std::ranges::find(names, part) == names.end())
      throw UsageError("profile", part, parted_name(part, names));
  }
}

void check_needs_keys(const Requirements& needs, const std::string& where, Problems& problems) {
  for (const auto& [key, count] : needs) {
    if (std::find(kNeeds.begin(), kNeeds.end(), key) == kNeeds.end())
      problems.add(where + ".needs." + key, unknown_name(key, kNeeds));
  }
}

}  // namespace

fs::path own_binary() {
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path("clusterbench") : path;
}

std::string startable_binary() {
  const fs::path path = own_binary();
  if (path.is_absolute()) return path.string();
  throw Error(
      "clusterbench: /proc/self/exe cannot be read, so a job cannot start this program again; "
      "next: "
      "mount /proc in this container");
}

ProfilePlaces default_places(const std::string& given_directory) {
  return {given_directory, own_binary().parent_path()};
}

std::vector<ProfileEntry> list_profiles(const ProfilePlaces& places) {
  std::vector<ProfileEntry> out;
  std::set<std::string> seen;
  for (const fs::path& directory : directories(places)) {
    std::error_code ignored;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (seen.insert(name).second)
        out.push_back({name, fs::weakly_canonical(directory, ignored).string()});
    }
  }
  for (const std::string& name : built_in_profiles()) {
    if (seen.insert(name).second) out.push_back({name, "built in"});
  }
  return out;
}

std::vector<std::string> built_in_profiles() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(kEmbedded) && file.path.ends_with(".json"))
      names.push_back(fs::path(file.path.substr(kEmbedded.size())).stem().string());
  }
  return names;
}

// A part that could not be read is empty, and the catalogue's complaints about it would only repeat
// the problem, so they are left out. An element without an id cannot be told from another one.
void add_of_what_was_read(const Problems& found, Problems& problems) {
  std::set<std::string> unread;
  for (const Problem& p : problems.list) unread.insert(p.where);
  for (const Problem& p : found.list) {
    if (!unread.contains(p.where) && p.where.find("[]") == std::string::npos)
      problems.list.push_back(p);
  }
}

Profile load_valid_profile(const std::string& name, const ProfilePlaces& places) {
  refuse_unknown_name(name, places);
  Problems problems;
  Profile profile = read_profile(name, source_for(name, places), problems);
  Problems found = validate_profile(profile, catalogue());
  refuse_test_cases(profile, found);
  for (const Step& step : profile.steps)
    check_needs_keys(step.needs, fmt::format("steps[{}]", step.id), found);
  for (const Criterion& c : profile.criteria)
    check_needs_keys(c.needs, fmt::format("criteria[{}]", c.id), found);
  add_of_what_was_read(found, problems);
  if (!problems.empty()) throw UsageError("profile " + name, problems);
  return profile;
}

}  // namespace cb
