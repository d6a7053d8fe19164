/*
 * test_torch_view.c - single rules of torch's view, on traces of a few records.
 */
#include "support/make_trace.h"
#include "unit/export/torch_records.h"

/* ---- names ---- */

static void view_renames_what_torch_renames(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        LABEL("ProfilerStep#12", "000", "90", "1") "," OP("_Z3fooi", "001", "1", "2") "," OP(
            "rf", "003", "1", "3") "," OP("f", "005", "1", "4") "," OP("aten::is_leaf", "007", "1",
                                                                       "5"));
    EXPECT_U64(n_events(&fixture), 4);
    EXPECT_VIEW(name_at(&fixture, 0), "ProfilerStep*");
    EXPECT_VIEW(marey_torch_view_string(fixture.view, event_at(&fixture, 0)->trace_name_id),
                "ProfilerStep#12");
    EXPECT_VIEW(name_at(&fixture, 1), "foo(int)");
    EXPECT_VIEW(name_at(&fixture, 2), "float restrict");
    EXPECT_VIEW(name_at(&fixture, 3), "f"); /* one character is left alone */
    close_fixture(&fixture);
}

/* A dot in a label or a foreign name is none. */
static void view_splits_overloads_of_ops_only(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        LABEL("a::b.c", "000", "90", "1") "," OP("aten::add.Tensor", "001", "1", "2") "," OP(
            "aten::empty", "003", "1", "3") "," OP("x y::z.w", "005", "1", "4"));
    EXPECT_VIEW(name_at(&fixture, 0), "a::b.c");
    EXPECT_VIEW(name_at(&fixture, 1), "aten::add");
    EXPECT_VIEW(marey_torch_view_string(fixture.view, event_at(&fixture, 1)->overload_id),
                "Tensor");
    EXPECT_VIEW(name_at(&fixture, 2), "aten::empty");
    EXPECT_VIEW(name_at(&fixture, 3), "x y::z.w");
    close_fixture(&fixture);
}

/* ---- tree ---- */

/* Events that cross are siblings, and one without duration at an end is no child. */
static void tree_nests_only_what_is_inside(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(&fixture, OP("outer", "010", "20", "1") "," OP("inner", "015", "15", "2") "," OP(
                               "late", "025", "10", "3") "," OP("empty", "035", "0", "4"));
    EXPECT_U64(event_at(&fixture, 0)->parent_idx, MAREY_NONE);
    EXPECT_U64(event_at(&fixture, 1)->parent_idx, 0);
    EXPECT_U64(event_at(&fixture, 2)->parent_idx, MAREY_NONE);
    EXPECT_U64(event_at(&fixture, 3)->parent_idx, MAREY_NONE);
    EXPECT_TRUE(event_at(&fixture, 0)->self_cpu_us == 5.0);
    close_fixture(&fixture);
}

/* The parent takes the child's children and kernels; its own kernels are lost. */
static void tree_drops_only_children_of_one_name(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(&fixture,
                 OP("twice", "010", "80", "1") "," OP("twice", "020", "60", "2") "," OP(
                     "leaf", "030", "5", "3") "," KERNEL("lost", "100", "7",
                                                         "1") "," KERNEL("kept", "110", "5", "2"));
    EXPECT_U64(n_events(&fixture), 4);
    EXPECT_VIEW(name_at(&fixture, 1), "leaf");
    EXPECT_U64(event_at(&fixture, 1)->parent_idx, 0);
    EXPECT_U64(event_at(&fixture, 0)->n_kernels, 1);
    EXPECT_TRUE(event_at(&fixture, 0)->device_total_us == 5.0);
    EXPECT_I64(event_at(&fixture, 0)->id, 1);
    close_fixture(&fixture);
}

/* An op and a label of one name are two rows. */
static void averages_keep_labels_apart(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    size_t n = 0;
    open_records(&fixture, LABEL("same", "010", "5", "1") "," OP("same", "020", "5", "2") "," OP(
                               "same", "030", "5", "3"));
    EXPECT_OK(marey_torch_averages_new(fixture.view, false, 0, false, &fixture.averages, &err),
              &err);
    const struct marey_torch_average *rows = marey_torch_averages_rows(fixture.averages, &n);
    EXPECT_U64(n, 2);
    EXPECT_U64(rows[0].count, 1);
    EXPECT_U64(rows[1].count, 2);
    close_fixture(&fixture);
}

