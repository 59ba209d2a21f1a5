// What the case `fabric`, its readers and management datagrams say, in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidFabric[] = {
    {"fabric.no_node", "names no node: is this what ibnetdiscover printed?", "没有任何节点：这是 ibnetdiscover 的输出吗？"},
    {"fabric.bad_section", "is no beginning of a node: write KIND PORTS \"ID\" as ibnetdiscover does", "不是节点的开头：应与 ibnetdiscover 一样为 KIND PORTS \"ID\""},
    {"fabric.bad_port", "is no port of a node: write [PORT] \"ID\"[PORT] as ibnetdiscover does", "不是节点的端口：应与 ibnetdiscover 一样为 [PORT] \"ID\"[PORT]"},
    {"fabric.slow", "runs at {0}, more than half of the links of its kind at {1} or faster; next: reseat or exchange the cable, then look at the port's settings", "以 {0} 运行，而同类链路中过半为 {1} 或更快；下一步：重新插拔或更换线缆，再检查端口设置"},
    {"fabric.duplicate_guid", "two devices have this GUID; next: find both by unplugging one, and give one its own GUID (firmware)", "两个设备使用同一 GUID；下一步：拔下其一以找出两者，并为其中一个设置自己的 GUID（固件）"},
    {"fabric.duplicate_lid", "belongs to {0}; next: restart the subnet manager, and look for a second one", "属于 {0}；下一步：重启子网管理器，并检查是否存在第二个"},
    {"fabric.duplicate_name", "{0} devices have this name; next: give each its own (node description)", "{0} 个设备同名；下一步：为每个设备设置各自的名称（节点描述）"},
    {"fabric.one_sided", "says that it is linked with {0}, which does not say so: the dump is cut off, or a device did not answer; next: run ibnetdiscover again", "称与 {0} 相连，而后者未如此报告：导出文件不完整，或某设备未应答；下一步：重新运行 ibnetdiscover"},
    {"fabric.wrong_rail", "holds {0}, while {1} of the {2} adapters of this leaf are {3}; next: move the cable to the leaf of its rail", "接的是 {0}，而该叶交换机的 {2} 个适配器中有 {1} 个为 {3}；下一步：把线缆移到其轨道的叶交换机"},
    {"fabric.empty_plan", "names no link", "没有任何链路"},
    {"fabric.no_column", "has no column {0}: the first line names a_device, a_port, b_device, b_port", "缺少列 {0}：首行应为 a_device, a_port, b_device, b_port"},
    {"fabric.bad_row", "is no link: write a device and a port number for both ends", "不是链路：两端都应写设备和端口号"},
    {"fabric.port_twice", "{0} port {1} is in line {2} already", "{0} 端口 {1} 已在第 {2} 行出现"},
    {"fabric.surplus", "is not in the plan; next: add it to the plan, or unplug it", "不在规划中；下一步：加入规划，或拔下"},
    {"fabric.missing", "is in the plan and not there; next: look at both ends for a cable that is missing, unplugged or dead", "在规划中但不存在；下一步：检查两端线缆是否缺失、未插或损坏"},
    {"fabric.no_device", "is in the plan, and the subnet has no such device: {0}; next: switch it on, or mend its name", "在规划中，但子网中没有该设备：{0}；下一步：开机，或更正名称"},
    {"fabric.moved", "is in the plan; there is {0} instead; next: move the cable back", "在规划中；实际为 {0}；下一步：把线缆移回"},
    {"fabric.other_ports", "{0} links of the plan join the same two devices at other ports, such as {1}: they carry the same; mend the plan or the cables", "规划中有 {0} 条链路连接相同的两个设备但端口不同，如 {1}：效果相同；请更正规划或线缆"},
    {"fabric.swapped", "are in the plan; two cables are exchanged: {0}; next: exchange them", "在规划中；两根线缆被对调：{0}；下一步：对调回来"},
    {"fabric.rotated", "are in the plan; {0} cables are in turn in each other's place: {1}; next: plug them as planned", "在规划中；{0} 根线缆依次错位：{1}；下一步：按规划重新插接"},
    {"fabric.chain", "are in the plan; cables were moved one after the other: {0}; next: plug them as planned", "在规划中；多根线缆依次被移动：{0}；下一步：按规划重新插接"},
    {"fabric.no_dump", "{0}; or run ibnetdiscover >net.txt on a host with the right to, then --from net.txt", "{0}；或在有权限的主机上运行 ibnetdiscover >net.txt，然后用 --from net.txt"},
    {"fabric.below", "runs at {0}, and both ends can do {1}; next: reseat or exchange the cable, then look at the module", "以 {0} 运行，而两端均支持 {1}；下一步：重新插拔或更换线缆，再检查模块"},
    {"fabric.restricted", "runs at {0}, as a port's settings allow no more, and both ends can do {1}; next: enable the rate on both ports (ibportstate), or say why not", "以 {0} 运行，端口设置不允许更高，而两端均支持 {1}；下一步：在两端端口启用该速率（ibportstate），或说明原因"},
    {"fabric.unanswered", "what stands behind it, or it itself, did not answer {0}: {1}; what it would have told is missing here; next: is the device on, its firmware alive, and is a management key (--mkey) needed?", "其后的设备或其自身未应答 {0}：{1}；缺少其信息；下一步：设备是否开机、固件是否正常、是否需要管理密钥（--mkey）？"},
    {"fabric.refused", "answered {0} with an error: {1}; next: firmware of the device, and its subnet manager's log", "对 {0} 返回错误：{1}；下一步：检查设备固件与子网管理器日志"},
    {"fabric.port_state", "is linked, and its state is {0}, not Active; next: does the subnet manager see it (its log), has it a LID?", "链路已建立，但状态为 {0} 而非 Active；下一步：子网管理器是否识别该端口（查看日志），是否已有 LID？"},
    {"fabric.mtu", "has an MTU of {0} bytes, more than half of the ends {1}; next: the port's firmware setting, and the subnet manager's limit", "MTU 为 {0} 字节，过半端口为 {1}；下一步：检查端口固件设置与子网管理器的限制"},
    {"fabric.pkeys", "has the partition keys {0}, more than half of the adapters {1}; next: the subnet manager's partitions.conf", "分区密钥为 {0}，而过半适配器为 {1}；下一步：检查子网管理器的 partitions.conf"},
    {"fabric.no_manager", "no master subnet manager in the part of {0}; next: start one (opensm, UFM or a switch's), or look at its log", "{0} 所在部分没有主子网管理器；下一步：启动一个（opensm、UFM 或交换机自带），或查看其日志"},
    {"fabric.other_manager", "has its settings of the subnet manager at LID {0}, the master is at {1}; next: restart the master, and look for a second one", "其配置来自 LID {0} 的子网管理器，而主管理器在 {1}；下一步：重启主管理器，并检查是否存在第二个"},
    {"fabric.second_master", "{0} master subnet managers: each undoes what the other sets; next: stop all but one, and compare their keys (SM_Key)", "有 {0} 个主子网管理器，相互覆盖配置；下一步：只保留一个，并比对 SM_Key"},
    {"fabric.no_standby", "is the master subnet manager, and no other would take over; next: start a second one on another host or switch", "为主子网管理器，但没有备用；下一步：在另一台主机或交换机上启动备用管理器"},
    {"fabric.manager_discovers", "is still discovering; next: its log: a device that does not answer may hold it up", "仍在发现阶段；下一步：查看其日志，可能被无应答的设备阻塞"},
    {"fabric.manager_still", "is master, and its activity counter stood still for {0} s; next: restart the subnet manager", "为主管理器，但其活动计数在 {0} s 内未变化；下一步：重启子网管理器"},
    {"fabric.firmware", "has firmware {0}, more than half of the devices of model {1} have {2}; next: update it", "固件为 {0}，型号 {1} 的设备过半为 {2}；下一步：升级"},
    {"fabric.no_aggregation", "has no SHARP aggregation node, more than half of the switches of its tier have one; next: enable it in the switch and its subnet manager", "没有 SHARP 聚合节点，而同层交换机过半具备；下一步：在交换机与子网管理器中启用"},
    {"fabric.errors", "counted {0}", "计数为 {0}"},
    {"fabric.symbol_errors", "counted SymbolErrorCounter {0}, of an unknown number of bits", "SymbolErrorCounter 为 {0}，接收比特数未知"},
    {"fabric.errors_per_bit", "counted SymbolErrorCounter {0} in {1} bits: {2} a bit, at most {3} is right", "SymbolErrorCounter 为 {0}，共 {1} 比特：每比特 {2}，上限 {3}"},
    {"fabric.errors_next", "next: clean and reseat both ends, exchange the cable, then the port", "下一步：清洁并重新插拔两端，更换线缆，再更换端口"},
    {"fabric.saturated", "has counters at their largest value: {0}; what they would show is not known; next: clear them (perfquery -R), then --window", "计数器已达最大值：{0}；实际数量未知；下一步：清零（perfquery -R），然后用 --window"},
    {"fabric.cleared", "{0} fell within the window: somebody cleared it; next: find who (UFM, a monitor), and measure again", "{0} 在窗口内变小：有人将其清零；下一步：找出来源（UFM、监控程序）后重新测量"},
    {"fabric.route_hole", "has no route for {0} LIDs, such as {1}; next: the subnet manager's log, then a new sweep (kill -HUP of opensm)", "有 {0} 个 LID 无路由，如 {1}；下一步：查看子网管理器日志，然后重新扫描（对 opensm 用 kill -HUP）"},
    {"fabric.route_dead", "sends {0} LIDs, such as {1}, to port {2}, which leads to no switch and not to them; next: a new sweep of the subnet manager", "把 {0} 个 LID（如 {1}）发往端口 {2}，该端口不通向交换机，也不通向目的地；下一步：让子网管理器重新扫描"},
    {"fabric.route_loop", "send {0} LIDs, such as {1}, round and round; next: a new sweep of the subnet manager", "使 {0} 个 LID（如 {1}）循环转发；下一步：让子网管理器重新扫描"},
    {"fabric.credit_loop", "routes wait for one another's buffers in a ring of {0} links, and may stand still under load; next: a routing engine without such rings (ftree, updn, or dfsssp with virtual lanes)", "路由在 {0} 条链路上形成缓冲区环形等待，负载下可能死锁；下一步：改用无环的路由引擎（ftree、updn，或带虚通道的 dfsssp）"},
    {"fabric.route_balance", "carries {0} of {1} destinations that go up by {2} links; next: the subnet manager's routing engine, and its guid lists", "承担 {2} 条上行链路共 {1} 个目的地中的 {0} 个；下一步：检查子网管理器的路由引擎与 guid 列表"},
    {"fabric.oversubscribed", "has {0} times the rate downwards that it has upwards, the contract allows {1}; next: look for links upwards that are missing or slow", "下行速率为上行的 {0} 倍，合同允许 {1}；下一步：检查缺失或降速的上行链路"},
    {"fabric.no_routes", "routes: nothing to follow, as no switch with adapters has a forwarding table and LIDs", "路由：接有适配器的交换机没有转发表或 LID，无从核对"},
    {"fabric.no_window", "errors are those since somebody cleared the counters; links that went down before do not count; --window tells of now", "错误数自上次清零起累计；此前的链路断开不计；用 --window 查看当前"},
    {"fabric.not_shown", "errors per bit: not shown below {0}; {1} needs a window of {2} s", "每比特错误率：{0} 以下未能证明；要证明 {1} 需要 {2} s 的窗口"},
    {"fabric.datagrams", "{0} sent, {1} answered, {2} without answer in time, {3} with an error", "发送 {0}，应答 {1}，超时 {2}，出错 {3}"},
    {"fabric.firmware_unread", "firmware of {0} devices was not read: they do not answer the vendor's question", "有 {0} 个设备的固件未读到：不应答厂商查询"},
    {"fabric.alone", "nobody but the own adapter answered: is the port up, does a management key protect the subnet (--mkey)?", "仅本机适配器应答：端口是否已建立链路，子网是否受管理密钥保护（--mkey）？"},
    {"fabric.no_lids", "counters are not read: without a subnet manager there are no LIDs", "未读取计数器：没有子网管理器就没有 LID"},
    {"fabric.bad_key", "is no management key: write up to 16 hexadecimal digits after 0x", "不是管理密钥：0x 之后最多 16 位十六进制数字"},
    {"umad.no_library", "libibumad cannot be opened: {0}; next: install it (libibumad3), or name the file in {1}", "无法打开 libibumad：{0}；下一步：安装 libibumad3，或在 {1} 中指定文件"},
    {"umad.no_function", "{0} has no {1}: it is no libibumad", "{0} 中没有 {1}：不是 libibumad"},
    {"umad.no_device", "no management device in {0}; next: modprobe ib_umad, and is there an InfiniBand adapter (ls /sys/class/infiniband)?", "{0} 中没有管理设备；下一步：modprobe ib_umad，并检查是否有 InfiniBand 适配器（ls /sys/class/infiniband）"},
    {"umad.no_right", "no right to open {0}; next: run as root, or give a group the right by a udev rule", "无权打开 {0}；下一步：以 root 运行，或用 udev 规则授予某组权限"},
    {"umad.no_port", "the port {0} cannot be opened: {1}; next: is it up (ibstat)?", "无法打开端口 {0}：{1}；下一步：端口是否已启用（ibstat）？"},
    {"umad.no_agent", "class {0} cannot be registered: {1}", "无法注册管理类 {0}：{1}"},
    {"umad.send", "a management datagram cannot be sent: {0}", "无法发送管理数据报：{0}"},
    {"umad.receive", "management datagrams cannot be received: {0}", "无法接收管理数据报：{0}"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_fabric() { return kSaidFabric; }

}  // namespace cb
