#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "bench/training/ledger.h"
#include "bench/training/row_kernels.h"
#include "core/messages/said.h"
#include "sys/cpu/host_blas.h"

// What a training step asks of the device that computes it. The decoder above knows no device;
// pointers are into the device's memory, which only allocate() gives. Every call is complete when
// it returns or in the order of the calls: a device with a queue must not reorder them.
namespace cb::training {

template <typename Real>
using Product = host_blas::Product<Real>;

// Grouped causal attention of `batch` sequences. q, k and v of a token are parts of one row of
// `stride` elements: all heads of q, then of k, then of v. `out` has rows of heads·dim elements.
// Tokens of a sequence follow `past` positions, whose keys and values are in a cache: of each
// sequence `capacity` rows of kept() elements, all heads of k, then of v.
struct AttentionShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t dim = 0;
  int64_t past = 0;
  int64_t capacity = 0;
  // Where a device finds `past` in its own memory, as a number of Real: what it has recorded serves
  // each position. The host goes by `past`, which says the same.
  const void* position = nullptr;

  int64_t tokens() const { return batch * sequence; }
  int64_t stride() const { return (heads + 2 * kv_heads) * dim; }
  int64_t kept() const { return 2 * kv_heads * dim; }
};

// A part of a vocabulary that is divided over ranks.
struct VocabularyPart {
  int64_t first = 0;
  int64_t count = 0;
  bool holds(int32_t token) const { return token >= first && token < first + count; }
};

// A layer's matrices, as PyTorch has them: output × input.
template <typename Real>
struct LayerWeights {
  Real *attention_gain, *feed_forward_gain;  // hidden
  Real* qkv;                                 // (heads + 2·kv_heads)·dim × hidden
  Real* out;                                 // hidden × heads·dim
  Real* gate_up;                             // 2·feed_forward × hidden: gate, then up
  Real* down;                                // hidden × feed_forward
};

// A layer of one token a sequence, over a cache that gets it. Its rank has the whole matrices.
template <typename Real>
struct TokenLayer {
  LayerWeights<Real> weights;
  AttentionShape attention;
  int64_t hidden = 0, feed_forward = 0;
  Real *stream, *cache;
  Real *normed, *qkv, *attended, *activated;  // scratch, as a layer's tape has it
  // Set to 1 if a number that goes onto the stream is not finite; else left.
  Real *attention_mark, *feed_forward_mark;
};

// Calls that a device has recorded, and computes again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void run() = 0;
};
struct Recorded {
  std::unique_ptr<Recording> recording = {};  // null: it is called each time
  Said why_not = {};
};

template <typename Real>
class Backend {
 public:
  virtual ~Backend() = default;

  // Memory that is freed with the pointer; zeroed.
  virtual std::shared_ptr<Real[]> allocate(int64_t count) = 0;
  virtual int64_t allocated_bytes() const = 0;
  // And what it has taken for itself.
  virtual int64_t held_bytes() const { return allocated_bytes(); }
  // Times and counts since the last call.
  virtual Ledger take_ledger() = 0;
  // Until all that was called has been computed.
  virtual void finish() = 0;
  // Since the begin, of what was finished: that the device, and not the host, waited for exchanges
  // with other ranks.
  virtual double waiting_seconds() const { return 0; }
  // Whether the host reads and writes the device's memory itself. If not, put() and look() copy
  // from and to memory of the host; both are complete when they return.
  virtual bool on_host() const = 0;
  virtual void put(Real* to, const Real* host, int64_t count) = 0;
  virtual void look(Real* host, const Real* from, int64_t count) = 0;
  // Records what `work` calls, and runs nothing of it. What it calls must have been called before,
  // by the same arrays, and none of it may wait.
  virtual Recorded record(const std::function<void()>& work) = 0;
  // These weights do not change any more, until their memory is given back.
  virtual void freeze(const Real* weights, int64_t count) = 0;
  // Several products read these weights before they change, so what they are in the products' type
  // may be kept. Who changes them otherwise than by put(), adamw() and faults says so.
  virtual void keep_rounded(const Real*, int64_t /*count*/) {}
  virtual void weights_changed() {}

