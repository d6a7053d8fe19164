/*
 * core_columns.c - columns of a trace as Arrow has them: what lies in the trace as it is, and
 * what is made of it once: bitmaps of what is known, numbers of texts, links spread over rows.
 *
 * A column without a single value is of zeroed memory that nobody has touched, which costs
 * address space only.
 */
#include "core_arrow.h"

#include <string.h>

/* ---- references ------------------------------------------------------------------ */

struct core_hold *core_hold_new(struct marey_trace *trace)
{
    struct core_hold *hold = PyMem_RawCalloc(1, sizeof *hold);
    if (hold == NULL) {
        marey_trace_free(trace);
        return NULL;
    }
    atomic_init(&hold->n_refs, 1);
    hold->trace = trace;
    return hold;
}

void core_hold_give_back(struct core_hold *hold)
{
    if (hold == NULL || atomic_fetch_sub_explicit(&hold->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < CORE_N_EVENT_COLUMNS; i++)
        core_arrow_column_release(&hold->columns[i]);
    marey_trace_free(hold->trace);
    PyMem_RawFree(hold);
}

void core_arrow_column_release(struct core_arrow_column *column)
{
    PyMem_RawFree(column->own_name);
    PyMem_RawFree(column->own_values);
    PyMem_RawFree(column->own_validity);
    core_words_free(column->own_words);
    *column = (struct core_arrow_column){0};
}

unsigned core_arrow_bits(const char *format)
{
    switch (format[0]) {
    case 'l':
    case 'L':
    case 'g':
        return 64;
    case 'i':
    case 'I':
        return 32;
    case 's':
        return 16;
    case 'c':
        return 8;
    case 'b':
        return 1;
    default:
        return 0;
    }
}

/* ---- making columns --------------------------------------------------------------------- */

/* What a column is made of. */
struct source {
    PyObject *trace; /* of the extension */
    const struct marey_slices *slices;
    PyObject *tracks; /* a tuple for each track */
    Py_ssize_t place; /* in these tuples, of a column by track */
};

typedef bool (*make_fn)(const struct source *source, struct core_arrow_column *column);

static struct marey_trace *trace_of(const struct source *source)
{
    return core_trace_of(source->trace);
}

/* Memory for the values, all zero; NULL with an exception. */
static void *own_values(const struct source *source, struct core_arrow_column *column)
{
    const unsigned bits = core_arrow_bits(column->format);
    column->own_values = PyMem_RawCalloc(source->slices->n / 8 + 1, bits);
    column->values = column->own_values;
    if (column->own_values == NULL)
        PyErr_NoMemory();
    return column->own_values;
}

/* A bitmap in which nothing is known; NULL with an exception. */
static uint8_t *own_validity(const struct source *source, struct core_arrow_column *column)
{
    column->own_validity = PyMem_RawCalloc(core_bitmap_bytes(source->slices->n), 1);
    column->validity = column->own_validity;
    if (column->own_validity == NULL)
        PyErr_NoMemory();
    return column->own_validity;
}

/* The bitmap of the rows of which `is_known` is true, if one is not. */
#define VALIDITY(source, column, n, is_known)                                                      \
    do {                                                                                           \
        size_t first_null = 0;                                                                     \
        Py_BEGIN_ALLOW_THREADS                                                                     \
            for (size_t i = 0; i < (n) && (is_known); i++)                                         \
                first_null++;                                                                      \
        Py_END_ALLOW_THREADS                                                                       \
        if (first_null == (n))                                                                     \
            return true;                                                                           \
        uint8_t *bits = own_validity(source, column);                                              \
        if (bits == NULL)                                                                          \
            return false;                                                                          \
        Py_BEGIN_ALLOW_THREADS                                                                     \
            for (size_t i = 0; i < (n); i++)                                                       \
                if (is_known)                                                                      \
                    core_bit_set(bits, i);                                                         \
        Py_END_ALLOW_THREADS                                                                       \
        return true;                                                                               \
    } while (0)

static bool make_index(const struct source *source, struct core_arrow_column *column)
{
    uint32_t *values = own_values(source, column);
    if (values == NULL)
        return false;
    for (size_t i = 0; i < source->slices->n; i++)
        values[i] = (uint32_t)i;
    return true;
}

static bool make_start(const struct source *source, struct core_arrow_column *column)
{
    column->values = source->slices->start_ns;
    return true;
}

static bool dur_validity(const struct source *source, struct core_arrow_column *column)
{
    const int64_t *dur_ns = source->slices->dur_ns;
    const size_t n = source->slices->n;
    VALIDITY(source, column, n, dur_ns[i] != MAREY_UNKNOWN);
}

static bool make_dur(const struct source *source, struct core_arrow_column *column)
{
    column->values = source->slices->dur_ns;
    return dur_validity(source, column);
}

static bool make_self(const struct source *source, struct core_arrow_column *column)
{
    column->values = core_trace_self_ns(source->trace);
    return column->values != NULL && dur_validity(source, column);
}

static bool make_parent(const struct source *source, struct core_arrow_column *column)
{
    const uint32_t *parent_idx = source->slices->parent_idx;
    const size_t n = source->slices->n;
    column->values = parent_idx;
    VALIDITY(source, column, n, parent_idx[i] != MAREY_NONE);
}

static bool make_flag(const struct source *source, struct core_arrow_column *column, uint8_t flag)
{
    uint8_t *bits = own_values(source, column);
    if (bits == NULL)
        return false;
    for (size_t i = 0; i < source->slices->n; i++)
        if (source->slices->flags[i] & flag)
            core_bit_set(bits, i);
    return true;
}

static bool make_is_open(const struct source *source, struct core_arrow_column *column)
{
    return make_flag(source, column, MAREY_SLICE_OPEN);
}

static bool make_crosses(const struct source *source, struct core_arrow_column *column)
{
    return make_flag(source, column, MAREY_SLICE_CROSSES);
}

/* ---- by link ---- */

static bool make_correlation(const struct source *source, struct core_arrow_column *column)
{
    const struct marey_links links = marey_trace_links(trace_of(source));
    uint64_t *values = own_values(source, column);
    uint8_t *bits = values == NULL ? NULL : own_validity(source, column);
    if (bits == NULL)
        return false;
    for (size_t i = 0; i < links.n; i++) {
        values[links.slice_idx[i]] = links.correlation[i];
        core_bit_set(bits, links.slice_idx[i]);
    }
    return true;
}

static bool make_by_owner(const struct source *source, struct core_arrow_column *column,
                          bool is_launch)
{
    const struct marey_links links = marey_trace_links(trace_of(source));
    struct marey_owners owners = {0};
    struct marey_error err = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_owners(trace_of(source), &owners, &err);
    Py_END_ALLOW_THREADS
    if (status != MAREY_OK) {
        core_raise(core_state_of(source->trace), &err);
        return false;
    }
    const uint32_t *of_link = is_launch ? owners.launch_idx : owners.owner_idx;
    uint32_t *values = own_values(source, column);
    uint8_t *bits = values == NULL ? NULL : own_validity(source, column);
    if (bits == NULL)
        return false;
    for (size_t i = 0; i < links.n; i++)
        if (of_link[i] != MAREY_NONE) {
            values[links.slice_idx[i]] = of_link[i];
            core_bit_set(bits, links.slice_idx[i]);
        }
    return true;
}

static bool make_owner(const struct source *source, struct core_arrow_column *column)
{
    return make_by_owner(source, column, false);
}

static bool make_launch(const struct source *source, struct core_arrow_column *column)
{
    return make_by_owner(source, column, true);
}

/* ---- by name ---- */

/* The string ids of the names in the order in which they are met, and their place in it by
 * id. \shape place[n_strings], met[n_strings] */
static size_t meet_names(const struct marey_slices *slices, size_t n_strings, uint32_t *place,
                         uint32_t *met)
{
    size_t n_met = 0;
    memset(place, 0xFF, n_strings * sizeof *place);
    for (size_t i = 0; i < slices->n; i++) {
        const uint32_t id = slices->name_id[i];
        if (id < n_strings && place[id] == MAREY_NONE) {
            place[id] = (uint32_t)n_met;
            met[n_met++] = id;
        }
    }
    return n_met;
}

/* Numbers the texts met: met[i] becomes the number of its text. */
static struct core_words *number_names(const struct source *source, uint32_t *met, size_t n_met)
{
    struct core_lexicon lexicon;
    struct core_words *words = NULL;
    if (!core_lexicon_init(&lexicon))
        return NULL;
    for (size_t i = 0; i < n_met; i++) {
        PyObject *name = core_trace_name(source->trace, met[i]);
        const int32_t number = name == NULL ? -2 : core_lexicon_number(&lexicon, name);
        Py_XDECREF(name);
        if (number < 0)
            goto done;
        met[i] = (uint32_t)number;
    }
    words = core_lexicon_words(&lexicon);
done:
    core_lexicon_release(&lexicon);
    return words;
}

static bool name_validity(const struct source *source, struct core_arrow_column *column)
{
    const uint32_t *name_id = source->slices->name_id;
    const size_t n = source->slices->n;
    VALIDITY(source, column, n, name_id[i] != MAREY_NONE);
}

static bool make_name(const struct source *source, struct core_arrow_column *column)
{
    const struct marey_slices *slices = source->slices;
    const size_t n_strings = marey_trace_n_strings(trace_of(source));
    uint32_t *place = PyMem_RawMalloc((n_strings + 1) * sizeof *place);
    uint32_t *met = PyMem_RawMalloc((n_strings + 1) * sizeof *met);
    int32_t *values = own_values(source, column);
    size_t n_met = 0;

    if (place == NULL || met == NULL || values == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
        n_met = meet_names(slices, n_strings, place, met);
    Py_END_ALLOW_THREADS
    column->own_words = number_names(source, met, n_met);
    if (column->own_words == NULL)
        goto done;
    Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < slices->n; i++)
            values[i] =
                slices->name_id[i] < n_strings ? (int32_t)met[place[slices->name_id[i]]] : -1;
    Py_END_ALLOW_THREADS

done:
    PyMem_RawFree(place);
    PyMem_RawFree(met);
    column->words = column->own_words;
    return column->words != NULL && name_validity(source, column);
}

/* ---- by category ---- */

/* The text of a category; a new reference. */
typedef PyObject *(*category_text_fn)(const struct source *source,
                                      const struct marey_category *category);

static PyObject *category_text(const struct source *source, const struct marey_category *category)
{
    return core_trace_name(source->trace, category->name_id);
}

static PyObject *kind_text(const struct source *source, const struct marey_category *category)
{
    return Py_NewRef(PyTuple_GET_ITEM(core_state_of(source->trace)->kinds, category->kind));
}

static bool category_validity(const struct source *source, struct core_arrow_column *column,
                              const int16_t *number)
{
    const uint8_t *cat_id = source->slices->cat_id;
    const size_t n = source->slices->n;
    VALIDITY(source, column, n, number[cat_id[i]] >= 0);
}

static bool make_by_category(const struct source *source, struct core_arrow_column *column,
                             category_text_fn text_of)
{
    size_t n = 0;
    const struct marey_category *categories = marey_trace_categories(trace_of(source), &n);
    struct core_lexicon lexicon;
    int16_t number[256] = {0};
    void *values = own_values(source, column);

    if (values == NULL || !core_lexicon_init(&lexicon))
        return false;
    for (size_t i = 0; i < n && i < 256; i++) {
        PyObject *text = text_of(source, &categories[i]);
        number[i] = text == NULL ? -2 : (int16_t)core_lexicon_number(&lexicon, text);
        Py_XDECREF(text);
    }
    if (PyErr_Occurred() == NULL)
        column->own_words = core_lexicon_words(&lexicon);
    core_lexicon_release(&lexicon);
    column->words = column->own_words;
    if (column->words == NULL)
        return false;
    for (size_t i = 0; i < source->slices->n; i++)
        if (column->format[0] == 's')
            ((int16_t *)values)[i] = number[source->slices->cat_id[i]];
        else
            ((int8_t *)values)[i] = (int8_t)number[source->slices->cat_id[i]];
    return category_validity(source, column, number);
}

static bool make_category(const struct source *source, struct core_arrow_column *column)
{
    return make_by_category(source, column, category_text);
}

static bool make_kind(const struct source *source, struct core_arrow_column *column)
{
    return make_by_category(source, column, kind_text);
}

/* ---- by track ---- */

/* What Python says of a track; borrowed, NULL with an exception. */
static PyObject *of_track(const struct source *source, size_t track)
{
    PyObject *row = PySequence_Fast_GET_ITEM(source->tracks, (Py_ssize_t)track);
    if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) > source->place)
        return PyTuple_GET_ITEM(row, source->place);
    PyErr_SetString(PyExc_TypeError, "tracks are tuples of label, process, thread, ...");
    return NULL;
}

