/* Wrong calls: each has a status and a sentence that says what is wrong. */
#include <math.h>
#include <pairforge.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int line, pairforge_status status, pairforge_status wanted, const char *part)
{
    if (status == wanted && strstr(pairforge_last_error(), part))
        return;
    printf("line %d: status %d, %s\n", line, status, pairforge_last_error());
    exit(1);
}

#define EXPECT(call, status, part) expect(__LINE__, call, status, part)

/* What a thread has done wrong is not known to another. */
static void *other(void *none)
{
    (void)none;
    return (void *)(size_t)strlen(pairforge_last_error());
}

int main(void)
{
    double x[3] = {0, 0.5, 1}, y[3] = {0, 0, 0}, z[3] = {0, 0, 0}, q[3] = {1, 2, 3}, p[3], bad[3] = {0, NAN, 1};
    pairforge_points points = {x, y, z, 3, 1}, nowhere = {NULL, y, z, 3, 1}, not = {x, bad, z, 3, 1};
    pairforge_points huge = {x, y, z, (size_t)-1, 3}, nothing = {NULL, NULL, NULL, 0, 1};
    pairforge_field to = {0}, same = {0};
    pairforge_options *options;
    pairforge_plan *plan = NULL;
    pairforge_gpu_points odd_bytes = {x, y, z, 3, 1, 2}, hole = {NULL, y, z, 3, 1, 8}, odd = {(char *)x + 4, y, z, 3, 1, 8};
    pairforge_gpu_points wide = {x, y, z, (size_t)-1, 3, 8};
    pairforge_gpu_plan *gpu_plan = NULL;
    pairforge_kernel *kernel = NULL;
    pairforge_session *session = NULL;
    pairforge_sums *sums = NULL;
    to.potential = p;
    to.count = 3;
    to.potential_stride = 1;
    same = to;
    same.potential_stride = 0;

    EXPECT(pairforge_options_new(NULL), PAIRFORGE_USAGE, "null");
    EXPECT(pairforge_options_new(&options), PAIRFORGE_OK, "");
    EXPECT(pairforge_options_set_number(options, "backend", 1), PAIRFORGE_USAGE, "tolerance");
    EXPECT(pairforge_options_set_number(options, NULL, 1), PAIRFORGE_USAGE, "null");
    EXPECT(pairforge_options_set_number(options, "order", 1.5), PAIRFORGE_INPUT, "whole");
    EXPECT(pairforge_options_set_text(options, "precision", "f16"), PAIRFORGE_INPUT, "f32");
    EXPECT(pairforge_options_set_text(options, "precision", "\xff"), PAIRFORGE_INPUT, "UTF-8");
    EXPECT(pairforge_options_set_text(options, "backend", "abacus"), PAIRFORGE_OK, "");
    EXPECT(pairforge_plan_new(&points, NULL, options, &plan), PAIRFORGE_INPUT, "abacus");
    pairforge_options_free(options);
    EXPECT(pairforge_options_new(&options), PAIRFORGE_OK, "");
    EXPECT(pairforge_options_set_number(options, "theta", 7), PAIRFORGE_OK, "");
    EXPECT(pairforge_plan_new(&points, NULL, options, &plan), PAIRFORGE_INPUT, "");
    pairforge_options_free(options);
    pairforge_options_free(NULL);

    /* What is wrong is said before a GPU is asked for. */
    EXPECT(pairforge_gpu_plan_new(NULL, NULL, NULL, 0, NULL, &gpu_plan), PAIRFORGE_USAGE, "sources");
    EXPECT(pairforge_gpu_plan_new(&odd_bytes, NULL, NULL, 0, NULL, &gpu_plan), PAIRFORGE_USAGE, "4 or 8 bytes");
    EXPECT(pairforge_gpu_plan_new(&hole, NULL, NULL, 0, NULL, &gpu_plan), PAIRFORGE_INPUT, "`x` is a null pointer");
    EXPECT(pairforge_gpu_plan_new(&odd, NULL, NULL, 0, NULL, &gpu_plan), PAIRFORGE_INPUT, "no multiple of 8");
    EXPECT(pairforge_gpu_plan_new(&wide, NULL, NULL, 0, NULL, &gpu_plan), PAIRFORGE_INPUT, "more than a memory holds");
    EXPECT(pairforge_options_new(&options), PAIRFORGE_OK, "");
    EXPECT(pairforge_options_set_number(options, "tolerance", 1e-5), PAIRFORGE_OK, "");
    EXPECT(pairforge_gpu_plan_new(&odd, NULL, options, 0, NULL, &gpu_plan), PAIRFORGE_INPUT, "through the host");
    pairforge_options_free(options);
    EXPECT(pairforge_gpu_plan_update(NULL, &odd, NULL, NULL), PAIRFORGE_USAGE, "plan");
    EXPECT(pairforge_gpu_plan_run(NULL, q, 3, 1, 8, NULL, NULL), PAIRFORGE_USAGE, "plan");
    pairforge_gpu_plan_free(NULL);

    EXPECT(pairforge_plan_new(NULL, NULL, NULL, &plan), PAIRFORGE_USAGE, "sources");
    EXPECT(pairforge_plan_new(&nowhere, NULL, NULL, &plan), PAIRFORGE_USAGE, "x of the sources");
    EXPECT(pairforge_plan_new(&points, &nowhere, NULL, &plan), PAIRFORGE_USAGE, "x of the targets");
    EXPECT(pairforge_plan_new(&not, NULL, NULL, &plan), PAIRFORGE_INPUT, "finite");
    EXPECT(pairforge_plan_new(&huge, NULL, NULL, &plan), PAIRFORGE_INPUT, "memory");
    EXPECT(pairforge_plan_new(&points, NULL, NULL, &plan), PAIRFORGE_OK, "");
    EXPECT(pairforge_plan_run(NULL, q, 3, 1, &to), PAIRFORGE_USAGE, "plan");
    EXPECT(pairforge_plan_run(plan, q, 2, 1, &to), PAIRFORGE_INPUT, "3 sources");
    EXPECT(pairforge_plan_run(plan, NULL, 3, 1, &to), PAIRFORGE_USAGE, "charges");
    EXPECT(pairforge_plan_run(plan, q, 3, 1, NULL), PAIRFORGE_USAGE, "field");
    EXPECT(pairforge_plan_run(plan, bad, 3, 1, &to), PAIRFORGE_INPUT, "");
    EXPECT(pairforge_plan_run(plan, q, 3, 1, &same), PAIRFORGE_USAGE, "stride");
    to.count = 4;
    EXPECT(pairforge_plan_run(plan, q, 3, 1, &to), PAIRFORGE_INPUT, "room");
    to.count = 3;
    to.hessian[2] = p;
    EXPECT(pairforge_plan_run(plan, q, 3, 1, &to), PAIRFORGE_USAGE, "hessian");
    to.hessian[2] = NULL;
    /* A charge for all, and results from the last to the first. */
    to.potential = p + 2;
    to.potential_stride = -1;
    EXPECT(pairforge_plan_run(plan, q, 3, 0, &to), PAIRFORGE_OK, "");
    if (fabs(p[2] - 3) > 1e-12 || fabs(p[1] - 4) > 1e-12)
        return 2;
    to.potential = p;
    to.potential_stride = 1;
    /* Sets of charges and moments. */
    pairforge_sources set = {q, NULL, NULL, NULL, 3, 1, 1}, none = {NULL, NULL, NULL, NULL, 3, 1, 1}, half = {q, q, q, NULL, 3, 1, 1},
                      few = {q, NULL, NULL, NULL, 2, 1, 1}, wrong = {q, bad, bad, bad, 3, 1, 1};
    EXPECT(pairforge_plan_run_sets(NULL, &set, &to, 1), PAIRFORGE_USAGE, "plan");
    EXPECT(pairforge_plan_run_sets(plan, NULL, &to, 1), PAIRFORGE_USAGE, "sets");
    EXPECT(pairforge_plan_run_sets(plan, &set, NULL, 1), PAIRFORGE_USAGE, "fields");
    EXPECT(pairforge_plan_run_sets(plan, NULL, NULL, 0), PAIRFORGE_OK, "");
    EXPECT(pairforge_plan_run_sets(plan, &none, &to, 1), PAIRFORGE_USAGE, "give one of them");
    EXPECT(pairforge_plan_run_sets(plan, &half, &to, 1), PAIRFORGE_USAGE, "px, py and pz");
    EXPECT(pairforge_plan_run_sets(plan, &few, &to, 1), PAIRFORGE_INPUT, "3 sources");
    EXPECT(pairforge_plan_run_sets(plan, &wrong, &to, 1), PAIRFORGE_INPUT, "");
    EXPECT(pairforge_direct_set(&points, NULL, NULL, 0, &to), PAIRFORGE_USAGE, "set");
    EXPECT(pairforge_direct_set(&points, NULL, &wrong, 0, &to), PAIRFORGE_INPUT, "finite");
    p[0] = -1;
    EXPECT(pairforge_plan_run_sets(plan, &set, &to, 1), PAIRFORGE_OK, "");
    double known = p[0];
    EXPECT(pairforge_direct_set(&points, NULL, &set, 0, &to), PAIRFORGE_OK, "");
    if (fabs(p[0] - known) > 1e-12)
        return 4;
    to.count = 0;
    EXPECT(pairforge_plan_update(plan, &nothing, NULL), PAIRFORGE_OK, "");
    EXPECT(pairforge_plan_run(plan, NULL, 0, 1, &to), PAIRFORGE_OK, "");
    pairforge_plan_free(plan);
    pairforge_plan_free(NULL);
    EXPECT(pairforge_direct(&points, NULL, q, 1, -1, &to), PAIRFORGE_INPUT, "");

    EXPECT(pairforge_kernel_compile("k", "int32 a ipin;\nb = a +;\nc = d;\n", &kernel), PAIRFORGE_INPUT, "2:");
    if (!strstr(pairforge_last_error(), "\n3:"))
        return 3;
    EXPECT(pairforge_kernel_shipped("p3p", &kernel), PAIRFORGE_USAGE, "p2p");
    EXPECT(pairforge_kernel_shipped("p2p_paper", &kernel), PAIRFORGE_OK, "");
    pairforge_column i[] = {{"xi[0]", x, 3, 1}, {"xi[1]", y, 3, 1}, {"xi[2]", z, 3, 1}};
    pairforge_column j[] = {{"xj[0]", x, 3, 1}, {"xj[1]", y, 3, 1}, {"xj[2]", z, 3, 1}, {"mj", q, 3, 1}};
    EXPECT(pairforge_kernel_run(kernel, "emulator", i, 3, j, 3, &sums), PAIRFORGE_INPUT, "`mj`");
    EXPECT(pairforge_kernel_run(kernel, "emulator", i, 2, j, 4, &sums), PAIRFORGE_INPUT, "`xi[2]`");
    EXPECT(pairforge_kernel_run(kernel, "emulator", NULL, 2, j, 4, &sums), PAIRFORGE_USAGE, "null");
    EXPECT(pairforge_kernel_run(kernel, "abacus", i, 3, j, 4, &sums), PAIRFORGE_INPUT, "emulator");
    EXPECT(pairforge_kernel_build(kernel, 0, NULL), PAIRFORGE_INPUT, "");
    EXPECT(pairforge_session_open(kernel, "emulator", &session), PAIRFORGE_OK, "");
    EXPECT(pairforge_session_set_sources(session, j, 4), PAIRFORGE_OK, "");
    EXPECT(pairforge_session_run(session, i, 3, &sums), PAIRFORGE_OK, "");
    EXPECT(pairforge_sums_column(sums, "gout", p, 3, 1), PAIRFORGE_USAGE, "pout");
    EXPECT(pairforge_sums_column(sums, "pout", p, 2, 1), PAIRFORGE_INPUT, "room");
    pairforge_sums_free(sums);
    pairforge_session_close(session);
    pairforge_kernel_free(kernel);

    pthread_t thread;
    void *length = &thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, &length);
    return length ? 4 : 0;
}
