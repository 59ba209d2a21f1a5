// Outputs as the programs write them, composed here after their grammars.
#pragma once

#include <string>

namespace cb::outputs {

// n = 1000: 2/3·10⁹ + 1.5·10⁶ = 668,166,666.7 operations; in 2.00 s 0.33408 GFLOP/s.
inline const std::string kHplRow =
    "WR11C2R4        1000    80     1     2               2.00              3.341e-01\n";
inline const std::string kHplResidual =
    "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0051437 ...... PASSED\n";

inline std::string hpl_head(const std::string& threshold = "16.0") {
  return "HPLinpack 2.3  --  test text\n"
         "- Computational tests pass if scaled residuals are less than                " +
         threshold +
         "\n\n"
         "T/V                N    NB     P     Q               Time                 Gflops\n"
         "--------------------------------------------------------------------------------\n";
}

inline std::string hpl_tail(int passed = 1, int failed = 0) {
  return "\nFinished      " + std::to_string(passed + failed) +
         " tests with the following results:\n              " + std::to_string(passed) +
         " tests completed and passed residual checks,\n              " + std::to_string(failed) +
         " tests completed and failed residual checks,\n"
         "              0 tests skipped because of illegal input values.\n\nEnd of Tests.\n";
}

inline std::string hpl() { return hpl_head() + kHplRow + kHplResidual + hpl_tail(); }

inline std::string mxp(const std::string& rate = "3.2000e+05", const std::string& type = "2") {
  return "****** HPL MxP Result    ******\n"
         "   EPS           . . . . . .          =    2.000000E-16\n"
         "   Threshold     . . . . . .          =    1.600000E+01\n"
         " ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    6.1E-04 ...... PASSED\n"
         "   N = 200704, NB = 1024, NPROW = 4, NPCOL = 2, SLOPPY-TYPE = " +
         type + "\n      GFLOPS = " + rate +
         ", per GPU =   40000.00 ------ report\n"
         "   LU GFLOPS = 1.6000e+06, per GPU =  200000.00 ------ without the solver\n"
         "****** HPL MxP Result    ******\n";
}

// 1000 s, 2·10¹² operations: 2 GFLOP/s raw, rated 1.9.
inline std::string hpcg(const std::string& total = "2000", const std::string& operations = "4e+12",
                        const std::string& verdict = "VALID with a GFLOP/s rating of=1.9",
                        const std::string& variance = "0") {
  return "HPCG-Benchmark\nversion=3.1\nMachine Summary::Distributed Processes=4\n"
         "Local Domain Dimensions::nx=104\nLocal Domain Dimensions::ny=104\n"
         "Local Domain Dimensions::nz=104\n"
         "Spectral Convergence Tests::Result=PASSED\n"
         "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Result=PASSED\n"
         "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Departure for SpMV=0\n"
         "Iteration Count Information::Result=PASSED\n"
         "Iteration Count Information::Optimized CG iterations per set=50\n"
         "Reproducibility Information::Result=PASSED\n"
         "Reproducibility Information::Scaled residual mean=0.0001\n"
         "Reproducibility Information::Scaled residual variance=" +
         variance + "\nBenchmark Time Summary::Total=" + total +
         "\nFloating Point Operations Summary::Total=" + operations +
         "\nGFLOP/s Summary::Raw Total=2\nFinal Summary=\nFinal Summary::HPCG result is " +
         verdict + "\n";
}

// `text` with the first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace cb::outputs
