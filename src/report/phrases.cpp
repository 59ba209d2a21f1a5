// The Chinese of what records, jobs and loading say. A sentence is found by its fixed words.
#include "report/phrases.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/args.h>
#include <fmt/format.h>

namespace cb {
namespace {

// clang-format off
constexpr Phrase kPhrases[] = {
    // ceilings
    {"measured in this run: the fastest pass over the same arrays with the same threads, reading alone included", "本次实测：相同线程对相同数组的最快一遍，含只读"},
    {"measured in this record: {0} multiply-adds in registers on the same {1} threads", "本记录实测：同样 {1} 个线程在寄存器中执行 {0} 乘加"},
    {"measured in this record: {0} multiply-adds in registers on the same {1} thread", "本记录实测：同样 {1} 个线程在寄存器中执行 {0} 乘加"},
    {"theoretical peak: {0}", "理论峰值：{0}"},
    {"the slower of memory bandwidth and link", "取内存带宽与链路中较慢者"},
    {"{0} per GPU in a direction", "每 GPU 单向 {0}"},
    {"{0} per GPU in a direction, reduced in the NVLink switch", "每 GPU 单向 {0}，由 NVLink 交换机归约"},
    {"{0} per host in a direction over {1} hosts", "每台主机单向 {0}，共 {1} 台主机"},
    {"{0} per host in a direction over {1} hosts, reduced inside the hosts first", "每台主机单向 {0}，共 {1} 台主机，先在主机内归约"},
    // notes
    {"{0} falls at {1}: {2} % of the bus bandwidth at {3}; a change of algorithm or protocol?", "{0} 在 {1} 处下降：为 {3} 处总线带宽的 {2} %；算法或协议切换？"},
    {"the bus bandwidth of {0} is above the {1} of the wire and right all the same: it counts the bytes of a ring, and a tree, a hierarchy or the NVLink switch sends fewer", "总线带宽 {0} 高于线路速率 {1}，但数值正确：它按环形算法计字节，而树形、分层或 NVLink 交换机归约发送更少"},
    {"NCCL wrote its choices to a log while it was measured: small sizes are slower by that", "测量期间 NCCL 将其选择写入日志：小消息因此变慢"},
    {"the hosts have different numbers of ranks: no ceiling is given", "各主机的进程数不同：不给出上限"},
    {"arrays below 4 × the last-level caches ({0}): not STREAM's rule, a part comes from the caches", "数组小于末级缓存的 4 倍（{0}）：不符合 STREAM 规则，部分数据来自缓存"},
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
    {"theoretical peak of this processor unknown: only the measured one", "该处理器的理论峰值未知：只有实测峰值"},
    {"more ranks than cores on a host: the ranks disturb one another", "每台主机的进程数多于核数：进程互相干扰"},
    {"measured again because one measurement left the verdict open: the samples of all attempts are pooled", "一次测量不足以判定，已增加测量：各次样本合并计算"},
    // why a job is not done
    {"it hung or ran too long", "程序挂起或运行过久"},
    {"it hung or ran too long: {0}", "程序挂起或运行过久：{0}"},
    {"its command was refused", "命令被拒绝"},
    {"its command was refused: {0}", "命令被拒绝：{0}"},
    {"it was interrupted from outside", "被外部中断"},
    {"it was interrupted", "被中断"},
    {"interrupted", "被中断"},
    {"it ended with code {0}: {1}", "以代码 {0} 结束：{1}"},
    {"it ended with code {0}", "以代码 {0} 结束"},
    {"it was killed by signal {0} ({1}): {2}", "被信号 {0}（{1}）终止：{2}"},
    {"it was killed by signal {0} ({1})", "被信号 {0}（{1}）终止"},
    {"it was killed after its deadline of {0}: {1}", "超过时限 {0} 后被终止：{1}"},
    {"it was killed after its deadline of {0}", "超过时限 {0} 后被终止"},
    {"it wrote no record file", "没有写出记录文件"},
    {"it wrote no record file: {0}", "没有写出记录文件：{0}"},
    {"needs {0} {1} on every host, {2} has none", "每台主机需要 {0} 个 {1}，{2} 没有"},
    {"needs {0} {1} on every host, {2} has {3}", "每台主机需要 {0} 个 {1}，{2} 只有 {3} 个"},
    {"needs {0} hosts, has {1}", "需要 {0} 台主机，只有 {1} 台"},
    {"left out, because step {0} failed on it ({1})", "因步骤 {0} 在其上失败而排除（{1}）"},
    {"every host was left out", "所有主机均被排除"},
    {"its record file cannot be used: {0}", "记录文件无法使用：{0}"},
    {"its record file could not be renamed: {0}", "记录文件无法改名：{0}"},
    {"its record file was changed after the run: restore it or repeat the job", "记录文件在运行后被改动：请恢复或重测"},
    {"its record file was changed after the run: {0}", "记录文件在运行后被改动：{0}"},
    {"needs {0} ranks on {1} hosts, which the launcher none cannot start: {2}", "需要在 {1} 台主机上运行 {0} 个进程，无启动器无法启动：{2}"},
    {"needs {0} ranks on {1} host, which the launcher none cannot start: {2}", "需要在 {1} 台主机上运行 {0} 个进程，无启动器无法启动：{2}"},
    {"{0}: no progress for {1}", "{0}：{1} 内无进展"},
    // about the directory
    {"{0} of the manifest is not there", "清单中的 {0} 不存在"},
    {"{0} is not what the manifest says", "{0} 与清单不符"},
    {"records/{0} belongs to no job and was left out", "records/{0} 不属于任何作业，未计入"},
    {"line {0} of the journal is torn or foreign and was left out", "日志第 {0} 行不完整或非本程序所写，未计入"},
    {"{0} began before the campaign did: the clocks of the hosts differ by {1}", "{0} 早于本批次开始：主机时钟相差 {1}"},
    {"{0} ended after the campaign did: the clocks of the hosts differ by {1}", "{0} 晚于本批次结束：主机时钟相差 {1}"},
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
};
// clang-format on

// What stands at the placeholders where the text is this sentence; each takes as little as it can.
std::optional<std::vector<std::string>> match(std::string_view sentence, std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const size_t open = sentence.find('{');
    const std::string_view fixed = sentence.substr(0, open);
    if (!text.starts_with(fixed)) return std::nullopt;
    text.remove_prefix(fixed.size());
    if (open == std::string_view::npos) return text.empty() ? std::optional(out) : std::nullopt;
    sentence.remove_prefix(open + 3);  // "{0}"
    const std::string_view next = sentence.substr(0, sentence.find('{'));
    const size_t end = next.empty() ? (sentence.empty() ? text.size() : std::string_view::npos)
                       : next.size() == sentence.size() ? text.rfind(next)
                                                        : text.find(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<std::string> find_translation(std::string_view text) {
  for (const Phrase& phrase : kPhrases) {
    const auto found = match(phrase.en, text);
    if (!found) continue;
    fmt::dynamic_format_arg_store<fmt::format_context> args;
    for (const std::string& arg : *found) args.push_back(translated(Lang::zh, arg));
    return fmt::vformat(phrase.zh, args);
  }
  return std::nullopt;
}

}  // namespace

std::span<const Phrase> all_phrases() { return kPhrases; }

std::string translated(Lang lang, std::string_view text) {
  if (lang == Lang::en || text.empty()) return std::string(text);
  return find_translation(text).value_or(std::string(text));
}

std::string explained(Lang lang, const std::vector<Message>& messages) {
  std::vector<Message> local = messages;
  for (Message& m : local) {
    for (std::string& arg : m.args) {
      // A reason comes with its own colon in front.
      const bool colon = arg.starts_with(": ");
      arg = (colon ? ": " : "") + translated(lang, std::string_view(arg).substr(colon ? 2 : 0));
    }
  }
  return say_all(lang, local);
}

}  // namespace cb
