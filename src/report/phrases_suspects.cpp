// The Chinese of what locate says.
#include "report/phrase_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr Phrase kSuspectsPhrases[] = {
    // what is slow
    {"host {0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "主机 {0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"nic {0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "网卡 {0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"{0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "{0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"host {0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "主机 {0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"nic {0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "网卡 {0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"{0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"host {0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "主机 {0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"nic {0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "网卡 {0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"{0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "{0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"host {0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "主机 {0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"nic {0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "网卡 {0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"{0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"host {0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "主机 {0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"nic {0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "网卡 {0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"{0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "{0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"host {0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "主机 {0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"nic {0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "网卡 {0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"{0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"host {0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "主机 {0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"nic {0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "网卡 {0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"{0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %; fine alone, slow only together with others: congestion", "{0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %；单独正常，仅与其他同时才慢：拥塞"},
    {"host {0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "主机 {0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"nic {0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "网卡 {0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"{0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"host {0}: none of {1} transfers with it worked; {2}", "主机 {0}：与其进行的 {1} 次传输全部失败；{2}"},
    {"{0}: none of {1} transfers with it worked; {2}", "{0}：与其进行的 {1} 次传输全部失败；{2}"},
    {"link {0} → {1}: {2} of {3} transfers failed; {4}", "链路 {0} → {1}：{3} 次传输中 {2} 次失败；{4}"},
    {"host {0}: its ranks among themselves reach {1} % of the hosts' median; {2} of {3} samples low, confidence {4} %", "主机 {0}：其内部进程之间的速率为各主机中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"rail {0}: its ranks reach {1} % of the rails' median; {2} of {3} samples low, confidence {4} %", "轨道 {0}：其进程之间的速率为各轨道中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"{0}: among the ranks of its host reaches {1} % of what the others do; {2} of {3} samples low, confidence {4} %", "{0}：在本机进程之间的速率为其他进程的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"path leaf {0} ↔ leaf {1}", "叶交换机 {0} ↔ {1} 的路径"},
    {"uplink leaf {0}", "叶交换机 {0} 的上行链路"},
    {"link {0} → {1}", "链路 {0} → {1}"},
    // how sure the survey is
    {"noise of {0} % of a sample hides all that is less than {1} % below the fleet: measure while the hosts are idle, or with a longer --duration", "单样本噪声 {0} % 掩盖了低于全体 {1} % 以内的差异：请在主机空闲时测试，或加长 --duration"},
    {"needs {0} hosts to tell which one is slow, has {1}: start one rank on each host, or ask for --between rank", "判定哪台较慢需要 {0} 台主机，只有 {1} 台：请每台主机启动一个进程，或使用 --between rank"},
    {"needs {0} hosts to tell which one is slow, has {1}", "判定哪台较慢需要 {0} 台主机，只有 {1} 台"},
    {"needs {0} ranks to tell which one is slow, has {1}", "判定哪个进程较慢需要 {0} 个进程，只有 {1} 个"},
    {"runs clusterbench {0}, and {1} runs {2}: install the same on every host", "运行 clusterbench {0}，而 {1} 运行 {2}：请在各主机安装相同版本"},
    {"{0} messages with wrong data", "{0} 条消息数据错误"},
    {"too few messages ({0}) in {1} s: ask for a longer --duration or a smaller --size", "{1} s 内消息过少（{0}）：请加长 --duration 或减小 --size"},
    {"no round trip in the time", "时间内没有完成一次往返"},
    {"rank {0} did not answer within {1} s", "进程 {0} 在 {1} s 内无应答"},
    {"gave no figure", "没有给出数据"},
};
// clang-format on

}  // namespace

std::span<const Phrase> suspect_phrases() { return kSuspectsPhrases; }

}  // namespace cb