/* An event that is open at the end takes the end around it, has no self time and no place
 * in the tree, and prints "0" for a share. */
static void open_events_are_asynchronous(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    const struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(&fixture,
                 OP("around", "010", "50", "1") "," SLICE(
                     "cpu_op", "open", "5", "020", "470",
                     "\"External id\": 2, \"finished\": false") "," SLICE("cpu_op", "alone", "5",
                                                                          "100", "390",
                                                                          "\"External id\": 3, "
                                                                          "\"finished\": false"));
    EXPECT_TRUE(event_at(&fixture, 1)->is_async);
    EXPECT_TRUE(event_at(&fixture, 1)->end_us == 60.0);
    EXPECT_TRUE(event_at(&fixture, 1)->self_cpu_us == 0.0);
    EXPECT_U64(event_at(&fixture, 1)->parent_idx, MAREY_NONE);
    EXPECT_TRUE(event_at(&fixture, 2)->end_us == 500.0); /* that of the window */
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_HOLDS(fixture.text.ptr,
                 "  open         0.00%       0.000us             0      40.000us");
    close_fixture(&fixture);
}

/* ---- memory ---- */

/* Both ends count, and threads do not matter; what nobody holds is an event of its own. */
static void memory_is_charged_across_threads(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        OP("outer", "010", "40", "1") "," OP("inner", "020", "10", "7") "," MEMORY(
            "5", "010",
            "1") "," MEMORY("6", "020",
                            "2") "," MEMORY("5", "030",
                                            "4") "," MEMORY("5", "050",
                                                            "8") "," MEMORY("5", "051",
                                                                            "16") "," MEMORY("5",
                                                                                             "009",
                                                                                             "-3"
                                                                                             "2"));
    EXPECT_I64(event_at(&fixture, 1)->cpu_memory, 15);
    EXPECT_I64(event_at(&fixture, 1)->self_cpu_memory, 9);
    EXPECT_I64(event_at(&fixture, 2)->cpu_memory, 6);
    EXPECT_VIEW(name_at(&fixture, 0), "[memory]");
    EXPECT_I64(event_at(&fixture, 0)->cpu_memory, -32);
    EXPECT_I64(event_at(&fixture, 0)->id, 8);
    EXPECT_U64(event_at(&fixture, 0)->slice_idx, MAREY_NONE);
    EXPECT_VIEW(name_at(&fixture, 3), "[memory]");
    EXPECT_I64(event_at(&fixture, 3)->id, 9);
    EXPECT_U64(n_events(&fixture), 4);
    close_fixture(&fixture);
}

/* torch's exporter in Python writes allocations as slices; a failed one charges nobody. */
static void memory_is_read_from_slices_too(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        OP("op", "010", "40", "1") "," SLICE(
            "cpu_instant_event", "[memory]", "5", "020", "480",
            "\"Bytes\": 64, \"Device Type\": 0") "," SLICE("cpu_instant_event", "[OutOfMemory]",
                                                           "5", "030", "0",
                                                           "\"Bytes\": 999, \"Device Type\": 0"));
    EXPECT_U64(n_events(&fixture), 2);
    EXPECT_I64(event_at(&fixture, 0)->cpu_memory, 64);
    EXPECT_VIEW(name_at(&fixture, 1), "[OutOfMemory]");
    EXPECT_I64(event_at(&fixture, 1)->cpu_memory, 0);
    close_fixture(&fixture);
}

/* ---- shapes and FLOPs ---- */

static uint64_t flops_of(const char *name, const char *dims, const char *concrete)
{
    char records[1024];
    struct fixture fixture;
    const struct marey_torch_options options = {.size = sizeof options, .flops = MAREY_KNOWN_YES};
    (void)snprintf(records, sizeof records,
                   SLICE("cpu_op", "%s", "5", "010", "1",
                         "\"External id\": 1, \"Input Dims\": %s, \"Concrete Inputs\": %s"),
                   name, dims, concrete);
    open_with(&fixture, "", records, &options);
    const uint64_t flops = event_at(&fixture, 0)->flops;
    close_fixture(&fixture);
    return flops;
}

