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

/* ---- numbers with colons ----
 *
 * Words of hexadecimal digits joined by one colon or two are an address, or a name of C++:
 *
 *     10:30:59  u12:34:56  dead:beef::cafe    one colon does not join names
 *     2001:db8::1  peer_fe80::1  2a00::beef   no name begins with a digit
 *     fe80::abcd  fd00::  ff02::fb            begins as addresses of the own net do
 *     dead::beef                              nothing but words of four, and none of them c10d
 *     c10::dead  add::face  layer::2          is a name
 */

/* Words of hexadecimal digits in a row, and what joins them. */
struct chain {
    size_t n_words;
    size_t n_single; /* colons that stand alone */
    size_t n_double;
    bool is_behind_name; /* a word that is no number stands before it, and joins it by two colons */
    bool is_joined;
    bool is_behind_digits; /* which that word ends in */
    bool is_part_of_word;  /* an underscore stands before it or behind it */
    bool has_digit_first;  /* in one of the words */
    bool has_digit_behind_two;
    bool begins_as_address;
    bool has_other_length; /* than four digits in one of the words */
};

static bool is_hexadecimal(struct marey_str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (!marey__form_is_one_of(word.ptr[i], "0123456789abcdefABCDEF"))
            return false;
    return true;
}

/* Of a link, a private net or a group: fe80 to febf, fc.., fd.., ff... */
static bool is_net(struct marey_str word)
{
    const char first = word.ptr[0];
    const char second = word.len == 4 ? word.ptr[1] : ' ';
    if (!marey__form_is_one_of(first, "fF"))
        return false;
    return marey__form_is_one_of(second, "cCdDfF") ||
           (marey__form_is_one_of(second, "eE") && marey__form_is_one_of(word.ptr[2], "89abAB"));
}

static void add_word(struct chain *chain, size_t n_colons, struct marey_str word)
{
    const bool is_behind_two = n_colons > 1 && !chain->is_behind_name;
    const bool has_digit = marey__form_is_digit(word.ptr[0]);
    if (chain->n_words == 0) {
        chain->begins_as_address = is_net(word);
        chain->is_joined = chain->is_behind_name && n_colons > 1;
        chain->n_single += chain->is_behind_digits && n_colons == 1;
    } else {
        chain->n_single += n_colons == 1;
    }
    chain->n_double += is_behind_two;
    chain->has_digit_behind_two |= is_behind_two && has_digit;
    chain->has_digit_first |= has_digit;
    chain->has_other_length |= word.len != 4 || marey__str_is_caseless(word, "c10d");
    chain->is_behind_name = false;
    chain->n_words++;
}

/* Whether a chain is one where it ends; before a name that two colons join to it or not. */
static bool is_address(const struct chain *chain, bool is_before_name)
{
    if (chain->n_single >= 2 || chain->has_digit_behind_two)
        return true;
    if (chain->n_double == 0 || is_before_name)
        return false;
    return chain->n_single > 0 || chain->begins_as_address ||
           (chain->has_digit_first && !chain->is_part_of_word) ||
           (chain->n_words > 1 && !chain->has_other_length && !chain->is_part_of_word &&
            !chain->is_joined);
}

/* Whether there is one in a text of letters, digits and colons. */
static bool has_chain(struct marey_str text, bool is_part_of_word)
{
    struct chain chain = {.is_part_of_word = is_part_of_word};
    for (size_t at = 0; at < text.len;) {
        size_t n_colons = 0;
        while (at + n_colons < text.len && text.ptr[at + n_colons] == ':')
            n_colons++;
        at += n_colons;
        const struct marey_str word = {text.ptr + at, marey__form_run(text, at, "")};
        at += word.len;
        if (word.len == 0) {
            chain.n_double += n_colons > 1 && chain.n_words > 0;
        } else if (is_hexadecimal(word)) {
            add_word(&chain, n_colons, word);
        } else {
            chain.n_single += chain.n_words > 0 && n_colons == 1 && marey__form_is_digit(*word.ptr);
            if (is_address(&chain, n_colons > 1))
                return true;
            chain = (struct chain){
                .is_behind_name = true,
                .is_behind_digits = marey__form_is_digit(word.ptr[word.len - 1]),
                .is_part_of_word = is_part_of_word,
            };
        }
    }
    return is_address(&chain, false);
}

static bool has_colons(struct marey_str text)
{
    for (size_t at = 0; at < text.len;) {
        const size_t len = marey__form_run(text, at, ":");
        const bool is_part_of_word = (at > 0 && text.ptr[at - 1] == '_') ||
                                     (at + len < text.len && text.ptr[at + len] == '_');
        if (has_chain((struct marey_str){text.ptr + at, len}, is_part_of_word))
            return true;
        at += len > 0 ? len : 1;
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
