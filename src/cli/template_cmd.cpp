// `clusterbench template KIND`: ready files that start clusterbench under Slurm, Kubernetes,
// containers or Ansible.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "campaign/hosts.h"
#include "cli/commands.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "core/build_info.h"
#include "core/error.h"
#include "core/file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "report/cluster_files.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommand = "clusterbench template";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSmall = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kBoth = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

struct TemplateOptions {
  std::string kind;
  std::string file;
  std::string hosts;
  std::string hostfile;
  std::string out;
  std::string profile_directory;
  int nodes = 0;
  int slots = 0;
  ClusterChoice choice = {.profile = "host-quick",
                          .image = "",
                          .program = "/opt/clusterbench/bin/clusterbench",
                          .directory = "/shared/clusterbench",
                          .time = "04:00:00",
                          .name_space = "default",
                          .claim = "clusterbench"};
};

// A word that means nothing else to a shell, to YAML between quotes and to the tools that read it.
struct PlainWord {
  const char* option;
  std::string_view letters;
  std::string_view marks;  // beside the letters; no word begins with one
  size_t at_most;
  const char* example;
};
constexpr std::array kPlainWords{
    PlainWord{"--image", kBoth, "._/:@-", 512, "clusterbench:0.1.0"},
    PlainWord{"--partition", kBoth, "._,-", 512, "gpu"},
    PlainWord{"--account", kBoth, "._-", 128, "acceptance"},
    PlainWord{"--time", kDigits, ":-", 32, "04:00:00"},
    PlainWord{"--namespace", kSmall, "-", 63, "clusterbench"},
    PlainWord{"--claim", kSmall, ".-", 253, "clusterbench"},
    PlainWord{"--rdma-resource", kBoth, "./_-", 316, "rdma/hca"},
    PlainWord{"--profile", kBoth, "._+-", 1024, "host-quick"},
};

bool is_plain(const PlainWord& rule, const std::string& text) {
  if (text.empty() || text.size() > rule.at_most) return false;
  const std::string allowed = fmt::format("{}{}", rule.letters, rule.marks);
  return text.find_first_not_of(allowed) == std::string::npos &&
         rule.letters.find(text[0]) != std::string_view::npos;
}

bool is_plain_path(const std::string& text) {
  constexpr size_t kMaxPath = 4096;
  return text.starts_with('/') && text.size() < kMaxPath && text.back() != '/' &&
         text.find_first_not_of(fmt::format("{}._/+@-", kBoth)) == std::string::npos &&
         (text + "/").find("/../") == std::string::npos;
}

void check_path(Problems& problems, const char* option, const std::string& text) {
  if (is_plain_path(text)) return;
  problems.add(option,
               fmt::format("'{}' is refused, because it stands in scripts: give an absolute "
                           "path of letters, digits and ._/+@- without '..' or a last '/'",
                           terminal_safe(text)));
}

void check_word(Problems& problems, const char* option, const std::string& text) {
  const PlainWord& rule = *std::ranges::find_if(
      kPlainWords, [&](const PlainWord& w) { return std::string_view(w.option) == option; });
  if (is_plain(rule, text)) return;
  const char* letters = rule.letters == kBoth    ? "letters, digits"
                        : rule.letters == kSmall ? "small letters, digits"
                                                 : "digits";
  problems.add(option,
               fmt::format("'{}' is refused, because it stands in scripts: give {} and '{}' "
                           "only, such as {}",
                           terminal_safe(text), letters, rule.marks, rule.example));
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const ClusterKind& kind : cluster_kinds()) names.emplace_back(kind.name);
  return names;
}

const ClusterKind& kind_of(const std::string& name) {
  for (const ClusterKind& kind : cluster_kinds()) {
    if (kind.name == name) return kind;
  }
  throw UsageError(kCommand, "KIND", unknown_name(name, names_of_kinds()));
}

void list_kinds() {
  std::vector<std::vector<std::string>> rows{{"kind", "files", "for"}};
  for (const ClusterKind& kind : cluster_kinds()) {
    std::string files;
    for (const ClusterFile& file : kind.files)
      files += (files.empty() ? "" : " ") + std::string(file.name);
    rows.push_back({std::string(kind.name), files, std::string(kind.summary)});
  }
  std::cout << text_table(rows, {});
}

