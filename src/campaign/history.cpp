#include "campaign/history.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/sha256.h"

namespace cb {
namespace {

using nlohmann::json;

struct Read {
  std::vector<json> events;
  std::string last;  // the digest of the last line; empty where there is none
};

Read read_lines(const std::filesystem::path& path) {
  Read out;
  if (!std::filesystem::exists(path)) return out;
  const std::string content = read_file(path);
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = content.find('\n', begin);
    const size_t number = out.events.size() + 1;
    if (end == std::string::npos)
      throw UsageError(path.string(), fmt::format("line {}", number),
                       "is torn: take out what stands behind the last whole line");
    const std::string line = content.substr(begin, end - begin);
    json event = parse_json(line, fmt::format("{} line {}", path.string(), number));
    if (!event.is_object() || event.value("prev", json()) != out.last)
      throw UsageError(path.string(), fmt::format("line {}", number),
                       "does not follow from the line before it: the history was changed; restore "
                       "it from the archive");
    out.last = sha256_hex(line);
    out.events.push_back(std::move(event));
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::vector<json> read_history(const std::filesystem::path& path) {
  return read_lines(path).events;
}

void append_history(const std::filesystem::path& path, json event) {
  event["prev"] = read_lines(path).last;
  append_line_durably(path, event.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace cb
