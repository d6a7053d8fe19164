/*
 * bench_floor.c - what the machine can do at best: the floors beside our figures.
 *
 *     copy FILE    memcpy of the file's size in pieces of 64 MiB, warm memory
 *     read FILE    pread of the file into a buffer of 1 MiB that is used again
 *     zlib FILE    inflate a .gz with zlib, ISA-L below, into a buffer of 1 MiB
 *     isal FILE
 *     scan FILE    read complete events of one known layout into columns (floor_scan.h)
 *     share FILE   the same with two threads
 *
 * Requests and answers as in bench_marey.c; "bytes" is what went in or came out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "floor_scan.h"

#define BUFFER_BYTES (1U << 20)
#define COPY_BYTES (64U << 20)

static unsigned char input[BUFFER_BYTES];
static unsigned char output[BUFFER_BYTES];

static void die(const char *what, const char *path)
{
    fprintf(stderr, "bench_floor: %s '%s'\n", what, path);
    exit(3);
}

static clockid_t bench_clock = CLOCK_MONOTONIC;

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(bench_clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int open_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die("cannot open", path);
    return fd;
}

static uint64_t copy_memory(const char *path)
{
    static unsigned char *from;
    static unsigned char *to;
    struct stat status;
    if (stat(path, &status) != 0)
        die("cannot open", path);
    if (from == NULL) {
        from = malloc(COPY_BYTES);
        to = malloc(COPY_BYTES);
        if (from == NULL || to == NULL)
            die("out of memory for", path);
        memset(from, 1, COPY_BYTES);
        memset(to, 2, COPY_BYTES);
    }
    uint64_t n_bytes = 0;
    for (; n_bytes < (uint64_t)status.st_size; n_bytes += COPY_BYTES) {
        memcpy(to, from, COPY_BYTES);
        __asm__ volatile("" ::: "memory"); /* the copy is not left out */
    }
    return n_bytes;
}

static uint64_t read_file(const char *path)
{
    const int fd = open_file(path);
    uint64_t n_bytes = 0;
    ssize_t n = 0;
    while ((n = pread(fd, input, sizeof input, (off_t)n_bytes)) > 0)
        n_bytes += (uint64_t)n;
    (void)close(fd);
    return n_bytes;
}

static uint64_t inflate_zlib(const char *path)
{
    const int fd = open_file(path);
    z_stream stream = {0};
    uint64_t n_bytes = 0;
    int status = inflateInit2(&stream, 15 + 32);
    while (status == Z_OK) {
        if (stream.avail_in == 0) {
            const ssize_t n = read(fd, input, sizeof input);
            stream.next_in = input;
            stream.avail_in = n > 0 ? (uInt)n : 0;
        }
        stream.next_out = output;
        stream.avail_out = sizeof output;
        status = inflate(&stream, Z_NO_FLUSH);
        n_bytes += sizeof output - stream.avail_out;
    }
    if (status != Z_STREAM_END)
        die("cannot inflate", path);
    (void)inflateEnd(&stream);
    (void)close(fd);
    return n_bytes;
}

#ifdef HAVE_ISAL
static uint64_t inflate_isal(const char *path)
{
    static struct inflate_state state;
    const int fd = open_file(path);
    uint64_t n_bytes = 0;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    while (state.block_state != ISAL_BLOCK_FINISH) {
        if (state.avail_in == 0) {
            const ssize_t n = read(fd, input, sizeof input);
            state.next_in = input;
            state.avail_in = n > 0 ? (uint32_t)n : 0;
        }
        state.next_out = output;
        state.avail_out = sizeof output;
        if (isal_inflate(&state) != ISAL_DECOMP_OK || state.avail_out == sizeof output)
            die("cannot inflate", path);
        n_bytes += sizeof output - state.avail_out;
    }
    (void)close(fd);
    return n_bytes;
}
#endif

static uint64_t scan_with(const char *path, int n_threads)
{
    struct stat status;
    if (stat(path, &status) != 0 || !floor_scan(path, n_threads))
        die("cannot scan", path);
    return (uint64_t)status.st_size;
}

static uint64_t scan_file(const char *path)
{
    return scan_with(path, 1);
}

static uint64_t share_file(const char *path)
{
    return scan_with(path, 2);
}

struct request_row {
    const char *name;
    uint64_t (*run)(const char *path);
    bool has_sums; /* of floor_scan_sums */
};

static const struct request_row requests[] = {
    {"copy", copy_memory, false},  {"read", read_file, false},  {"zlib", inflate_zlib, false},
#ifdef HAVE_ISAL
    {"isal", inflate_isal, false},
#endif
    {"scan", scan_file, true},     {"share", share_file, true},
};

static void print_sums(void)
{
    const struct floor_sums sums = floor_scan_sums();
    printf(", \"records\": %" PRIu64 ", \"complete\": %" PRIu64 ", \"ts_sum\": %" PRIu64
           ", \"dur_sum\": %" PRIu64 ", \"correlation_sum\": %" PRIu64,
           sums.records, sums.complete, sums.ts_sum, sums.dur_sum, sums.correlation_sum);
}

static void answer(const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(name, requests[i].name) != 0)
            continue;
        const uint64_t start = now_ns();
        const uint64_t n_bytes = requests[i].run(path);
        printf("{\"ns\": %" PRIu64 ", \"bytes\": %" PRIu64, now_ns() - start, n_bytes);
        if (requests[i].has_sums)
            print_sums();
        printf("}\n");
        (void)fflush(stdout);
        return;
    }
    die("unknown request", name);
}

int main(int argc, char **argv)
{
    static char line[16384];
    if (argc > 1 && strcmp(argv[1], "cpu") == 0)
        bench_clock = CLOCK_PROCESS_CPUTIME_ID;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *tab = strchr(line, '\t');
        if (tab == NULL)
            die("request without a file", line);
        *tab = '\0';
        answer(line, tab + 1);
    }
    return 0;
}
