/* The calls that ph4 makes, with C names of its own over the Fortran names; prediction, test points, neighbour lists, statuses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int g6_open_(int *cluster);
int g6_close_(int *cluster);
int g6_npipes_(void);
int g6_reset_(int *cluster);
int g6_reset_fofpga_(int *cluster);
int g6_set_tunit_(double *unit);
int g6_set_xunit_(double *unit);
int g6_set_ti_(int *cluster, double *time);
int g6_initialize_jp_buffer_(int *cluster, int *size);
int g6_flush_jp_buffer_(int *cluster);
int g6_set_j_particle_(int *cluster, int *address, int *index, double *time, double *step, double *mass, double snap[3],
                       double jerk[3], double a[3], double v[3], double x[3]);
void g6calc_firsthalf_(int *cluster, int *nj, int *ni, int index[], double x[][3], double v[][3], double a[][3],
                       double jerk[][3], double p[], double *eps2, double h2[]);
int g6calc_lasthalf_(int *cluster, int *nj, int *ni, int index[], double x[][3], double v[][3], double *eps2,
                     double h2[], double a[][3], double jerk[][3], double p[]);
int g6calc_lasthalf2_(int *cluster, int *nj, int *ni, int index[], double x[][3], double v[][3], double *eps2,
                      double h2[], double a[][3], double jerk[][3], double p[], int nearest[]);
int g6_read_neighbour_list_(int *cluster);
int g6_get_neighbour_list_(int *cluster, int *target, int *most, int *length, int list[]);

/* Names that the library has as well: these are called by the program, and must not be by the library. */
static int opened;

int g6_open(int cluster)
{
    opened++;
    return g6_open_(&cluster);
}

int g6_set_ti(int cluster, double time)
{
    opened++;
    return g6_set_ti_(&cluster, &time);
}

#define N 40
#define CHECK(what) ((what) ? (void)0 : (printf("line %d: %s\n", __LINE__, #what), exit(1)))

static double x[N][3], v[N][3], a2[N][3], j6[N][3], k18[N][3], m[N], t[N];
static int index_of[N];

static double number(void)
{
    return 2.0 * rand() / RAND_MAX - 1;
}

/* Where source j is at a time, term by term. */
static void place(int j, double time, double at[3], double speed[3])
{
    double d = time - t[j];
    for (int k = 0; k < 3; k++) {
        double a = 2 * a2[j][k], jerk = 6 * j6[j][k], snap = 18 * k18[j][k];
        at[k] = x[j][k] + v[j][k] * d + a * d * d / 2 + jerk * pow(d, 3) / 6 + snap * pow(d, 4) / 24;
        speed[k] = v[j][k] + a * d + jerk * d * d / 2 + snap * pow(d, 3) / 6;
    }
}

