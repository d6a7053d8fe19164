/*
 * collector.c - finding and joining the shared objects that hook into frameworks.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "record/tls.h"

/* A function as dlsym gives it: ISO C knows no conversion. */
static marey_collector_fn entry_of(void *library)
{
    void *symbol = dlsym(library, MAREY_COLLECTOR_ENTRY);
    marey_collector_fn entry = NULL;

    _Static_assert(sizeof entry == sizeof symbol, "a function pointer fits");
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static enum marey_status check(const struct marey_collector *collector, const char *path,
                               struct marey_error *err)
{
    char why[MAREY_ERROR_MESSAGE_BYTES / 2] = "";

    if (collector->version != MAREY_SINK_VERSION || collector->size < sizeof *collector)
        return marey__fail(err, MAREY_UNSUPPORTED,
                           "cannot use '%s': built for version %u of the recorder, this is %d; "
                           "build it again",
                           path, collector->version, MAREY_SINK_VERSION);
    if (collector->probe(why, sizeof why) != 0)
        return marey__fail(err, MAREY_UNSUPPORTED, "cannot use '%s': %s", path, why);
    return MAREY_OK;
}

static enum marey_status join_locked(const struct marey_collector *collector,
                                     struct marey_error *err)
{
    struct marey_recorder *recorder = &marey__recorder;

    for (uint32_t i = 0; i < recorder->n_collectors; i++) {
        if (recorder->collector[i].collector == collector)
            return MAREY_OK;
        if (strcmp(recorder->collector[i].collector->name, collector->name) == 0)
            return marey__fail(err, MAREY_INVALID, "another collector '%s' is loaded, built for %s",
                               collector->name, recorder->collector[i].collector->built_for);
    }
    if (recorder->n_collectors == MAREY_MAX_COLLECTORS)
        return marey__fail(err, MAREY_LIMIT, "%d collectors are loaded, there is no place for '%s'",
                           MAREY_MAX_COLLECTORS, collector->name);
    recorder->collector[recorder->n_collectors++].collector = collector;

    const enum marey_status status = marey__recorder_set_wants(marey__recorder_wants(), err);
    if (status != MAREY_OK)
        recorder->n_collectors--;
    return status;
}

const char *marey__collector_version(const char *name)
{
    const struct marey_recorder *recorder = &marey__recorder;
    const size_t len = strlen(name);

    for (uint32_t i = 0; i < recorder->n_collectors; i++) {
        const struct marey_collector *collector = recorder->collector[i].collector;
        const char *built_for = collector->built_for;
        if (strcmp(collector->name, name) == 0 && built_for != NULL &&
            strncmp(built_for, name, len) == 0 && built_for[len] == ' ')
            return built_for + len + 1;
    }
    return NULL;
}

/* The library stays loaded, also after a failure: a framework may hold its hooks. */
enum marey_status marey_collector_load(const char *path, struct marey_error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return marey__fail(err, MAREY_IO, "cannot load a collector: %s", dlerror());

    const marey_collector_fn entry = entry_of(library);
    if (entry == NULL)
        return marey__fail(err, MAREY_UNSUPPORTED, "'%s' is no collector: it has no function '%s'",
                           path, MAREY_COLLECTOR_ENTRY);
    const struct marey_collector *collector = entry();
    MAREY_TRY(check(collector, path, err));

    marey__recorder_lock();
    const enum marey_status status = join_locked(collector, err);
    marey__recorder_unlock();
    return status;
}