static void flops_follow_torch(void **state)
{
    (void)state;
    EXPECT_U64(flops_of("aten::mm", "[[2,3],[3,4]]", "[]"), 48);
    EXPECT_U64(flops_of("aten::mm", "[[2,0],[0,4]]", "[]"), 0);
    EXPECT_U64(flops_of("aten::addmm", "[[4],[2,3],[3,4],[],[]]", "[]"), 48);
    EXPECT_U64(flops_of("aten::bmm", "[[5,2,3],[5,3,4]]", "[]"), 240);
    EXPECT_U64(flops_of("aten::baddbmm", "[[1],[5,2,3],[5,3,4]]", "[]"), 240);
    EXPECT_U64(flops_of("aten::add", "[[],[7]]", "[]"), 1);
    EXPECT_U64(flops_of("aten::mul", "[[3,1],[1,4]]", "[]"), 3);
    EXPECT_U64(flops_of("aten::mul", "[[[3],[4]]]", "[]"), 0);
    EXPECT_U64(flops_of("aten::sub", "[[3,4],[3,4]]", "[]"), 0);
    EXPECT_U64(flops_of("aten::conv2d", "[[4,3,8,8],[6,3,3,3],[],[],[],[],[]]",
                        "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"1\"]"),
               UINT64_C(2) * 4 * 4 * 4 * 3 * 3 * 3 * 6);
    EXPECT_U64(flops_of("aten::conv2d", "[[4,3,8,8],[6,3,3,3],[],[],[],[],[]]",
                        "[\"\",\"\",\"\",\"[1, 1]\",\"same\",\"[1, 1]\",\"1\"]"),
               0);
    EXPECT_U64(flops_of("aten::conv2d", "[[3,8,8],[6,3,3,3],[],[],[],[],[]]",
                        "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"1\"]"),
               0);
    EXPECT_U64(flops_of("aten::conv2d", "[[4,3,8,8],[6,3,3,3],[],[],[],[],[]]",
                        "[\"\",\"\",\"\",\"[0, 0]\",\"[0, 0]\",\"[1, 1]\",\"0\"]"),
               0);
}

static void shapes_show_lists_of_tensors_as_empty(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        SLICE("cpu_op", "aten::cat", "5", "010", "1",
              "\"Input Dims\": [[[2,3],[4,3]],[],[32, 128]]") "," OP("none", "020", "1", "2"));
    EXPECT_VIEW(marey_torch_view_string(fixture.view, event_at(&fixture, 0)->shapes_id),
                "[[], [], [32, 128]]");
    EXPECT_VIEW(marey_torch_view_string(fixture.view, event_at(&fixture, 1)->shapes_id), "[]");
    close_fixture(&fixture);
}

/* ---- versions ---- */

#define PYTHON SLICE("python_function", "a.py(1): f", "5", "005", "80", "\"Python id\": 4")

static void python_functions_are_rows_by_version(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_torch_options options = {.size = sizeof options};
    open_with(&fixture, "", PYTHON "," OP("op", "010", "5", "1"), NULL);
    EXPECT_U64(n_events(&fixture), 1);
    EXPECT_I64(marey_torch_view_options(fixture.view).version, 211);
    close_fixture(&fixture);

    open_with(&fixture, "\"host_name\": \"h\",", PYTHON "," OP("op", "010", "5", "1"), NULL);
    EXPECT_U64(n_events(&fixture), 2);
    EXPECT_I64(marey_torch_view_options(fixture.view).version, 213);
    EXPECT_TRUE(event_at(&fixture, 0)->is_python_function);
    EXPECT_I64(event_at(&fixture, 0)->python_id, 4);
    EXPECT_U64(event_at(&fixture, 1)->parent_idx, 0);
    close_fixture(&fixture);

    options.version = 214;
    open_with(&fixture, "\"host_name\": \"h\",", PYTHON "," OP("op", "010", "5", "1"), &options);
    EXPECT_U64(n_events(&fixture), 1);
    close_fixture(&fixture);

    options.python_functions = MAREY_KNOWN_YES;
    open_with(&fixture, "", PYTHON "," OP("op", "010", "5", "1"), &options);
    EXPECT_U64(n_events(&fixture), 2);
    close_fixture(&fixture);
}

