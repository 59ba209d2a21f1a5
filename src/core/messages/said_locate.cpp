// What locate says, in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidLocate[] = {
    {"locate.link_failed", "link {0} → {1}: {2} of {3} transfers failed; {4}", "链路 {0} → {1}：{3} 次传输中 {2} 次失败；{4}"},
    {"locate.path", "path leaf {0} ↔ leaf {1}", "叶交换机 {0} ↔ {1} 的路径"},
    {"locate.link", "link {0} → {1}", "链路 {0} → {1}"},
    {"locate.noise", "noise of {0} % of a sample hides all that is less than {1} % below the fleet: measure while the hosts are idle, or with a longer --duration", "单样本噪声 {0} % 掩盖了低于全体 {1} % 以内的差异：请在主机空闲时测试，或加长 --duration"},
    {"locate.versions", "runs clusterbench {0}, and {1} runs {2}: install the same on every host", "运行 clusterbench {0}，而 {1} 运行 {2}：请在各主机安装相同版本"},
    {"locate.wrong_messages", "{0} messages with wrong data", "{0} 条消息数据错误"},
    {"locate.no_room", "the messages of {1} rank(s) on {0} need {2}, and may take {4} % of the {3} of memory that it has available; next: a smaller --size, or fewer ranks a host", "{0} 上 {1} 个进程的消息需要 {2}，而可用内存 {3} 中最多可占 {4} %；下一步：减小 --size，或减少每台主机的进程数"},
    {"locate.no_room_beside", "{0} round(s) did not end within the deadline; their messages still hold {2} on {1}, and the next round needs {3}, but all may take {4} there; {5} pair(s) of ranks do not answer: {6}; next: a longer --round-deadline, or a smaller --size", "{0} 轮未在期限内结束；其消息在 {1} 上仍占用 {2}，下一轮需要 {3}，而合计最多可占 {4}；{5} 对进程无应答：{6}；下一步：加长 --round-deadline，或减小 --size"},
    {"locate.pair_of_ranks", "{0} rank {1} → {2} rank {3}", "{0} 进程 {1} → {2} 进程 {3}"},
    {"locate.few_messages", "too few messages ({0}) in {1} s: ask for a longer --duration or a smaller --size", "{1} s 内消息过少（{0}）：请加长 --duration 或减小 --size"},
    {"locate.no_round_trip", "no round trip in the time", "时间内没有完成一次往返"},
    {"locate.no_answer", "rank {0} did not answer within {1} s", "进程 {0} 在 {1} s 内无应答"},
    {"locate.no_figure", "gave no figure", "没有给出数据"},
    {"locate.host", "host {0}", "主机 {0}"},
    {"locate.nic", "nic {0}", "网卡 {0}"},
    {"locate.gpu", "gpu {0}", "GPU {0}"},
    {"locate.uplink", "uplink leaf {0}", "叶交换机 {0} 的上行链路"},
    {"locate.sends", "{0}: sends {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：发送速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.receives", "{0}: receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：接收速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.sends_and_receives", "{0}: sends and receives {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：收发速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.carries", "{0}: carries {1} % of the fleet's median; {2} of {3} samples low, confidence {4} %", "{0}：承载速率为全体中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.congestion", "fine alone, slow only together with others: congestion", "单独正常，仅与其他同时才慢：拥塞"},
    {"locate.none_worked", "{0}: none of {1} transfers with it worked; {2}", "{0}：与其进行的 {1} 次传输全部失败；{2}"},
    {"locate.inside_slow", "{0}: its ranks among themselves reach {1} % of the hosts' median; {2} of {3} samples low, confidence {4} %", "{0}：其内部进程之间的速率为各主机中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.rail_slow", "{0}: its ranks reach {1} % of the rails' median; {2} of {3} samples low, confidence {4} %", "{0}：其进程之间的速率为各轨道中位数的 {1} %；{3} 个样本中 {2} 个偏低，置信度 {4} %"},
    {"locate.rank_slow", "{0} rank {1}: among the ranks of its host reaches {2} % of what the others do; {3} of {4} samples low, confidence {5} %", "{0} 进程 {1}：在本机进程之间的速率为其他进程的 {2} %；{4} 个样本中 {3} 个偏低，置信度 {5} %"},
    {"locate.rail", "rail {0}", "轨道 {0}"},
    {"locate.groups_hidden", "{0} of {1} ranks; nobody is cleared: noise hides all that is less than {2} % below the others", "{0} 组，每组 {1} 个进程；无法排除任何一个：噪声掩盖了低于其他 {2} % 以内的差异"},
    {"locate.groups_seen", "{0} of {1} ranks; seen would be one from {2} % below the others", "{0} 组，每组 {1} 个进程；低于其他 {2} % 起即可发现"},
    {"locate.from_to", "rank {0} → rank {1}: {2}", "进程 {0} → 进程 {1}：{2}"},
    {"locate.inside_rails_failed", "{0} of {1} transfers inside rails failed; {2}", "轨道内 {1} 次传输中 {0} 次失败；{2}"},
    {"locate.inside_hosts_failed", "{0} of {1} transfers inside hosts failed; {2}", "主机内 {1} 次传输中 {0} 次失败；{2}"},
    {"locate.uneven", "the hosts have different numbers of ranks", "各主机的进程数不同"},
    {"locate.one_rank", "one rank on each host", "每台主机只有一个进程"},
    {"locate.one_host", "one host", "只有一台主机"},
    {"locate.few_hosts", "needs {0} hosts to tell which one is slow, has {1}", "判定哪台较慢需要 {0} 台主机，只有 {1} 台"},
    {"locate.few_hosts_next", "needs {0} hosts to tell which one is slow, has {1}: start one rank on each host, or ask for --between rank", "判定哪台较慢需要 {0} 台主机，只有 {1} 台：请每台主机启动一个进程，或使用 --between rank"},
    {"locate.few_ranks", "needs {0} ranks to tell which one is slow, has {1}", "判定哪个进程较慢需要 {0} 个进程，只有 {1} 个"},
    {"locate.few_ranks_each", "needs {0} ranks on each host to tell which one is slow, has {1}", "判定哪个进程较慢每台主机需要 {0} 个进程，只有 {1} 个"},
    {"locate.not_compared", "not compared: {0}", "未比较：{0}"},
    {"locate.shared_ways", "the ranks of a host share its NICs", "一台主机的进程共用网卡"},
    {"locate.only_bandwidth", "only bandwidth is", "只比较带宽"},
    {"locate.rounds", "{0} of up to {1} pairs, {2} alone", "{0} 轮，每轮至多 {1} 对，单独 {2} 轮"},
    {"locate.least", "{0} % below the fleet, of one unit", "单个低于全体 {0} %"},
    {"locate.noise_of", "{0} % of a sample", "样本的 {0} %"},

    {"locate.units_host.one", "{1} hosts, {0} rail", "{1} 台主机，{0} 条轨道"},
    {"locate.units_host.many", "{1} hosts, {0} rails", "{1} 台主机，{0} 条轨道"},
    {"locate.units_rank.one", "{1} ranks, {0} rail", "{1} 个进程，{0} 条轨道"},
    {"locate.units_rank.many", "{1} ranks, {0} rails", "{1} 个进程，{0} 条轨道"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_locate() { return kSaidLocate; }

}  // namespace cb
