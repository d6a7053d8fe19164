/*
 * train_mlp.c - trains a small network in C and records it: ranges, a counter, marks, threads.
 *
 *     cc train_mlp.c $(pkg-config --cflags --libs marey blas) -pthread -lm -o train-mlp
 *     ./train-mlp trace.json.gz
 *
 * The network has two hidden layers with ReLU and tells the three arms of a spiral apart;
 * softmax cross entropy, gradient descent with momentum, matrix products by any CBLAS. A
 * second thread prepares the batches. What concerns recording is in `train`, in the ranges of
 * the functions above it, and in `report`; docs/record-c.md explains it.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cblas.h>

#include <marey/aggregate.h>
#include <marey/export.h>
#include <marey/intake.h>
#include <marey/record.h>

#define N_CLASSES 3
#define BATCH 64
#define N_STEPS 24 /* of an epoch */
#define N_EPOCHS 30
#define N_LAYERS 3
#define WIDEST 64
#define LEARNING_RATE 0.05F
#define MOMENTUM 0.9F

/* The same numbers in each run. */
static double random_unit(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* ---- data, and the thread that prepares it --------------------------------------------- */

struct batch {
    float input[BATCH * 2];
    int label[BATCH];
};

/* Two batches: one is trained on while the next is prepared. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch batch[2];
    int n_ready;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Points on the arms of a spiral; the label is the arm. */
static void prepare_batch(struct batch *batch)
{
    MAREY_RANGE("prepare batch"); /* a range from here to the end of the function */

    for (int i = 0; i < BATCH; i++) {
        const double along = 0.05 + 0.95 * random_unit();
        const double angle = 4 * along + 2.0944 * (i % N_CLASSES) + 0.2 * random_unit();
        batch->input[2 * i] = (float)(along * cos(angle));
        batch->input[2 * i + 1] = (float)(along * sin(angle));
        batch->label[i] = i % N_CLASSES;
    }
}

static void wait_until_ready(int least, int most)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.n_ready < least || queue.n_ready > most)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

static void change_ready(int by)
{
    pthread_mutex_lock(&queue.lock);
    queue.n_ready += by;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static void *prepare_batches(void *unused)
{
    (void)unused;
    marey_thread_name((struct marey_str){"loader", 6});
    for (int step = 0; step < N_EPOCHS * N_STEPS; step++) {
        wait_until_ready(0, 1);
        prepare_batch(&queue.batch[step % 2]);
        change_ready(1);
    }
    return NULL;
}

/* ---- the network ------------------------------------------------------------------------- */

struct layer {
    int n_in;
    int n_out;
    struct marey_site forward; /* the names of its ranges */
    struct marey_site backward;
    const float *input;
    float value[(WIDEST + 1) * WIDEST]; /* weights: n_in rows of n_out; then a row of biases */
    float gradient[(WIDEST + 1) * WIDEST];
    float speed[(WIDEST + 1) * WIDEST];
    float out[BATCH * WIDEST];   /* a sample a row */
    float delta[BATCH * WIDEST]; /* of the loss by what the layer adds up */
};

static struct layer layers[N_LAYERS] = {
    {2, WIDEST, MAREY_SITE("forward 1"), MAREY_SITE("backward 1"), .value = {0}},
    {WIDEST, WIDEST, MAREY_SITE("forward 2"), MAREY_SITE("backward 2"), .value = {0}},
    {WIDEST, N_CLASSES, MAREY_SITE("forward 3"), MAREY_SITE("backward 3"), .value = {0}},
};

static void init_layers(void)
{
    for (int l = 0; l < N_LAYERS; l++)
        for (int i = 0; i < layers[l].n_in * layers[l].n_out; i++)
            layers[l].value[i] = (float)((2 * random_unit() - 1) * sqrt(6.0 / layers[l].n_in));
}

static void forward(const struct batch *batch)
{
    MAREY_RANGE("forward");
    for (int l = 0; l < N_LAYERS; l++) {
        struct layer *layer = &layers[l];
        marey_range_begin(&layer->forward);
        layer->input = l == 0 ? batch->input : layers[l - 1].out;
        for (int i = 0; i < BATCH; i++)
            cblas_scopy(layer->n_out, layer->value + layer->n_in * layer->n_out, 1,
                        layer->out + i * layer->n_out, 1);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, BATCH, layer->n_out, layer->n_in, 1,
                    layer->input, layer->n_in, layer->value, layer->n_out, 1, layer->out,
                    layer->n_out);
        for (int i = 0; l < N_LAYERS - 1 && i < BATCH * layer->n_out; i++)
            layer->out[i] = layer->out[i] > 0 ? layer->out[i] : 0;
        marey_range_end();
    }
}

/* Softmax cross entropy: the mean loss, and its gradient as the last layer's delta. */
static float find_loss(const struct batch *batch)
{
    MAREY_RANGE("loss");
    float loss = 0;
    for (int i = 0; i < BATCH; i++) {
        const float *out = layers[N_LAYERS - 1].out + i * N_CLASSES;
        float *delta = layers[N_LAYERS - 1].delta + i * N_CLASSES;
        const float most = fmaxf(out[0], fmaxf(out[1], out[2]));
        float sum = 0;
        for (int c = 0; c < N_CLASSES; c++)
            sum += delta[c] = expf(out[c] - most);
        for (int c = 0; c < N_CLASSES; c++)
            delta[c] = (delta[c] / sum - (c == batch->label[i] ? 1 : 0)) / BATCH;
        loss += (logf(sum) + most - out[batch->label[i]]) / BATCH;
    }
    return loss;
}

