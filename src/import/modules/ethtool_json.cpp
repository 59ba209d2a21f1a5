// `ethtool --json -m`: a list of one object. Early versions give a reading and its limits one name,
// which is told apart here: JSON allows each name once.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_text.h"
#include "import/modules/ethtool_fields.h"
#include "import/modules/module_files.h"

namespace cb {
namespace {

using nlohmann::json;

// "module_temperature": {…} becomes "module_temperature_limits".
std::string with_names_apart(std::string_view text) {
  std::string out(text);
  for (const std::string name : {"\"module_temperature\"", "\"module_voltage\"",
                                 "\"laser_bias_current\"", "\"laser_output_power\""}) {
    for (size_t at = out.find(name); at != std::string::npos; at = out.find(name, at + 1)) {
      const size_t value = out.find_first_not_of(": \t\r\n", at + name.size());
      if (value != std::string::npos && out[value] == '{')
        out.insert(at + name.size() - 1, "_limits");
    }
  }
  return out;
}

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Names of some versions that the text has otherwise.
std::string usual_name(const std::string& name) {
  if (name == "rx_power_values" || name == "rx_power") return "rcvr_signal_avg_optical_power";
  if (name == "module_temperature_measurement") return "module_temperature";
  if (name == "module_voltage_measurement") return "module_voltage";
  return name;
}

void add_value(EthtoolFields& fields, const std::string& name, const json& value) {
  if (value.is_array()) {
    int lane = 0;
    for (const json& one : value) fields.add(usual_name(name), value_text(one), ++lane);
  } else if (name == "active_firmware_version" && value.is_object()) {
    fields.add(name, value_text(value.value("major", json(0))) + "." +
                         value_text(value.value("minor", json(0))));
  } else if (value.is_object()) {
    const std::string limits = "_limits";
    const std::string stem =
        name.ends_with(limits) ? name.substr(0, name.size() - limits.size()) : name;
    for (const auto& [inner, its] : value.items()) add_value(fields, stem + "_" + inner, its);
  } else {
    fields.add(usual_name(name), value_text(value));
  }
}

}  // namespace

OpticalModule read_ethtool_json(std::string_view text, const std::string& file) {
  const json root = parse_json(with_names_apart(text), file);
  const json& module = root.is_array() && root.size() == 1 ? root[0] : root;
  if (!module.is_object() || !module.contains("identifier") || !module.contains("vendor_pn"))
    throw UsageError(file, "", said("modules.foreign_json"));
  EthtoolFields fields;
  for (const auto& [name, value] : module.items()) {
    // A description says in words what its number says.
    if (name == "identifier" && module.contains("identifier_description")) continue;
    if (name == "transmitter_technology" && module.contains("transmitter_technology_description"))
      continue;
    if (name == "identifier_description") {
      add_value(fields, "identifier", value);
    } else if (name == "transmitter_technology_description") {
      add_value(fields, "transmitter_technology", value);
    } else {
      add_value(fields, name, value);
    }
  }
  try {
    return fields.module();
  } catch (const Error& e) {
    throw UsageError(file, "", said("modules.bad_value", e.said()));
  }
}

}  // namespace cb
