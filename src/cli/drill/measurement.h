// A measurement of a drill: a job that runs beside this process, its log and its document.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/hosts.h"
#include "campaign/launcher.h"
#include "campaign/process.h"
#include "core/result.h"

namespace cb {

struct EndedMeasurement {
  std::optional<int> code;  // nothing: it was ended at its deadline
  double at = 0;            // monotonic seconds
  double seen_at = 0;       // when a line of its log first blamed the host; `at` if none did
  std::string log;
  std::optional<Document> document;
};

class Measurement {
 public:
  // Starts the command. Its output goes to STEM.out and STEM.err, its document to `record`.
  Measurement(const Command& command, const std::filesystem::path& stem,
              const std::filesystem::path& record);

  // The exit code, or 128 + the signal; nothing while it runs.
  std::optional<int> poll();
  void end();
  std::string log() const;
  EndedMeasurement result(std::optional<int> code) const;

 private:
  std::filesystem::path path(const char* end) const { return stem_.string() + end; }

  std::filesystem::path stem_, record_;
  std::unique_ptr<Process> process_;
};

// True if the text has the host's name as a word, and none of the others': a line that names all
// hosts blames none.
bool blames(std::string_view text, const std::string& host, const std::vector<HostSlots>& all);

// The last line that the program itself wrote, or the last one of all.
std::string last_line(const std::string& log);

// The worst rate of a measurement that went well, in bytes per second.
std::optional<double> rate_of(const EndedMeasurement& ended);

// Whether a finding of its document failed.
bool has_suspect(const EndedMeasurement& ended);

}  // namespace cb
