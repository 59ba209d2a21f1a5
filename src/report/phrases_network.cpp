// The Chinese of what measurements of the network and of hangs say.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kNetworkPhrases[] = {
    // collectives
    {"{0} falls at {1}: {2} % of the bus bandwidth at {3}; a change of algorithm or protocol?", "{0} 在 {1} 处下降：为 {3} 时总线带宽的 {2} %；是否切换了算法或协议？"},
    {"{0}: {1}: element {2} of {3}: {4} ({5} wrong in this call)", "{0}：{1}：{3} 个元素中第 {2} 个：{4}（本次调用共 {5} 个错误）"},
    {"got {0}, expected {1}", "得到 {0}，应为 {1}"},
    {"memory beside the buffer was overwritten", "缓冲区外的内存被改写"},
    {"check {0} before timing", "计时前第 {0} 次校验"},
    {"check {0} after timing", "计时后第 {0} 次校验"},
    {"timed iteration {0}", "第 {0} 次计时迭代"},
    {"{0} has one rank only; a group needs two", "{0} 只有一个进程；每组至少两个"},
    // pairs of ends
    {"partial: {0} of {1} ends of pairs failed and have no figure", "部分完成：{1} 个节点对端点中有 {0} 个失败，无数据"},
    {"every pair of the others failed", "其余节点对全部失败"},
    {"nothing was measured", "没有任何测量"},
    {"{0}: the other end did not take part", "{0}：对端未参与"},
    {"{0}: the other end: {1}", "{0}：对端：{1}"},
    {"not finished within the deadline", "在时限内未完成"},
    {"no message within the deadline", "时限内没有消息"},
    {"deadline passed", "超时"},
    {"needs mpirun or srun: there is no other rank", "需要 mpirun 或 srun：没有其他进程"},
    {"needs mpirun or srun: MPI has no other rank", "需要 mpirun 或 srun：MPI 中没有其他进程"},
    // verbs
    {"soft-RoCE: the kernel does the transport's work; its speed says nothing of a NIC", "soft-RoCE：传输由内核完成，其速率不代表网卡"},
    {"{0} Gb/s × {1} % payload at MTU {2}, both directions", "{0} Gb/s × MTU {2} 时载荷占比 {1} %，双向"},
    {"{0} Gb/s × {1} % payload at MTU {2}", "{0} Gb/s × MTU {2} 时载荷占比 {1} %"},
    {"PCIe slot of {0}: {1} GB/s, both directions", "{0} 的 PCIe 插槽：{1} GB/s，双向"},
    {"PCIe slot of {0}: {1} GB/s", "{0} 的 PCIe 插槽：{1} GB/s"},
    {"no RDMA device on {0}: is the driver loaded (ls /sys/class/infiniband)?", "{0} 上没有 RDMA 设备：驱动是否已加载（ls /sys/class/infiniband）？"},
    {"no active RDMA port on {0}", "{0} 上没有激活的 RDMA 端口"},
    {"{0} has no counter of drops", "{0} 没有丢包计数器"},
    {"{0} stands at its largest value; clear it", "{0} 已达最大值；请清零"},
    {"{0} received a wrong byte from {1}: queue pair {2}, slot {3}, offset {4} of {5}: got {6}, expected {7}", "{0} 收到来自 {1} 的错误字节：队列对 {2}，槽 {3}，偏移 {4} / {5}：得到 {6}，应为 {7}"},
    {"{0}: its words stand at {1} after {2} atomics from {3}", "{0}：来自 {3} 的 {2} 次原子操作后其计数为 {1}"},
    {"is the peer alive, are both ports and the switch up?", "对端是否存活，两端端口与交换机是否正常？"},
    {"{0}: the port is {1} (physically {2}); next: {3}", "{0}：端口状态 {1}（物理 {2}）；下一步：{3}"},
    {"{0} → {1}: {2} (queue pair {3}, vendor error {4}); next: {5}", "{0} → {1}：{2}（队列对 {3}，厂商错误码 {4}）；下一步：{5}"},
    {"drops {0}, out of sequence {1}, resent {2}, pauses {3}, ECN marks {4}, CNPs {5}", "丢包 {0}，乱序 {1}，重传 {2}，暂停 {3}，ECN 标记 {4}，CNP {5}"},
    {"drops {0}, out of sequence {1}, resent {2}, pauses {3}", "丢包 {0}，乱序 {1}，重传 {2}，暂停 {3}"},
    {"drops {0}, out of sequence {1}, resent {2}", "丢包 {0}，乱序 {1}，重传 {2}"},
    {"drops {0}, out of sequence {1}", "丢包 {0}，乱序 {1}"},
    {"drops {0}", "丢包 {0}"},
    {"out of sequence {0}", "乱序 {0}"},
    {"resent {0}", "重传 {0}"},
    {"pauses {0}", "暂停 {0}"},
    {"PFC paused before ECN marked: check the thresholds", "PFC 暂停先于 ECN 标记：请检查阈值"},
    // tcp
    {"{0} × {1} at MTU {2} (TCP over IPv{3} with timestamps), both directions", "{0} × {1}，MTU {2}（IPv{3} 上的 TCP，含时间戳），双向"},
    {"{0} × {1} at MTU {2} (TCP over IPv{3} with timestamps)", "{0} × {1}，MTU {2}（IPv{3} 上的 TCP，含时间戳）"},
    {"no connection to {0} ({1}): check the link, the route and the firewall", "无法连接 {0}（{1}）：请检查链路、路由与防火墙"},
    {"no connection to {0} ({1})", "无法连接 {0}（{1}）"},
    {"no connection from {0}", "没有来自 {0} 的连接"},
    {"no answer within {0} s", "{0} s 内无应答"},
    {"{0} does not take data", "{0} 不接收数据"},
    {"{0} closed the connection: look at its own message", "{0} 关闭了连接：请看其自身的消息"},
    {"{0} closed the connection within a message", "{0} 在消息中途关闭了连接"},
    {"nothing comes from {0}", "没有收到 {0} 的数据"},
    {"nothing more comes from {0}", "不再收到 {0} 的数据"},
    {"from {0}: wrong from byte {1} on", "来自 {0}：自第 {1} 字节起错误"},
    {"from {0}: stream {1} is wrong from byte {2} on", "来自 {0}：流 {1} 自第 {2} 字节起错误"},
    {"the kernel copied after all", "内核仍进行了拷贝"},
    {"off: a stream stood still in the trial", "关闭：试运行中有流停滞"},
    {"on: asked for", "开启：按要求"},
    // hangs
    {"all ranks were still working", "所有进程仍在工作"},
    {"every rank is there and equally far: what they wait for is between them; look at the links", "所有进程均在且进度相同：等待对象在它们之间，请检查链路"},
    {"has been silent for {0}: stopped, or its host or link is; last in {1}", "已 {0} 无消息：进程、主机或链路已停；最后处于 {1}"},
    {"is behind the others for {0}, in {1}", "落后其他进程 {0}，处于 {1}"},
    {"its connection broke: the process or its host is gone; last in {0}", "连接中断：进程或主机已失联；最后处于 {0}"},
    {"has failed: {0}", "已失败：{0}"},
    {"never reached rank 0 over TCP", "从未经 TCP 连到 0 号进程"},
    {"state not known: never reached rank 0", "状态未知：从未连到 0 号进程"},
    {"stuck in {0}", "卡在 {0}"},
    {"not there : {0}: {1}", "未到达：{0}：{1}"},
    {"not moving: {0}: {1}", "未推进：{0}：{1}"},
    {"{0}, inside step {1}", "{0}，在第 {1} 步中"},
    {"{0}, {1} steps done", "{0}，已完成 {1} 步"},
    {"another host of the job has no such GPU", "任务中另一台主机没有该 GPU"},
    {"{0} has no GPU {1}, only {2}", "{0} 没有 GPU {1}，只有 {2} 个"},
    {"{0}: CUDA finds no usable device: {1}; next: use --memory host, or look at nvidia-smi", "{0}：CUDA 找不到可用设备：{1}；下一步：使用 --memory host，或查看 nvidia-smi"},
    {"{0} per GPU in a direction", "每 GPU 单向 {0}"},
    {"{0} per GPU in a direction, reduced in the NVLink switch", "每 GPU 单向 {0}，由 NVLink 交换机归约"},
    {"{0} per host in a direction over {1} hosts", "每台主机单向 {0}，共 {1} 台主机"},
    {"{0} per host in a direction over {1} hosts, reduced inside the hosts first", "每台主机单向 {0}，共 {1} 台主机，先在主机内归约"},
    {"the bus bandwidth of {0} is above the {1} of the wire and right all the same: it counts the bytes of a ring, and a tree, a hierarchy or the NVLink switch sends fewer", "总线带宽 {0} 高于线路速率 {1}，但数值正确：它按环形算法计字节，而树形、分层或 NVLink 交换机归约发送更少"},
    {"NCCL wrote its choices to a log while it was measured: small sizes are slower by that", "测量期间 NCCL 将其选择写入日志：小消息因此变慢"},
    {"the hosts have different numbers of ranks: no ceiling is given", "各主机的进程数不同：不给出上限"},
};
// clang-format on

}  // namespace

std::span<const Phrase> network_phrases() { return kNetworkPhrases; }

}  // namespace cb
