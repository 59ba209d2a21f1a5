#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/launcher.h"

// Reads back the command lines that launch_command() and step_arguments() make.
namespace cb {

// The options of the measuring command in a whole command line, without dashes: "--size 4K" and
// "--size=4K" as size → 4K, a flag as true, "--no-flag" as flag → false. Nothing if the command
// does not measure that case.
std::optional<std::map<std::string, std::string>> measuring_options(
    const std::vector<std::string>& argv, const std::string& case_name);

// The hosts that the launcher was told; none for the launcher none.
std::vector<std::string> launched_hosts(const std::vector<std::string>& argv, Launcher launcher);

// Whether mpirun was told to give its ranks this variable: "-x NAME=VALUE" of Open MPI, or
// "-genv NAME VALUE" of Hydra.
bool sets_variable(const std::vector<std::string>& argv, const std::string& name,
                   const std::string& value);

// The command line as the fingerprint has it: without the program's place and the directory's.
// `record` is where the document lies, relative to the directory.
std::vector<std::string> placeless(std::vector<std::string> argv, const std::string& case_name,
                                   const std::string& record);

}  // namespace cb
