/*
 * inputs.h - from the arguments of an operator to the words of marey/collector.h.
 *
 * Works on borrowed values only: no reference count changes, no allocation, and nothing that
 * may end in Python. So sizes that only a tensor's own code could tell are not asked for:
 * nested and symbolic ones, as torch's profiler does too, and those of functional wrappers.
 */
#ifndef MAREY_TORCH_INPUTS_H
#define MAREY_TORCH_INPUTS_H

#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "marey/collector.h"

namespace marey
{

/* Ids of texts, asked from the sink at first sight of each. A value is written by whichever
 * thread comes first, and is the same whoever writes it, so relaxed is enough. */
class TextIds
{
  public:
    /* The type of a tensor's elements, by torch's name of it. 0: it was not asked for yet. */
    uint32_t known_dtype(caffe2::TypeMeta dtype) const
    {
        return dtype.isScalarType() ? dtypes_[static_cast<size_t>(dtype.toScalarType())].load(
                                          std::memory_order_relaxed)
                                    : 0;
    }

    uint32_t of_dtype(const marey_sink *sink, caffe2::TypeMeta dtype)
    {
        const uint32_t id = known_dtype(dtype);
        return id != 0 ? id : ask_dtype(sink, dtype);
    }

    enum Other { COMPLEX, SYM_INT, SYM_FLOAT, SYM_BOOL, DEVICE, GENERATOR, OBJECT, N_OTHERS };

    /* 0: it was not asked for yet. */
    uint32_t known_other(Other which) const
    {
        return others_[which].load(std::memory_order_relaxed);
    }

    uint32_t of_other(const marey_sink *sink, Other which)
    {
        static const char *const names[N_OTHERS] = {
            "ComplexDouble", "SymInt", "SymFloat", "SymBool", "Device", "Generator", "Object"};
        const uint32_t id = known_other(which);
        return id != 0 ? id : ask(sink, others_[which], names[which], std::strlen(names[which]));
    }

    /* Another sink has other ids. */
    void forget()
    {
        for (auto &id : dtypes_)
            id.store(0, std::memory_order_relaxed);
        for (auto &id : others_)
            id.store(0, std::memory_order_relaxed);
    }

  private:
    uint32_t ask_dtype(const marey_sink *sink, caffe2::TypeMeta dtype)
    {
        const char *const name = dtype.name().data();
        const size_t len = dtype.name().size();
        if (!dtype.isScalarType())
            return sink->text(name, len);
        return ask(sink, dtypes_[static_cast<size_t>(dtype.toScalarType())], name, len);
    }

    static uint32_t ask(const marey_sink *sink, std::atomic<uint32_t> &kept, const char *ptr,
                        size_t len)
    {
        const uint32_t id = sink->text(ptr, len);
        kept.store(id, std::memory_order_relaxed);
        return id;
    }