void choose_hosts(TemplateOptions& o, const ClusterKind& kind, Problems& problems) {
  ClusterChoice& c = o.choice;
  const bool named = !o.hosts.empty() || !o.hostfile.empty();
  if (!o.hosts.empty() && !o.hostfile.empty())
    problems.add("--hosts", "and --hostfile exclude each other");
  if (named && (o.nodes > 0 || o.slots > 0))
    problems.add("--nodes, --slots", "go without --hosts and --hostfile, which tell both");
  if (!o.hosts.empty()) {
    for (const HostSlots& h : parse_hosts(o.hosts)) c.hosts.emplace_back(h.name, h.slots);
  } else if (!o.hostfile.empty()) {
    for (const HostSlots& h : parse_hostfile(read_file(o.hostfile), o.hostfile))
      c.hosts.emplace_back(h.name, h.slots);
  }
  c.nodes = named ? static_cast<int>(c.hosts.size()) : std::max(1, o.nodes);
  c.slots = c.hosts.empty() ? std::max(1, o.slots) : c.hosts.front().second;
  const bool even =
      std::ranges::all_of(c.hosts, [&](const auto& h) { return h.second == c.slots; });
  if (kind.even_slots && !even)
    problems.add("--hosts", fmt::format("{} gives every host the same number of slots: name hosts "
                                        "with other numbers in another file",
                                        kind.name));
}

// The profile exists here and is valid. A file is named by its full path.
void choose_profile(TemplateOptions& o, const ClusterKind& kind, Problems& problems) {
  ClusterChoice& c = o.choice;
  load_valid_profile(c.profile, default_places(o.profile_directory));
  c.profile_is_file = c.profile.find('/') != std::string::npos || c.profile.ends_with(".json");
  if (c.profile_is_file) c.profile = fs::absolute(c.profile).lexically_normal().string();
  if (c.profile_is_file)
    check_path(problems, "--profile", c.profile);
  else
    check_word(problems, "--profile", c.profile);
  if (kind.container && c.profile_is_file && !c.profile.starts_with(c.directory + "/"))
    problems.add("--profile",
                 fmt::format("{} must lie below {}, which is all that a container sees: "
                             "copy it there, or name another --directory",
                             terminal_safe(c.profile), terminal_safe(c.directory)));
}

void check_words(const ClusterChoice& c, Problems& problems) {
  check_path(problems, "--program", c.program);
  check_path(problems, "--directory", c.directory);
  check_word(problems, "--image", c.image);
  check_word(problems, "--time", c.time);
  check_word(problems, "--namespace", c.name_space);
  check_word(problems, "--claim", c.claim);
  if (!c.partition.empty()) check_word(problems, "--partition", c.partition);
  if (!c.account.empty()) check_word(problems, "--account", c.account);
  if (!c.rdma.empty()) check_word(problems, "--rdma-resource", c.rdma);
}

void choose(TemplateOptions& o, const ClusterKind& kind) {
  ClusterChoice& c = o.choice;
  c.image_given = !c.image.empty();
  if (!c.image_given) c.image = fmt::format("clusterbench:{}", build_info().version);
  Problems problems;
  const auto collect = [&](const auto& part) {
    try {
      part();
    } catch (const UsageError& e) {
      for (const Problem& p : e.problems().list) problems.list.push_back(p);
    }
  };
  check_words(c, problems);
  collect([&] { choose_hosts(o, kind, problems); });
  collect([&] { choose_profile(o, kind, problems); });
  if (!problems.empty()) throw UsageError(kCommand, problems);
}

std::string_view chosen_file(const ClusterKind& kind, const std::string& name) {
  if (name.empty()) return kind.files.front().name;
  std::vector<std::string> names;
  for (const ClusterFile& file : kind.files) {
    if (file.name == name) return file.name;
    names.emplace_back(file.name);
  }
  throw UsageError(kCommand, "--file", unknown_name(name, names));
}

// Writes all files of the kind, or none where one is there already.
void write_files(const TemplateOptions& o, const ClusterKind& kind) {
  const fs::path directory = o.out;
  Problems problems;
  for (const ClusterFile& file : kind.files) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(directory / file.name, ignored)))
      problems.add("--out", fmt::format("{} exists and is kept: name another directory",
                                        terminal_safe((directory / file.name).string())));
  }
  if (!problems.empty()) throw UsageError(kCommand, problems);
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) throw UsageError(kCommand, "--out", terminal_safe(o.out) + ": " + failed.message());
  for (const ClusterFile& file : kind.files) {
    const fs::path path = directory / file.name;
    write_file_atomically(path, cluster_file(kind, file.name, o.choice));
    if (file.executable)
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add);
    std::cout << terminal_safe(path.string()) << '\n';
  }
}

