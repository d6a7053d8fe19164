/*
 * scrub_name.c - names that people chose: what they hold of paths, addresses and values.
 *
 * A path may hold blanks and any sign, so nobody can say where it ends. A name in which something
 * looks like a part of one is therefore not cut but replaced: by the file of code that it ends
 * in, with line and function, else by its number.
 *
 *     /home/john doe/x.py(3): f                        x.py(3): f
 *     /usr/lib/python3/dist-packages/torch/a.py(3): f  torch/a.py(3): f
 *     -I/home/u/inc                                    scrubbed 17
 */
#include "export/scrub.h"

#include "export/scrub_form.h"

/* Packages that everybody has or can have: folders below them may be shown. */
static const char *const packages[] = {
    /* of Python */
    "asyncio", "collections", "concurrent", "ctypes", "email", "encodings", "html", "http",
    "importlib", "json", "logging", "multiprocessing", "re", "sqlite3", "unittest", "urllib", "xml",
    "zipfile", "zoneinfo",
    /* others */
    "IPython", "PIL", "_pytest", "accelerate", "aiohttp", "apex", "bitsandbytes", "cv2", "datasets",
    "deepspeed", "diffusers", "einops", "fastai", "fastapi", "flash_attn", "flashinfer", "fsspec",
    "functorch", "huggingface_hub", "ignite", "ipykernel", "jax", "jaxlib", "lightning",
    "lightning_fabric", "marey", "matplotlib", "megatron", "monai", "numba", "numpy", "onnx",
    "onnxruntime", "pandas", "peft", "pluggy", "pyarrow", "pytorch_lightning", "ray", "safetensors",
    "scipy", "sentencepiece", "sglang", "skimage", "sklearn", "starlette", "sympy", "tensorboard",
    "tiktoken", "timm", "tokenizers", "torch", "torch_geometric", "torchao", "torchaudio",
    "torchdata", "torchmetrics", "torchtext", "torchtitan", "torchtune", "torchvision", "tqdm",
    "transformer_engine", "transformers", "triton", "trl", "uvicorn", "vllm", "xformers", NULL};

static const char *const extensions[] = {".py",  ".pyc", ".pyx", ".pyi", ".so",  ".c",   ".cc",
                                         ".cpp", ".cxx", ".cu",  ".h",   ".hpp", ".cuh", NULL};

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* ---- files of code ---- */

static struct marey_str behind(struct marey_str text, size_t at)
{
    return (struct marey_str){text.ptr + at, text.len - at};
}

static bool has_extension(struct marey_str file)
{
    for (size_t i = 0; extensions[i] != NULL; i++)
        if (marey__str_ends(file, extensions[i]) && file.len > strlen(extensions[i]))
            return true;
    return false;
}

/* <string>, <frozen importlib._bootstrap>: code without a file. */
static size_t fileless_len(struct marey_str text)
{
    static const char *const words[] = {"<string>", "<stdin>", "<unknown>", "<frozen "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t len = strlen(words[i]);
        if (!marey__str_starts(text, words[i]))
            continue;
        if (words[i][len - 1] == '>')
            return len;
        const size_t name_len = marey__form_run(text, len, "_.");
        return len + name_len < text.len && text.ptr[len + name_len] == '>' ? len + name_len + 1
                                                                            : 0;
    }
    return 0;
}

/* The length of the names between slashes at the beginning, up to one that is none or begins with a
 * point ("..") where *is_path is false. */
static size_t path_len(struct marey_str text, bool *is_path)
{
    *is_path = false;
    for (size_t len = 0;; len++) {
        const size_t name_len = marey__form_run(text, len, "_-.");
        if (name_len == 0 || text.ptr[len] == '.')
            return len;
        len += name_len;
        if (len == text.len || text.ptr[len] != '/') {
            *is_path = true;
            return len;
        }
    }
}

/* The length of the file at the beginning. */
static size_t file_len(struct marey_str text)
{
    const size_t fileless = fileless_len(text);
    if (fileless > 0)
        return fileless;
    bool is_path = false;
    const size_t len = path_len(text, &is_path);
    return is_path && has_extension((struct marey_str){text.ptr, len}) ? len : 0;
}

/* "x.py", "x.py(3)", "x.py(3): f" up to the end; a function that is no name is left out. How much
 * of the text is shown; 0 if it is no such thing. */
