/* The field of particles that move, and a kernel of one's own, from C. */
#include <math.h>
#include <pairforge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 2000

static void check(pairforge_status status)
{
    if (status == PAIRFORGE_OK)
        return;
    fprintf(stderr, "%s\n", pairforge_last_error());
    exit(status);
}

/* The relative error of a field of gradients. */
static double error(double (*found)[4], double (*right)[4])
{
    double difference = 0, size = 0;
    for (int i = 0; i < N; i++)
        for (int k = 1; k < 4; k++) {
            difference += pow(found[i][k] - right[i][k], 2);
            size += pow(right[i][k], 2);
        }
    return sqrt(difference / size);
}

/* Room for potentials and gradients that stand together: potential, gx, gy, gz of one target after the other. */
static pairforge_field room(double (*f)[4])
{
    pairforge_field field = {0};
    field.potential = &f[0][0];
    field.gx = &f[0][1];
    field.gy = &f[0][2];
    field.gz = &f[0][3];
    field.count = N;
    field.potential_stride = field.gradient_stride = 4;
    return field;
}

int main(void)
{
    static double x[N][3], q[N], found[N][4], right[N][4];
    pairforge_points points = {&x[0][0], &x[0][1], &x[0][2], N, 3};
    pairforge_field to = room(found), reference = room(right);
    pairforge_options *options;
    pairforge_plan *plan;

    srand(1);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++)
            x[i][k] = rand() / (double)RAND_MAX;
        q[i] = rand() % 2 ? 1 : -1;
    }
    check(pairforge_options_new(&options));
    check(pairforge_options_set_number(options, "tolerance", 1e-5));
    check(pairforge_plan_new(&points, NULL, options, &plan));
    pairforge_options_free(options);
    for (int step = 0; step < 2; step++) {
        check(pairforge_plan_run(plan, q, N, 1, &to));
        check(pairforge_direct(&points, NULL, q, 1, 0, &reference));
        printf("step %d: gradient error %.1e\n", step, error(found, right));
        if (!(error(found, right) < 1e-5))
            return 5;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                x[i][k] += 1e-7 * found[i][1 + k];
        check(pairforge_plan_update(plan, &points, NULL));
    }
    pairforge_plan_free(plan);

    /* A kernel in PG2: the number of sources within a radius, on the bit-exact emulator of its pipeline. */
    const char *text = "fixed32.31 xi[3] ipin;\n"
                       "fixed32.31 xj[3] jpin;\n"
                       "float25.16 radius2 param;\n"
                       "uint32 count fout;\n"
                       "d = (float25.16)(xj - xi);\n"
                       "count += d * d < radius2;\n";
    pairforge_kernel *kernel;
    check(pairforge_kernel_compile("within", text, &kernel));
    check(pairforge_kernel_set_param(kernel, "radius2", 0.01));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            x[i][k] = x[i][k] / 2;
    pairforge_column i_columns[] = {{"xi[0]", &x[0][0], 8, 3}, {"xi[1]", &x[0][1], 8, 3}, {"xi[2]", &x[0][2], 8, 3}};
    pairforge_column j_columns[] = {{"xj[0]", &x[0][0], N, 3}, {"xj[1]", &x[0][1], N, 3}, {"xj[2]", &x[0][2], N, 3}};
    pairforge_sums *sums;
    double counts[8];
    check(pairforge_kernel_run(kernel, "emulator", i_columns, 3, j_columns, 3, &sums));
    check(pairforge_sums_column(sums, "count", counts, 8, 1));
    for (int i = 0; i < 8; i++) {
        int wanted = 0;
        for (int j = 0; j < N; j++) {
            double r2 = 0;
            for (int k = 0; k < 3; k++)
                r2 += pow(x[j][k] - x[i][k], 2);
            wanted += r2 < 0.01;
        }
        /* The formats round distances by 2^-16. */
        if (fabs(counts[i] - wanted) > 2 || pairforge_sums_flags(sums, i) != 0)
            return 6;
    }
    pairforge_sums_free(sums);
    char *verilog;
    check(pairforge_kernel_build(kernel, 2, &verilog));
    printf("%zu characters of Verilog\n", strlen(verilog));
    pairforge_text_free(verilog);
    pairforge_kernel_free(kernel);

    /* A mistake has a place, a code and a remedy. */
    if (pairforge_kernel_compile("wrong", "int32 a ipin;\nb = c;\n", &kernel) != PAIRFORGE_INPUT)
        return 7;
    printf("%s\n", pairforge_last_error());
    return strstr(pairforge_last_error(), "2:5") ? 0 : 8;
}