  virtual void matmul(const Product<Real>& product) = 0;
  // Of the logits, which a device may compute in a wider type than the layers.
  virtual void head_matmul(const Product<Real>& product) { matmul(product); }
  virtual void rmsnorm(const Real* x, const Real* gain, Real* y, Real* scale, int64_t rows,
                       int64_t width) = 0;
  // Adds to dx and dgain.
  virtual void rmsnorm_backward(const Real* dy, const Real* x, const Real* gain, const Real* scale,
                                Real* dx, Real* dgain, int64_t rows, int64_t width) = 0;
  // Turns q and k of each row of qkv by its position; direction −1 turns back.
  virtual void rotate(Real* qkv, const AttentionShape& shape, Real direction) = 0;
  // log_sums: tokens × heads, for the backward. No position is past.
  virtual void attention(const Real* qkv, Real* out, Real* log_sums, const AttentionShape&) = 0;
  // The keys and values of these tokens go into the cache, behind those that are past; queries see
  // the cache alone.
  virtual void append(const Real* qkv, Real* cache, const AttentionShape&) = 0;
  virtual void attention_cached(const Real* qkv, const Real* cache, Real* out,
                                const AttentionShape&) = 0;
  // Of an element of the cache.
  virtual int64_t cached_bytes() const { return sizeof(Real); }
  // Computes the layer in fewer steps than by the other calls, and gives what they give, within
  // rounding. False: it has done nothing.
  virtual bool token_layer(const TokenLayer<Real>&) { return false; }
  virtual void attention_backward(const Real* qkv, const Real* out, const Real* dout,
                                  const Real* log_sums, Real* dqkv, const AttentionShape&) = 0;
  virtual void swiglu(const Real* gate_up, Real* out, int64_t rows, int64_t width) = 0;
  virtual void swiglu_backward(const Real* dout, Real* gate_up, int64_t rows, int64_t width) = 0;

  // Rows of a table, 0 for tokens of other parts; and the gradients added to their rows, in the
  // order of the tokens.
  virtual void embed(const Real* table, const int32_t* tokens, Real* out, int64_t rows,
                     int64_t width, const VocabularyPart&) = 0;
  virtual void embed_backward(const Real* dout, const int32_t* tokens, Real* dtable, int64_t rows,
                              int64_t width, const VocabularyPart&) = 0;

  // The next tokens stay on the device, as −token: so the first of several is the largest number.
  // Of each row the first token whose logit is `top`, or the lowest number if this part has none;
  // behind the rows 1 if a mark is set, else 0.
  virtual void choose(const Real* logits, const Real* top, Real* candidates, int64_t rows,
                      const VocabularyPart&, const Real* marks, int64_t marks_count) = 0;
  // As embed(), of such numbers.
  virtual void embed_chosen(const Real* table, const Real* candidates, Real* out, int64_t rows,
                            int64_t width, const VocabularyPart&) = 0;
  // Sets *mark to 1 if a number is not finite; else leaves it. Nobody waits.
  virtual void mark_not_finite(const Real* x, int64_t count, Real* mark) = 0;

  // Cross entropy in three steps, between which ranks may exchange: `top` is each row's largest
  // logit; logits become e^(logit − top), with their sum and the target's logit − top (0 where the
  // target is in another part); and then the gradient factor·(softmax − one at the target).
  virtual void row_max(const Real* logits, Real* top, int64_t rows, int64_t width) = 0;
  virtual void exponentials(Real* logits, const Real* top, const int32_t* targets, Real* sums,
                            Real* at_target, int64_t rows, const VocabularyPart&) = 0;
  virtual void cross_entropy_backward(Real* exponentials, const Real* sums, const int32_t* targets,
                                      Real factor, int64_t rows, const VocabularyPart&) = 0;
  // Σ log(sums[i]) − at_target[i] over the rows, in nats.
  virtual double cross_entropy(const Real* sums, const Real* at_target, int64_t rows) = 0;

  virtual void add(Real* to, const Real* from, int64_t count) = 0;
  virtual void copy(Real* to, const Real* from, int64_t count) = 0;
  virtual void zero(Real* to, int64_t count) = 0;
  virtual void adamw(Real* weights, const Real* gradient, Real* mean, Real* square, int64_t count,
                     const AdamStep&) = 0;
  // In an order that depends on the count alone.
  virtual double sum_squares(const Real* x, int64_t count) = 0;
  // 0 if all are finite.
  virtual int64_t not_finite(const Real* x, int64_t count) = 0;
  // Depends on every bit and its place; kernels/hash.h.
  virtual uint64_t hash(const Real* x, int64_t count) = 0;
  // Changes the highest bit of an element's fraction, or makes it no number: --inject-fault.
  virtual void flip_bit(Real* element) = 0;
  virtual void make_nan(Real* element) = 0;
  // Normal numbers with this deviation, of a counter: element (i, j) of the part depends on
  // `stream` and its place (first_row + i, first_column + j) in the whole matrix alone.
  struct Place {
    int64_t rows = 0, columns = 0, first_row = 0, first_column = 0, whole_columns = 0;
  };
  virtual void normal(Real* to, const Place&, uint64_t stream, double deviation) = 0;
};

}  // namespace cb::training