/* The bitmap where a track may be without a value; nothing to do where all have one. */
static bool track_validity(const struct source *source, struct core_arrow_column *column,
                           const struct marey_track *tracks, size_t n_tracks)
{
    bool is_whole = true;
    for (size_t t = 0; t < n_tracks; t++)
        is_whole = is_whole && of_track(source, t) != Py_None;
    if (is_whole)
        return true;
    uint8_t *bits = own_validity(source, column);
    if (bits == NULL)
        return false;
    for (size_t t = 0; t < n_tracks; t++)
        if (of_track(source, t) != Py_None)
            for (size_t i = 0; i < tracks[t].n_slices; i++)
                core_bit_set(bits, tracks[t].first_slice + i);
    return true;
}

static bool make_track_text(const struct source *source, struct core_arrow_column *column)
{
    size_t n_tracks = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace_of(source), &n_tracks);
    struct core_lexicon lexicon;
    int32_t *values = own_values(source, column);

    if (values == NULL || !core_lexicon_init(&lexicon))
        return false;
    for (size_t t = 0; t < n_tracks && PyErr_Occurred() == NULL; t++) {
        PyObject *text = of_track(source, t);
        const int32_t number = text == NULL ? -2 : core_lexicon_number(&lexicon, text);
        for (size_t i = 0; i < tracks[t].n_slices; i++)
            values[tracks[t].first_slice + i] = number;
    }
    if (PyErr_Occurred() == NULL)
        column->own_words = core_lexicon_words(&lexicon);
    core_lexicon_release(&lexicon);
    column->words = column->own_words;
    return column->words != NULL && track_validity(source, column, tracks, n_tracks);
}

