#pragma once

#include <cstdint>
#include <string>

// The inputs of official programs, from memory and number of processes.
namespace cb {

// A grid of P × Q processes, P ≤ Q, as near to a square as the number allows: HPL's exchanges along
// rows and columns then cost least (netlib HPL, tuning notes).
struct ProcessGrid {
  int64_t p = 1;
  int64_t q = 1;
};
ProcessGrid grid_of_processes(int64_t processes);

// The largest order of a matrix of doubles that takes `share` of `bytes`, as a multiple of the
// block: N = NB·⌊√(share·bytes/8)/NB⌋. At least one block.
int64_t order_for_memory(double bytes, double share, int64_t block);

struct HplProblem {
  int64_t order = 0;
  int64_t block = 0;
  ProcessGrid grid = {};
};

// HPL.dat for one problem: threshold 16, output to the screen. Panels are factored right-looking
// and recursively, one step of look-ahead.
std::string hpl_dat(const HplProblem& problem);
// hpccinf.txt: the same, and no further sizes for PTRANS.
std::string hpcc_input(const HplProblem& problem);
// hpcg.dat: local edge of each process in points, and the time to run in whole seconds.
std::string hpcg_dat(int64_t edge, double seconds);

}  // namespace cb
