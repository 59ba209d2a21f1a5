#include "campaign/way_back.h"

#include <array>
#include <fstream>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/document_lines.h"
#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";
constexpr size_t kLongestLine = 1 << 16;  // longer ones are no lines of ours

// Calls `line` with every line, and with the pieces of those that are too long.
template <typename F>
void for_each_line(std::istream& in, F line) {
  std::vector<char> buffer(kLongestLine);
  while (in.getline(buffer.data(), kLongestLine) || in.gcount() > 0) {
    const bool cut = in.fail() && !in.eof(), whole = !cut && !in.eof();
    const auto bytes = static_cast<size_t>(in.gcount()) - (whole ? 1 : 0);
    line(std::string(buffer.data(), bytes) + (whole ? "\n" : ""));
    if (cut) in.clear();
  }
}

void append_to(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << text << std::flush;
  if (!out) throw Error(fmt::format("cannot write {}: is the disk full?", file.string()));
}

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

// The lines that are no document's are the log's.
DocumentLines sort_lines(const WayBack& way) {
  DocumentLines lines(way.token);
  std::ifstream in(way.out(), std::ios::binary);
  std::ofstream log(way.log, std::ios::binary | std::ios::app);
  bool behind_document = true;  // an empty line there is the one that a document begins with
  std::string held;
  for_each_line(in, [&](const std::string& line) {
    if (lines.take(without_newline(line))) {
      held.clear();
      behind_document = true;
      return;
    }
    log << held;
    held.clear();
    if (line == "\n") {
      held = line;
    } else {
      log << line;
      behind_document = false;
    }
  });
  if (!behind_document) log << held;
  log.flush();
  if (!log) throw Error(fmt::format("cannot write {}: is the disk full?", way.log.string()));
  return lines;
}

fs::path error_log_of(fs::path log) { return log.replace_extension("err"); }

// "records/JOB.json.2.partial.TOKEN.partial" is the output of attempt 2. Nothing for other files.
std::optional<WayBack> way_of(const fs::path& file, const fs::path& logs,
                              const std::string& prefix) {
  const std::string name = file.filename().string();
  const size_t rest = kPartial.size() + kDocumentTokenDigits + 1;
  if (!name.ends_with(kPartial) || name.size() <= rest) return std::nullopt;
  const std::string document = name.substr(0, name.size() - rest);
  const std::string token = name.substr(document.size() + 1, kDocumentTokenDigits);
  const size_t job_end = document.rfind(".json.");
  if (name[document.size()] != '.' || !is_document_token(token) || !document.ends_with(kPartial) ||
      job_end == std::string::npos)
    return std::nullopt;
  return WayBack{.document = file.parent_path() / document,
                 .log = logs / (prefix + document.substr(0, job_end) + ".out"),
                 .token = token};
}

}  // namespace

fs::path WayBack::out() const {
  return token.empty() ? log : fs::path(fmt::format("{}.{}.partial", document.string(), token));
}

WayBack way_back(const LaunchSetup& launch, fs::path document, fs::path log) {
  WayBack out{.document = std::move(document), .log = std::move(log)};
  if (launch.launcher != Launcher::none) out.token = new_document_token();
  return out;
}

void bring_back(const WayBack& way) {
  std::error_code absent;
  if (way.token.empty() || !fs::is_regular_file(way.out(), absent)) return;
  const DocumentLines lines = sort_lines(way);
  if (lines.newest() && !fs::exists(way.document, absent))
    write_file_atomically(way.document, *lines.newest());
  if (lines.torn())
    append_to(error_log_of(way.log),
              "clusterbench run: a document came back damaged and is left out: the launcher lost "
              "a part of it, or other output stands in it; next: run it again, without debug "
              "output of libraries on standard output\n");
  fs::remove(way.out(), absent);
}

void bring_back_leftovers(const CampaignPaths& paths) {
  std::vector<WayBack> found;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(paths.records(), absent)) {
    if (auto way = way_of(entry.path(), paths.logs(), "")) found.push_back(std::move(*way));
  }
  for (const WayBack& way : found) bring_back(way);
}

}  // namespace cb