/* What Marey's recorder says is taken; what is no version, or older than any known view, is not. */
static void a_recording_tells_its_torch(void **state)
{
    (void)state;
    static const struct {
        const char *marey;
        int version;
    } cases[] = {
        {"{\"open\": 0, \"torch\": \"2.13.0+cpu\"}", 213},
        {"{\"torch\": \"2.9\"}", 209},
        {"{\"torch\": \"2.3.1\"}", 211},
        {"{\"torch\": \"2.\"}", 211},
        {"{\"torch\": \"2.1300000000000\"}", 211},
        {"{\"torch\": \"\"}", 211},
        {"{\"torch\": 2.13}", 211},
        {"{\"torch\": null}", 211},
        {"{\"torch\": {\"torch\": \"2.13\"}}", 211},
        {"2.13", 211},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture;
        char head[80];
        (void)snprintf(head, sizeof head, "\"marey\": %s,", cases[i].marey);
        open_with(&fixture, head, OP("op", "010", "5", "1"), NULL);
        EXPECT_I64(marey_torch_view_options(fixture.view).version, cases[i].version);
        close_fixture(&fixture);
    }
}

/* ---- what is shown although we set it aside ---- */

static void negative_durations_are_shown(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(&fixture, OP("op", "010", "5", "1") "," OP("back", "020", "-3", "2"));
    EXPECT_U64(n_events(&fixture), 2);
    EXPECT_VIEW(name_at(&fixture, 1), "back");
    EXPECT_TRUE(event_at(&fixture, 1)->cpu_total_us == -3.0);
    EXPECT_U64(event_at(&fixture, 1)->slice_idx, MAREY_NONE);
    close_fixture(&fixture);
}

static void hidden_events_are_dropped(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(&fixture, OP("op", "010", "5", "1") "," SLICE("cpu_op", "unseen", "5", "011", "1",
                                                               "\"hidden\": \"1\""));
    EXPECT_U64(n_events(&fixture), 1);
    close_fixture(&fixture);
}

/* ---- threads and calls ---- */

#define CALL(tid, at, dur, id, correlation)                                                        \
    SLICE("cuda_runtime", "cudaLaunchKernel", tid, at, dur, id "\"correlation\": " correlation)

#define ARROW(phase, tid, at)                                                                      \
    "{\"ph\":\"" phase "\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":1,\"pid\":5,\"tid\":" tid \
    ",\"ts\":1" at ".000}"

/* The backward op names the logical id of the thread where its arrow starts. */
static void threads_are_numbered_by_arrows(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        OP("main", "005", "1", "1") "," SLICE(
            "cpu_op", "forward", "6", "010", "5",
            "\"Sequence number\": 3, \"Fwd thread id\": 0") "," ARROW("s", "6",
                                                                      "010") "," SLICE("cpu_"
                                                                                       "op",
                                                                                       "backwa"
                                                                                       "rd",
                                                                                       "7", "100",
                                                                                       "5",
                                                                                       "\"Sequ"
                                                                                       "ence "
                                                                                       "number"
                                                                                       "\": "
                                                                                       "3, "
                                                                                       "\"Fwd "
                                                                                       "thread"
                                                                                       " "
                                                                                       "id\": "
                                                                                       "4") "," ARROW("f",
                                                                                                      "7",
                                                                                                      "100"));
    EXPECT_I64(event_at(&fixture, 0)->thread, 1);
    EXPECT_I64(event_at(&fixture, 1)->thread, 4);
    EXPECT_I64(event_at(&fixture, 2)->thread, 2);
    close_fixture(&fixture);
}

