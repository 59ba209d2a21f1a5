// The Chinese of what measurements of GPUs say.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kGpuPhrases[] = {
    // why there is no figure
    {"this clusterbench was built without CUDA: configure it with -DCLUSTERBENCH_CUDA=ON where nvcc is found", "本程序构建时未启用 CUDA：请在有 nvcc 的环境以 -DCLUSTERBENCH_CUDA=ON 配置"},
    {"this clusterbench was built without CUDA; next: configure it with -DCLUSTERBENCH_CUDA=ON where nvcc is found, or use --memory host", "本程序构建时未启用 CUDA；下一步：在有 nvcc 的环境以 -DCLUSTERBENCH_CUDA=ON 配置，或使用 --memory host"},
    {"no NVML", "没有 NVML"},
    {"NVML does not open: {0}", "NVML 无法打开：{0}"},
    {"nvmlInit_v2: {0}; is the NVIDIA driver loaded (nvidia-smi)?", "nvmlInit_v2：{0}；NVIDIA 驱动是否已加载（nvidia-smi）？"},
    {"cuBLASLt does not open: {0}", "cuBLASLt 无法打开：{0}"},
    {"cuBLASLt is absent on another host", "另一主机缺少 cuBLASLt"},
    {"CUDA finds no usable device: {0}", "CUDA 未找到可用设备：{0}"},
    {"CUDA finds no device", "CUDA 未找到设备"},
    {"CUDA device {0} has not finished {1} after {2} s: it hangs; see `dmesg | grep Xid`", "CUDA 设备 {0} 在 {2} s 后仍未完成 {1}：已挂起；见 `dmesg | grep Xid`"},
    {"NVML has not come back from {0} in {1} s: the driver hangs; see `dmesg | grep Xid`", "NVML 的 {0} 在 {1} s 内未返回：驱动挂起；见 `dmesg | grep Xid`"},
    {"NVML has not come back from {0} in {1} s: the driver hangs", "NVML 的 {0} 在 {1} s 内未返回：驱动挂起"},
    {"NVML has not come back from {0}: the driver hangs", "NVML 的 {0} 未返回：驱动挂起"},
    {"NVML no longer answers for it", "NVML 不再应答该设备"},
    {"NVML says zero", "NVML 返回 0"},
    {"this driver's NVML has no {0}", "该驱动的 NVML 没有 {0}"},
    {"the GPU is not part of an NVSwitch fabric", "该 GPU 不属于 NVSwitch 互联"},
    {"{0} could not be read: {1}", "未能读取 {0}：{1}"},
    {"{0} is not in the table of products: no ceiling and no share of a peak is given", "{0} 不在产品表中：不给出上限和峰值占比"},
    {"GPU {0} is in MIG mode: nvidia-smi -i {1} -mig 0, then reset it", "GPU {0} 处于 MIG 模式：执行 nvidia-smi -i {1} -mig 0 后复位"},
    {"no power, clocks and errors of the GPUs: {0}", "没有 GPU 的功耗、时钟与错误数据：{0}"},
    {"no rank drives two GPUs: start one rank a host", "没有进程驱动两块 GPU：请每台主机启动一个进程"},
    // what happened while measuring
    {"{0} was throttled in {1} of {2} looks (heat, hardware slowdown or power brake)", "{0} 在 {2} 次采样中有 {1} 次降频（过热、硬件降速或供电制动）"},
    {"{0}: the time did not suffice for all {1} memory tests: give a longer --duration", "{0}：时间不足以完成全部 {1} 项内存测试：请加大 --duration"},
    {"{0}: {1} pulses a second instead of {2}: give a smaller --size", "{0}：每秒 {1} 个脉冲，而非 {2} 个：请减小 --size"},
    {"GPU {0} and GPU {1}: not measured, one of them is lost", "GPU {0} 与 GPU {1}：未测，其中之一已失效"},
    {"no GPU could do this", "没有 GPU 能完成此项"},
    {"{0} was at its power limit in {1} of {2} looks: normal under full load", "{0} 在 {2} 次采样中有 {1} 次达到功耗上限：满载时正常"},
    {"{0} uncorrectable memory errors (ECC)", "{0} 次不可纠正的内存错误（ECC）"},
    {"{0} GPU {1}: Xid {2} in the kernel log: {3}", "{0} GPU {1}：内核日志中有 Xid {2}：{3}"},
    {"Xid {0} in the kernel log: {1}", "内核日志中有 Xid {0}：{1}"},
    {"the NUMA node of a GPU is unknown: host memory lies where the kernel put it", "GPU 的 NUMA 节点未知：主机内存位置由内核决定"},
    {"GPU {0}: no other NUMA node", "GPU {0}：没有其他 NUMA 节点"},
    {"pageable copies: one GPU after the other", "可换页内存拷贝：各 GPU 依次进行"},
    {"GPU {0} cannot reach the memory of GPU {1} (ACS, IOMMU, or no link): not measured", "GPU {0} 无法访问 GPU {1} 的显存（ACS、IOMMU 或无链路）：未测"},
    {"GPU {0} cannot reach the memory of GPU {1} (ACS, IOMMU, or no link): the copies go through host memory", "GPU {0} 无法访问 GPU {1} 的显存（ACS、IOMMU 或无链路）：拷贝经由主机内存"},
    {"{0} wrong, the first at {1} of {2}", "{0} 处错误，首个位于 {2} 的 {1}"},
    {"PCIe generation {0} ×{1} as trained during the copies, payload of 256-byte packets", "拷贝期间链路为 PCIe {0}.0 ×{1}，按 256 字节包的载荷计"},
    {"the enforced power limit", "生效的功耗上限"},
    {"one GPU of its kind: compared with its own first result, not with others ({0})", "该型号只有一块 GPU：与其自身首个结果比较，未与其他 GPU 比较（{0}）"},
    {"the golden file has no hash of {0}", "基准文件中没有 {0} 的哈希"},
    {"majority of the GPUs", "多数 GPU 一致"},
    {"GPUs of its kind do not agree and none of their results has a majority: burn it beside more GPUs, or with --golden", "同型号 GPU 结果不一致且无多数：请与更多 GPU 一起加载，或使用 --golden"},
    {"its first {0} result differs from the golden one", "其首个 {0} 结果与基准不同"},
    {"a fault was injected on purpose: {0}", "按设定注入故障：{0}"},
    {"{0}; {1} wrong in {2} passes", "{0}；{2} 轮中 {1} 轮错误"},
    {"{0}: {1} elements are NaN or infinite", "{0}：{1} 个元素为 NaN 或无穷"},
    {"{0} was stopped early: {1}", "{0} 提前停止：{1}"},
    {"no pass was finished", "没有完成任何一轮"},
    {"{0} {1} differs from the golden result and this GPU repeats it: a permanent fault, or the golden belongs to another library", "{0} {1} 与基准不同且可重复：为永久故障，或基准属于其他库版本"},
    {"{0} bytes of copied memory wrong, the first at {1} + {2}", "拷贝内存 {0} 字节错误，首个位于 {1} + {2}"},
    {"SM {0}: {1} blocks with a wrong result ({2} SMs in all)", "SM {0}：{1} 个线程块结果错误（共 {2} 个 SM）"},
    {"memory test {0} step {1}: {2} words wrong, the first at {3} + {4}, bits {5}", "内存测试 {0} 第 {1} 步：{2} 个字错误，首个位于 {3} + {4}，位 {5}"},
    {"GPU {0} ({1}): {2} of {3} elements wrong ({4} not finite), first row {5} column {6}", "GPU {0}（{1}）：{3} 个元素中 {2} 个错误（{4} 个非有限），首个在第 {5} 行第 {6} 列"},
    {"{0} of {1} elements wrong ({2} not finite), first row {3} column {4}", "{1} 个元素中 {0} 个错误（{2} 个非有限），首个在第 {3} 行第 {4} 列"},
    {"{0} GPUs of one kind have {1} different results, none of them more than half", "同型号 {0} 块 GPU 有 {1} 种结果，均未过半"},
    {"GPU {0}: cuBLASLt {1} has no algorithm for {2} {3}", "GPU {0}：cuBLASLt {1} 没有 {2} {3} 的算法"},
    {"GPU {0}: {1} needs {2}, {3} are free: give a smaller --size", "GPU {0}：{1} 需要 {2}，空闲 {3}：请减小 --size"},
    {"no public data sheet: stas00/ml-engineering accelerator table (2026-11) and published reviews", "无公开规格书：stas00/ml-engineering 加速卡表（2026-11）与公开评测"},
};
// clang-format on

}  // namespace

std::span<const Phrase> gpu_phrases() { return kGpuPhrases; }

}  // namespace cb
