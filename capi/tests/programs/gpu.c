/* Positions, charges and results on a GPU, beside the same on the host. Memory is that of the driver, which is looked for at run time. */
#include <dlfcn.h>
#include <math.h>
#include <pairforge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long place;

static int (*init)(unsigned), (*device)(int *, int), (*primary)(void **, int), (*current)(void *), (*allocate)(place *, size_t);
static int (*to_gpu)(place, const void *, size_t), (*to_host)(void *, place, size_t), (*stream_new)(void **, unsigned);

static void find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    if (!found) {
        printf("the driver has no %s\n", name);
        exit(1);
    }
    memcpy(to, &found, sizeof found);
}

static void ok(int line, int status)
{
    if (status == 0)
        return;
    printf("line %d: status %d, %s\n", line, status, pairforge_last_error());
    exit(1);
}

#define OK(call) ok(__LINE__, (int)(call))

static void refused(int line, pairforge_status wanted, pairforge_status status, const char *part)
{
    if (status == wanted && strstr(pairforge_last_error(), part))
        return;
    printf("line %d: status %d, %s\n", line, (int)status, pairforge_last_error());
    exit(1);
}

#define REFUSED(call, part) refused(__LINE__, PAIRFORGE_INPUT, call, part)
#define UNUSABLE(call, part) refused(__LINE__, PAIRFORGE_USAGE, call, part)

static double random_number(void) { return rand() / (RAND_MAX + 1.0); }

enum { N = 5000 };
static float x[N][3], q[N], p[N][3], found[N][10];
static double wide[N][3], charges[N], moments[N][3], right[10][N];

/* The error of the gradient, or of all second derivatives, beside the right ones. */
static double error_of(int first, int end)
{
    double error = 0, all = 0;
    for (int i = 0; i < N; i++)
        for (int a = first; a < end; a++) {
            error += pow(found[i][a] - right[a][i], 2);
            all += pow(right[a][i], 2);
        }
    return sqrt(error / all);
}

static void near(int line, double error, double bound)
{
    if (error < bound)
        return;
    printf("line %d: the error is %g\n", line, error);
    exit(1);
}

#define NEAR(error, bound) near(__LINE__, error, bound)

int main(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *stream;
    int gpu;
    if (!cuda) {
        printf("skipped: no CUDA device\n");
        return 0;
    }
    find(cuda, "cuInit", &init);
    find(cuda, "cuDeviceGet", &device);
    find(cuda, "cuDevicePrimaryCtxRetain", &primary);
    find(cuda, "cuCtxSetCurrent", &current);
    find(cuda, "cuMemAlloc_v2", &allocate);
    find(cuda, "cuMemcpyHtoD_v2", &to_gpu);
    find(cuda, "cuMemcpyDtoH_v2", &to_host);
    find(cuda, "cuStreamCreate", &stream_new);
    if (init(0) || device(&gpu, 0)) {
        printf("skipped: no CUDA device\n");
        return 0;
    }
    OK(primary(&context, gpu));
    OK(current(context));
    OK(stream_new(&stream, 0));
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < 3; a++)
            (wide[i][a] = x[i][a] = (float)random_number(), moments[i][a] = p[i][a] = (float)(0.01 * random_number()));
        charges[i] = q[i] = (float)random_number();
    }

    /* The same on the host. */
    pairforge_options *options;
    pairforge_points points = {&wide[0][0], &wide[0][1], &wide[0][2], N, 3};
    pairforge_field field = {0};
    field.potential = right[0];
    field.gx = right[1];
    field.gy = right[2];
    field.gz = right[3];
    field.count = N;
    field.potential_stride = field.gradient_stride = field.hessian_stride = 1;
    OK(pairforge_direct(&points, NULL, charges, 1, 0, &field));

    place at, loads, turns, out;
    OK(allocate(&at, sizeof x));
    OK(allocate(&loads, sizeof q));
    OK(allocate(&turns, sizeof p));
    OK(allocate(&out, sizeof found));
    OK(to_gpu(turns, p, sizeof p));
    OK(to_gpu(at, x, sizeof x));
    OK(to_gpu(loads, q, sizeof q));
    const float *first = (const float *)at;
    float *result = (float *)out;
    pairforge_gpu_points there = {first, first + 1, first + 2, N, 3, 4};
    pairforge_gpu_field room = {0};
    room.potential = result;
    room.gx = result + 1;
    room.gy = result + 2;
    room.gz = result + 3;
    room.count = N;
    room.potential_stride = room.gradient_stride = room.hessian_stride = 10;
    room.bytes = 4;
    pairforge_gpu_plan *gpu_plan;
    OK(pairforge_options_new(&options));
    OK(pairforge_options_set_number(options, "order", 5));
    OK(pairforge_options_set_text(options, "precision", "f32"));

    pairforge_gpu_points host = {&x[0][0], &x[0][1], &x[0][2], N, 3, 4}, beyond = there;
    beyond.count = (size_t)1 << 40;
    REFUSED(pairforge_gpu_plan_new(&host, NULL, options, 0, NULL, &gpu_plan), "give one of the GPU's");
    REFUSED(pairforge_gpu_plan_new(&beyond, NULL, options, 0, NULL, &gpu_plan), "ends outside");
    OK(pairforge_gpu_plan_new(&there, NULL, options, 0, stream, &gpu_plan));
    REFUSED(pairforge_gpu_plan_run(gpu_plan, q, N, 1, 4, &room, stream), "`q`");
    REFUSED(pairforge_gpu_plan_run(gpu_plan, (const void *)loads, N - 1, 1, 4, &room, stream), "give as many");
    for (int run = 0; run < 2; run++) {
        OK(pairforge_gpu_plan_run(gpu_plan, (const void *)loads, N, 1, 4, &room, stream));
        OK(to_host(found, out, sizeof found));
        NEAR(error_of(1, 4), 1e-3);
        OK(pairforge_gpu_plan_update(gpu_plan, &there, NULL, stream));
    }
    for (int a = 0; a < 6; a++) {
        room.hessian[a] = result + 4 + a;
        field.hessian[a] = right[4 + a];
    }
    REFUSED(pairforge_gpu_plan_run(gpu_plan, (const void *)loads, N, 1, 4, &room, stream), "ask for the Hessian");
    pairforge_gpu_plan_free(gpu_plan);

    /* Second derivatives of charges with dipole moments, and of moments alone. */
    OK(pairforge_options_set_number(options, "hessian", 1));
    OK(pairforge_gpu_plan_new(&there, NULL, options, 0, stream, &gpu_plan));
    const float *turn = (const float *)turns;
    pairforge_gpu_sources set = {(const void *)loads, turn, turn + 1, turn + 2, N, 1, 3, 4};
    pairforge_sources on_host = {charges, &moments[0][0], &moments[0][1], &moments[0][2], N, 1, 3};
    for (int run = 0; run < 2; run++) {
        OK(pairforge_direct_set(&points, NULL, &on_host, 0, &field));
        OK(pairforge_gpu_plan_run_set(gpu_plan, &set, &room, stream));
        OK(to_host(found, out, sizeof found));
        NEAR(error_of(1, 4), 3e-3);
        NEAR(error_of(4, 10), 3e-3);
        set.charges = on_host.charges = NULL;
    }
    set.px = NULL;
    UNUSABLE(pairforge_gpu_plan_run_set(gpu_plan, &set, &room, stream), "give px, py and pz or none");
    pairforge_gpu_plan_free(gpu_plan);
    pairforge_options_free(options);
    printf("good\n");
    return 0;
}
