#include "campaign/answer.h"

#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

fs::path answer_file(const fs::path& folder, size_t index) {
  return folder / fmt::format("answer.{}.{}.partial", ::getpid(), index);
}

// The file's text, which goes to the log; the file goes.
std::string moved_text(const fs::path& file, const fs::path& log) {
  std::error_code failed;
  if (!fs::exists(file, failed)) return "";
  const std::string text = read_file(file);
  std::ofstream(log, std::ios::binary | std::ios::app) << text;
  fs::remove(file, failed);
  return text;
}

// Says why nothing can be kept in the folder; nothing if it can.
std::string why_nothing_is_kept(const fs::path& folder) {
  const fs::path file = folder / fmt::format("answer.{}.probe.partial", ::getpid());
  try {
    write_file_atomically(file, std::string(4096, ' '), Durable::no);
  } catch (const Error& e) {
    return e.what();
  }
  std::error_code failed;
  fs::remove(file, failed);
  return "";
}

}  // namespace

std::vector<Answer> run_for_answers(std::vector<Task> tasks, const ExecutorOptions& options,
                                    const fs::path& folder, const std::string& words) {
  std::vector<Answer> out(tasks.size(), {{TaskEnd::Kind::stopped, 0, 0, ""}});
  std::vector<fs::path> logs;
  std::string unkept;
  for (size_t i = 0; i < tasks.size(); ++i) {
    logs.push_back(tasks[i].out);
    tasks[i].out = answer_file(folder, i);
  }
  run_tasks(tasks, options,
            {[&](size_t i) {
               std::error_code absent;
               fs::remove(tasks[i].out, absent);
             },
             [&](size_t i, const TaskEnd& end) {
               out[i].end = end;
               out[i].said = moved_text(tasks[i].out, logs[i]).find(words) != std::string::npos;
               if (!out[i].said && unkept.empty()) unkept = why_nothing_is_kept(folder);
             },
             [] {}});
  if (!unkept.empty()) throw Error("what hosts answer cannot be kept: " + unkept);
  return out;
}

}  // namespace cb
