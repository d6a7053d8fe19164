/*
 * core_words.c - texts one after the other, as Arrow has them, and the numbering of texts.
 */
#include "core_arrow.h"

#include <string.h>

void core_words_free(struct core_words *words)
{
    if (words == NULL)
        return;
    PyMem_RawFree(words->ends);
    PyMem_RawFree(words->bytes);
    PyMem_RawFree(words);
}

PyObject *core_words_list(const struct core_words *words)
{
    if (words == NULL)
        Py_RETURN_NONE;
    PyObject *list = PyList_New((Py_ssize_t)words->n);
    for (size_t i = 0; list != NULL && i < words->n; i++) {
        const size_t len = (size_t)(words->ends[i + 1] - words->ends[i]);
        PyObject *text = core_str((struct marey_str){words->bytes + words->ends[i], len});
        if (text == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, text);
    }
    return list;
}

bool core_lexicon_init(struct core_lexicon *lexicon)
{
    lexicon->numbers = PyDict_New();
    return lexicon->numbers != NULL;
}

void core_lexicon_release(struct core_lexicon *lexicon)
{
    Py_CLEAR(lexicon->numbers);
}

int32_t core_lexicon_number(struct core_lexicon *lexicon, PyObject *text)
{
    if (text == Py_None)
        return -1;
    PyObject *known = PyDict_GetItemWithError(lexicon->numbers, text);
    if (known != NULL)
        return (int32_t)PyLong_AsLong(known);
    if (PyErr_Occurred() != NULL)
        return -2;
    const Py_ssize_t n = PyDict_GET_SIZE(lexicon->numbers);
    PyObject *number = n < INT32_MAX ? PyLong_FromSsize_t(n) : PyErr_NoMemory();
    const bool is_set = number != NULL && PyDict_SetItem(lexicon->numbers, text, number) == 0;
    Py_XDECREF(number);
    return is_set ? (int32_t)n : -2;
}

struct core_words *core_lexicon_words(const struct core_lexicon *lexicon)
{
    PyObject *texts = PyDict_Keys(lexicon->numbers); /* in the order of their insertion */
    struct core_words *words = texts == NULL ? NULL : core_words_of(texts);
    Py_XDECREF(texts);
    return words;
}

/* The bytes of texts[n] at `ends`; -1 with an exception. */
static Py_ssize_t measure(PyObject *const *texts, size_t n, int32_t *ends)
{
    Py_ssize_t n_bytes = 0;

    for (size_t i = 0; i < n; i++) {
        Py_ssize_t len = 0;
        if (texts[i] != Py_None && PyUnicode_AsUTF8AndSize(texts[i], &len) == NULL)
            return -1;
        if (len > INT32_MAX - n_bytes) {
            PyErr_SetString(PyExc_OverflowError,
                            "the texts of a column are more than 2 GiB, take fewer rows");
            return -1;
        }
        n_bytes += len;
        ends[i + 1] = (int32_t)n_bytes;
    }
    return n_bytes;
}

struct core_words *core_words_of(PyObject *texts)
{
    PyObject *list = PySequence_Fast(texts, "texts are a sequence");
    if (list == NULL)
        return NULL;
    const size_t n = (size_t)PySequence_Fast_GET_SIZE(list);
    PyObject *const *text = PySequence_Fast_ITEMS(list);
    struct core_words *words = PyMem_RawCalloc(1, sizeof *words);
    Py_ssize_t n_bytes = -1;

    if (words != NULL)
        words->ends = PyMem_RawCalloc(n + 1, sizeof *words->ends);
    if (words == NULL || words->ends == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    words->n = n;
    n_bytes = measure(text, n, words->ends);
    if (n_bytes < 0)
        goto done;
    words->bytes = PyMem_RawMalloc((size_t)n_bytes + 1);
    if (words->bytes == NULL) {
        PyErr_NoMemory();
        n_bytes = -1;
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        if (words->ends[i + 1] > words->ends[i])
            memcpy(words->bytes + words->ends[i], PyUnicode_AsUTF8(text[i]),
                   (size_t)(words->ends[i + 1] - words->ends[i]));

done:
    Py_DECREF(list);
    if (n_bytes >= 0)
        return words;
    core_words_free(words);
    return NULL;
}
