#include "bench/training/cuda/cuda_backend.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bench/training/angles.h"
#include "bench/training/cuda/cuda_attention.h"
#include "bench/training/cuda/cuda_recording.h"
#include "bench/training/cuda/device_products.h"
#include "bench/training/cuda/device_queue.h"
#include "bench/training/cuda/eight_bit_products.h"
#include "bench/training/cuda/flash_attention.h"
#include "bench/training/cuda/narrow_weights.h"
#include "bench/training/cuda/scratch.h"
#include "bench/training/cuda/token_kernels.h"
#include "bench/training/prediction.h"
#include "kernels/infer.h"
#include "kernels/train.h"
#include "sys/gpu/cuda/products.h"

namespace cb::training {
namespace {

constexpr int64_t kFloat = sizeof(float);

class CudaBackend final : public GpuBackend {
 public:
  CudaBackend(const cublaslt::Library& library, const CudaSettings& settings)
      : settings_(settings),
        queue_(std::make_shared<DeviceQueue>(settings.deadline_seconds, settings.what)),
        products_(*queue_, library, settings.bf16, *narrow_) {}

  std::shared_ptr<float[]> allocate(int64_t count) override {
    const int64_t bytes = std::max<int64_t>(count, 1) * kFloat;
    auto memory = std::make_unique<cuda::DeviceMemory>(static_cast<size_t>(bytes));
    auto* data = static_cast<float*>(memory->data());
    *allocated_ += bytes;
    std::shared_ptr<float[]> out(data,
                                 [bytes, held = allocated_, queue = queue_, raw = memory.get(),
                                  narrow = std::weak_ptr<NarrowWeights>(narrow_)](float* at) {
                                   *held -= bytes;
                                   if (const auto ranges = narrow.lock())
                                     ranges->forget(at, bytes / kFloat);
                                   if (queue->idle()) delete raw;
                                 });
    static_cast<void>(memory.release());
    zero(data, std::max<int64_t>(count, 1));
    return out;
  }
  int64_t allocated_bytes() const override { return *allocated_; }
  int64_t held_bytes() const override {
    return *allocated_ + queue_->scratch_bytes() +
           static_cast<int64_t>(cublaslt::Products::kWorkspaceBytes);
  }
  bool lost() const override { return queue_->lost(); }
  DeviceQueue& queue() override { return *queue_; }

  Ledger take_ledger() override {
    finish();
    for (const auto& [work, seconds] : queue_->take_seconds())
      ledger_.seconds[static_cast<size_t>(work)] += seconds;
    return std::exchange(ledger_, Ledger());
  }
  void finish() override { queue_->wait(); }
  double waiting_seconds() const override { return queue_->waited_seconds(); }
  bool on_host() const override { return false; }
  void put(float* to, const float* host, int64_t count) override {
    narrow_->changed(to, count);
    queue_->queue([&] { cuda::copy(to, host, bytes_of(count), queue_->stream()); });
    finish();
  }
  void look(float* host, const float* from, int64_t count) override {
    queue_->fetch(host, from, bytes_of(count));
  }

  Recorded record(const std::function<void()>& work) override {
    products_.forget_operands();
    try {
      auto recording = std::make_unique<CudaRecording>(queue_, work);
      products_.forget_operands();  // nothing of it has run
      return {std::move(recording), {}};
    } catch (const Error& e) {
      products_.forget_operands();
      if (queue_->lost()) throw;
      cuda::forget_error();
      return {nullptr, e.said()};
    }
  }
  void freeze(const float* weights, int64_t count) override {
    if (!settings_.generates || !settings_.bf16) return;
    auto narrow = allocate((count + 1) / 2);
    auto* to = reinterpret_cast<uint16_t*>(narrow.get());
    run(kernels::launch_train_narrow({weights, to, 1, 1, count, count, count}, stream()),
        "train_narrow");
    narrow_->add(weights, count, std::move(narrow), true);
  }
  void keep_rounded(const float* weights, int64_t count) override {
    if (settings_.generates || !settings_.bf16) return;
    narrow_->add(weights, count, allocate((count + 1) / 2), false);
  }
  void weights_changed() override { narrow_->changed(); }

