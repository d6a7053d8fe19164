/*
 * info_versions.c - what the head of a file tells of versions, as people write them.
 *
 * Adding one: a row.
 */
#include <inttypes.h>

#include "info.h"
#include "json.h"

/* How a number becomes a version. */
enum form {
    FORM_PLAIN, /* 130001, or a text as it stands */
    FORM_CUDA,  /* 12040 is 12.4 */
    FORM_HIP,   /* 70051831 is 7.0.51831 */
    FORM_TORCH  /* "2.13.0+cpu" is 2.13.0 */
};

static const struct {
    const char *object; /* the member it stands in; NULL: the head */
    const char *key;
    const char *word;
    enum form form;
} version_table[] = {
    {NULL, "cuda_runtime_version", "CUDA runtime", FORM_CUDA},
    {NULL, "cuda_driver_version", "CUDA driver", FORM_CUDA},
    {NULL, "cupti_version", "CUPTI", FORM_PLAIN},
    {NULL, "hip_runtime_version", "HIP runtime", FORM_HIP},
    {NULL, "hip_driver_version", "HIP driver", FORM_HIP},
    {NULL, "roctracer_version", "roctracer", FORM_PLAIN},
    {"marey", "torch", "torch", FORM_TORCH},
    {"distributedInfo", "nccl_version", "NCCL", FORM_PLAIN},
    {NULL, "schemaVersion", "schema", FORM_PLAIN},
};

/* Digits and points, in quotes or not; other text may be anybody's secret and is not shown. */
static struct marey_str digits_of(struct marey_str value)
{
    const size_t quoted = value.len > 2 && value.ptr[0] == '"';
    const struct marey_str digits = {value.ptr + quoted, value.len - 2 * quoted};

    for (size_t i = 0; i < digits.len; i++)
        if (digits.ptr[i] != '.' && (digits.ptr[i] < '0' || digits.ptr[i] > '9'))
            return (struct marey_str){NULL, 0};
    return digits;
}

/* The digits and points that a text begins with. */
static struct marey_str digits_at_begin(struct marey_str value)
{
    if (value.len < 2 || *value.ptr != '"')
        return (struct marey_str){NULL, 0};
    struct marey_str digits = {value.ptr + 1, 0};

    while (digits.len + 2 < value.len &&
           (digits.ptr[digits.len] == '.' ||
            (digits.ptr[digits.len] >= '0' && digits.ptr[digits.len] <= '9')))
        digits.len++;
    return digits.len > 0 ? digits : (struct marey_str){NULL, 0};
}

void info_torch(const struct info *info, uint32_t source_idx, struct text *version)
{
    const struct marey_str value = json_member(info_meta(info, source_idx, "marey"), "torch");
    const struct marey_str digits = digits_at_begin(value);

    if (digits.len > 0)
        text_add_bytes(version, digits.ptr, digits.len);
}

const char *info_version(const struct info *info, uint32_t source_idx, size_t i,
                         struct text *version)
{
    if (i >= sizeof version_table / sizeof version_table[0])
        return NULL;
    const char *object = version_table[i].object;
    const char *key = version_table[i].key;
    if (version_table[i].form == FORM_TORCH) {
        info_torch(info, source_idx, version);
        return version_table[i].word;
    }
    const struct marey_str value = object ? json_member(info_meta(info, source_idx, object), key)
                                          : info_meta(info, source_idx, key);
    const int64_t number = json_integer(value);

    if (number == MAREY_UNKNOWN || number < 0) {
        const struct marey_str digits = digits_of(value);
        text_add_bytes(version, digits.ptr, digits.len);
        return version_table[i].word;
    }
    switch (version_table[i].form) {
    case FORM_TORCH:
    case FORM_PLAIN:
        text_add(version, "%" PRId64, number);
        break;
    case FORM_CUDA:
        text_add(version, "%" PRId64 ".%" PRId64, number / 1000, number % 1000 / 10);
        break;
    case FORM_HIP:
        text_add(version, "%" PRId64 ".%" PRId64 ".%" PRId64, number / 10000000,
                 number / 100000 % 100, number % 100000);
        break;
    }
    return version_table[i].word;
}