int main(void)
{
    int cluster = 3, nj = N, ni = 4, size = 0, status;
    double unit = 51, step = 0.125, time = 1.75, eps2 = 0.01;
    int targets[4] = {100, 107, -1, 139};
    int own[4] = {0, 7, -1, 39};
    double tx[4][3], tv[4][3], a[4][3], jerk[4][3], p[4], h2[4];
    int nearest[4];

    srand(7);
    CHECK(g6_open(cluster) == 0);
    CHECK(g6_npipes_() > 0);
    g6_set_tunit_(&unit);
    g6_set_xunit_(&unit);
    g6_reset_(&cluster);
    g6_reset_fofpga_(&cluster);
    g6_initialize_jp_buffer_(&cluster, &size);
    /* Half of a call alone. */
    CHECK(g6calc_lasthalf_(&cluster, &nj, &ni, targets, tx, tv, &eps2, h2, a, jerk, p) == -1);
    for (int j = 0; j < N; j++) {
        m[j] = (1.0 + j) / N;
        t[j] = 1 + 0.0625 * (j % 8);
        index_of[j] = 100 + j;
        for (int k = 0; k < 3; k++) {
            x[j][k] = number();
            v[j][k] = number();
            a2[j][k] = number() / 2;
            j6[j][k] = number() / 6;
            k18[j][k] = number() / 18;
        }
    }
    /* In the order in which a code comes to them. */
    for (int j = N - 1; j >= 0; j--)
        CHECK(!g6_set_j_particle_(&cluster, &j, &index_of[j], &t[j], &step, &m[j], k18[j], j6[j], a2[j], v[j], x[j]));
    g6_flush_jp_buffer_(&cluster);
    g6_set_ti(cluster, time);
    for (int i = 0; i < ni; i++) {
        h2[i] = 1.0;
        p[i] = -1;
        for (int k = 0; k < 3; k++) {
            a[i][k] = i == 3 ? 1e-9 : 1;
            jerk[i][k] = i == 1 ? 1e12 : 0;
            tx[i][k] = tv[i][k] = 0.1 * k;
        }
        if (own[i] >= 0)
            place(own[i], time, tx[i], tv[i]);
    }
    g6calc_firsthalf_(&cluster, &nj, &ni, targets, tx, tv, a, jerk, p, &eps2, h2);
    status = g6calc_lasthalf2_(&cluster, &nj, &ni, targets, tx, tv, &eps2, h2, a, jerk, p, nearest);
    CHECK(status == 0);
    status = g6_read_neighbour_list_(&cluster);
    CHECK(status == 0);
    for (int i = 0; i < ni; i++) {
        double sum[7] = {0}, least = 1e30, largest = 0, error = 0;
        int who = -1, near = 0, list[N], length, most = N, few = 1;
        char is_near[N] = {0};
        for (int j = 0; j < N; j++) {
            double at[3], speed[3], d[3], w[3], r2 = 0, rv = 0, s2;
            if (j == own[i])
                continue;
            place(j, time, at, speed);
            for (int k = 0; k < 3; k++) {
                d[k] = at[k] - tx[i][k];
                w[k] = speed[k] - tv[i][k];
                r2 += d[k] * d[k];
                rv += d[k] * w[k];
            }
            if (r2 < least) {
                least = r2;
                who = index_of[j];
            }
            if (r2 < h2[i]) {
                near++;
                is_near[j] = 1;
            }
            s2 = r2 + eps2;
            sum[0] -= m[j] / sqrt(s2);
            for (int k = 0; k < 3; k++) {
                sum[1 + k] += m[j] * d[k] / pow(s2, 1.5);
                sum[4 + k] += m[j] * (w[k] - 3 * rv / s2 * d[k]) / pow(s2, 1.5);
            }
        }
        for (int k = 0; k < 7; k++) {
            double found = k == 0 ? p[i] : k < 4 ? a[i][k - 1] : jerk[i][k - 4];
            largest = fmax(largest, fabs(sum[k]));
            error = fmax(error, fabs(found - sum[k]));
        }
        printf("%d: %.1e\n", i, error / largest);
        CHECK(error < 2e-6 * largest);
        CHECK(nearest[i] == who);
        CHECK(g6_get_neighbour_list_(&cluster, &i, &most, &length, list) == 0);
        CHECK(length == near && near > 1);
        for (int k = 0; k < length; k++)
            CHECK(is_near[list[k] - 100]);
        CHECK(g6_get_neighbour_list_(&cluster, &i, &few, &length, list) == 1 && length == 1);
    }
    /* One source moves, and the time stays. */
    {
        double before = p[2];
        int j = 5;
        m[j] = 10;
        g6_set_j_particle_(&cluster, &j, &index_of[j], &t[j], &step, &m[j], k18[j], j6[j], a2[j], v[j], x[j]);
        g6calc_firsthalf_(&cluster, &nj, &ni, targets, tx, tv, a, jerk, p, &eps2, h2);
        CHECK(g6calc_lasthalf_(&cluster, &nj, &ni, targets, tx, tv, &eps2, h2, a, jerk, p) == 0);
        CHECK(p[2] < before - 1);
    }
    g6_close_(&cluster);
    CHECK(opened == 2);
    return 0;
}