static bool make_track_number(const struct source *source, struct core_arrow_column *column)
{
    size_t n_tracks = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace_of(source), &n_tracks);
    int64_t *values = own_values(source, column);

    if (values == NULL)
        return false;
    for (size_t t = 0; t < n_tracks; t++) {
        PyObject *item = of_track(source, t);
        if (item == NULL)
            return false;
        if (item == Py_None)
            continue;
        const long long value = PyLong_AsLongLong(item);
        if (value == -1 && PyErr_Occurred() != NULL)
            return false;
        for (size_t i = 0; value != 0 && i < tracks[t].n_slices; i++)
            values[tracks[t].first_slice + i] = value;
    }
    return track_validity(source, column, tracks, n_tracks);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Adding a column: a row here, CORE_N_EVENT_COLUMNS, a line in docs/columns.md. */
static const struct {
    const char *name;
    const char *format;
    make_fn make;
    Py_ssize_t place; /* in the tuple of a track */
} event_columns[CORE_N_EVENT_COLUMNS] = {
    {"index", "I", make_index, 0},
    {"name", "i", make_name, 0},
    {"category", "s", make_category, 0},
    {"kind", "c", make_kind, 0},
    {"track", "i", make_track_text, 0},
    {"process", "i", make_track_text, 1},
    {"thread", "i", make_track_text, 2},
    {"device", "l", make_track_number, 3},
    {"stream", "l", make_track_number, 4},
    {"rank", "l", make_track_number, 5},
    {"start_ns", "l", make_start, 0},
    {"dur_ns", "l", make_dur, 0},
    {"self_ns", "l", make_self, 0},
    {"parent", "I", make_parent, 0},
    {"correlation", "L", make_correlation, 0},
    {"owner", "I", make_owner, 0},
    {"launch", "I", make_launch, 0},
    {"is_open", "b", make_is_open, 0},
    {"crosses", "b", make_crosses, 0},
};