  void matmul(const Product<float>& p) override {
    const cublaslt::RowMajorProduct product = begin_product(p, false);
    if (settings_.generates && few_rows_.multiply(product)) return;
    if (settings_.fp8 && in_eight_bits_.multiply(product)) return;
    products_.multiply(product);
  }
  void head_matmul(const Product<float>& p) override {
    if (!settings_.fp8) return matmul(p);
    products_.multiply(begin_product(p, true));
  }

  void rmsnorm(const float* x, const float* gain, float* y, float* scale, int64_t rows,
               int64_t width) override {
    begin(Work::elementwise, rows * width, 2);
    run(kernels::launch_train_norm({x, gain, y, scale, rows, width}, stream()), "train_norm");
  }
  void rmsnorm_backward(const float* dy, const float* x, const float* gain, const float* scale,
                        float* dx, float* dgain, int64_t rows, int64_t width) override {
    begin(Work::elementwise, rows * width, 4);
    float* parts = parts_.of(kernels::train_norm_parts(rows) * width);
    run(kernels::launch_train_norm_backward({dy, x, gain, scale, dx, dgain, parts, rows, width},
                                            stream()),
        "train_norm_backward");
  }
  void rotate(float* qkv, const AttentionShape& s, float direction) override {
    require_angles(s);
    const int64_t turned = s.heads + s.kv_heads;
    begin(Work::elementwise, s.tokens() * turned * s.dim, 2);
    run(kernels::launch_train_rotate(
            {qkv, angles_.get(), angles_.get() + angle_count_, s.tokens(), s.sequence, s.past,
             turned, s.dim, s.stride(), direction, static_cast<const float*>(s.position)},
            stream()),
        "train_rotate");
  }

  void attention(const float* qkv, float* out, float* log_sums, const AttentionShape& s) override {
    queue_->begin(Work::attention);
    ++ledger_.attention_forwards;
    attend(qkv, out, log_sums, s);
  }
  void append(const float* qkv, float* cache, const AttentionShape& s) override {
    begin(Work::elementwise, s.tokens() * s.kept(), 2);
    run(kernels::launch_train_append(
            {qkv + s.heads * s.dim, cache, s.tokens(), s.kept(), s.stride(), s.sequence, s.past,
             s.capacity, static_cast<const float*>(s.position), narrow_cache()},
            stream()),
        "train_append");
  }
  int64_t cached_bytes() const override { return narrow_cache() ? 2 : kFloat; }
  void attention_cached(const float* qkv, const float* cache, float* out,
                        const AttentionShape& s) override {
    queue_->begin(Work::attention);
    ++ledger_.attention_forwards;
    if (settings_.generates && s.sequence == 1) return few_rows_.attend(qkv, cache, out, s);
    float* log_sums = parts_.of(s.tokens() * s.heads);  // of no use: nothing goes backward
    if (!narrow_cache()) return tools(s, 1).forward_cached(qkv, cache, out, log_sums, s);
    // The library rounds keys and values as the cache has them, and nothing is past.
    if (s.past > 0) throw Error("a cache of bf16 is read by one token a sequence");
    attend(qkv, out, log_sums, s);
  }
  bool token_layer(const TokenLayer<float>& layer) override {
    if (!settings_.generates) return false;
    const std::optional<TokenProducts> products = few_rows_.products_of(layer);
    if (!products) return false;
    for (const MatmulKey& key : TokenProducts::keys_of(layer)) ++ledger_.matmuls[key];
    ++ledger_.attention_forwards;
    require_angles(layer.attention);
    few_rows_.layer(layer, *products, angles_.get(), angles_.get() + angle_count_);
    return true;
  }
  void attention_backward(const float* qkv, const float* out, const float* dout,
                          const float* log_sums, float* dqkv, const AttentionShape& s) override {
    queue_->begin(Work::attention);
    ++ledger_.attention_backwards;
    if (attention_is_fused(s, settings_))
      return fused(s, true).backward(qkv, out, dout, log_sums, dqkv, s);
    tools(s, 2).backward(qkv, out, dout, log_sums, dqkv, s);
  }