ExitCode print_templates(TemplateOptions o) {
  if (o.kind.empty()) {
    list_kinds();
    return ExitCode::ok;
  }
  const ClusterKind& kind = kind_of(o.kind);
  if (!o.out.empty() && !o.file.empty())
    throw UsageError(kCommand, "--file", "goes without --out, which writes all files of the kind");
  choose(o, kind);
  if (!o.out.empty()) {
    write_files(o, kind);
    return ExitCode::ok;
  }
  std::cout << cluster_file(kind, chosen_file(kind, o.file), o.choice);
  if (o.file.empty() && kind.files.size() > 1)
    std::cerr << fmt::format(
        "clusterbench template: --file {} prints the other file of {}, --out DIR "
        "writes both\n",
        kind.files[1].name, kind.name);
  return ExitCode::ok;
}

std::string not_empty_value(const std::string& text) {
  return text.empty() ? "is empty: give a value, or leave the option out" : "";
}

CLI::Option* add_text(CLI::App& sub, const std::string& name, std::string& value,
                      const std::string& help, const char* type) {
  return sub.add_option(name, value, help)->check(not_empty_value)->type_name(type);
}

void add_template_options(CLI::App& sub, TemplateOptions& o) {
  ClusterChoice& c = o.choice;
  offer(sub.add_option("kind", o.kind,
                       "slurm, mpijob, apptainer, enroot, docker or ansible; without: a list"),
        names_of_kinds())
      ->type_name("KIND");
  offer(add_text(sub, "--profile", c.profile, "name or file of the profile to run [host-quick]",
                 "PROFILE"),
        built_in_profiles());
  add_text(sub, "--hosts", o.hosts, "hosts and their slots: a:2,b:2 or node[01-16]:8", "LIST");
  add_text(sub, "--hostfile", o.hostfile,
           "hosts as in an Open MPI hostfile, a plain list or Slurm node lists", "FILE");
  sub.add_option("--nodes", o.nodes, "number of hosts, where the scheduler chooses them [1]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  sub.add_option("--slots", o.slots, "ranks of each host for steps that ask for slots [1]")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  sub.add_option("--gpus", c.gpus, "GPUs to ask for on each host")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_text(sub, "--directory", c.directory,
           "where campaigns go; hosts need not see it [/shared/clusterbench]", "DIR");
  add_text(sub, "--program", c.program,
           "the program on the hosts and in images [/opt/clusterbench/bin/clusterbench]", "FILE");
  add_text(sub, "--image", c.image,
           "container image [clusterbench:VERSION]; slurm: start it by pyxis", "IMAGE");
  add_text(sub, "--partition", c.partition, "slurm: partition", "NAME");
  add_text(sub, "--account", c.account, "slurm: account", "NAME");
  add_text(sub, "--time", c.time, "slurm: time limit [04:00:00]", "TIME");
  add_text(sub, "--namespace", c.name_space, "mpijob: namespace [default]", "NAME");
  add_text(sub, "--claim", c.claim,
           "mpijob: persistent volume claim of the directory [clusterbench]", "NAME");
  add_text(sub, "--rdma-resource", c.rdma, "mpijob: resource that stands for the RDMA devices",
           "NAME");
  sub.add_option("--rdma-count", c.rdma_count, "mpijob: how many of that resource [1]")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_text(sub, "--profile-dir", o.profile_directory, "look for profiles here first", "DIR");
  add_text(sub, "--file", o.file, "print this file of the kind instead of the first", "NAME");
  add_text(sub, "--out", o.out, "write all files of the kind here; existing ones are kept", "DIR");
}

}  // namespace

void add_template_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("template", "ready files for Slurm, Kubernetes, containers and Ansible");
  const auto options = std::make_shared<TemplateOptions>();
  sub->group("Other");
  sub->footer(
      "Examples:\n  clusterbench template\n"
      "  clusterbench template slurm --nodes 16 --slots 8 --gpus 8 --profile h20-cluster > "
      "a.sbatch\n"
      "  clusterbench template mpijob --nodes 4 --rdma-resource rdma/hca --out k8s\n"
      "  clusterbench template ansible --hosts node[01-04]:8 --out ansible");
  add_template_options(*sub, *options);
  sub->callback([&action, options] { action = [options] { return print_templates(*options); }; });
}

}  // namespace cb
