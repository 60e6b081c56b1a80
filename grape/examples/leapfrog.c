/* A cold sphere that collapses, by leapfrog steps over the calls of GRAPE-5, those of the N-body sample of FDPS.
 * Its argument is the number of steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gp5util.h"

#define N 512

static double x[N][3], v[N][3], a[N][3], p[N], m[N];
static const double eps = 1.0 / 32;

static void forces(int device)
{
    g5_set_xmjMC(device, 0, N, x, m);
    g5_set_nMC(device, N);
    g5_calculate_force_on_xMC(device, x, a, p, N);
}

static double energy(void)
{
    double e = 0;
    for (int i = 0; i < N; i++) {
        double v2 = v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2];
        /* The potential is positive and has the particle's own m / eps. */
        e += m[i] * (0.5 * v2 - 0.5 * (p[i] - m[i] / eps));
    }
    return e;
}

int main(int count, char **arguments)
{
    int steps = count > 1 ? atoi(arguments[1]) : 64;

    srand(1);
    for (int i = 0; i < N; i++) {
        double r2;
        do {
            r2 = 0;
            for (int k = 0; k < 3; k++) {
                x[i][k] = 3.0 * (2.0 * rand() / RAND_MAX - 1.0);
                r2 += x[i][k] * x[i][k];
            }
        } while (r2 > 9.0);
        m[i] = 1.0 / N;
    }
    g5_open();
    g5_set_eps_to_all(eps);
    forces(0);
    double before = energy(), dt = 1.0 / 128, largest = 0;

    /* Direct sums of the first steps' forces. */
    for (int i = 0; i < N; i += 37) {
        double sum[4] = {0, 0, 0, 0}, error = 0, size = 0;
        for (int j = 0; j < N; j++) {
            double d[3], r2 = eps * eps;
            for (int k = 0; k < 3; k++) {
                d[k] = x[j][k] - x[i][k];
                r2 += d[k] * d[k];
            }
            sum[3] += m[j] / sqrt(r2);
            for (int k = 0; k < 3; k++)
                sum[k] += m[j] * d[k] / (r2 * sqrt(r2));
        }
        for (int k = 0; k < 3; k++) {
            error += (a[i][k] - sum[k]) * (a[i][k] - sum[k]);
            size += sum[k] * sum[k];
        }
        largest = fmax(largest, fmax(sqrt(error / size), fabs(p[i] / sum[3] - 1)));
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) {
                v[i][k] += 0.5 * dt * a[i][k];
                x[i][k] += dt * v[i][k];
            }
        forces(0);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                v[i][k] += 0.5 * dt * a[i][k];
    }
    double change = fabs((energy() - before) / before);
    printf("force error %.1e, energy change %.1e\n", largest, change);
    g5_close();
    return !(largest < 3e-5 && change < 1e-4);
}
