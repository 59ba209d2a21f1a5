// The Chinese of what jobs and the loading of a campaign say.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kCampaignPhrases[] = {
    // measured again
    {"measured again because one measurement left the verdict open: the samples of all attempts are pooled", "一次测量不足以判定，已增加测量：各次样本合并计算"},
    {"measured again because other work disturbed one measurement: its samples are left out", "一次测量受其他负载干扰，已重新测量：受干扰的样本不计入"},
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
    {"{0} names the machine {1}, and {2} of the same host {3}: one of them belongs to another host or campaign", "{0} 记录的机器是 {1}，同一主机的 {2} 是 {3}：其中之一属于其他主机或批次"},
    {"{0} was taken at {1}, {2} s outside of the time in which its job ran{3}: set the clocks of the hosts (NTP), or it belongs to another campaign", "{0} 记录时间为 {1}，超出其作业运行时间 {2} s{3}：请校准各主机时钟（NTP），或该文件属于其他批次"},
    {"{0} was taken at {1}, {2} s outside of the time in which its job ran: set the clocks of the hosts (NTP), or it belongs to another campaign", "{0} 记录时间为 {1}，超出其作业运行时间 {2} s：请校准各主机时钟（NTP），或该文件属于其他批次"},
    {"restore it or repeat the job", "请恢复或重测"},
    {"its record file was changed after the run", "记录文件在运行后被改动"},
    {"exit code {0}", "退出码 {0}"},
    {"srun needs the same number of slots on every host: give ranks_per_host as a number", "srun 要求各主机槽位数相同：请以数字给出 ranks_per_host"},
    {"install Open MPI, or use --launcher srun", "请安装 Open MPI，或使用 --launcher srun"},
    {"{0} where at least {1} is required", "实测 {0}，要求不低于 {1}"},
    {"{0} where at most {1} is required", "实测 {0}，要求不高于 {1}"},
};
// clang-format on

}  // namespace

std::span<const Phrase> campaign_phrases() { return kCampaignPhrases; }

}  // namespace cb
