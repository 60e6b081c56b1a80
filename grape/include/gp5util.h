/* The calls of GRAPE-5, as libpairforge_grape has them. Link with -lpairforge_grape; PAIRFORGE_GRAPE_BACKEND names the backend.
 *
 * Positions and forces are arrays of triples. The potential is positive, and a source at a target's own place counts in it with
 * m / eps. Calls that end in MC take a device number first; threads that use different devices do not wait for each other. */
#ifndef PAIRFORGE_GP5UTIL_H
#define PAIRFORGE_GP5UTIL_H

#ifdef __cplusplus
extern "C" {
#endif

void g5_open(void);
void g5_close(void);
int g5_get_number_of_pipelines(void);
int g5_get_jmemsize(void);
void g5_set_range(double xmin, double xmax, double mmin);
void g5_set_eps_to_all(double eps);

/* Sources: n of them act, and some are set from an address on. */
void g5_set_n(int n);
void g5_set_xj(int address, int n, double (*x)[3]);
void g5_set_mj(int address, int n, double *m);
void g5_set_xmj(int address, int n, double (*x)[3], double *m);

/* Targets, sums, results; or all at once. */
void g5_set_xi(int n, double (*x)[3]);
void g5_run(void);
void g5_get_force(int n, double (*a)[3], double *p);
void g5_calculate_force_on_x(double (*x)[3], double (*a)[3], double *p, int n);

int g5_get_number_of_pipelinesMC(int device);
int g5_get_jmemsizeMC(int device);
void g5_set_rangeMC(int device, double xmin, double xmax, double mmin);
void g5_set_nMC(int device, int n);
void g5_set_xjMC(int device, int address, int n, double (*x)[3]);
void g5_set_mjMC(int device, int address, int n, double *m);
void g5_set_xmjMC(int device, int address, int n, double (*x)[3], double *m);
void g5_set_xiMC(int device, int n, double (*x)[3]);
void g5_runMC(int device);
void g5_get_forceMC(int device, int n, double (*a)[3], double *p);
void g5_calculate_force_on_xMC(int device, double (*x)[3], double (*a)[3], double *p, int n);

#ifdef __cplusplus
}
#endif

#endif
