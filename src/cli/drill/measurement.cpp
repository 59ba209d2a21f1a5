#include "cli/drill/measurement.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

std::string log_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    // A full stop after the name ends a sentence.
    const bool ends = end == text.size() || !is_word_character(text[end]) ||
                      (text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' '));
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

Measurement::Measurement(const Command& command, const fs::path& stem, const fs::path& record)
    : stem_(stem), record_(record) {
  process_ =
      std::make_unique<Process>(command.argv, command.environment, path(".out"), path(".err"));
}

std::optional<int> Measurement::poll() {
  if (const auto end = process_->poll()) return end->signalled ? 128 + end->code : end->code;
  return std::nullopt;
}

void Measurement::end() {
  process_->signal_group(SIGTERM);
  for (double until = monotonic_seconds() + 5; monotonic_seconds() < until && !process_->poll();)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  process_->signal_group(SIGKILL);
}

std::string Measurement::log() const { return log_text(path(".out")) + log_text(path(".err")); }

EndedMeasurement Measurement::result(std::optional<int> code) const {
  EndedMeasurement out{.code = code, .at = monotonic_seconds(), .log = log()};
  std::error_code absent;
  if (!fs::exists(record_, absent)) return out;
  try {
    out.document = parse_document(read_file(record_), record_.string(), false);
  } catch (const Error&) {
    out.document.reset();  // a job that is killed leaves no whole document
  }
  return out;
}

bool blames(std::string_view text, const std::string& host, const std::vector<HostSlots>& all) {
  if (!has_word(text, host)) return false;
  return std::ranges::none_of(
      all, [&](const HostSlots& h) { return h.name != host && has_word(text, h.name); });
}

std::string last_line(const std::string& log) {
  std::istringstream lines(log);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("clusterbench")) return line;
    if (!line.empty()) out = line;
  }
  return out;
}

std::optional<double> rate_of(const EndedMeasurement& ended) {
  std::optional<double> out;
  if (ended.code != 0 || !ended.document) return out;
  for (const Record& r : ended.document->records) {
    for (const Metric& m : r.metrics) {
      if (m.name != "bus_bytes_per_second" && m.name != "bytes_per_second") continue;
      const double value = m.samples.summary().median;
      out = out ? std::min(*out, value) : value;
    }
  }
  return out;
}

bool has_suspect(const EndedMeasurement& ended) {
  return ended.document && std::ranges::any_of(ended.document->records, [](const Record& r) {
           return std::ranges::any_of(r.checks,
                                      [](const Check& c) { return c.finding && !c.passed; });
         });
}

}  // namespace cb
