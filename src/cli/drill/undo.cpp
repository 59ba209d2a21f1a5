#include "cli/drill/undo.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

using nlohmann::json;

Undo undo_of(const json& j) {
  return {j.at("id").get<std::string>(), j.at("host").get<std::string>(),
          j.at("action").get<std::string>(), j.at("part").get<std::string>(),
          j.value("start", uint64_t{0})};
}

}  // namespace

void UndoList::note(const Undo& u) const {
  append_line_durably(file_, json({{"id", u.id},
                                   {"host", u.host},
                                   {"action", u.action},
                                   {"part", u.part},
                                   {"start", u.start}})
                                 .dump());
}

void UndoList::done(const Undo& u) const {
  append_line_durably(file_, json({{"done", u.id}}).dump());
}

namespace {

void refuse_foreign_list(const std::filesystem::path& file) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0) return;  // nothing was noted
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
    throw UsageError(file.string(), "",
                     "is no file of this user: undo by hand what it names, as its owner");
}

}  // namespace

std::vector<Undo> UndoList::open() const {
  std::vector<Undo> out;
  refuse_foreign_list(file_);
  std::ifstream in(file_);
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const bool torn = in.eof();  // a whole line ends with a newline
    try {
      const json j = json::parse(line);
      if (j.contains("done"))
        std::erase_if(out,
                      [id = j["done"].get<std::string>()](const Undo& u) { return u.id == id; });
      else
        out.push_back(undo_of(j));
    } catch (const json::exception&) {
      if (torn) break;
      throw UsageError(file_.string(), fmt::format("line {}", number),
                       "is no line of a drill: mend the file, or undo by hand what it names");
    }
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace cb