    /* 0: not asked yet. */
    std::atomic<uint32_t> dtypes_[static_cast<size_t>(c10::ScalarType::NumOptions)] = {};
    std::atomic<uint32_t> others_[N_OTHERS] = {};
};

/* Keys of tensors whose sizes or strides are not to be had, or not in the usual way. */
constexpr c10::DispatchKeySet RARE_KEYS =
    c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks | c10::python_ks |
    c10::DispatchKeySet({c10::DispatchKey::NestedTensor, c10::DispatchKey::Functionalize});

/* What a list leaves for each input behind it: a tensor of four dimensions with strides. */
constexpr size_t WORDS_LEFT_TO_AN_INPUT = 9;

inline uint64_t bits_of(double value)
{
    uint64_t bits = 0;

    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Writes any input, whole or not at all. */
class InputWriter
{
  public:
    /* `at`: where the next one goes. */
    InputWriter(const marey_sink *sink, TextIds *texts, uint64_t *words, uint64_t *at)
        : sink_(sink), texts_(texts), begin_(words), at_(at), end_(at)
    {
    }

    /* False: there is no room, or it cannot be told. A long list leaves room for what comes
     * after it. */
    bool write(const c10::IValue &value, size_t n_after)
    {
        const size_t room = n_after * WORDS_LEFT_TO_AN_INPUT;
        const size_t left = value.isList() && room < MAREY_MAX_INPUT_WORDS ? room : 0;
        uint64_t *const before = at_;

        end_ = begin_ + MAREY_MAX_INPUT_WORDS - left;
        try {
            if (value.isList() ? put_list(value) : put_one(value, true))
                return true;
        } catch (...) {
        }
        at_ = before;
        return false;
    }

    uint64_t *at() const
    {
        return at_;
    }

  private:
    bool has_room(size_t n_words) const
    {
        return at_ + n_words <= end_;
    }

    bool put_head(unsigned type, size_t n_dims = 0, size_t n_items = 0, uint32_t text_id = 0)
    {
        if (!has_room(1))
            return false;
        *at_++ = MAREY_INPUT_HEAD(type, n_dims, n_items, text_id);
        return true;
    }

    bool put_word(unsigned type, uint64_t word)
    {
        if (!has_room(2))
            return false;
        put_head(type);
        *at_++ = word;
        return true;
    }

    bool put_other(TextIds::Other which)
    {
        return put_head(MAREY_INPUT_OTHER, 0, 0, texts_->of_other(sink_, which));
    }

    /* Sizes and strides are read where they are kept in the tensor, else by a virtual function
     * that is C++. The ones of a Python subclass would be a call into Python: for those what
     * the tensor itself keeps is taken. May throw. */
    bool put_tensor(const c10::TensorImpl &tensor, bool with_strides)
    {
        constexpr c10::DispatchKeySet unknown_keys(
            {c10::DispatchKey::NestedTensor, c10::DispatchKey::Functionalize});
        constexpr c10::DispatchKeySet sparse_keys =
            c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks;
        const c10::DispatchKeySet keys = tensor.key_set();
        if (tensor.has_symbolic_sizes_strides() || keys.has_any(unknown_keys))
            return put_head(MAREY_INPUT_UNDEFINED);

        const bool is_python = tensor.is_python_dispatch();
        const c10::IntArrayRef sizes = is_python ? tensor.sizes_default() : tensor.sizes();
        c10::IntArrayRef strides;
        const bool is_strided = with_strides && !keys.has_any(sparse_keys);
        if (is_strided)
            strides = is_python ? tensor.strides_default() : tensor.strides();

        const size_t n_dims = sizes.size();
        if (n_dims > UINT8_MAX || !has_room(1 + (is_strided ? 2 : 1) * n_dims))
            return false;
        put_head(MAREY_INPUT_TENSOR | (is_strided ? MAREY_INPUT_STRIDES : 0), n_dims, 0,
                 texts_->of_dtype(sink_, tensor.dtype()));
        for (const int64_t size : sizes)
            *at_++ = static_cast<uint64_t>(size);
        for (const int64_t stride : strides)
            *at_++ = static_cast<uint64_t>(stride);
        return true;
    }

    /* What throws is shown as a tensor of which nothing is known. */
    bool put_tensor_safely(const c10::IValue &value, bool with_strides)
    {
        const at::Tensor &tensor = value.toTensor();
        if (!tensor.defined())
            return put_head(MAREY_INPUT_UNDEFINED);
        uint64_t *const before = at_;
        try {
            return put_tensor(*tensor.unsafeGetTensorImpl(), with_strides);
        } catch (...) {
            at_ = before;
            return put_head(MAREY_INPUT_UNDEFINED);
        }
    }

    /* As torch tells lists apart: by the type of the elements, but for scalars and for the
     * empty list of anything else. */
    static unsigned type_of_list(const c10::IValue &list, c10::ArrayRef<c10::IValue> items)
    {
        if (!items.empty() && items[0].isScalar())
            return MAREY_INPUT_SCALAR_LIST;
        if (list.isTensorList())
            return MAREY_INPUT_TENSOR_LIST;
        return items.empty() ? MAREY_INPUT_SCALAR_LIST : MAREY_INPUT_GENERIC_LIST;
    }

    bool put_items(c10::ArrayRef<c10::IValue> items, bool with_strides)
    {
        for (const c10::IValue &item : items)
            if (!put_one(item, with_strides))
                return false;
        return true;
    }

    bool put_list(const c10::IValue &list)
    {
        const c10::ArrayRef<c10::IValue> items = list.toListRef();
        const unsigned type = type_of_list(list, items);
        const size_t n_items = items.size() < UINT16_MAX ? items.size() : UINT16_MAX;
        uint64_t *const before = at_;

        /* An item is one word or more. Without strides a list may yet fit. */
        if (items.size() < MAREY_MAX_INPUT_WORDS)
            for (const bool with_strides : {true, false}) {
                if (put_head(type, 0, n_items) && put_items(items, with_strides))
                    return true;
                at_ = before;
            }
        end_ = begin_ + MAREY_MAX_INPUT_WORDS;
        return put_head(type | MAREY_INPUT_CUT, 0, n_items);
    }

    /* Lists in lists are cut. */
    bool put_one(const c10::IValue &value, bool with_strides)
    {
        if (value.isTensor())
            return put_tensor_safely(value, with_strides);
        if (value.isInt())
            return put_word(MAREY_INPUT_INT, static_cast<uint64_t>(value.toInt()));
        if (value.isNone())
            return put_head(MAREY_INPUT_NONE);
        if (value.isBool())
            return put_word(MAREY_INPUT_BOOL, value.toBool() ? 1 : 0);
        if (value.isDouble())
            return put_word(MAREY_INPUT_DOUBLE, bits_of(value.toDouble()));
        if (value.isList())
            return put_cut_list(value);
        return put_rare(value);
    }

    bool put_cut_list(const c10::IValue &list)
    {
        const c10::ArrayRef<c10::IValue> items = list.toListRef();
        const unsigned is_cut = items.empty() ? 0 : MAREY_INPUT_CUT;
        return put_head(type_of_list(list, items) | is_cut, 0,
                        items.size() < UINT16_MAX ? items.size() : UINT16_MAX);
    }

    bool put_rare(const c10::IValue &value)
    {
        if (value.isString())
            return put_head(MAREY_INPUT_STRING);
        if (value.isDevice())
            return put_other(TextIds::DEVICE);
        if (value.isComplexDouble())
            return put_other(TextIds::COMPLEX);
        if (value.isSymInt())
            return put_other(TextIds::SYM_INT);
        if (value.isSymFloat())
            return put_other(TextIds::SYM_FLOAT);
        if (value.isSymBool())
            return put_other(TextIds::SYM_BOOL);
        if (value.isGenerator())
            return put_other(TextIds::GENERATOR);
        if (value.isObject())
            return put_other(TextIds::OBJECT);
        return put_head(MAREY_INPUT_OTHER);
    }

    const marey_sink *sink_;
    TextIds *texts_;
    uint64_t *begin_;
    uint64_t *at_;
    uint64_t *end_; /* of the room for the present input */
};

/* ---- common values, in few steps and without a call -------------------------------------------
 */

/* Where an input is written. */
struct Room {
    uint64_t *at;
    const uint64_t *end;
};

/* A tensor keeps that many sizes within itself, and behind them as many strides, whether it has as
 * many or not. */
constexpr size_t N_KEPT = C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE;

/* A dense tensor of C++: where the next input goes. NULL: it is another value, or there is no
 * room, and nothing is written. All that a tensor keeps is copied and what it does not have left
 * behind: how often a loop runs is told anew by each tensor, and guessed wrong. May throw, as
 * below. */
inline uint64_t *put_plain_tensor(const TextIds &texts, Room room, const c10::IValue &value)
{
    if (!value.toTensor().defined())
        return nullptr;
    const c10::TensorImpl &tensor = *value.toTensor().unsafeGetTensorImpl();
    if (tensor.has_symbolic_sizes_strides() || tensor.key_set().has_any(RARE_KEYS))
        return nullptr;

    const c10::IntArrayRef sizes = tensor.sizes();
    const c10::IntArrayRef strides = tensor.strides();
    const size_t n_dims = sizes.size();
    const bool is_kept = strides.data() == sizes.data() + N_KEPT && n_dims <= N_KEPT;
    if (!is_kept || strides.size() != n_dims || room.at + 1 + 2 * N_KEPT > room.end)
        return nullptr;
    const uint32_t dtype_id = texts.known_dtype(tensor.dtype());
    if (dtype_id == 0)
        return nullptr;
    room.at[0] = MAREY_INPUT_HEAD(MAREY_INPUT_TENSOR | MAREY_INPUT_STRIDES, n_dims, 0, dtype_id);
    std::memcpy(room.at + 1, sizes.data(), N_KEPT * sizeof(uint64_t));
    std::memcpy(room.at + 1 + n_dims, strides.data(), N_KEPT * sizeof(uint64_t));
    return room.at + 1 + 2 * n_dims;
}

/* A value of one word: where the next input goes. There is room. */
inline uint64_t *put_plain_word(uint64_t *at, unsigned type, uint64_t word)
{
    at[0] = MAREY_INPUT_HEAD(type, 0, 0, 0);
    at[1] = word;
    return at + 2;
}

/* The same for a device, of which no more is told. */
inline uint64_t *put_plain_device(const TextIds &texts, uint64_t *at)
{
    const uint32_t id = texts.known_other(TextIds::DEVICE);
    if (id == 0)
        return nullptr;
    at[0] = MAREY_INPUT_HEAD(MAREY_INPUT_OTHER, 0, 0, id);
    return at + 1;
}

/* Of a list; dims, sizes and paddings are no more. */
constexpr size_t MOST_PLAIN_ITEMS = 8;

/* A list of integers, or an empty one, that leaves room for the inputs behind it up to the last
 * one; as above. */
inline uint64_t *put_plain_list(Room room, const c10::IValue &value, const c10::IValue *last)
{
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    const size_t n_after = static_cast<size_t>(last - &value);
    const size_t most_words = 1 + 2 * MOST_PLAIN_ITEMS + n_after * WORDS_LEFT_TO_AN_INPUT;
    if (items.size() > MOST_PLAIN_ITEMS || room.at + most_words > room.end)
        return nullptr;
    if (items.empty() && value.isTensorList())
        return nullptr;
    uint64_t *at = room.at + 1;
    for (const c10::IValue &item : items) {
        if (!item.isInt())
            return nullptr;
        at = put_plain_word(at, MAREY_INPUT_INT, static_cast<uint64_t>(item.toInt()));
    }
    room.at[0] = MAREY_INPUT_HEAD(MAREY_INPUT_SCALAR_LIST, 0, items.size(), 0);
    return at;
}

/* Any of the values that operators mostly have; as above. */
inline uint64_t *put_plain(const TextIds &texts, Room room, const c10::IValue &value,
                           const c10::IValue *last)
{
    if (value.isTensor())
        return put_plain_tensor(texts, room, value);
    if (room.at + 2 > room.end)
        return nullptr;
    if (value.isInt())
        return put_plain_word(room.at, MAREY_INPUT_INT, static_cast<uint64_t>(value.toInt()));
    if (value.isNone()) {
        room.at[0] = MAREY_INPUT_HEAD(MAREY_INPUT_NONE, 0, 0, 0);
        return room.at + 1;
    }
    if (value.isBool())
        return put_plain_word(room.at, MAREY_INPUT_BOOL, value.toBool() ? 1 : 0);
    if (value.isDouble())
        return put_plain_word(room.at, MAREY_INPUT_DOUBLE, bits_of(value.toDouble()));
    if (value.isDevice())
        return put_plain_device(texts, room.at);
    return value.isList() ? put_plain_list(room, value, last) : nullptr;
}

/* ---- all inputs of an operator -----------------------------------------------------------------
 */

/* Where the next input goes; NULL: there is no room. Out of line, so that the short way keeps all
 * it needs in registers. */
__attribute__((noinline)) inline uint64_t *put_rest(const marey_sink *sink, TextIds *texts,
                                                    uint64_t *words, uint64_t *at,
                                                    const c10::IValue &value,
                                                    const c10::IValue *last)
{
    InputWriter writer(sink, texts, words, at);
    return writer.write(value, static_cast<size_t>(last - &value)) ? writer.at() : nullptr;
}

using Inputs = c10::ArrayRef<const c10::IValue>;

/* Each the long way, up to one that does not go. How many words there are. */
__attribute__((noinline)) inline uint32_t write_slowly(const marey_sink *sink, TextIds *texts,
                                                       uint64_t *words, Inputs values) noexcept
{
    InputWriter writer(sink, texts, words, words);
    size_t n_after = values.size();

    for (const c10::IValue &value : values)
        if (!writer.write(value, --n_after))
            break;
    return static_cast<uint32_t>(writer.at() - words);
}

/* May throw where a tensor has sizes of its own kind that it does not want to tell. */
__attribute__((always_inline)) inline uint32_t write_quickly(const marey_sink *sink, TextIds *texts,
                                                             uint64_t *words, Inputs values)
{
    const uint64_t *const end = words + MAREY_MAX_INPUT_WORDS;
    uint64_t *at = words;

    for (const c10::IValue &value : values) {
        uint64_t *after = put_plain(*texts, Room{at, end}, value, values.end() - 1);
        if (after == nullptr)
            after = put_rest(sink, texts, words, at, value, values.end() - 1);
        if (after == nullptr)
            break;
        at = after;
    }
    return static_cast<uint32_t>(at - words);
}

/* Writes inputs one after the other, each whole, as far as there is room. How many words there
 * are. */
__attribute__((always_inline)) inline uint32_t write_inputs(const marey_sink *sink, TextIds *texts,
                                                            uint64_t *words, Inputs values) noexcept
{
    try {
        return write_quickly(sink, texts, words, values);
    } catch (...) {
        return write_slowly(sink, texts, words, values);
    }
}

} // namespace marey

#endif
