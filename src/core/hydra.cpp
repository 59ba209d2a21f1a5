#include "core/hydra.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/path_search.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The first 4 MiB of a program or script: no launcher is longer.
std::string beginning_of(const fs::path& file) {
  constexpr std::uintmax_t kMax = 4 << 20;
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  std::string out(failed ? 0 : std::min(size, kMax), '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return out;
}

// Of a shell script; other files have no such lines.
std::string without_comments(const std::string& text) {
  if (!text.starts_with("#!")) return text;
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t word = text.find_first_not_of(" \t", begin);
    if (word < end && text[word] != '#') out += text.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return out;
}

// The files of the launchers that a script names, by a path or by a name in the PATH.
std::vector<std::string> launchers_in(std::string script, const std::string& path) {
  std::ranges::replace_if(
      script, [](char c) { return std::strchr("\"'`;|&()=", c) != nullptr; }, ' ');
  std::istringstream words(script);
  std::vector<std::string> out;
  for (std::string word; words >> word;) {
    if (!fs::path(word).filename().string().starts_with("mpi")) continue;
    out.push_back(word.starts_with('/') ? word : file_in_path(word, path));
  }
  return out;
}

// A file's own words. Intel MPI's mpirun is a script that starts mpiexec.hydra; copies of MPICH's
// mpirun hold the name hydra_pmi_proxy. A site's script for Open MPI may mention mpiexec.hydra in a
// comment.
bool names_hydra(const std::string& text) {
  return text.find("mpiexec.hydra") != std::string::npos ||
         text.find("hydra_pmi_proxy") != std::string::npos;
}

class Search {
 public:
  explicit Search(const std::string& path) : path_(path) {}

  // Of a site's script the launchers that it starts are asked, each once.
  bool is_hydra(const std::string& launcher) {
    std::error_code failed;
    const fs::path file = fs::canonical(launcher, failed);
    if (failed || !fs::is_regular_file(file, failed) || !seen_.insert(file).second) return false;
    const std::string name = file.filename().string();
    if (name.starts_with("orterun") || name.starts_with("prterun")) return false;
    if (name.find("hydra") != std::string::npos) return true;
    const std::string beginning = beginning_of(file), text = without_comments(beginning);
    if (names_hydra(text)) return true;
    if (!beginning.starts_with("#!")) return false;
    return std::ranges::any_of(launchers_in(text, path_),
                               [this](const std::string& one) { return is_hydra(one); });
  }

 private:
  const std::string& path_;
  std::set<fs::path> seen_;
};

}  // namespace

bool is_hydra(const std::string& mpirun, const std::string& path) {
  return Search(path).is_hydra(mpirun);
}

}  // namespace cb
