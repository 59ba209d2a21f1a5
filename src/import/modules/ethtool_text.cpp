// `ethtool -m`: lines "LABEL : VALUE", of lanes one each. A module that is read in part ends
// between two lines, and what stands there is taken. A last line without its end was cut off within
// a value ("9" of "91.00 degrees C").
#include <fmt/format.h>

#include "core/error.h"
#include "import/modules/ethtool_fields.h"
#include "import/modules/module_files.h"
#include "import/output_lines.h"

namespace cb {

OpticalModule read_ethtool_text(std::string_view text, const std::string& file) {
  EthtoolFields fields;
  std::string first;
  for (const OutputLine& line : output_lines(text, "Identifier")) {
    if (first.empty()) first = std::string(trimmed(line.text));
    const size_t colon = line.text.find(" : ");
    if (colon == std::string_view::npos) continue;
    const auto [name, lane] = ethtool_name(trimmed(line.text.substr(0, colon)));
    const std::string where = fmt::format("line {}", line.number);
    if (name == "identifier" && fields.has(name))
      throw UsageError(file, where, said("modules.second"));
    EthtoolFields one;
    one.add(name, std::string(trimmed(line.text.substr(colon + 3))), lane);
    try {
      one.module();  // a value that is no number is named with its line
    } catch (const Error& e) {
      throw UsageError(file, where, said("modules.bad_value", e.said()));
    }
    fields.add(name, std::string(trimmed(line.text.substr(colon + 3))), lane);
  }
  if (!fields.has("identifier") || !fields.has("vendor_pn"))
    throw UsageError(file, "line 1", said("modules.no_ethtool", first.empty() ? "–" : first));
  if (!text.ends_with('\n')) throw UsageError(file, "", said("fabric.cut_off"));
  try {
    return fields.module();
  } catch (const Error& e) {
    throw UsageError(file, "", said("modules.bad_value", e.said()));
  }
}

}  // namespace cb
