#include "sys/os/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"

namespace cb {

TemporaryFile::TemporaryFile(const std::string& purpose) {
  const char* given = std::getenv("TMPDIR");
  const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
  path_ = fmt::format("{}/clusterbench-{}-XXXXXX", folder, purpose);
  const int file = ::mkstemp(path_.data());
  if (file < 0)
    throw Error(
        fmt::format("no file can be made in {}: {}; next: set TMPDIR to a directory that "
                    "can be written",
                    folder, std::strerror(errno)));
  ::close(file);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

std::string TemporaryFile::read_new() {
  std::ifstream in(path_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(read_));
  std::string out((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  read_ += out.size();
  return out;
}

}  // namespace cb
