#include "bench/harness/document_place.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/document_lines.h"
#include "core/error.h"
#include "core/standard_output.h"
#include "sys/inventory/inventory.h"

namespace cb {
namespace {

constexpr double kTakenWithin = 30;  // seconds without a byte that the launcher takes
// The kernel takes this much at once from a pipe that poll() calls writable.
constexpr size_t kPieceOfPipe = 4096;

[[noreturn]] void fail_to_send(const std::string& why) {
  throw Error(
      fmt::format("cannot send the document back through the launcher: {}; next: look at the host "
                  "on which clusterbench run was started, and at its launcher",
                  why));
}

void wait_until_taken(double end) {
  for (;;) {
    pollfd out{document_output(), POLLOUT, 0};
    const double left = end - monotonic_seconds();
    if (left <= 0) fail_to_send(fmt::format("it took nothing for {} s", kTakenWithin));
    const int ready = ::poll(&out, 1, static_cast<int>(left * 1000) + 1);
    if (ready < 0 && errno != EINTR) fail_to_send(std::strerror(errno));
    if (ready > 0) return;  // an error too: write() says which
  }
}

void send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    wait_until_taken(monotonic_seconds() + kTakenWithin);
    const ssize_t n =
        ::write(document_output(), bytes.data(), std::min(bytes.size(), kPieceOfPipe));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) fail_to_send(std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// Says of every record that its document came by lines.
Document with_way_back(Document document) {
  for (Record& record : document.records)
    record.facts["way_back"] = said("way_back.launcher", host_name());
  return document;
}

}  // namespace

std::string stream_name(const std::string& path, const std::string& token) {
  return fmt::format("{}.{}.partial", path, token);
}

void DocumentPlace::look() {
  if (none() || token_.empty()) return;
  std::error_code unseen;
  // A host may see a directory in which root may not write (root_squash of NFS).
  by_lines_ = !std::filesystem::is_regular_file(stream_name(path_, token_), unseen) ||
              ::access(std::filesystem::path(path_).parent_path().c_str(), W_OK | X_OK) != 0;
}

std::optional<std::string> DocumentPlace::why_not() const {
  if (none() || is_output() || by_lines_) return std::nullopt;
  const auto directory = std::filesystem::absolute(path_).parent_path();
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return path_ + " cannot be written: no such directory, or not permitted";
  if (std::filesystem::is_directory(path_)) return path_ + " is a directory";
  return std::nullopt;
}

bool DocumentPlace::takes_unfinished() const {
  return !none() && (by_lines_ || is_replaced_by_writing(path_));
}

void DocumentPlace::write(const Document& document, Durable durable) {
  if (by_lines_) return send(with_way_back(document), durable == Durable::yes ? 2 : 1);
  write_file_atomically(path_, to_json_text(document), durable);
}

void DocumentPlace::send(const Document& document, int copies) {
  const std::unique_lock lock(sending_, std::chrono::seconds(static_cast<int>(kTakenWithin)));
  if (!lock) fail_to_send("an earlier document is still being sent");
  const std::string lines = document_lines(token_, ++sequence_, to_json_text(document));
  for (int i = 0; i < copies; ++i) send_bytes("\n" + lines);  // whatever stands on the line before
}

}  // namespace cb
