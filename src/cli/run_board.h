// The live view of `run`: a board of the step that runs on a terminal, and Prometheus text in a
// file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "campaign/run.h"
#include "campaign/run_progress.h"

namespace cb {

// Takes note of what the run's observer sees. Draws only between complete lines of stderr.
class RunBoard {
 public:
  // `terminal`: draw; else only write the file, if one is named.
  RunBoard(const RunSetup& setup, bool terminal, std::string prometheus);
  ~RunBoard();
  RunBoard(const RunBoard&) = delete;
  RunBoard& operator=(const RunBoard&) = delete;

  void round_begins(const StepRound& round);
  // Nothing is drawn until the next round begins, or a rest.
  void round_ends();
  void job_changes(const JobEvent& event);
  void rests(double seconds);
  // Called often while jobs run: draws again once a second, and writes the file every ten.
  void tick();
  // Takes the board off the terminal, so that a line can be printed.
  void clear();
  // Writes the file with the state at the end.
  void finish();

 private:
  void draw();
  void write_metrics(bool active);
  void warn_once(const std::string& why);
  void take_figures(const JobEvent& event);
  void count_hosts();

  const RunSetup& setup_;
  const bool terminal_;
  const std::string prometheus_;
  StepRound round_;
  size_t jobs_ = 0, ended_ = 0, bad_ = 0;     // of the round
  std::map<std::string, double> running_;     // job → when it began, monotonic seconds
  std::map<std::string, std::string> hosts_;  // job → its host
  std::vector<Document> documents_;           // of the round's jobs that have ended
  std::string left_;                          // estimate for the whole campaign
  double resting_until_ = 0;
  double drawn_at_ = 0, estimated_at_ = 0, written_at_ = 0;
  double estimate_cost_ = 0;    // seconds that reading the journal took
  std::vector<size_t> widths_;  // of the lines on the terminal
  bool warned_ = false;         // that the file cannot be written
  bool shown_ = false;          // something runs that the board is about
};

}  // namespace cb
