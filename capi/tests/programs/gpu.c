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

static void refused(int line, pairforge_status status, const char *part)
{
    if (status == PAIRFORGE_INPUT && strstr(pairforge_last_error(), part))
        return;
    printf("line %d: status %d, %s\n", line, (int)status, pairforge_last_error());
    exit(1);
}

#define REFUSED(call, part) refused(__LINE__, call, part)

static double random_number(void) { return rand() / (RAND_MAX + 1.0); }

enum { N = 5000 };
static float x[N][3], q[N], found[N][4];
static double wide[N][3], charges[N], phi[N], g[3][N];

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
            wide[i][a] = x[i][a] = (float)random_number();
        charges[i] = q[i] = (float)random_number();
    }

    /* The same on the host. */
    pairforge_options *options;
    pairforge_points points = {&wide[0][0], &wide[0][1], &wide[0][2], N, 3};
    pairforge_field field = {0};
    field.potential = phi;
    field.gx = g[0];
    field.gy = g[1];
    field.gz = g[2];
    field.count = N;
    field.potential_stride = field.gradient_stride = 1;
    OK(pairforge_direct(&points, NULL, charges, 1, 0, &field));

    place at, loads, out;
    OK(allocate(&at, sizeof x));
    OK(allocate(&loads, sizeof q));
    OK(allocate(&out, sizeof found));
    OK(to_gpu(at, x, sizeof x));
    OK(to_gpu(loads, q, sizeof q));
    const float *first = (const float *)at;
    float *result = (float *)out;
    pairforge_gpu_points there = {first, first + 1, first + 2, N, 3, 4};
    pairforge_gpu_field room = {result, result + 1, result + 2, result + 3, N, 4, 4, 4};
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
        double error = 0, all = 0;
        for (int i = 0; i < N; i++)
            for (int a = 0; a < 3; a++) {
                error += pow(found[i][a + 1] - g[a][i], 2);
                all += pow(g[a][i], 2);
            }
        if (!(sqrt(error / all) < 1e-3)) {
            printf("run %d: the error is %g\n", run, sqrt(error / all));
            return 1;
        }
        OK(pairforge_gpu_plan_update(gpu_plan, &there, NULL, stream));
    }
    pairforge_gpu_plan_free(gpu_plan);
    pairforge_options_free(options);
    printf("good\n");
    return 0;
}
