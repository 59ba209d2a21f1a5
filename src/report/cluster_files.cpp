#include "report/cluster_files.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include "core/embedded.h"
#include "core/error.h"
#include "core/name_ranges.h"

namespace cb {
namespace {

using kainjow::mustache::data;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The folder of the unpacked release file, which has modules beside the program. If the program
// does not lie in such a folder, the program alone.
std::string package_of(const std::string& program) {
  const std::string folder = folder_of(program);
  if (!folder.ends_with("/bin")) return program;
  const std::string package = folder_of(folder);
  const bool own = package.substr(package.rfind('/') + 1).starts_with("clusterbench");
  return own ? package : program;
}

std::string host_names(const ClusterChoice& choice, std::string_view format,
                       std::string_view between) {
  std::string out;
  for (const auto& [name, slots] : choice.hosts)
    out += (out.empty() ? "" : std::string(between)) + fmt::format(fmt::runtime(format), name);
  return out;
}

// As --hosts reads it: "node[01-16]:8". Hosts with other numbers of slots stand apart.
std::string hosts_option(const ClusterChoice& choice) {
  std::string out;
  std::vector<std::string> names;
  for (size_t i = 0; i < choice.hosts.size(); ++i) {
    const auto& [name, slots] = choice.hosts[i];
    names.push_back(name);
    if (i + 1 < choice.hosts.size() && choice.hosts[i + 1].second == slots) continue;
    // "a,b:8" would give slots to b alone, so each part of the list carries its number.
    for (size_t at = 0; const char c : name_ranges(names) + ",") {
      if (c == '[') ++at;
      if (c == ']') --at;
      out += c == ',' && at == 0 ? fmt::format(":{},", slots) : std::string(1, c);
    }
    names.clear();
  }
  if (!out.empty()) out.pop_back();
  return out;
}

std::string nodelist(const ClusterChoice& choice) {
  std::vector<std::string> names;
  for (const auto& [name, slots] : choice.hosts) names.push_back(name);
  return names.empty() ? "" : name_ranges(names);
}

// One rank of a host may use all its cores; and pyxis starts the image by options of srun.
std::string srun_arguments(const ClusterChoice& choice) {
  std::string out;
  if (choice.slots == 1) out = "--cpu-bind=none";
  if (choice.image_given)
    out += fmt::format("{}--container-image={} --container-mounts={}:{}", out.empty() ? "" : " ",
                       choice.image, choice.directory, choice.directory);
  return out;
}

std::string where(const ClusterChoice& choice) {
  return choice.hosts.empty() ? "this host" : nodelist(choice);
}

data host_list(const ClusterChoice& choice) {
  data out(data::type::list);
  for (const auto& [name, slots] : choice.hosts) {
    data one;
    one.set("host_name", name);
    one.set("host_slots", std::to_string(slots));
    out.push_back(one);
  }
  return out;
}

// A name without a value hides the section of that name.
void set_if(data& values, const std::string& name, const std::string& text) {
  if (text.empty())
    values.set(name, data(data::type::bool_false));
  else
    values.set(name, text);
}

void set_paths(data& values, const ClusterChoice& c) {
  const std::string package = package_of(c.program);
  values.set("program", c.program);
  values.set("program_directory", folder_of(c.program));
  values.set("package", package);
  values.set("package_parent", folder_of(package));
  values.set("directory", c.directory);
  values.set("node_check", c.directory + "/node-check.sh");
}

void set_hosts(data& values, const ClusterChoice& c) {
  values.set("nodes", std::to_string(c.nodes));
  values.set("slots", std::to_string(c.slots));
  values.set("where", where(c));
  values.set("host_list", host_list(c));
  set_if(values, "hosts", hosts_option(c));
  set_if(values, "nodelist", nodelist(c));
  set_if(values, "host_names", host_names(c, "\"{}\"", ", "));
  set_if(values, "host_words", host_names(c, "{}", " "));
}

data values_of(const ClusterChoice& c, std::string_view file) {
  data out;
  set_paths(out, c);
  set_hosts(out, c);
  out.set("file", std::string(file));
  out.set("profile", c.profile);
  out.set("profile_file", data(c.profile_is_file));
  out.set("image", c.image);
  out.set("image_file", "clusterbench.sif");
  out.set("time", c.time);
  out.set("namespace", c.name_space);
  out.set("claim", c.claim);
  out.set("rdma_count", std::to_string(c.rdma_count));
  out.set("resources", data(c.gpus > 0 || !c.rdma.empty()));
  set_if(out, "gpus", c.gpus > 0 ? std::to_string(c.gpus) : "");
  set_if(out, "partition", c.partition);
  set_if(out, "account", c.account);
  set_if(out, "rdma", c.rdma);
  set_if(out, "srun_arguments", srun_arguments(c));
  return out;
}

// True for a line that holds only the begin or end of a section, or other marks of tags.
bool is_section_tag(std::string_view line) {
  const bool tag = (line.starts_with("{{") && line.ends_with("}}")) ||
                   (line.starts_with("<%") && line.ends_with("%>"));
  return tag && std::string_view("#^/=").find(line[2]) != std::string_view::npos;
}

// The library leaves an empty line where a section's tags stood on lines of their own. Such a line
// would end a command that continues, so the tags are put before the next line.
std::string without_lines_of_tags(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    out += line;
    if (!is_section_tag(line)) out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::span<const ClusterKind> cluster_kinds() {
  static const std::array<ClusterKind, 6> kinds{{
      {"slurm",
       "sbatch for all nodes of an allocation; a prolog and epilog that drain sick nodes",
       {{"acceptance.sbatch", true}, {"node-check.sh", true}},
       false,
       true},
      {"mpijob",
       "Kubernetes: MPIJob of the MPI Operator; a DaemonSet that checks each node",
       {{"mpijob.yaml"}, {"daemonset.yaml"}},
       true,
       true},
      {"apptainer",
       "ranks in an Apptainer image, started by the hosts' mpirun",
       {{"run.sh", true}, {"clusterbench.def"}},
       true},
      {"enroot", "each host by itself in an Enroot container", {{"run.sh", true}}, true},
      {"docker",
       "each host by itself in a Docker container; the Dockerfile of the image",
       {{"run.sh", true}, {"Dockerfile"}},
       true},
      {"ansible",
       "a play that copies the program, runs it and fetches the campaign; its inventory",
       {{"play.yml"}, {"inventory.yml"}}},
  }};
  return kinds;
}

std::string cluster_file(const ClusterKind& kind, std::string_view file,
                         const ClusterChoice& choice) {
  const std::string path = fmt::format("templates/cluster/{}/{}", kind.name, file);
  const auto text = embedded_file(path);
  if (!text) throw Error(path + " is not in this program: build it anew");
  kainjow::mustache::mustache page{without_lines_of_tags(*text)};
  page.set_custom_escape([](const std::string& plain) { return plain; });
  const std::string out = page.render(values_of(choice, file));
  if (!page.is_valid()) throw Error(fmt::format("{}: {}", path, page.error_message()));
  return out;
}

}  // namespace cb
