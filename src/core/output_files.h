// What a file that a command is told to write would cost.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb {

// A file and the option that names it ("--picture").
struct NamedFile {
  std::string option, file;
};

// Adds a problem for each output that another output or an input names too, through whatever link:
// the later one would replace it. Pipes, devices and standard output do no harm.
void refuse_equal_files(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs,
                        Problems& problems);

// Returns the directory of the campaign that the file lies or would lie in; nothing if it is none.
std::optional<std::filesystem::path> campaign_around(const std::filesystem::path& file);

}  // namespace cb
