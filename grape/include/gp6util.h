/* The calls of GRAPE-6, as libpairforge_grape has them. Link with -lpairforge_grape; PAIRFORGE_GRAPE_BACKEND names the backend.
 *
 * Sources are predicted from their own times to that of g6_set_ti. The potential is negative, and a source of a target's index
 * does not act on it. Every call has a Fortran name too, with an underscore behind it. */
#ifndef PAIRFORGE_GP6UTIL_H
#define PAIRFORGE_GP6UTIL_H

#ifdef __cplusplus
extern "C" {
#endif

int g6_open(int cluster);
int g6_close(int cluster);
int g6_reset(int cluster);
int g6_reset_fofpga(int cluster);
int g6_npipes(void);
int g6_set_tunit(int unit);
int g6_set_xunit(int unit);
int g6_set_ti(int cluster, double time);

/* A source at an address: snap / 18, jerk / 6, acceleration / 2, velocity and position at its time. */
int g6_set_j_particle(int cluster, int address, int index, double time, double step, double mass, double snap[3],
                      double jerk[3], double acceleration[3], double velocity[3], double position[3]);
int g6_initialize_jp_buffer(int cluster, int size);
int g6_flush_jp_buffer(int cluster);

/* Fields of the first nj sources at ni targets. The accelerations, jerks and potentials of the first half are guesses; h2 has the
 * squares of the radii of neighbours. The halves give 0, or -1 if there were no such targets. */
void g6calc_firsthalf(int cluster, int nj, int ni, int index[], double x[][3], double v[][3], double a[][3],
                      double jerk[][3], double potential[], double eps2, double h2[]);
int g6calc_lasthalf(int cluster, int nj, int ni, int index[], double x[][3], double v[][3], double eps2, double h2[],
                    double a[][3], double jerk[][3], double potential[]);

/* The same with the index of the source nearest to each target, -1 if there is none. */
int g6calc_lasthalf2(int cluster, int nj, int ni, int index[], double x[][3], double v[][3], double eps2, double h2[],
                     double a[][3], double jerk[][3], double potential[], int nearest[]);

/* Sources nearer to a target than the root of its h2. A list that is longer than the room for it is cut, and gives 1. */
int g6_read_neighbour_list(int cluster);
int g6_get_neighbour_list(int cluster, int target, int most, int *length, int list[]);

#ifdef __cplusplus
}
#endif

#endif
