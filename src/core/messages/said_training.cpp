// What training says, in both languages.
#include "core/messages/said_tables.h"

namespace cb {
namespace {

// clang-format off
constexpr TextRow kSaidTraining[] = {
    {"fault.activation", "one bit of what a layer computes is flipped", "翻转某层计算结果中的一位"},
    {"train.forward_attention", "attention of layer {0}, forward", "第 {0} 层注意力，前向"},
    {"train.forward_feed_forward", "feed-forward of layer {0}, forward", "第 {0} 层前馈，前向"},
    {"train.head", "the head", "输出层"},
    {"train.backward_feed_forward", "feed-forward of layer {0}, backward", "第 {0} 层前馈，反向"},
    {"train.backward_attention", "attention of layer {0}, backward", "第 {0} 层注意力，反向"},
    {"train.gradient", "gradients of block {0}", "第 {0} 块的梯度"},
    {"train.gradient_embedding", "gradients of the embedding", "嵌入层的梯度"},
    {"train.weights", "the weights", "权重"},
    {"train.not_finite", "{0}: {1}: a number that is not finite, in step {2}; next: gemm and burn on this part", "{0}：{1}：第 {2} 步出现非有限数值；下一步：对该部件运行 gemm 和 burn"},
    {"train.differs", "{0} differs from the other replicas, first at: {1}; next: gemm and burn on this part", "{0} 与其他副本不一致，首处：{1}；下一步：对该部件运行 gemm 和 burn"},
    {"train.contradicts", "{0} and another replica contradict each other, first at: {1}; a third replica would decide", "{0} 与另一副本互相矛盾，首处：{1}；需第三个副本裁定"},
    {"train.not_repeated", "{0} computed the same step twice with two results, first at: {1}; next: gemm and burn on this part", "{0} 两次计算同一步得到不同结果，首处：{1}；下一步：对该部件运行 gemm 和 burn"},
    {"train.first_loss", "the first loss is {0} nats; {1} is that of a decoder that knows nothing", "首步损失为 {0} nats；未学习的解码器应为 {1}"},
    {"train.below_floor", "a loss of {0} nats is below the text's entropy of {1}: what was computed is no loss", "损失 {0} nats 低于文本熵 {1}：计算结果并非损失"},
    {"train.not_reached", "the last losses are {0} nats, more than {2} above the floor of {1}", "最后的损失为 {0} nats，高出下限 {1} 超过 {2}"},
    {"train.straggler", "{0} computes {1} × as long as the median rank of its stage; next: its clock, temperature and neighbours", "{0} 的计算时间是同阶段中位进程的 {1} 倍；下一步：检查其频率、温度和同机负载"},
    {"train.slow_send", "{0} sends to its neighbours at {1}, {2} of the median host: every exchange of gradients waits for it; next: locate, tcp and nics on this host", "{0} 向相邻主机发送速率为 {1}，为中位主机的 {2}：每次梯度交换都等待它；下一步：对该主机运行 locate、tcp 和 nics"},
    {"train.slow_receive", "{0} receives from its neighbours at {1}, {2} of the median host: every exchange of gradients waits for it; next: locate, tcp and nics on this host", "{0} 从相邻主机接收速率为 {1}，为中位主机的 {2}：每次梯度交换都等待它；下一步：对该主机运行 locate、tcp 和 nics"},
    {"train.memory_share", "{0} needs {1}, and may take {3} of the {2} that are free: 80 % shared by {4} rank(s); next: fewer --layers, a shorter --sequence, more --tp, or --recompute layer", "{0} 需要 {1}，而空闲的 {2} 中只可用 {3}：其 80 % 由 {4} 个进程分享；下一步：减少 --layers，缩短 --sequence，增大 --tp，或使用 --recompute layer"},
    {"train.too_long", "an exchange of {0} elements is longer than MPI counts; next: more --tp", "一次交换 {0} 个元素超出 MPI 计数范围；下一步：增大 --tp"},
    {"train.predicted_by_parts", "each part of the step measured alone by the same ranks: products and loops by shape, attention, optimizer; of exchanges what computing does not hide", "同样的进程单独实测各部分：各形状乘积与逐行循环、注意力、优化器；通信只计未被计算隐藏的部分"},
    {"train.no_twin", "without twin steps nobody compares what replicas compute", "没有孪生步就无人比较各副本的计算"},
    {"train.attention_blocks", "blocks of 128 rows, the causal half of the scores", "128 行分块，只算因果的一半得分"},
    {"train.flops_convention", "{0}: 6 × matmul parameters + 6 × layers × sequence × heads × head dimension (causal half)", "{0}：6 × 矩阵参数 + 6 × 层数 × 序列 × 头数 × 头维度（因果半）"},
    {"train.no_whole_checkpoint", "in {0} is no checkpoint of this training that every rank has whole; next: the options of the training that wrote there, or another --checkpoint-dir without --resume", "{0} 中没有所有进程都完整的本训练检查点；下一步：使用写入者的选项，或换一个 --checkpoint-dir 并去掉 --resume"},
    {"train.checkpoint_there", "{0} is there already, and would be replaced; next: --resume to go on with it, else another --checkpoint-dir", "{0} 已存在，会被覆盖；下一步：用 --resume 继续，或换一个 --checkpoint-dir"},
    {"train.checkpoint_foreign", "{0} is no checkpoint of this training, and would be replaced; next: another --checkpoint-dir", "{0} 不是本训练的检查点，会被覆盖；下一步：换一个 --checkpoint-dir"},
    {"train.checkpoint_denied", "{0} cannot be written: {1}; next: --checkpoint-dir", "无法写入 {0}：{1}；下一步：--checkpoint-dir"},
    {"train.nothing_left", "the checkpoint has {0} of {1} steps: fewer than {2} warm-up steps and one more are left; next: more --steps", "检查点已完成 {1} 步中的 {0} 步：剩余不足 {2} 个预热步再加一步；下一步：增大 --steps"},
    {"train.checkpoint_lengths", "{0} has arrays of other lengths; next: another --checkpoint-dir", "{0} 中数组长度不同；下一步：换一个 --checkpoint-dir"},
    {"train.checkpoint_gone", "the checkpoint of step {0} in {1} is no longer whole for rank {2}; next: --resume again", "{1} 中第 {0} 步的检查点对进程 {2} 已不完整；下一步：再次 --resume"},
    {"fault.cache", "one bit of the cached keys and values is flipped", "翻转缓存的键值中的一位"},
    {"infer.not_finite", "{0}: {1}: a number that is not finite, for new token {2}; next: gemm and burn on this part", "{0}：{1}：第 {2} 个新词元出现非有限数值；下一步：对该部件运行 gemm 和 burn"},
    {"infer.not_repeated", "{0} generated the same tokens twice with two results, first at: {1}; next: bandwidth, gemm and burn on this part", "{0} 两次生成同样的词元得到不同结果，首处：{1}；下一步：对该部件运行 bandwidth、gemm 和 burn"},
    {"infer.cache_of_layer", "keys and values of layer {0}", "第 {0} 层的键值"},
    {"infer.logits_of_token", "logits of new token {0}", "第 {0} 个新词元的 logits"},
    {"infer.cache_differs", "{0}: with the cache the logits of new token {1} are others than without it; next: bandwidth, gemm and burn on this part", "{0}：第 {1} 个新词元的 logits 在使用缓存时与不使用缓存时不同；下一步：对该部件运行 bandwidth、gemm 和 burn"},
    {"infer.memory_needed", "this needs {0}, and may take {2} of the {1} that are free: 80 % shared by {3} rank(s); next: fewer --layers, a smaller --batch, a shorter --prompt, or more --tp", "需要 {0}，而空闲的 {1} 中只可用 {2}：其 80 % 由 {3} 个进程分享；下一步：减少 --layers，减小 --batch，缩短 --prompt，或增大 --tp"},
    {"infer.probe_slower", "the generation was faster than the probe that was to bound it: no ceiling and no share are given; next: generate again with nothing else running, or with --threads 1", "生成快于用来给出上限的探测：不给出上限与占比；下一步：在无其他负载时重新生成，或使用 --threads 1"},
    {"infer.gpu_memory", "{0} ({1}): generating needs {2}, and {3} of its memory are free; next: fewer --layers, a smaller --batch, a shorter --prompt, or more --tp", "{0}（{1}）：生成需要 {2}，而显存空闲 {3}；下一步：减少 --layers、减小 --batch、缩短 --prompt，或增大 --tp"},
    {"infer.graph", "a decode step is one launch of a CUDA graph", "每个解码步是一次 CUDA graph 启动"},
    {"infer.no_graph", "a decode step is launched kernel by kernel, not as a CUDA graph: {0}", "解码步逐个内核启动，未使用 CUDA graph：{0}"},
    {"infer.exchanges_recorded", "a decode step and its exchanges are one launch: how long it waited in them is not seen and not given", "解码步及其通信为一次启动：其中等待通信的时间不可见，故不给出"},
    {"infer.bf16", "weights, cache and operands of products are bf16; sums, norms and all else are fp32", "权重、缓存与乘积的操作数为 bf16；求和、归一化及其余均为 fp32"},
    {"infer.products", "of up to {0} rows by own kernels, which read each weight once; larger ones by cuBLASLt", "不超过 {0} 行的乘积由自有内核计算，每个权重只读一次；更大的由 cuBLASLt 计算"},
    {"infer.gpu_decode_ceiling", "weights and cache of the mean step at the rate at which this GPU reads as much", "平均单步的权重与缓存除以该 GPU 读取同样多数据的速率"},
    {"infer.gpu_read_ceiling", "as much as a step reads, read by the GPU right after: as an array, or in fp32 for a product of one row, the faster", "随后由该 GPU 读取与一步同样多的数据：按数组读取，或在 fp32 下用于单行乘积，取较快者"},
    {"infer.arrivals", "none: sequences of one length begin together; no scheduler, no tokenizer", "无：等长序列同时开始；无调度器，无分词器"},
    {"infer.poisson", "Poisson, open loop: {0} for each replica, {1} requests; a free replica takes up to {2} that wait, first come first served, and generates them to their end; no continuous batching", "泊松到达，开环：每个副本 {0}，共 {1} 个请求；空闲副本按先到先服务取走至多 {2} 个等待中的请求，一并生成到结束；无连续批处理"},
    {"infer.queue_grows", "{2}: {0} are offered and at most {1} can be served: the queue grows without end, and with it every latency that counts from the arrival; these depend on --requests alone, and none is given", "{2}：到达率 {0}，而最多只能服务 {1}：队列无限增长，从到达起算的时延也随之增长；它们只取决于 --requests，因此不给出"},
    {"infer.other_queue_grows", "the queue of at least one replica grows without end: latencies from the arrival are given for none, because the others would stand for it", "至少一个副本的队列无限增长：所有副本均不给出从到达起算的时延，否则其他副本会代表它"},
    {"infer.prefill_ceiling", "operations of the prompt at the rate of its fastest product, measured alone by this rank", "提示词的运算量除以其最快矩阵乘积的速率（本进程单独实测）"},
    {"infer.decode_ceiling", "weights and cache of the mean step at the rate at which this rank's threads read as much", "平均单步的权重与缓存除以本进程线程读取同样数据量的速率"},
    {"infer.read_ceiling", "as much as a step reads, read by the same {0} thread(s) right after: as an array or for a product of one row, the faster", "由同样的 {0} 个线程随后读取与单步同样的数据量：作为数组或用于单行乘积，取较快者"},
    {"train.attention_batched", "products of the heads that share keys and values as one batch, softmax between them; blocks of {0} rows, the causal half of the scores", "共享键值的各头合为一批乘积，其间为 softmax；{0} 行分块，只算因果的一半得分"},
    {"train.plain_fp32", "fp32 throughout: neither tensor cores nor tf32", "全程 fp32：不使用张量核心，也不使用 tf32"},
    {"train.bf16_products", "operands are rounded to bf16 before each product; sums, weights, gradients and all else are fp32", "每次乘积前操作数舍入为 bf16；累加、权重、梯度及其余均为 fp32"},
    {"train.gpu_memory", "{0} ({1}): the training needs {2}, and {3} of its memory are free; next: fewer --layers, a shorter --sequence, a smaller --micro-batch, or --recompute layer", "{0}（{1}）：训练需要 {2}，而显存空闲 {3}；下一步：减少 --layers，缩短 --sequence，减小 --micro-batch，或使用 --recompute layer"},
    {"train.gpu_full", "{0} ({1}): memory that was free has gone: {2}; next: nvidia-smi shows who else uses this GPU", "{0}（{1}）：原本空闲的显存已被占用：{2}；下一步：用 nvidia-smi 查看占用者"},
    {"train.exchange_failed", "{0} ({1}): {2} of {3}: {4}; then dmesg | grep -i xid on their hosts, and `clusterbench nccl` over the same GPUs", "{0}（{1}）：{3} 的 {2}：{4}；然后在其所在主机上查看 dmesg | grep -i xid，并在相同 GPU 上运行 `clusterbench nccl`"},
    {"train.of_tensor", "the ranks that share matrices ({0})", "共享矩阵的进程（{0}）"},
    {"train.of_data", "the replicas ({0})", "各副本（{0}）"},
    {"train.of_stages", "neighbouring stages of the pipeline (ranks {0})", "流水线的相邻阶段（进程 {0}）"},
    {"train.across_hosts", "ranks that share matrices are on several hosts: every layer waits for the network", "共享矩阵的进程分布在多台主机：每层都等待网络"},
};
// clang-format on

}  // namespace

std::span<const TextRow> said_training() { return kSaidTraining; }

}  // namespace cb