  void swiglu(const float* gate_up, float* out, int64_t rows, int64_t width) override {
    begin(Work::elementwise, rows * width, 3);
    run(kernels::launch_train_swiglu(gate_up, out, rows, width, stream()), "train_swiglu");
  }
  void swiglu_backward(const float* dout, float* gate_up, int64_t rows, int64_t width) override {
    begin(Work::elementwise, rows * width, 5);
    run(kernels::launch_train_swiglu_backward(dout, gate_up, rows, width, stream()),
        "train_swiglu_backward");
  }

  void embed(const float* table, const int32_t* tokens, float* out, int64_t rows, int64_t width,
             const VocabularyPart& part) override {
    begin(Work::elementwise, rows * width, 2);
    run(kernels::launch_train_embed(
            table, out, {on_device(tokens, rows), rows, width, part.first, part.count}, stream()),
        "train_embed");
  }
  void embed_backward(const float* dout, const int32_t* tokens, float* dtable, int64_t rows,
                      int64_t width, const VocabularyPart& part) override {
    begin(Work::elementwise, rows * width, 3);
    run(kernels::launch_train_embed_backward(
            dout, dtable, {on_device(tokens, rows), rows, width, part.first, part.count}, stream()),
        "train_embed_backward");
  }

  void choose(const float* logits, const float* top, float* candidates, int64_t rows,
              const VocabularyPart& part, const float* marks, int64_t marks_count) override {
    begin(Work::elementwise, rows * part.count, 1);
    run(kernels::launch_infer_choice(
            {logits, top, marks, candidates, rows, part.count, part.first, marks_count}, stream()),
        "infer_choice");
  }
  void embed_chosen(const float* table, const float* candidates, float* out, int64_t rows,
                    int64_t width, const VocabularyPart& part) override {
    begin(Work::elementwise, rows * width, 2);
    run(kernels::launch_infer_embed({table, candidates, out, rows, width, part.first, part.count},
                                    stream()),
        "infer_embed");
  }
  void mark_not_finite(const float* x, int64_t count, float* mark) override {
    begin(Work::elementwise, count, 1);
    run(kernels::launch_infer_mark(x, count, mark, stream()), "infer_mark");
  }

  void row_max(const float* logits, float* top, int64_t rows, int64_t width) override {
    begin(Work::elementwise, rows * width, 1);
    if (settings_.generates)
      return run(kernels::launch_infer_row_max(logits, top, rows, width, stream()),
                 "infer_row_max");
    run(kernels::launch_train_row_max(
            {const_cast<float*>(logits), nullptr, top, nullptr, nullptr, rows, width, 0}, stream()),
        "train_row_max");
  }
  void exponentials(float* logits, const float* top, const int32_t* targets, float* sums,
                    float* at_target, int64_t rows, const VocabularyPart& part) override {
    begin(Work::elementwise, rows * part.count, 2);
    run(kernels::launch_train_exponentials(
            {logits, on_device(targets, rows), const_cast<float*>(top), sums, at_target, rows,
             part.count, part.first},
            stream()),
        "train_exponentials");
  }
  void cross_entropy_backward(float* exponentials, const float* sums, const int32_t* targets,
                              float factor, int64_t rows, const VocabularyPart& part) override {
    begin(Work::elementwise, rows * part.count, 2);
    run(kernels::launch_train_logits_backward(
            {exponentials, on_device(targets, rows), nullptr, const_cast<float*>(sums), nullptr,
             rows, part.count, part.first},
            factor, stream()),
        "train_logits_backward");
  }
  double cross_entropy(const float* sums, const float* at_target, int64_t rows) override {
    queue_->begin(Work::elementwise);
    double* out = numbers_.of(1);
    run(kernels::launch_train_cross_entropy({nullptr, nullptr, nullptr, const_cast<float*>(sums),
                                             const_cast<float*>(at_target), rows, 0, 0},
                                            out, stream()),
        "train_cross_entropy");
    return fetched(out);
  }

