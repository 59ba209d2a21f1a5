// What measuring hosts and processors says, in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidHost[] = {
    {"memory.ceiling_measured", "measured in this run: the fastest pass over the same arrays with the same threads, reading alone included", "本次实测：相同线程对相同数组的最快一遍，含只读"},
    {"memory.small_arrays", "arrays below 4 × the last-level caches ({0}): not STREAM's rule, a part comes from the caches", "数组小于末级缓存的 4 倍（{0}）：不符合 STREAM 规则，部分数据来自缓存"},
    {"gemm.peak_unknown", "theoretical peak of this processor unknown: only the measured one", "该处理器的理论峰值未知：只有实测峰值"},
    {"gemm.crowded", "more ranks than cores on a host: the ranks disturb one another", "每台主机的进程数多于核数：进程互相干扰"},
    {"inventory.driver_silent", "the driver does not say", "驱动未提供"},
    {"inventory.firmware_silent", "the firmware does not say", "固件未提供"},
    {"inventory.no_scaling", "the kernel does not scale this processor's frequency", "内核不调节该处理器频率"},
    {"memory.huge_pages", "huge pages advised", "已建议使用大页"},
    {"memory.random_cycle", "one random cycle of 64-byte lines", "64 字节行构成的单一随机环"},
    {"gemm.builtin_asked", "builtin, as asked for", "内置，按要求"},
    {"gemm.row_wrong", "row {0} of C: C·x = {1}, A·(B·x) = {2}", "C 的第 {0} 行：C·x = {1}，A·(B·x) = {2}"},
    {"gemm.row_first_wrong", "row {0} of C is the first wrong one", "C 的第 {0} 行为首个错误行"},
    {"memory.not_a_number", "the arrays hold a value that is no number", "数组中存在非数值"},
    {"gemm.no_library", "no library multiplies {0} here: {1}; next: --library builtin", "本机没有可计算 {0} 的库：{1}；下一步：使用 --library builtin"},
    {"memory.needs", "{0} needs {1} and has {2} for {3} rank(s); next: a smaller --size", "{0} 需要 {1}，{3} 个进程只有 {2}；下一步：减小 --size"},
    {"memory.no_array", "no memory for an array of {0} bytes; next: a smaller --size", "没有内存存放 {0} 字节的数组；下一步：减小 --size"},
    {"memory.other_rank_failed", "another rank of this job failed here", "本作业的另一进程在此失败"},
    {"burn.cpu_failed", "cpu {0} did not burn: {1}", "CPU {0} 未加载：{1}"},
    {"burn.no_pass_in_time", "cpu {0} finished no pass in {1} s: give a longer --duration", "CPU {0} 在 {1} s 内未完成一轮：请加长 --duration"},
    {"burn.pass_wrong", "pass {0}, {1}: hash {2}, expected {3}", "第 {0} 轮，{1}：哈希 {2}，应为 {3}"},
    {"need.ranks_here", "needs {0} ranks, has {1}: start it with mpirun or srun", "需要 {0} 个进程，只有 {1} 个：请用 mpirun 或 srun 启动"},
    {"need.gpu_here", "no GPU on {0}", "{0} 上没有 GPU"},
    {"comm.waited", "rank {0} waited {1} s for the other ranks at the end of a record", "进程 {0} 在记录结束时等待其他进程 {1} s"},
    {"inventory.no_nvidia_driver", "the NVIDIA driver is not loaded", "NVIDIA 驱动未加载"},
    {"inventory.not_asked", "not asked: the call would hang if the server is gone", "未查询：若服务端失联该调用会挂起"},
    {"fake.skipped", "skipped as it was told", "按设定跳过"},
    {"fake.failed", "fails as it was told", "按设定失败"},
    {"fake.wrong", "wrong as it was told", "按设定出错"},
    {"fake.ceiling", "1.25 × the scripted value", "设定值的 1.25 倍"},
    {"burn.cpu_wrong", "{0} cpu {1}: {2} of {3} passes wrong, first {4}", "{0} CPU {1}：{3} 轮中 {2} 轮错误，首个{4}"},
    {"gemm.measured_peak.one", "measured in this record: {1} multiply-adds in registers on the same {0} thread", "本记录实测：同样 {0} 个线程在寄存器中执行 {1} 乘加"},
    {"gemm.measured_peak.many", "measured in this record: {1} multiply-adds in registers on the same {0} threads", "本记录实测：同样 {0} 个线程在寄存器中执行 {1} 乘加"},
    {"gemm.not_opened", "{0}: {1} does not open: {2}", "{0}：{1} 无法打开：{2}"},
    {"gemm.per_cycle", "{0} FLOP per cycle and core: {1}, family {2} model {3}, {4}-bit vectors ({5})", "每核每周期 {0} 次浮点运算：{1}，family {2} model {3}，{4} 位向量（{5}）"},
    {"gemm.per_cycle_two", "{0} FLOP per cycle and core: {1}, family {2} model {3}, {4}-bit vectors, two units as measured ({5})", "每核每周期 {0} 次浮点运算：{1}，family {2} model {3}，{4} 位向量，实测两个单元（{5}）"},
    {"gemm.per_cycle_one", "{0} FLOP per cycle and core: {1}, family {2} model {3}, {4}-bit vectors, one unit as measured ({5})", "每核每周期 {0} 次浮点运算：{1}，family {2} model {3}，{4} 位向量，实测一个单元（{5}）"},
    {"gemm.wrong_product", "wrong product: {0}", "乘积错误：{0}"},
    {"memory.wrong_elements", "{0}: {1} wrong elements of {2}, the first {3}[{4}] = {5}", "{0}：{2} 个元素中 {1} 个错误，首个 {3}[{4}] = {5}"},
    {"burn.matrix_product", "matrix product", "矩阵乘积"},
    {"burn.memory", "memory", "内存"},
    {"inventory.no_dmi", "no DMI tables: {0} is missing", "无 DMI 表：缺少 {0}"},
    {"inventory.needs_root", "needs root: {0}", "需要 root 权限：{0}"},
    {"inventory.extended_space", "PCIe extended configuration space", "PCIe 扩展配置空间"},
    {"inventory.port_is", "the port is {0}", "端口状态为 {0}"},
    {"inventory.link_is", "the link is {0}", "链路状态为 {0}"},
    {"oob.without_shares", "without the shares of ranks {0}, which were not told before the job ended", "缺少进程 {0} 的部分，作业结束前未上报"},
    {"skeleton.differs", "{0}: the copy differs", "{0}：副本不一致"},
    {"skeleton.fastest", "measured in this record: the fastest copy", "本记录实测：最快的一次拷贝"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_host() { return kSaidHost; }

}  // namespace cb
