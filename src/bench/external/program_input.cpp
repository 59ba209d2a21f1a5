#include "bench/external/program_input.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace cb {

ProcessGrid grid_of_processes(int64_t processes) {
  int64_t p = std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(static_cast<double>(processes))));
  while (p > 1 && processes % p != 0) --p;
  return {p, processes / p};
}

int64_t order_for_memory(double bytes, double share, int64_t block) {
  const double order = std::sqrt(std::max(0.0, share * bytes) / sizeof(double));
  return block * std::max<int64_t>(1, static_cast<int64_t>(order / static_cast<double>(block)));
}

// The program reads the first word of each line, in this order; the rest is for people.
std::string hpl_dat(const HplProblem& problem) {
  std::string out =
      "HPL input, made by clusterbench external\n"
      "one problem\n";
  const auto line = [&](const auto& value, const char* meaning) {
    out += fmt::format("{:<12} {}\n", value, meaning);
  };
  line("HPL.out", "name of a file, not used");
  line(6, "output: 6 is the screen");
  line(1, "number of orders");
  line(problem.order, "N");
  line(1, "number of blocks");
  line(problem.block, "NB");
  line(0, "processes row by row");
  line(1, "number of grids");
  line(problem.grid.p, "P");
  line(problem.grid.q, "Q");
  line("16.0", "limit of the residual");
  line(1, "number of panel factorisations");
  line(2, "right-looking");
  line(1, "number of ends of the recursion");
  line(4, "columns");
  line(1, "number of divisions");
  line(2, "parts");
  line(1, "number of recursive factorisations");
  line(1, "Crout");
  line(1, "number of broadcasts");
  line(1, "ring, modified");
  line(1, "number of look-aheads");
  line(1, "depth");
  line(2, "swap: mixed");
  line(64, "its border, in columns");
  line(0, "L1 transposed");
  line(0, "U transposed");
  line(1, "equilibration");
  line(8, "alignment in doubles");
  return out;
}

std::string hpcc_input(const HplProblem& problem) {
  return hpl_dat(problem) +
         "end of HPL's part\n"
         "0            number of further orders for PTRANS\n"
         "0            orders\n"
         "0            number of further blocks for PTRANS\n"
         "0            blocks\n";
}

std::string hpcg_dat(int64_t edge, double seconds) {
  return fmt::format(
      "HPCG input, made by clusterbench external\n"
      "local edges, seconds\n"
      "{0} {0} {0}\n"
      "{1}\n",
      edge, static_cast<int64_t>(std::ceil(seconds)));
}

}  // namespace cb