static void backward(void)
{
    MAREY_RANGE("backward");
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        struct layer *layer = &layers[l];
        marey_range_begin(&layer->backward);
        memset(layer->gradient, 0, sizeof layer->gradient);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, layer->n_in, layer->n_out, BATCH, 1,
                    layer->input, layer->n_in, layer->delta, layer->n_out, 0, layer->gradient,
                    layer->n_out);
        for (int i = 0; i < BATCH; i++)
            cblas_saxpy(layer->n_out, 1, layer->delta + i * layer->n_out, 1,
                        layer->gradient + layer->n_in * layer->n_out, 1);
        if (l > 0) {
            struct layer *below = &layers[l - 1];
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BATCH, layer->n_in, layer->n_out,
                        1, layer->delta, layer->n_out, layer->value, layer->n_out, 0, below->delta,
                        layer->n_in);
            for (int i = 0; i < BATCH * layer->n_in; i++)
                below->delta[i] = below->out[i] > 0 ? below->delta[i] : 0;
        }
        marey_range_end();
    }
}

static void update(void)
{
    MAREY_RANGE("update");
    for (int l = 0; l < N_LAYERS; l++) {
        struct layer *layer = &layers[l];
        const int n = (layer->n_in + 1) * layer->n_out;
        cblas_sscal(n, MOMENTUM, layer->speed, 1);
        cblas_saxpy(n, 1, layer->gradient, 1, layer->speed, 1);
        cblas_saxpy(n, -LEARNING_RATE, layer->speed, 1, layer->value, 1);
    }
}

/* ---- training, recorded --------------------------------------------------------------------- */

static float train_step(int step)
{
    static struct marey_site data_site = MAREY_SITE("data");
    static struct marey_site loss_site = MAREY_SITE("loss value");
    const struct batch *batch = &queue.batch[step % 2];

    marey_range_begin(&data_site); /* how long training waits for data */
    wait_until_ready(1, 2);
    marey_range_end();

    forward(batch);
    const float loss = find_loss(batch);
    marey_counter(&loss_site, (double)loss);
    backward();
    change_ready(-1);
    update();
    return loss;
}

/* True if the loss fell to less than half. */
static bool train(void)
{
    static struct marey_site epoch_site = MAREY_SITE("epoch");
    float loss[N_EPOCHS] = {0};

    for (int epoch = 0; epoch < N_EPOCHS; epoch++) {
        marey_mark(&epoch_site);
        for (int step = 0; step < N_STEPS; step++)
            loss[epoch] += train_step(epoch * N_STEPS + step) / N_STEPS;
    }
    printf("loss %.3f in the first epoch, %.3f in the last of %d\n", (double)loss[0],
           (double)loss[N_EPOCHS - 1], N_EPOCHS);
    return loss[N_EPOCHS - 1] < loss[0] / 2;
}

/* Stops the session, writes its trace and prints its table. */
static enum marey_status report(struct marey_session *session, const char *path,
                                struct marey_error *err)
{
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    const struct marey_chrome_options chrome = {.size = sizeof chrome, .overwrite = true};
    struct marey_session_stats stats;
    struct marey_trace *trace = NULL;
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};

    enum marey_status status = marey_session_stop(session, err);
    marey_session_get_stats(session, &stats);
    printf("%llu records of %u threads, %llu lost\n", (unsigned long long)stats.n_records,
           stats.n_threads, (unsigned long long)stats.n_lost);

    if (status == MAREY_OK)
        status = marey_session_trace(session, NULL, &trace, err);
    if (status == MAREY_OK)
        status = marey_export_chrome(trace, path, &chrome, err);
    if (status == MAREY_OK)
        status = marey_averages_new(trace, &options, &averages, err);
    if (status == MAREY_OK)
        status = marey_table_text(averages, NULL, &text, err);
    if (status == MAREY_OK)
        fwrite(text.ptr, 1, text.len, stdout);

    marey_text_release(&text);
    marey_averages_free(averages);
    marey_trace_free(trace);
    return status;
}

int main(int argc, char **argv)
{
    struct marey_session *session = NULL;
    struct marey_error err;
    bool has_learnt = false;
    pthread_t loader;

    if (argc != 2) {
        fprintf(stderr, "usage: train-mlp TRACE.json.gz\n");
        return 2;
    }
    init_layers();

    enum marey_status status = marey_session_start(NULL, &session, &err);
    if (status == MAREY_OK && pthread_create(&loader, NULL, prepare_batches, NULL) == 0) {
        has_learnt = train();
        pthread_join(loader, NULL);
        status = report(session, argv[1], &err);
    }
    marey_session_free(session);

    if (status != MAREY_OK)
        fprintf(stderr, "train-mlp: %s\n", err.message);
    return status != MAREY_OK ? 3 : has_learnt ? 0 : 1;
}