  void add(float* to, const float* from, int64_t count) override {
    begin(Work::elementwise, count, 3);
    run(kernels::launch_train_add(to, from, count, stream()), "train_add");
  }
  void copy(float* to, const float* from, int64_t count) override {
    begin(Work::elementwise, count, 2);
    queue_->queue([&] { cuda::copy(to, from, bytes_of(count), queue_->stream()); });
  }
  void zero(float* to, int64_t count) override {
    begin(Work::elementwise, count, 1);
    queue_->queue([&] { cuda::zero(to, bytes_of(count), queue_->stream()); });
  }
  void adamw(float* weights, const float* gradient, float* mean, float* square, int64_t count,
             const AdamStep& step) override {
    begin(Work::optimizer, count, 7);
    narrow_->changed(weights, count);
    const kernels::TrainAdam adam{static_cast<float>(step.beta1),
                                  static_cast<float>(step.beta2),
                                  static_cast<float>(step.rate / step.correction1),
                                  static_cast<float>(1 / step.correction2),
                                  static_cast<float>(step.epsilon),
                                  static_cast<float>(1 - step.rate * step.decay),
                                  static_cast<float>(step.scale)};
    run(kernels::launch_train_adamw({weights, gradient, mean, square, count}, adam, stream()),
        "train_adamw");
  }

  double sum_squares(const float* x, int64_t count) override {
    begin(Work::optimizer, count, 1);
    const int64_t parts = kernels::train_sum_parts(count);
    double* out = numbers_.of(parts + 1);
    run(kernels::launch_train_squares(x, count, out + 1, out, stream()), "train_squares");
    return fetched(out);
  }
  int64_t not_finite(const float* x, int64_t count) override {
    begin(Work::elementwise, count, 1);
    float* mark = marks_.of(1);
    queue_->queue([&] { cuda::zero(mark, sizeof *mark, queue_->stream()); });
    run(kernels::launch_infer_mark(x, count, mark, stream()), "infer_mark");
    return fetched(mark) == 0 ? 0 : 1;
  }
  uint64_t hash(const float* x, int64_t count) override { return hashed(x, count).hash; }

  void flip_bit(float* element) override {
    narrow_->changed(element, 1);
    run(kernels::launch_train_damage(element, false, stream()), "train_damage");
  }
  void make_nan(float* element) override {
    narrow_->changed(element, 1);
    run(kernels::launch_train_damage(element, true, stream()), "train_damage");
  }
  void normal(float* to, const Place& p, uint64_t number, double deviation) override {
    begin(Work::elementwise, p.rows * p.columns, 1);
    run(kernels::launch_train_normal({to, p.rows, p.columns, p.first_row, p.first_column,
                                      p.whole_columns, number, deviation},
                                     stream()),
        "train_normal");
  }

 private:
  static size_t bytes_of(int64_t count) { return static_cast<size_t>(count * kFloat); }
  void* stream() const { return queue_->stream().handle(); }
  void run(int code, const char* kernel) { queue_->launched(code, kernel); }
  void begin(Work work, int64_t elements, int passes) {
    queue_->begin(work);
    (work == Work::optimizer ? ledger_.optimizer_bytes : ledger_.elementwise_bytes) +=
        static_cast<double>(elements * passes * kFloat);
  }
  bool narrow_cache() const { return settings_.generates && settings_.bf16; }
  cublaslt::RowMajorProduct begin_product(const Product<float>& p, bool of_head) {
    queue_->begin(Work::matmul);
    const auto [m, n, k] = p.shape;
    ++ledger_.matmuls[{m, n, k, p.transpose_a, p.transpose_b, of_head}];
    return {.m = m,
            .n = n,
            .k = k,
            .a = p.a,
            .lda = p.lda,
            .transpose_a = p.transpose_a,
            .b = p.b,
            .ldb = p.ldb,
            .transpose_b = p.transpose_b,
            .c = p.c,
            .ldc = p.ldc,
            .alpha = p.alpha,
            .beta = p.beta};
  }
  template <typename T>
  T fetched(const T* from) {
    T out{};
    queue_->fetch(&out, from, sizeof out);
    return out;
  }
  kernels::HashResult hashed(const float* x, int64_t count) {
    begin(Work::elementwise, count, 1);
    kernels::HashResult* out = hashes_.of(1);
    run(kernels::launch_train_hash(x, count, out, stream()), "train_hash");
    return fetched(out);
  }
  // The tokens for the next kernel: CUDA takes bytes of ordinary memory before the call returns,
  // and the device reads them in the order of the stream.
  const int32_t* on_device(const int32_t* tokens, int64_t rows) {
    int32_t* out = tokens_.of(rows);
    queue_->queue([&] {
      cuda::copy(out, tokens, static_cast<size_t>(rows) * sizeof(int32_t), queue_->stream());
    });
    return out;
  }
  CudaAttention tools(const AttentionShape& s, int64_t arrays) {
    const int64_t rows = settings_.attention_block_rows;
    float* scratch = scores_.of(arrays * CudaAttention::scores_of(s, rows));
    return {*queue_, [this](const auto& product) { products_.multiply(product); }, rows, scratch};
  }

