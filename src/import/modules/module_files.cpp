#include "import/modules/module_files.h"

#include <tuple>

#include "core/error.h"
#include "core/text.h"

namespace cb {
namespace {

// The host and the port of HOST@PORT.txt; without @ the whole name is the host's.
std::pair<std::string, std::string> owner_of(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  for (const std::string_view end : {".txt", ".json", ".out"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  const size_t at = name.find('@');
  if (at == std::string::npos) return {name, ""};
  return {name.substr(0, at), name.substr(at + 1)};
}

}  // namespace

std::vector<FittedModule> read_module_file(std::string_view bytes, const std::string& file) {
  const std::string_view text = without_byte_order_mark(bytes);
  if (text.find("START_CABLE_INFO") != std::string_view::npos) return read_cable_info(text, file);
  FittedModule out;
  std::tie(out.host, out.port) = owner_of(file);
  if (is_sonic_text(text)) return read_sonic_text(text, file, out.host);
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  if (json && text.find("\"Module Info\"") != std::string_view::npos)
    out.module = read_mlxlink_json(text, file);
  else if (json)
    out.module = read_ethtool_json(text, file);
  else
    out.module = read_ethtool_text(text, file);
  return {out};
}

}  // namespace cb
