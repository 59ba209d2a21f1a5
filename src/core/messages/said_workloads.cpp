// What official programs, their outputs and the solvers of our own say, in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidWorkloads[] = {
    {"fault.solution", "an element of the solution is changed", "更改解向量中的一个元素"},
    {"fault.external", "the program is not ours: its data cannot be spoilt", "程序非本工具所有，无法篡改其数据"},
    {"import.threshold_off", "the input file has threshold {0}: the program skips the check of its solution and counts the test as passed; next: threshold 16.0", "输入文件的阈值为 {0}：程序跳过解的检查并计为通过；下一步：阈值设为 16.0"},
    {"import.threshold_other", "the input file has threshold {0} instead of 16", "输入文件的阈值为 {0}，而不是 16"},
    {"import.no_residual", "nothing was printed about the residual: the solution was not checked", "未输出残差：解未经检查"},
    {"import.residual_not_finite", "the residual is not a number", "残差不是数值"},
    {"import.residual_negative", "the residual is {0}, below zero", "残差为 {0}，小于零"},
    {"import.residual_large", "the residual is {0}, not below 16; next: gemm, burn and memory on these hosts", "残差为 {0}，不小于 16；下一步：在这些主机上运行 gemm、burn 和内存测试"},
    {"import.says_failed", "the program itself says that the test did not pass", "程序自身报告测试未通过"},
    {"import.says_invalid", "the program itself says that the result is invalid", "程序自身报告结果无效"},
    {"import.rate_not_finite", "time, operations or rate are missing or no numbers", "时间、运算量或速率缺失或不是数值"},
    {"import.too_short", "the printed time of {0} s says nothing; next: a larger problem", "输出的时间 {0} 秒没有意义；下一步：增大问题规模"},
    {"import.rate_differs", "the printed rate is {0} × operations over time", "输出的速率是运算量除以时间的 {0} 倍"},
    {"import.rate_of_gpus", "the printed rate is {0} × that of one GPU times {1} GPUs", "输出的速率是单 GPU 速率乘以 {1} 个 GPU 的 {0} 倍"},
    {"import.cut_short", "the output ends before the program says that it is done", "输出在程序宣布结束前中断"},
    {"import.other_count", "the program counts {0} tests, its output has {1} results", "程序计数 {0} 个测试，输出中有 {1} 个结果"},
    {"import.tests_skipped", "the program skipped {0} tests because of illegal input", "程序因输入非法跳过 {0} 个测试"},
    {"import.columns", "a row of {0} columns under a heading of {1}", "标题有 {1} 列而该行有 {0} 列"},
    {"import.no_number", "{0} is '{1}'", "{0} 为“{1}”"},
    {"import.no_parameter", "the result has no {0}", "结果中没有 {0}"},
    {"import.no_result", "has no result: nothing with '{0}'", "没有结果：未找到“{0}”"},
    {"import.printed_twice", "line {0} repeats a result with the same figures: it counts once", "第 {0} 行重复同样的结果：只计一次"},
    {"import.type_too_small", "LU in a type of less than 16 bits, or of unknown size: not valid for the list", "LU 使用小于 16 位或未知的类型：不符合榜单规则"},
    {"import.lu_rate", "{0} for LU without the solution: not the result", "仅 LU 为 {0}，不含求解：不是结果"},
    {"import.test_missing", "the output has no result of: {0}", "输出中没有该项测试结果：{0}"},
    {"import.test_failed", "the program's own test failed: {0}", "程序自身测试失败：{0}"},
    {"import.not_finite_at", "not a number: {0}", "不是数值：{0}"},
    {"import.residual_varies", "the final residuals vary by {0}", "最终残差的方差为 {0}"},
    {"import.not_official", "{0} s of benchmark: the list asks for 1800 s", "基准时长 {0} 秒：榜单要求 1800 秒"},
    {"import.reference_version", "the program says: {0}", "程序提示：{0}"},
    {"external.not_started", "{0} could not be started: {1}; next: the path of --program on this host", "{0} 无法启动：{1}；下一步：检查该主机上 --program 的路径"},
    {"external.deadline", "{0} did not end within {1} s and was ended; next: a smaller --order or a larger --run-deadline", "{0} 未在 {1} 秒内结束，已被终止；下一步：减小 --order 或增大 --run-deadline"},
    {"external.program_ended", "{0}: {1}; it last said: {2}; next: start it by hand with the same input", "{0}：{1}；其最后输出：{2}；下一步：用相同输入手动启动"},
    {"external.unreadable_output", "{0} ended and left no output that can be read: {1}; it last said: {2}; next: is it the program that --kind says?", "{0} 结束但没有可读的输出：{1}；其最后输出：{2}；下一步：确认程序与 --kind 一致"},
    {"external.no_memory", "{0} does not say how much memory is free; next: --order", "{0} 未报告可用内存；下一步：使用 --order"},
    {"external.other_size", "the program solved {0} = {1}, the input asked for {2}", "程序求解的 {0} = {1}，输入要求 {2}"},
    {"external.no_size", "the output does not say {0}: whether the program solved what the input asked for is not known", "输出未给出 {0}：无法确定程序是否按输入求解"},
    {"external.results", "the output has {0} results, and one problem was asked for; next: look why the program solved more", "输出含 {0} 个结果，而只要求一个问题；下一步：查明程序为何多算"},
    {"external.flooded", "{0} wrote more than {1} MiB to its screen and was ended; next: start it by hand and look why", "{0} 向屏幕写出超过 {1} MiB，已被终止；下一步：手动启动并查明原因"},
    {"external.several_files", "the program wrote {0} result files: its processes do not know one another; next: start it by the launcher of the MPI that it was built with", "程序写出 {0} 个结果文件：各进程互不相识；下一步：使用编译该程序的 MPI 启动器"},
    {"external.no_directory", "no directory of its own could be made in {0}: {1}; next: --dir", "无法在 {0} 中创建目录：{1}；下一步：使用 --dir"},
    {"lu.no_solver", "{0}: {1} has no triangular solver (cblas_dtrsm); next: --library", "{0}：{1} 没有三角求解（cblas_dtrsm）；下一步：--library"},
    {"lu.wrong", "{0}: the scaled residual is {1}, not below 16; next: gemm, burn and memory on this part", "{0}：归一化残差为 {1}，不小于 16；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"lu.like", "HPL-like: HPL's problem, count and residual within one process; no figure for a list", "类 HPL：单进程内的 HPL 问题、计数与残差；不能用于榜单"},
    {"lu.ceiling.one", "products of {1} on {0} thread, measured in this record", "本记录实测：{1} 用 {0} 个线程做矩阵乘积"},
    {"lu.ceiling.many", "products of {1} by {0} threads at once, measured in this record", "本记录实测：{1} 用 {0} 个线程同时做矩阵乘积"},
    {"gpu_lu.no_fp64", "the maker of {0} states no rate of fp64: LU tells nothing about such a GPU; next: gemm, train or bandwidth with --device gpu", "{0} 的厂商未给出 fp64 速率：LU 对此类 GPU 没有意义；下一步：以 --device gpu 运行 gemm、train 或 bandwidth"},
    {"gpu_lu.weak", "{0} has {1} of fp64: LU tells nothing about what it is bought for; next: gemm, train or bandwidth with --device gpu", "{0} 的 fp64 仅 {1}：LU 无法反映其用途；下一步：以 --device gpu 运行 gemm、train 或 bandwidth"},
    {"gpu_lu.few_units", "{0}: GPUs of compute capability {1} have next to no units for fp64: LU tells nothing about such a GPU; next: gemm, train or bandwidth with --device gpu", "{0}：计算能力 {1} 的 GPU 几乎没有 fp64 单元：LU 对此类 GPU 没有意义；下一步：以 --device gpu 运行 gemm、train 或 bandwidth"},
    {"lu.not_repeated", "{0}: two equal factorings gave different solutions; next: gemm, burn and memory on this part", "{0}：两次相同的分解得到不同的解；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"gpu_lu.too_large", "{0}: order {1} needs {2}, {3} are free; next: a smaller --size, or none for the largest that fits", "{0}：{1} 阶需要 {2}，空闲 {3}；下一步：减小 --size，或不指定以取可容纳的最大值"},
    {"gpu_lu.ceiling", "products of the first update, {0} rows by {1} columns of the panel, on the same GPU, measured in this record", "本记录实测：同一 GPU 上首次更新的矩阵乘积（{0} 行，面板 {1} 列）"},
    {"gpu.in_turn", "the {0} GPUs of a rank solve one after the other; next: a rank for each GPU lets them work at the same time", "一个进程的 {0} 个 GPU 依次求解；下一步：每个 GPU 一个进程可同时求解"},
    {"cg.edge", "a cube of edge {0} cannot be divided: a multiple of 8, at least 16, with 8 planes for each of {1} threads; next: --size or --threads", "边长 {0} 的立方体无法划分：须为 8 的倍数、至少 16，且 {1} 个线程各有 8 层；下一步：--size 或 --threads"},
    {"cg.fewer_threads", "a cube of edge {0} has room for {1} threads, this rank has {2} cores; next: several ranks a host, or a larger --size", "边长 {0} 的立方体最多 {1} 个线程，本进程有 {2} 个核；下一步：每主机多个进程，或增大 --size"},
    {"cg.like", "HPCG-like: HPCG's operator, preconditioner and count within one process; no figure for a list", "类 HPCG：单进程内的 HPCG 算子、预条件与计数；不能用于榜单"},
    {"cg.ceiling", "triad by {0} threads on as much memory, measured in this record", "本记录实测：{0} 个线程在同样大小的内存上做 triad"},
    {"cg.not_symmetric", "{0}: operator and preconditioner depart from symmetry by {1} and {2} times what rounding gives; next: gemm, burn and memory on this part", "{0}：算子与预条件偏离对称为舍入误差的 {1} 和 {2} 倍；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"cg.not_converged", "{0}: {1} iterations to a residual of {2} with preconditioner, {3} to {4} without; next: gemm, burn and memory on this part", "{0}：有预条件时 {1} 次迭代残差 {2}，无预条件时 {3} 次 {4}；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"cg.not_repeated", "{0}: two equal sets ended with different residuals; next: gemm, burn and memory on this part", "{0}：两组相同的计算得到不同残差；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"cg.wrong", "{0}: the residual {1} differs from that of the solution by {2}; next: gemm, burn and memory on this part", "{0}：残差 {1} 与解的残差相差 {2}；下一步：对该部件运行 gemm、burn 和内存测试"},
    {"gpu_cg.too_large", "{0}: a cube of edge {1} needs {2}, {3} are free; next: a smaller --size", "{0}：边长 {1} 的立方体需要 {2}，空闲 {3}；下一步：减小 --size"},
    {"gpu_cg.colours", "sweeps go over eight colours of points: more iterations than in the order of the rows, the same operations in each; HPCG's rating charges the extra ones, this figure does not", "按八种颜色依次扫描各点：迭代次数多于按行顺序，每次迭代的运算量相同；HPCG 的评分计入多出的迭代，本数值不计"},
    {"gpu_cg.ceiling", "reads of the matrix's values on the same GPU, measured in this record", "本记录实测：同一 GPU 读取矩阵数值"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_workloads() { return kSaidWorkloads; }

}  // namespace cb
