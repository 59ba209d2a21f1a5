// What other programs have written down of optical modules, read into the model of the case
// `optics`. Pure. Each reader throws UsageError with the file, the place and the next step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/optics/audit.h"

namespace cb {

// Reads a file of any kind below by its content. `file` is its name; HOST@PORT.txt says whose
// module it is where the content does not: n1@eth0.json, n1@mlx5_0.json.
std::vector<FittedModule> read_module_file(std::string_view text, const std::string& file);

// `ethtool -m PORT`: identity, readings, flags and limits of SFF-8636 and CMIS.
OpticalModule read_ethtool_text(std::string_view text, const std::string& file);
// `ethtool --json -m PORT`, of ethtool 6.14 and later.
OpticalModule read_ethtool_json(std::string_view text, const std::string& file);
// `mlxlink -d DEVICE -m -c --json`: identity, readings, alarm limits, and the raw error rate.
OpticalModule read_mlxlink_json(std::string_view text, const std::string& file);
// The section CABLE_INFO of ibdiagnet2.db_csv: identity, temperature and flags of every port. Its
// light and bias have no unit that is written down, so they are not read.
std::vector<FittedModule> read_cable_info(std::string_view text, const std::string& file);
// SONiC's `show interfaces transceiver eeprom -d` or `sfputil show eeprom -d`, of one port or of
// the whole switch `host`: identity, readings and limits; flags and states where the file holds
// `show interfaces transceiver status` besides. Ports without a module are left out; one that has a
// status alone has no module, or what its status tells of a fault.
constexpr const char* kSonicCommand = "show interfaces transceiver eeprom -d";
constexpr const char* kSonicStatusCommand = "show interfaces transceiver status";
bool is_sonic_text(std::string_view text);
std::vector<FittedModule> read_sonic_text(std::string_view text, const std::string& file,
                                          const std::string& host);

}  // namespace cb