  FlashAttention fused(const AttentionShape& s, bool backward) {
    FlashAttention out{*queue_, products_.room_a(s.tokens() * s.stride())};
    if (!backward) return out;
    out.narrow_dout = products_.room_b(s.tokens() * s.heads * s.dim);
    out.dots = dots_.of(FlashAttention::dots_of(s));
    return out;
  }
  void attend(const float* qkv, float* out, float* log_sums, const AttentionShape& s) {
    if (attention_is_fused(s, settings_)) return fused(s, false).forward(qkv, out, log_sums, s);
    tools(s, 1).forward(qkv, out, log_sums, s);
  }

  // The host's own numbers, so that both turn by the same angles.
  void require_angles(const AttentionShape& s) {
    const int64_t half = s.dim / 2, positions = std::max(s.past + s.sequence, s.capacity);
    if (angle_count_ >= positions * half && half == angles_half_) return;
    angles_half_ = half;
    angle_count_ = positions * half;
    std::vector<float> both(static_cast<size_t>(2 * angle_count_));
    write_angles(both.data(), both.data() + angle_count_, positions, half);
    if (queue_->has_recorded()) recorded_angles_.push_back(std::move(angles_));
    angles_ = allocate(2 * angle_count_);
    put(angles_.get(), both.data(), 2 * angle_count_);
  }

  CudaSettings settings_;
  std::shared_ptr<DeviceQueue> queue_;
  std::shared_ptr<NarrowWeights> narrow_ = std::make_shared<NarrowWeights>();
  DeviceProducts products_;
  EightBitProducts in_eight_bits_{*queue_, products_, *narrow_};
  TokenKernels few_rows_{*queue_, products_, *narrow_, settings_.bf16};
  Ledger ledger_;
  std::shared_ptr<int64_t> allocated_ = std::make_shared<int64_t>(0);
  Scratch<float> scores_{*queue_}, parts_{*queue_};
  Scratch<float> dots_{*queue_}, marks_{*queue_};
  Scratch<double> numbers_{*queue_};
  Scratch<kernels::HashResult> hashes_{*queue_};
  Scratch<int32_t> tokens_{*queue_};
  std::shared_ptr<float[]> angles_;
  std::vector<std::shared_ptr<float[]>> recorded_angles_;  // what was recorded may read them
  int64_t angles_half_ = 0, angle_count_ = 0;
};

}  // namespace

std::unique_ptr<GpuBackend> cuda_backend(const cublaslt::Library& library,
                                         const CudaSettings& settings) {
  return std::make_unique<CudaBackend>(library, settings);
}

bool attention_is_fused(const AttentionShape& shape, const CudaSettings& settings) {
  return settings.bf16 && FlashAttention::takes(shape);
}

double cuda_scratch_bytes(const Stage& stage, const CudaSettings& settings) {
  constexpr int64_t kParts = 4 << 20;  // bytes of parts of sums
  const AttentionShape s = stage.attention();
  const bool fused = attention_is_fused(s, settings);
  const int64_t scores = fused ? 0 : CudaAttention::scores_of(s, settings.attention_block_rows);
  const int64_t narrow = settings.bf16 ? std::max(longest_operand(stage), scores) : 0;
  const int64_t dots = fused ? FlashAttention::dots_of(s) : 0;
  const int64_t own = 2 * scores + dots + s.tokens() + s.sequence * s.dim;
  return static_cast<double>(own * kFloat + 2 * narrow * 2 + kParts +
                             static_cast<int64_t>(cublaslt::Products::kWorkspaceBytes));
}

}  // namespace cb::training
