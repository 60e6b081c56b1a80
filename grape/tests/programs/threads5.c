/* Four threads with a device each, as OpenMP threads of FDPS have, and the calls in pieces. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "gp5util.h"

enum { THREADS = 4, NJ = 300, NI = 70, ROUNDS = 20 };
static const double eps = 0.02;

static double number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed / 4294967296.0;
}

static void *work(void *argument)
{
    int device = (int)(size_t)argument;
    static double failed;
    unsigned seed = 77u + device;
    double(*x)[3] = malloc(NJ * sizeof *x), (*a)[3] = malloc(NI * sizeof *a), *p = malloc(NI * sizeof *p);
    double *m = malloc(NJ * sizeof *m);
    for (int round = 0; round < ROUNDS; round++) {
        int n = NJ - 7 * round;
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < 3; k++)
                x[j][k] = 10 * device + number(&seed);
            m[j] = number(&seed);
        }
        if (round % 2) {
            g5_set_xmjMC(device, 0, n, x, m);
        } else {
            g5_set_xjMC(device, 0, n / 2, x);
            g5_set_xjMC(device, n / 2, n - n / 2, x + n / 2);
            g5_set_mjMC(device, 0, n, m);
        }
        g5_set_nMC(device, n);
        if (round % 3) {
            g5_calculate_force_on_xMC(device, x, a, p, NI);
        } else {
            int step = g5_get_number_of_pipelinesMC(device) < 16 ? 1 : 16;
            for (int i = 0; i < NI; i += step) {
                int some = NI - i < step ? NI - i : step;
                g5_set_xiMC(device, some, x + i);
                g5_runMC(device);
                g5_get_forceMC(device, some, a + i, p + i);
            }
        }
        for (int i = 0; i < NI; i += 5) {
            double sum[4] = {0}, size = 0, error = 0;
            for (int j = 0; j < n; j++) {
                double d[3], r2 = eps * eps;
                for (int k = 0; k < 3; k++) {
                    d[k] = x[j][k] - x[i][k];
                    r2 += d[k] * d[k];
                }
                /* With itself. */
                sum[3] += m[j] / sqrt(r2);
                for (int k = 0; k < 3; k++)
                    sum[k] += m[j] * d[k] / (r2 * sqrt(r2));
            }
            for (int k = 0; k < 3; k++) {
                size += sum[k] * sum[k];
                error += (a[i][k] - sum[k]) * (a[i][k] - sum[k]);
            }
            if (!(sqrt(error / size) < 1e-3 && fabs(p[i] / sum[3] - 1) < 1e-4)) {
                printf("device %d, round %d: %g %g\n", device, round, sqrt(error / size), p[i] / sum[3] - 1);
                return &failed;
            }
        }
    }
    free(x);
    free(a);
    free(p);
    free(m);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *failed = NULL;
    g5_open();
    g5_set_range(-1, 50, 1e-3);
    g5_set_eps_to_all(eps);
    for (size_t k = 0; k < THREADS; k++)
        pthread_create(&threads[k], NULL, work, (void *)k);
    for (size_t k = 0; k < THREADS; k++) {
        void *one;
        pthread_join(threads[k], &one);
        failed = one ? one : failed;
    }
    g5_close();
    return failed != NULL;
}