/* A kernel hangs below its call, and has the thread of the call's op. */
static void kernels_have_the_thread_of_their_op(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(
        &fixture,
        OP("main", "005", "1", "1") "," SLICE(
            "cpu_op", "op", "6", "010", "20",
            "\"External id\": 2") "," CALL("6", "012", "3", "\"External id\": 2, ",
                                           "90") ","
                                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                                                 "\"pid\":0,\"tid\":7,\"ts\":1100.0,"
                                                 "\"dur\":5.0,\"args\":{\"device\":0,\"stream\":7,"
                                                 "\"correlation\":90}}");
    EXPECT_I64(event_at(&fixture, 2)->thread, 2);
    EXPECT_VIEW(name_at(&fixture, 3), "k");
    EXPECT_I64(event_at(&fixture, 3)->thread, 2);
    EXPECT_U64(event_at(&fixture, 1)->n_kernels, 0); /* but is not linked */
    close_fixture(&fixture);
}

/* A call without an op whose correlation happens to be the id of an op collects that op's
 * kernels again and draws its calls onto the main thread. */
static void ids_of_calls_and_ops_are_mixed_up(void **state)
{
    (void)state;
    struct fixture fixture;
    open_records(&fixture,
                 OP("main", "005", "1", "1") "," SLICE(
                     "cpu_op", "op", "6", "010", "20",
                     "\"External id\": 2") "," CALL("6", "012", "3", "\"External id\": 2, ",
                                                    "92") "," KERNEL("k", "100", "5",
                                                                     "2") "," CALL("5", "200", "3",
                                                                                   "", "2"));
    EXPECT_U64(event_at(&fixture, 1)->n_kernels, 1);
    EXPECT_I64(event_at(&fixture, 2)->thread, 1);
    EXPECT_U64(event_at(&fixture, 2)->parent_idx, MAREY_NONE);
    EXPECT_U64(event_at(&fixture, 4)->n_kernels, 1);
    EXPECT_TRUE(event_at(&fixture, 4)->device_total_us == 5.0);
    close_fixture(&fixture);
}

/* On the main thread the end of a call of another thread ends all that began after it, and
 * what had begun since stays open. */
static void calls_of_other_threads_cut_what_is_open(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    open_records(
        &fixture,
        SLICE("cpu_op", "op", "5", "001", "1", "\"Call stack\": \"x;\"") "," SLICE(
            "python_function", "f", "5", "003", "97",
            "\"Python id\": 1") "," SLICE("python_function", "g", "5", "020", "40",
                                          "\"Call stack\": \"f;\"") "," SLICE("python_function",
                                                                              "k", "5", "055", "35",
                                                                              "\"Call stack\": "
                                                                              "\"f;\"") "," CALL("9",
                                                                                                 "0"
                                                                                                 "1"
                                                                                                 "0",
                                                                                                 "2"
                                                                                                 "0",
                                                                                                 "",
                                                                                                 "3"
                                                                                                 "1") "," CALL("9",
                                                                                                               "040",
                                                                                                               "2",
                                                                                                               "",
                                                                                                               "32") "," CALL("9",
                                                                                                                              "065",
                                                                                                                              "2",
                                                                                                                              "",
                                                                                                                              "33"));
    EXPECT_OK(marey_torch_stacks_text(fixture.view, "self_cpu_time_total", &fixture.text, &err),
              &err);
    EXPECT_STR(fixture.text.ptr, "x 1\nf 20\nf 2\nf;k 2\n");
    close_fixture(&fixture);
}

/* ---- stacks ---- */

static void stacks_leave_out_torchs_own_entries(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    open_records(&fixture,
                 SLICE("cpu_op", "a", "5", "010", "5",
                       "\"Call stack\": \"in ner;torch/autograd/__init__.py(1): backward;root;\""));
    EXPECT_OK(marey_torch_stacks_text(fixture.view, "self_cpu_time_total", &fixture.text, &err),
              &err);
    EXPECT_STR(fixture.text.ptr, "root;in_ner 5\n");
    EXPECT_OK(marey_torch_stacks_text(fixture.view, "self_cuda_time_total", &fixture.text, &err),
              &err);
    EXPECT_STR(fixture.text.ptr, "");
    EXPECT_STATUS(marey_torch_stacks_text(fixture.view, "count", &fixture.text, &err),
                  MAREY_INVALID);
    EXPECT_HOLDS(err.message, "metric 'count' should be one of");
    close_fixture(&fixture);
}

/* Inside a backward node all events have the stack of the forward op; the engine's own
 * event keeps its own. */
