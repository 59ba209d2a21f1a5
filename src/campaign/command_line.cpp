#include "campaign/command_line.h"

#include <algorithm>
#include <filesystem>

#include "campaign/directory.h"

namespace cb {
namespace {

using Arguments = std::vector<std::string>;

using Options = std::map<std::string, std::string>;

// The options from `begin` on; nothing if there is any word that is no option.
std::optional<Options> options_from(const Arguments& argv, size_t begin) {
  Options out;
  for (size_t i = begin; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (!word.starts_with("--")) return std::nullopt;
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      out[word.substr(2, equals - 2)] = word.substr(equals + 1);
    } else if (i + 1 < argv.size() && !argv[i + 1].starts_with("--")) {
      out[word.substr(2)] = argv[++i];
    } else if (word.starts_with("--no-")) {
      out[word.substr(5)] = "false";
    } else {
      out[word.substr(2)] = "true";
    }
  }
  return out;
}

// Index of the program in the measuring command: the program, the case, then only options. This
// skips a launcher's argument that is named like the case, since the program's name comes between
// it and the end.
std::optional<size_t> program_at(const Arguments& argv, const std::string& case_name) {
  for (size_t i = 0; i + 1 < argv.size(); ++i) {
    if (argv[i + 1] == case_name && options_from(argv, i + 2)) return i;
  }
  return std::nullopt;
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

std::optional<Options> measuring_options(const Arguments& argv, const std::string& case_name) {
  const auto begin = program_at(argv, case_name);
  return begin ? options_from(argv, *begin + 2) : std::nullopt;
}

std::vector<std::string> launched_hosts(const Arguments& argv, Launcher launcher) {
  std::string list;
  for (size_t i = 0; i < argv.size() && list.empty(); ++i) {
    const bool names_hosts = argv[i] == "--host" || argv[i] == "-hosts";  // Open MPI, Hydra
    if (launcher == Launcher::mpirun && names_hosts && i + 1 < argv.size()) list = argv[i + 1];
    if (launcher == Launcher::srun && argv[i].starts_with("--nodelist=")) list = argv[i].substr(11);
  }
  if (list.empty()) return {};
  std::vector<std::string> out;
  for (const std::string& host : split_commas(list)) out.push_back(host.substr(0, host.find(':')));
  return out;
}

bool sets_variable(const Arguments& argv, const std::string& name, const std::string& value) {
  const Arguments hydra{"-genv", name, value};
  return std::ranges::find(argv, name + "=" + value) != argv.end() ||
         std::search(argv.begin(), argv.end(), hydra.begin(), hydra.end()) != argv.end();
}

std::vector<std::string> placeless(Arguments argv, const std::string& case_name,
                                   const std::string& record) {
  const auto begin = program_at(argv, case_name);
  if (!begin) return argv;
  argv[*begin] = "clusterbench";
  if (argv[argv.size() - 2] != "--json") return argv;
  // Here argv ends with [--return TOKEN] --json DIR/records/JOB.json.ATTEMPT.partial.
  const std::filesystem::path root = std::filesystem::path(argv.back()).parent_path().parent_path();
  argv.back() = record;
  if (argv.size() > *begin + 5 && argv[argv.size() - 4] == "--return")
    argv.erase(argv.end() - 4, argv.end() - 2);
  std::ranges::replace(argv, (root / "scratch").string(), std::string("DIR/scratch"));
  return argv;
}

}  // namespace cb
