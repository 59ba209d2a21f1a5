// The Chinese of what measurements of hosts and processors say.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kHostPhrases[] = {
    // ceilings
    {"measured in this run: the fastest pass over the same arrays with the same threads, reading alone included", "本次实测：相同线程对相同数组的最快一遍，含只读"},
    {"measured in this record: {0} multiply-adds in registers on the same {1} threads", "本记录实测：同样 {1} 个线程在寄存器中执行 {0} 乘加"},
    {"measured in this record: {0} multiply-adds in registers on the same {1} thread", "本记录实测：同样 {1} 个线程在寄存器中执行 {0} 乘加"},
    {"theoretical peak: {0}", "理论峰值：{0}"},
    {"the slower of memory bandwidth and link", "取内存带宽与链路中较慢者"},
    // notes
    {"arrays below 4 × the last-level caches ({0}): not STREAM's rule, a part comes from the caches", "数组小于末级缓存的 4 倍（{0}）：不符合 STREAM 规则，部分数据来自缓存"},
    {"theoretical peak of this processor unknown: only the measured one", "该处理器的理论峰值未知：只有实测峰值"},
    {"more ranks than cores on a host: the ranks disturb one another", "每台主机的进程数多于核数：进程互相干扰"},
    // what could not be read of a host
    {"the driver does not say", "驱动未提供"},
    {"the firmware does not say", "固件未提供"},
    {"the link is down", "链路未连接"},
    {"the kernel does not scale this processor's frequency", "内核不调节该处理器频率"},
    {"no DMI tables: {0} is missing", "无 DMI 表：缺少 {0}"},
    {"{0} is missing", "缺少 {0}"},
    {"only root may read it", "只有 root 可读取"},
    {"absent", "缺失"},
    {"absent: {0}", "缺失：{0}"},
    // gemm, bandwidth, burn
    {"huge pages advised", "已建议使用大页"},
    {"one random cycle of 64-byte lines", "64 字节行构成的单一随机环"},
    {"builtin, as asked for", "内置，按要求"},
    {"{0}, family {1} model {2}, {3}-bit vectors, two units as measured ({4})", "{0}，family {1} model {2}，{3} 位向量，实测两个单元（{4}）"},
    {"{0}, family {1} model {2}, {3}-bit vectors, one unit as measured ({4})", "{0}，family {1} model {2}，{3} 位向量，实测一个单元（{4}）"},
    {"{0} FLOP per cycle and core: {1}", "每核每周期 {0} 次浮点运算：{1}"},
    {"{0} wrong elements of {1}, the first {2} = {3}", "{1} 个元素中 {0} 个错误，首个 {2} = {3}"},
    {"row {0} of C: C·x = {1}, A·(B·x) = {2}", "C 的第 {0} 行：C·x = {1}，A·(B·x) = {2}"},
    {"row {0} of C is the first wrong one", "C 的第 {0} 行为首个错误行"},
    {"the value is {0}", "数值为 {0}"},
    {"wrong product: {0}", "乘积错误：{0}"},
    {"the arrays hold a value that is no number", "数组中存在非数值"},
    {"no library multiplies {0} here: {1}; next: --library builtin", "本机没有可计算 {0} 的库：{1}；下一步：使用 --library builtin"},
    {"{0} needs {1} and has {2} for {3} rank(s); next: a smaller --size", "{0} 需要 {1}，{3} 个进程只有 {2}；下一步：减小 --size"},
    {"no memory for an array of {0} bytes; next: a smaller --size", "没有内存存放 {0} 字节的数组；下一步：减小 --size"},
    {"another rank of this job failed here", "本作业的另一进程在此失败"},
    {"cpu {0} did not burn: {1}", "CPU {0} 未加载：{1}"},
    {"cpu {0} finished no pass in {1} s: give a longer --duration", "CPU {0} 在 {1} s 内未完成一轮：请加长 --duration"},
    {"{0} of {1} passes wrong, first {2}", "{1} 轮中 {0} 轮错误，首个 {2}"},
    {"pass {0}, {1}: hash {2}, expected {3}", "第 {0} 轮，{1}：哈希 {2}，应为 {3}"},
    {"needs {0} ranks, has {1}: start it with mpirun or srun", "需要 {0} 个进程，只有 {1} 个：请用 mpirun 或 srun 启动"},
    {"no GPU on {0}", "{0} 上没有 GPU"},
    {"rank {0} waited {1} s for the other ranks at the end of a record", "进程 {0} 在记录结束时等待其他进程 {1} s"},
    {"without the shares of ranks {0}, which were not told before the job ended", "缺少进程 {0} 的部分，作业结束前未上报"},
    {"needs root: {0}", "需要 root 权限：{0}"},
    {"PCIe extended configuration space", "PCIe 扩展配置空间"},
    {"the port is {0}", "端口状态为 {0}"},
    {"the link is {0}", "链路状态为 {0}"},
    {"the NVIDIA driver is not loaded", "NVIDIA 驱动未加载"},
    {"not asked: the call would hang if the server is gone", "未查询：若服务端失联该调用会挂起"},
    // the scripted case of the tests
    {"skipped as it was told", "按设定跳过"},
    {"fails as it was told", "按设定失败"},
    {"wrong as it was told", "按设定出错"},
    {"1.25 × the scripted value", "设定值的 1.25 倍"},
};
// clang-format on

}  // namespace

std::span<const Phrase> host_phrases() { return kHostPhrases; }

}  // namespace cb