static size_t frame_len(struct marey_str text)
{
    size_t at = file_len(text);
    if (at == 0 || at == text.len)
        return at;
    if (text.ptr[at] != '(')
        return 0;
    size_t n_digits = 0;
    while (at + 1 + n_digits < text.len && marey__form_is_digit(text.ptr[at + 1 + n_digits]))
        n_digits++;
    at += n_digits + 2;
    if (n_digits == 0 || at > text.len || text.ptr[at - 1] != ')')
        return 0;
    if (!marey__str_starts(behind(text, at), ": "))
        return at == text.len ? at : 0;
    return at + 2 + marey__form_run(text, at + 2, "_.<>") == text.len ? text.len : at;
}

static bool is_package(struct marey_str text)
{
    for (size_t i = 0; packages[i] != NULL; i++) {
        const size_t len = strlen(packages[i]);
        if (marey__str_starts(text, packages[i]) && len < text.len && text.ptr[len] == '/')
            return true;
    }
    return false;
}

/* Whether packages lie in the folder that ends before `at`. */
static bool is_home_of_packages(struct marey_str text, size_t at)
{
    const struct marey_str folder = {text.ptr, at};
    size_t n = at > 0 ? at - 1 : 0;
    while (n > 0 && (marey__form_is_digit(text.ptr[n - 1]) || text.ptr[n - 1] == '.'))
        n--;
    return at == 0 || marey__str_ends(folder, "/site-packages/") ||
           marey__str_ends(folder, "/dist-packages/") ||
           marey__str_ends((struct marey_str){text.ptr, n}, "/lib/python");
}

/* What no part of a name may hold, whatever stands around it. */
static bool is_telling(struct marey_str text)
{
    static const char *const words[] = {"bearer", "passw",   "secret",   "api_key",
                                        "apikey", "api key", "api\tkey", "api-key"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_holds_caseless(text, words[i]))
            return true;
    return marey__form_has_address(text);
}

/* So much of a frame as may be shown: its function only with it, nothing without its file. */
static struct marey_str shown_frame(struct marey_str text)
{
    const struct marey_str frame = {text.ptr, frame_len(text)};
    const struct marey_str file = {text.ptr, frame.len > 0 ? file_len(text) : 0};
    if (is_telling(file))
        return (struct marey_str){text.ptr, 0};
    if (!is_telling(behind(frame, file.len)))
        return frame;
    const char *close = memchr(frame.ptr, ')', frame.len);
    return (struct marey_str){frame.ptr, (size_t)(close - frame.ptr) + 1};
}

/* The file of code with its line and function in which the text ends: as far as a known package,
 * else without folders. Empty if it ends in none. */
static struct marey_str shown_file(struct marey_str text)
{
    size_t name = 0;
    size_t none_before = 0; /* the end of a path that is no frame, nor is what it ends in */
    for (size_t i = 0; i < text.len; i++) {
        if (i > 0 && !is_separator(text.ptr[i - 1]))
            continue;
        const struct marey_str rest = behind(text, i);
        name = i;
        if (i < none_before || !is_package(rest) || !is_home_of_packages(text, i))
            continue;
        if (frame_len(rest) > 0)
            break;
        bool is_path = false;
        none_before = i + path_len(rest, &is_path);
    }
    return shown_frame(behind(text, name));
}

/* ---- names ---- */

/* A value behind "=" that is no number. Operators of C++ have none. */
static bool is_assignment(struct marey_str text, size_t at)
{
    size_t from = at + 1;
    if (from == text.len || marey__form_is_one_of(text.ptr[from], "=>(") ||
        (at > 0 && marey__form_is_one_of(text.ptr[at - 1], "<>!=")) ||
        marey__str_ends((struct marey_str){text.ptr, at}, "operator"))
        return false;
    while (from < text.len && marey__form_is_one_of(text.ptr[from], "[({-+"))
        from++;
    const size_t len = marey__form_run(text, from, "");
    return len == 0 || !marey__form_is_number((struct marey_str){text.ptr + from, len});
}

static bool is_risky(struct marey_str text, size_t at)
{
    const char c = text.ptr[at];
    const char before = at > 0 ? text.ptr[at - 1] : ' ';
    const char next = at + 1 < text.len ? text.ptr[at + 1] : ' ';
    if (c == '/') /* "Torch-Compiled Region: 0/1" */
        return !marey__form_is_digit(before) || !marey__form_is_digit(next);
    if (c == '=')
        return is_assignment(text, at);
    if (c == '-') /* "--password x" */
        return marey__form_is_one_of(before, " \t\n") && next == '-' && at + 2 < text.len &&
               marey__form_is_alnum(text.ptr[at + 2]);
    return c == '\\' || c == '@';
}

