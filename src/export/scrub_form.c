/*
 * scrub_form.c - the words of each form.
 *
 * Adding a word: in the list of its form, in any case of letters. A word that people choose
 * themselves belongs in none.
 */
#include "export/scrub_form.h"

static const char *const unit_words[] = {"ns", "us", "ms", "s", NULL};

static const char *const type_words[] = {
    /* of C and C++ */
    "void", "bool", "char", "signed", "unsigned", "short", "int", "long", "half", "float", "double",
    "const", "std", "vector", "string", "optional", "complex", "size_t", "nullptr", "byte",
    /* of torch */
    "c10", "at", "torch", "Tensor", "TensorList", "Scalar", "ScalarList", "GenericList",
    "OptionalTensorList", "Number", "None", "NoneType", "Undefined", "List", "Dict", "Tuple",
    "Device", "Generator", "Storage", "Stream", "Layout", "MemoryFormat", "ScalarType", "str",
    "IntArrayRef", "ArrayRef", "SymInt", "SymFloat", "SymBool", "IValue", "Half", "BFloat16",
    "Bits8", "Bits16", "Float4_e2m1fn_x2", "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2",
    "Float8_e5m2fnuz", "Float8_e8m0fnu", "ComplexHalf", "ComplexFloat", "ComplexDouble", "QInt8",
    "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4", "float16", "float32", "float64", "int8", "int16",
    "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex32", "complex64", "complex128",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", NULL};

static const char *const device_words[] = {
    "NVIDIA", "GeForce", "RTX",         "GTX",    "TITAN",     "Tesla",    "Quadro",
    "Ti",     "SUPER",   "Ada",         "Hopper", "Blackwell", "Grace",    "Generation",
    "Laptop", "GPU",     "Workstation", "Server", "Edition",   "Max",      "Q",
    "D",      "X",       "V",           "RTXA",   "Xp",        "DGX",      "DGXS",
    "HGX",    "PCIe",    "PCI",         "SXM",    "NVL",       "MIG",      "Jetson",
    "Orin",   "Thor",    "Xavier",      "AGX",    "Nano",      "NX",       "Spark",
    "AMD",    "Radeon",  "Instinct",    "Pro",    "PRO",       "Graphics", "VF",
    "XT",     "XTX",     "Intel",       "R",      "TM",        "Arc",      "Data",
    "Center", "Iris",    "Xe",          "UHD",    "Gaudi",     "Habana",   "Ascend",
    "MTIA",   "Apple",   "Ultra",       "CPU",    "Device",    NULL};

static const char *const backend_words[] = {
    "cpu",  "cuda", "xpu", "hpu",    "npu",  "mps",   "mtia", "meta",    "privateuseone",
    "nccl", "gloo", "mpi", "ucc",    "xccl", "hccl",  "rccl", "nvshmem", "undefined",
    "fake", "none", "ccl", "custom", "hip",  "smddp", NULL};

static const char *const collective_words[] = {
    "all",      "allreduce",    "reduce",  "scatter",   "gather", "allgather", "reducescatter",
    "base",     "broadcast",    "barrier", "alltoall",  "to",     "alltoallv", "send",
    "recv",     "isend",        "irecv",   "wait",      "into",   "tensor",    "tensors",
    "single",   "coalesced",    "sparse",  "any",       "source", "anysource", "batch",
    "p2p",      "async",        "sync",    "monitored", "v",      "oop",       "group",
    "start",    "end",          "init",    "split",     "comms",  "bcast",     "list",
    "coalesce", "pointToPoint", NULL};

static const char *const sync_words[] = {"Stream", "Event",   "Context",     "Device", "Sync",
                                         "Wait",   "Unknown", "Synchronize", NULL};

static const char *const kernel_backend_words[] = {"triton", "cutlass", "cute", "ck",     "aten",
                                                   "cpp",    "cuda",    "hip",  "halide", "pallas",
                                                   "metal",  "extern",  NULL};

static const struct {
    const char *const *words;
    const char *signs; /* between words */
    bool has_models;   /* words like H100, HBM3, 80GB too */
} form_table[MAREY_N_FORMS] = {
    [MAREY_FORM_UNIT] = {unit_words, "", false},
    [MAREY_FORM_TYPE] = {type_words, " :<>,()[]*&.", false},
    [MAREY_FORM_DEVICE] = {device_words, " -().", true},
    [MAREY_FORM_BACKEND] = {backend_words, ":,", false},
    [MAREY_FORM_COLLECTIVE] = {collective_words, "_ ", false},
    [MAREY_FORM_SYNC] = {sync_words, " ", false},
    [MAREY_FORM_KERNEL_BACKEND] = {kernel_backend_words, "_", false},
};

/* ---- numbers ---- */

bool marey__form_is_number(struct marey_str word)
{
    static const char *const words[] = {"True", "False", "None", "true", "false",
                                        "null", "nan",   "inf",  "e"};
    size_t n_digits = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_is_c(word, words[i]))
            return true;
    if (word.len > 2 && word.len <= 18 && word.ptr[0] == '0' && word.ptr[1] == 'x') {
        for (size_t i = 2; i < word.len; i++)
            if (!marey__form_is_one_of(word.ptr[i], "0123456789abcdefABCDEF"))
                return false;
        return true;
    }
    while (n_digits < word.len && marey__form_is_digit(word.ptr[n_digits]))
        n_digits++;
    return n_digits == word.len || (n_digits + 1 == word.len && word.ptr[n_digits] == 'e');
}