static void stacks_of_backward_are_those_of_forward(void **state)
{
    (void)state;
#define BW "autograd::engine::evaluate_function: "
    struct fixture fixture;
    struct marey_error err = {0};
    open_records(
        &fixture,
        SLICE(
            "cpu_op", "aten::mm", "5", "010", "5",
            "\"Sequence number\": 3, \"Fwd thread id\": 0, \"Call stack\": "
            "\"forward;\"") "," SLICE("cpu_op", BW "MmBackward0", "6", "100", "50",
                                      "\"Sequence number\": 3, \"Fwd thread id\": 1, "
                                      "\"Call stack\": \"engine;\"") "," SLICE("cpu_op",
                                                                               "MmBackw"
                                                                               "ard0",
                                                                               "6", "110", "30",
                                                                               "\"Seque"
                                                                               "nce "
                                                                               "number"
                                                                               "\": 3, "
                                                                               "\"Fwd "
                                                                               "thread "
                                                                               "id\": "
                                                                               "1, "
                                                                               "\"Call "
                                                                               "stack\""
                                                                               ": "
                                                                               "\"engin"
                                                                               "e;\"") "," SLICE("c"
                                                                                                 "p"
                                                                                                 "u"
                                                                                                 "_"
                                                                                                 "o"
                                                                                                 "p",
                                                                                                 "a"
                                                                                                 "t"
                                                                                                 "e"
                                                                                                 "n"
                                                                                                 ":"
                                                                                                 ":"
                                                                                                 "m"
                                                                                                 "m",
                                                                                                 "6",
                                                                                                 "1"
                                                                                                 "2"
                                                                                                 "0",
                                                                                                 "1"
                                                                                                 "0",
                                                                                                 "\"Call stack\": \"engine;\""));
    EXPECT_OK(marey_torch_stacks_text(fixture.view, "self_cpu_time_total", &fixture.text, &err),
              &err);
    EXPECT_STR(fixture.text.ptr, "forward 5\nengine 20\nforward 20\nforward 10\n");
    close_fixture(&fixture);
#undef BW
}

/* A climb to the op from each of them would be 10^11 steps: the test would not end. */
static void overhead_in_a_deep_chain_is_placed_at_once(void **state)
{
    enum { N_DEEP = 400000 };
    (void)state;
    struct fixture fixture = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "5", "5");
    make_slice(&make, "cpu_op", "a", 0, 10000 * INT64_C(1000));
    for (int64_t i = 0; i < N_DEEP; i++)
        make_slice(&make, "overhead", i % 2 == 0 ? "o" : "p", 1 + i, 9000 * INT64_C(1000) - i);
    fixture.trace = make_trace_end(&make);
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, NULL, &fixture.view, NULL), MAREY_OK);
    EXPECT_U64(n_events(&fixture), N_DEEP + 1);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_renames_what_torch_renames),
        cmocka_unit_test(view_splits_overloads_of_ops_only),
        cmocka_unit_test(tree_nests_only_what_is_inside),
        cmocka_unit_test(tree_drops_only_children_of_one_name),
        cmocka_unit_test(averages_keep_labels_apart),
        cmocka_unit_test(open_events_are_asynchronous),
        cmocka_unit_test(memory_is_charged_across_threads),
        cmocka_unit_test(memory_is_read_from_slices_too),
        cmocka_unit_test(flops_follow_torch),
        cmocka_unit_test(shapes_show_lists_of_tensors_as_empty),
        cmocka_unit_test(python_functions_are_rows_by_version),
        cmocka_unit_test(a_recording_tells_its_torch),
        cmocka_unit_test(negative_durations_are_shown),
        cmocka_unit_test(hidden_events_are_dropped),
        cmocka_unit_test(threads_are_numbered_by_arrows),
        cmocka_unit_test(kernels_have_the_thread_of_their_op),
        cmocka_unit_test(ids_of_calls_and_ops_are_mixed_up),
        cmocka_unit_test(calls_of_other_threads_cut_what_is_open),
        cmocka_unit_test(overhead_in_a_deep_chain_is_placed_at_once),
        cmocka_unit_test(stacks_leave_out_torchs_own_entries),
        cmocka_unit_test(stacks_of_backward_are_those_of_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