bool marey__scrub_is_harmless(struct marey_str text)
{
    if (is_telling(text))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (is_risky(text, i))
            return false;
    return true;
}

/* With what a name begins that readers look for, before a name of its own. */
static const char *const prefixes[] = {"ProfilerStep#", "autograd::engine::evaluate_function: "};

/* What readers look for in the name of a call into the runtime, in any case of letters. */
static const char *const call_words[] = {"launch", "memcpy", "memset", "devicesynchronize",
                                         "ctxsynchronize"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* "scrubbed 3" of "scrubbed 3 launch", else the text as it is. */
static struct marey_str without_words(struct marey_str text)
{
    struct marey_str rest = text;
    for (size_t i = 0; i < COUNT(call_words);) {
        const size_t len = strlen(call_words[i]);
        const bool is_last = marey__str_ends(rest, call_words[i]) && rest.len > len &&
                             rest.ptr[rest.len - len - 1] == ' ';
        rest.len -= is_last ? len + 1 : 0;
        i = is_last ? 0 : i + 1;
    }
    return marey__scrub_is_number(rest, "scrubbed") ? rest : text;
}

static bool is_scrubbed(struct marey_str text)
{
    return marey__scrub_is_number(without_words(text), "scrubbed");
}

static bool is_shown(struct marey_str name)
{
    return marey__scrub_is_harmless(name) && !is_scrubbed(name);
}

/* The length of the beginnings that are kept. */
static size_t kept_len(struct marey_str text)
{
    size_t len = 0;
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (marey__str_starts(behind(text, len), prefixes[i]))
            len += strlen(prefixes[i]);
    return len;
}

static struct marey_str shown_part(struct marey_str text, enum marey_scrub_how how)
{
    if (how == MAREY_SCRUB_NUMBERED || how == MAREY_SCRUB_NUMBERED_CALL)
        return (struct marey_str){text.ptr, 0};
    if (is_shown(text))
        return text;
    return how == MAREY_SCRUB_CALL ? (struct marey_str){text.ptr, 0} : shown_file(text);
}

static bool is_call(enum marey_scrub_how how)
{
    return how == MAREY_SCRUB_CALL || how == MAREY_SCRUB_NUMBERED_CALL;
}

bool marey__scrub_is_numbered(struct marey_str text, enum marey_scrub_how how,
                              struct marey_str *numbered)
{
    const struct marey_str rest = how == MAREY_SCRUB_ANY ? behind(text, kept_len(text)) : text;
    const bool is_numbered = rest.len > 0 && shown_part(rest, how).len == 0;
    *numbered = is_numbered && is_call(how) ? without_words(rest) : rest;
    return is_numbered;
}

void marey__scrub_name(struct marey_scrub *scrub, struct marey_str text, enum marey_scrub_how how,
                       struct marey_textbuf *out)
{
    struct marey_str rest;
    const bool is_numbered = marey__scrub_is_numbered(text, how, &rest);
    marey__text_add(out, text.ptr, (size_t)(rest.ptr - text.ptr));
    if (!is_numbered) {
        marey__text_add_str(out, shown_part(rest, how));
        return;
    }
    marey__scrub_add_number(&scrub->names, "scrubbed", rest, out);
    for (size_t i = 0; i < COUNT(call_words); i++)
        if (is_call(how) && marey__str_holds_caseless(text, call_words[i]))
            marey__text_add_format(out, " %s", call_words[i]);
}

void marey__scrub_stack(struct marey_str text, struct marey_textbuf *out)
{
    for (size_t at = 0; at < text.len;) {
        const struct marey_str rest = behind(text, at);
        size_t len = 0;
        while (len < rest.len && rest.ptr[len] != ';' && rest.ptr[len] != '\n')
            len++;
        const struct marey_str file = shown_file((struct marey_str){rest.ptr, len});
        if (file.len > 0)
            marey__text_add_str(out, file);
        else if (len > 0)
            marey__text_add_c(out, "scrubbed");
        if (len < rest.len)
            marey__text_add_byte(out, rest.ptr[len]);
        at += len + 1;
    }
}
