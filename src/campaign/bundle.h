#pragma once

#include <filesystem>

namespace cb {

// Writes the campaign's files as one POSIX tar archive, gzipped unless the name ends in .tar. The
// bytes depend on the files' names and contents alone: sorted, mode 0644, owner 0:0, dated by the
// campaign's begin. Throws UsageError for links and special files below the directory and for an
// archive name with another ending, Error if the archive cannot be written.
void bundle_campaign(const std::filesystem::path& directory, const std::filesystem::path& archive);

}  // namespace cb
