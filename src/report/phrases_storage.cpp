// The Chinese of what measurements of storage say.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kStoragePhrases[] = {
    {"{0} is {1}: the figures are of memory, not of a disk", "{0} 是 {1}：数据反映内存而非磁盘"},
    {"cached reads of files smaller than the host's memory: what was read once comes from memory; use --direct, or a --size beyond the memory", "文件小于主机内存的缓存读：读过的数据来自内存；请用 --direct 或大于内存的 --size"},
    {"most of the bytes read came from memory, not from the disk", "读取的数据大部分来自内存而非磁盘"},
    {"writes went to the page cache: durable_bytes_per_second is what reached the device", "写入进入页缓存：到达设备的速率见 durable_bytes_per_second"},
    {"{0}: threads with pread/pwrite instead of io_uring: {1}", "{0}：用 pread/pwrite 线程代替 io_uring：{1}"},
    {"the fsync at the end is not in bytes_per_second; see fsync_seconds", "结尾的 fsync 不计入 bytes_per_second；见 fsync_seconds"},
    {"the content of --file is not known, so what was read is not checked", "--file 的内容未知，因此读取的数据未校验"},
    {"the directory is on an overlay filesystem; the data lies on the filesystem of its upper layer", "目录位于 overlay 文件系统；数据在其上层文件系统"},
    {"{0}: left by earlier runs and not touched: {1}; remove them if no run uses them", "{0}：先前运行遗留且未改动：{1}；如无运行使用请删除"},
    {"no {0} was finished in the measured time: no figures of it", "测量时间内没有完成任何 {0}：无数据"},
    // notes and checks
    {"{0}: left by earlier runs and not touched: {1}; next: clusterbench io --clean {2}", "{0}：先前运行遗留且未改动：{1}；下一步：clusterbench io --clean {2}"},
    {"O_DIRECT was accepted, but fewer bytes came from the device than were read; next: use --no-direct on this filesystem", "已接受 O_DIRECT，但来自设备的字节数少于读取量；下一步：在该文件系统上使用 --no-direct"},
    {"O_DIRECT was accepted, but the file is in the page cache; next: use --no-direct on this filesystem", "已接受 O_DIRECT，但文件位于页缓存；下一步：在该文件系统上使用 --no-direct"},
    {"O_DIRECT accepted; this filesystem counts nothing to prove it", "已接受 O_DIRECT；该文件系统没有可供证明的计数"},
    {"a rank sent no figures of its share", "有一个进程未上报数据"},
    {"no request on {0} was finished in the measured time; next: a longer --duration, or look at the device", "{0} 上的请求在测量时间内均未完成；下一步：加长 --duration，或检查设备"},
    {"metadata: as the client's caches serve it", "元数据：含客户端缓存的效果"},
    {"{0} files did not hold what was written", "{0} 个文件的内容与写入不符"},
    {"{0} of the file {1} failed: {2}; next: {3}", "{1} 的 {0} 失败：{2}；下一步：{3}"},
    {"it has fewer than {0} bytes", "文件不足 {0} 字节"},
    {"free space on the filesystem, or find who changes it", "在文件系统上释放空间，或查明是谁在更改该文件"},
    {"laying out the file, after {0} of {1} bytes and {2} s: {3}", "测量前写入文件，{2} 秒内完成 {1} 字节中的 {0} 字节后：{3}"},
    {"{0} of {1} bytes at offset {2} of {3} failed: {4}; next: {5}", "{3} 在偏移 {2} 处 {1} 字节的 {0} 失败：{4}；下一步：{5}"},
    {"cannot reserve {0} for {1}: {2}; next: lower --size or free space", "无法为 {1} 预留 {0}：{2}；下一步：减小 --size 或释放空间"},
    {"{0} has {1} free, but {2} ranks need {3}; next: lower --size or free space", "{0} 空闲 {1}，{2} 个进程需要 {3}；下一步：减小 --size 或释放空间"},
    {"{0} has {1} free, but {2} rank need {3}; next: lower --size or free space", "{0} 空闲 {1}，{2} 个进程需要 {3}；下一步：减小 --size 或释放空间"},
    {"{0} cannot be used: {1}; next: name an existing directory that you may write to with --dir", "{0} 不可用：{1}；下一步：用 --dir 指定可写的已有目录"},
    {"fsync of {0} failed: {1}; next: look at the kernel log (dmesg): written data did not reach the device", "{0} 的 fsync 失败：{1}；下一步：查看内核日志（dmesg）：写入的数据未到达设备"},
    // how far each rank came until the error; the lines of ranks stand one after the other
    {"{0} blocks compared and right, then stopped with the others; {1}", "{0} 个块校验无误，随后与其他进程一起停止；{1}"},
    {"{0} blocks compared and right; {1}", "{0} 个块校验无误；{1}"},
    {"{0} blocks compared and right, then stopped with the others", "{0} 个块校验无误，随后与其他进程一起停止"},
    {"{0} blocks compared and right", "{0} 个块校验无误"},
    {"{0} requests, {1} bytes in {2} s, {3}", "{0} 个请求，{2} 秒内 {1} 字节，{3}"},
    // what a wrong sector holds
    {"{0} at offset {1} {2}", "{0} 偏移 {1} 处{2}"},
    {"holds the data of another run, offset {0}", "为另一次运行的数据，偏移 {0}"},
    {"holds the data of rank {0}, file {1}, offset {2}", "为进程 {0}、文件 {1}、偏移 {2} 的数据"},
    {"holds the data of offset {0}", "为偏移 {0} 的数据"},
    {"holds the data of an earlier write, but {0} of the {1} sectors of its block are of the last", "为较早一次写入的数据，但所在块的 {1} 个扇区中有 {0} 个是最后一次写入的"},
    {"holds the data of an earlier write", "为较早一次写入的数据"},
    {"holds zeros, as if never written", "全为零，如同从未写入"},
    {"8 bytes read as {0}, written as {1}, differ by {2}", "8 字节读出 {0}，写入 {1}，差异 {2}"},
    {"{0} bits differ: {1}", "{0} 位不同：{1}"},
    {"{0} bit differ: {1}", "{0} 位不同：{1}"},
    // next steps
    {"free space, or lower --size", "释放空间，或减小 --size"},
    {"raise the quota of this user, or lower --size", "提高该用户配额，或减小 --size"},
    {"the filesystem is read-only, perhaps since an error: look at the kernel log (dmesg)", "文件系统只读，可能因出错所致：查看内核日志（dmesg）"},
    {"the file server forgot the file: look at the server and mount again", "文件服务端已丢失该文件：检查服务端并重新挂载"},
    {"the device is gone: look at the kernel log (dmesg), the slot and its power", "设备已消失：查看内核日志（dmesg）、插槽与供电"},
    {"not supported here; without --poll, or with another --engine", "此处不支持；去掉 --poll，或换用其他 --engine"},
    {"look at the kernel log (dmesg) and the device's health (smartctl, nvme smart-log)", "查看内核日志（dmesg）与设备健康状态（smartctl、nvme smart-log）"},
    {"the filesystem refuses this alignment: try a larger --block-size or --no-direct", "文件系统不接受该对齐：尝试更大的 --block-size 或 --no-direct"},
    {"look at the kernel log (dmesg) and the mount", "查看内核日志（dmesg）与挂载"},
    {"end of file", "文件结尾"},
    // how it was measured
    {"page cache", "页缓存"},
    {"tmpfs (memory)", "tmpfs（内存）"},
    {"every block", "每个块"},
    {"a sample of the blocks", "抽样的块"},
    {"reserved before the measurement (fallocate)", "测量前预留（fallocate）"},
    {"laid out before the measurement", "测量前已写好"},
    {"while writing (the filesystem has no fallocate)", "写入时分配（文件系统无 fallocate）"},
    {"none (NVMe passthrough)", "无（NVMe 直通）"},
    {"pread and pwrite", "pread 与 pwrite"},
    {"bytes read as the kernel counts them for the process", "内核统计的进程读取字节数"},
    {"the file is not in the page cache afterwards", "事后文件不在页缓存中"},
    // the drive
    {"end before the run's end: the kernel does not know the device any more", "在运行结束前中断：内核已不识别该设备"},
    {"not read: {0}", "未读取：{0}"},
    {"no critical warning", "无严重警告"},
    {"critical warning: {0}", "严重警告：{0}"},
    {"spare below its threshold", "备用块低于阈值"},
    {"temperature beyond a threshold", "温度超过阈值"},
    {"reliability degraded", "可靠性下降"},
    {"read-only", "只读"},
    {"volatile memory backup has failed", "易失存储备份失效"},
    {"persistent memory region read-only or unreliable", "持久内存区只读或不可靠"},
    {"{0} needs the rights of root (CAP_SYS_ADMIN): {1}", "{0} 需要 root 权限（CAP_SYS_ADMIN）：{1}"},
    {"{0} ({1}): the PCIe link was {2} before the run and is {3}", "{0}（{1}）：PCIe 链路运行前为 {2}，现为 {3}"},
    {"{0} ({1}): the PCIe link runs at {2}; next: reseat the drive or look at the slot", "{0}（{1}）：PCIe 链路运行于 {2}；下一步：重新插拔该盘或检查插槽"},
    // the engine
    {"the sysctl kernel.io_uring_disabled is {0}", "sysctl kernel.io_uring_disabled 为 {0}"},
    {"a seccomp filter (container runtime) forbids io_uring_setup", "seccomp 过滤（容器运行时）禁止 io_uring_setup"},
    {"this kernel has no io_uring", "该内核没有 io_uring"},
    {"the limit of locked memory (ulimit -l) is too small for the ring", "锁定内存限制（ulimit -l）不足以建立环"},
    {"io_uring of this kernel is older than 5.11", "该内核的 io_uring 早于 5.11"},
    // GPUDirect Storage
    {"these figures are not of GPUDirect Storage: {0}", "这些数据不属于 GPUDirect Storage：{0}"},
    {"compatibility mode: {0} % of the bytes went through read and write calls of this process", "兼容模式：{0} % 的字节经本进程的读写调用"},
    {"nvidia-fs served {0} requests", "nvidia-fs 处理了 {0} 个请求"},
    {"unproven: nvidia-fs is not loaded, and no read or write calls were counted", "无法证明：nvidia-fs 未加载，也没有读写调用计数"},
    {"unproven: nvidia-fs does not count (rw_stats_enabled is 0)", "无法证明：nvidia-fs 未计数（rw_stats_enabled 为 0）"},
    {"unproven: neither nvidia-fs nor the process counted the requests", "无法证明：nvidia-fs 与进程均未计数"},
    {"gdscheck -p; --allow-compat gives figures all the same", "gdscheck -p；使用 --allow-compat 仍给出数据"},
    {"cuFile cannot be opened: {0}; next: install GPUDirect Storage, or name the library in CLUSTERBENCH_CUFILE_LIBRARY", "cuFile 无法打开：{0}；下一步：安装 GPUDirect Storage，或在 CLUSTERBENCH_CUFILE_LIBRARY 中指定库"},
    {"no GPU: {0}; next: use --memory host, or look at nvidia-smi", "没有 GPU：{0}；下一步：使用 --memory host，或查看 nvidia-smi"},
    {"{0}: stopped after {1} s, since another rank's run failed", "{0}：{1} 秒后停止，因为另一进程的运行失败"},
    {"the page cache kept the file when it was to be evicted: reads come from memory", "清除页缓存时该文件仍留在其中：读取的数据来自内存"},
    {"the page cache kept the file when it was to be evicted: what was read back came from memory and proves nothing of the device", "清除页缓存时该文件仍留在其中：回读的数据来自内存，不能证明设备上的内容"},
};
// clang-format on

}  // namespace

std::span<const Phrase> storage_phrases() { return kStoragePhrases; }

}  // namespace cb