/* Four numbers with points between them. */
static bool has_points(struct marey_str text)
{
    size_t n_points = 0;
    bool is_number = false;
    for (size_t i = 0; i < text.len; i++) {
        const bool is_digit = marey__form_is_digit(text.ptr[i]);
        if (is_digit && n_points == 3)
            return true;
        if (!is_digit)
            n_points = text.ptr[i] == '.' && is_number ? n_points + 1 : 0;
        is_number = is_digit;
    }
    return false;
}

static bool is_hex_or_colon(char c)
{
    return c == ':' || marey__form_is_one_of(c, "0123456789abcdefABCDEF");
}

/* Whether a text of hexadecimal digits and colons is an address. */
static bool is_colon_address(struct marey_str text)
{
    size_t n_colons = 0;
    size_t n_single = 0;
    bool has_digit_behind_two = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ':')
            continue;
        const bool is_second = i > 0 && text.ptr[i - 1] == ':';
        const bool is_first = i + 1 < text.len && text.ptr[i + 1] == ':';
        n_colons++;
        n_single += !is_first && !is_second && i > 0 && i + 1 < text.len;
        has_digit_behind_two |=
            is_second && i + 1 < text.len && marey__form_is_digit(text.ptr[i + 1]);
    }
    return n_single >= 2 || (n_colons >= 2 && has_digit_behind_two);
}

/* The length of a name of C++: only two colons join its words. */
static size_t name_len(struct marey_str text, size_t at)
{
    size_t len = marey__form_run(text, at, "_");
    while (len > 0 && at + len + 2 < text.len && text.ptr[at + len] == ':' &&
           text.ptr[at + len + 1] == ':') {
        const size_t more = marey__form_run(text, at + len + 2, "_");
        if (more == 0)
            break;
        len += 2 + more;
    }
    return len;
}

static bool has_colons(struct marey_str text)
{
    for (size_t at = 0; at < text.len;) {
        const size_t from = at;
        while (at < text.len && is_hex_or_colon(text.ptr[at]))
            at++;
        const size_t word_len = name_len(text, at);
        if (word_len == 0 && is_colon_address((struct marey_str){text.ptr + from, at - from}))
            return true;
        at += word_len > 0 ? word_len : at == from;
    }
    return false;
}

bool marey__form_has_address(struct marey_str text)
{
    return has_points(text) || has_colons(text);
}

/* "2026-11-29", "555-1234", "+49 711": a minus stands before a number, a plus in an exponent. */
static bool has_odd_sign(struct marey_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char before = i > 0 ? text.ptr[i - 1] : ' ';
        if ((text.ptr[i] == '-' && marey__form_is_digit(before)) ||
            (text.ptr[i] == '+' && before != 'e'))
            return true;
    }
    return false;
}

static bool are_numbers(struct marey_str text)
{
    if (marey__form_has_address(text) || has_odd_sign(text))
        return false;
    for (size_t at = 0; at < text.len;) {
        const size_t len = marey__form_run(text, at, "");
        if (len > 20 || !marey__form_is_number((struct marey_str){text.ptr + at, len}))
            return false;
        if (len == 0 && !marey__form_is_one_of(text.ptr[at], "[](){},;: .+-"))
            return false;
        at += len > 0 ? len : 1;
    }
    return true;
}

/* ---- words ---- */

static bool is_word(const char *const *words, struct marey_str word)
{
    for (; *words != NULL; words++)
        if (marey__str_is_caseless(word, *words))
            return true;
    return false;
}

/* A few letters, a number, a few letters: H100, MI300X, 80GB, HBM3e; or nothing but the number. */
static bool is_model(struct marey_str word)
{
    size_t n_before = 0;
    size_t n_digits = 0;
    while (n_before < word.len && !marey__form_is_digit(word.ptr[n_before]))
        n_before++;
    while (n_before + n_digits < word.len && marey__form_is_digit(word.ptr[n_before + n_digits]))
        n_digits++;
    const size_t n_behind = word.len - n_before - n_digits;
    return n_before <= 4 && n_digits > 0 && n_digits <= 5 && n_behind <= 3 &&
           marey__form_run(word, 0, "") == word.len;
}

bool marey__form_takes(enum marey_form form, struct marey_str text)
{
    if (form == MAREY_FORM_NUMBERS)
        return are_numbers(text);
    const char *signs = form_table[form].signs;
    /* A word may hold an underscore unless it parts words here. */
    const char *inner = strchr(signs, '_') != NULL ? "" : "_";
    for (size_t at = 0; at < text.len;) {
        const size_t len = marey__form_run(text, at, inner);
        const struct marey_str word = {text.ptr + at, len};
        if (len == 0 ? !marey__form_is_one_of(text.ptr[at], signs)
                     : !is_word(form_table[form].words, word) &&
                           !(form_table[form].has_models && is_model(word)))
            return false;
        at += len > 0 ? len : 1;
    }
    return text.len <= 128;
}
