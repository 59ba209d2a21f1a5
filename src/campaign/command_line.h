#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/launcher.h"

// Reads the command lines that launch_command() and step_arguments() make.
namespace cb {

// The options of the measuring command in a whole command line, without dashes: "--size 4K" and
// "--size=4K" give size → 4K, a flag gives true, "--no-flag" gives flag → false. Nothing if the
// command does not measure that case.
std::optional<std::map<std::string, std::string>> measuring_options(
    const std::vector<std::string>& argv, const std::string& case_name);

// The hosts that the command line names to the launcher; empty for Launcher::none.
std::vector<std::string> launched_hosts(const std::vector<std::string>& argv, Launcher launcher);

// True if the command line tells mpirun to give its ranks this variable: "-x NAME=VALUE" of Open
// MPI or "-genv NAME VALUE" of Hydra.
bool sets_variable(const std::vector<std::string>& argv, const std::string& name,
                   const std::string& value);

// The command line as fingerprint() takes it: without the paths of the program and the directory.
// `record` is the document's path relative to the directory.
std::vector<std::string> placeless(std::vector<std::string> argv, const std::string& case_name,
                                   const std::string& record);

}  // namespace cb
