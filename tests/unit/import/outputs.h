// Outputs as the programs write them, composed here after their grammars where nothing else is
// said.
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

// Recorded on 27 November 2026: HPCG 3.1, the reference, two processes of 16³ points on a busy
// machine, asked to run for 3 s. Lines about memory and coarse grids are left out.
inline const std::string kHpcgRecorded =
    "HPCG-Benchmark\n"
    "version=3.1\n"
    "Machine Summary=\n"
    "Machine Summary::Distributed Processes=2\n"
    "Machine Summary::Threads per processes=1\n"
    "Global Problem Dimensions=\n"
    "Global Problem Dimensions::Global nx=32\n"
    "Global Problem Dimensions::Global ny=16\n"
    "Global Problem Dimensions::Global nz=16\n"
    "Local Domain Dimensions=\n"
    "Local Domain Dimensions::nx=16\n"
    "Local Domain Dimensions::ny=16\n"
    "Local Domain Dimensions::Lower ipz=0\n"
    "Local Domain Dimensions::Upper ipz=0\n"
    "Local Domain Dimensions::nz=16\n"
    "########## Problem Summary  ##########=\n"
    "########## Memory Use Summary  ##########=\n"
    "########## V&V Testing Summary  ##########=\n"
    "Spectral Convergence Tests=\n"
    "Spectral Convergence Tests::Result=PASSED\n"
    "Spectral Convergence Tests::Unpreconditioned=\n"
    "Spectral Convergence Tests::Unpreconditioned::Maximum iteration count=11\n"
    "Spectral Convergence Tests::Unpreconditioned::Expected iteration count=12\n"
    "Spectral Convergence Tests::Preconditioned=\n"
    "Spectral Convergence Tests::Preconditioned::Maximum iteration count=2\n"
    "Spectral Convergence Tests::Preconditioned::Expected iteration count=2\n"
    "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon=\n"
    "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Result=PASSED\n"
    "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Departure for "
    "SpMV=1.65509e-05\n"
    "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Departure for "
    "MG=4.35551e-07\n"
    "########## Iterations Summary  ##########=\n"
    "Iteration Count Information=\n"
    "Iteration Count Information::Result=PASSED\n"
    "Iteration Count Information::Reference CG iterations per set=50\n"
    "Iteration Count Information::Optimized CG iterations per set=50\n"
    "Iteration Count Information::Total number of reference iterations=250\n"
    "Iteration Count Information::Total number of optimized iterations=250\n"
    "########## Reproducibility Summary  ##########=\n"
    "Reproducibility Information=\n"
    "Reproducibility Information::Result=PASSED\n"
    "Reproducibility Information::Scaled residual mean=7.44824e-32\n"
    "Reproducibility Information::Scaled residual variance=0\n"
    "########## Performance Summary (times in sec) ##########=\n"
    "Benchmark Time Summary=\n"
    "Benchmark Time Summary::Optimization phase=5.01e-07\n"
    "Benchmark Time Summary::DDOT=0.357698\n"
    "Benchmark Time Summary::WAXPBY=0.013698\n"
    "Benchmark Time Summary::SpMV=0.297648\n"
    "Benchmark Time Summary::MG=2.08095\n"
    "Benchmark Time Summary::Total=2.75014\n"
    "Floating Point Operations Summary=\n"
    "Floating Point Operations Summary::Raw DDOT=1.23699e+07\n"
    "Floating Point Operations Summary::Raw WAXPBY=1.23699e+07\n"
    "Floating Point Operations Summary::Raw SpMV=1.01441e+08\n"
    "Floating Point Operations Summary::Raw MG=5.5858e+08\n"
    "Floating Point Operations Summary::Total=6.84761e+08\n"
    "Floating Point Operations Summary::Total with convergence overhead=6.84761e+08\n"
    "GB/s Summary=\n"
    "GB/s Summary::Raw Read B/W=1.53842\n"
    "GB/s Summary::Raw Write B/W=0.35576\n"
    "GB/s Summary::Raw Total B/W=1.89418\n"
    "GB/s Summary::Total with convergence and optimization phase overhead=1.89186\n"
    "GFLOP/s Summary=\n"
    "GFLOP/s Summary::Raw DDOT=0.034582\n"
    "GFLOP/s Summary::Raw WAXPBY=0.903048\n"
    "GFLOP/s Summary::Raw SpMV=0.340808\n"
    "GFLOP/s Summary::Raw MG=0.268425\n"
    "GFLOP/s Summary::Raw Total=0.248992\n"
    "GFLOP/s Summary::Total with convergence overhead=0.248992\n"
    "GFLOP/s Summary::Total with convergence and optimization phase overhead=0.248688\n"
    "User Optimization Overheads=\n"
    "User Optimization Overheads::Optimization phase time (sec)=5.01e-07\n"
    "User Optimization Overheads::Optimization phase time vs reference SpMV+MG time=2.58873e-05\n"
    "Final Summary=\n"
    "Final Summary::HPCG result is VALID with a GFLOP/s rating of=0.248688\n"
    "Final Summary::HPCG 2.4 rating for historical reasons is=0.248992\n"
    "Final Summary::Reference version of ComputeDotProduct used=Performance results are most "
    "likely suboptimal\n"
    "Final Summary::Reference version of ComputeSPMV used=Performance results are most likely "
    "suboptimal\n"
    "Final Summary::Reference version of ComputeMG used=Performance results are most likely "
    "suboptimal\n"
    "Final Summary::Reference version of ComputeWAXPBY used=Performance results are most likely "
    "suboptimal\n"
    "Final Summary::Results are valid but execution time (sec) is=2.75014\n"
    "Final Summary::Official results execution time (sec) must be at least=1800\n";

// `text` with the first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace cb::outputs