static int column_number(PyObject *name)
{
    for (int i = 0; PyUnicode_Check(name) && i < CORE_N_EVENT_COLUMNS; i++)
        if (PyUnicode_CompareWithASCIIString(name, event_columns[i].name) == 0)
            return i;
    PyErr_Format(PyExc_ValueError, "no column %R, see marey._core.EVENT_COLUMNS", name);
    return -1;
}

bool core_event_column_names(PyObject *module)
{
    PyObject *names = PyTuple_New(CORE_N_EVENT_COLUMNS);
    for (int i = 0; names != NULL && i < CORE_N_EVENT_COLUMNS; i++) {
        PyObject *name = PyUnicode_FromString(event_columns[i].name);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    const bool is_added =
        names != NULL && PyModule_AddObjectRef(module, "EVENT_COLUMNS", names) == 0;
    Py_XDECREF(names);
    return is_added;
}

const struct core_arrow_column *core_event_column(PyObject *trace, PyObject *name, PyObject *tracks)
{
    struct core_trace *object = (struct core_trace *)trace;
    const int number = column_number(name);
    if (number < 0)
        return NULL;
    struct core_arrow_column *known = &object->hold->columns[number];
    if (known->is_made)
        return known;

    size_t n_tracks = 0;
    (void)marey_trace_tracks(object->trace, &n_tracks);
    if (!PyList_Check(tracks) || (size_t)PyList_GET_SIZE(tracks) != n_tracks) {
        PyErr_Format(PyExc_TypeError, "tracks are a list of %zu tuples", n_tracks);
        return NULL;
    }
    const struct source source = {trace, &object->slices, tracks, event_columns[number].place};
    struct core_arrow_column made = {.name = event_columns[number].name,
                                     .format = event_columns[number].format};
    const bool is_made = event_columns[number].make(&source, &made);
    made.is_made = true;
    if (is_made && !known->is_made)
        *known = made;
    else
        core_arrow_column_release(&made);
    return is_made ? known : NULL;
}
