#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

// The standard input of a command in pieces, each of which the command asks for
// (docs/design/decisions/0116-the-program-through-the-launcher.md).
namespace cb {

// A line of output that ends with this asks for the next piece, behind the last one for the end of
// the input. It gets into no log.
inline constexpr const char* kAsksForPiece = "clusterbench-next-piece";

// Stands between a command and two files: hands `input` on piece by piece, and appends what else
// the command writes to `log`. A piece is at most kMaxPiece bytes. A command that asks for more
// than it reads gets no more. Throws Error if there is no such file or no pipe.
class PacedInput {
 public:
  static constexpr size_t kMaxPiece = 65536;  // what a pipe holds

  PacedInput(const std::filesystem::path& input, const std::filesystem::path& log, size_t piece);
  // Reads what a command that has ended left in the pipe, for two seconds at most: a process that
  // outlives it and keeps the pipe is not waited for.
  ~PacedInput();
  PacedInput(const PacedInput&) = delete;
  PacedInput& operator=(const PacedInput&) = delete;

  // What the command opens as standard input and output, until start().
  std::filesystem::path in() const;
  std::filesystem::path out() const;
  // The command runs: from now on only its end of each pipe is open.
  void start();

 private:
  void serve();
  void take(const std::string& line);
  void send_piece();

  std::ifstream input_;
  std::ofstream log_;
  size_t piece_;
  int in_read_ = -1, in_write_ = -1, out_read_ = -1, out_write_ = -1;
  std::atomic<bool> ended_ = false;
  std::thread server_;
};

}  // namespace cb
