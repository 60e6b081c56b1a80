/* Pairforge from C. Every call that can fail gives a status, and `pairforge_last_error` has a sentence for the last failure of the
 * calling thread. Things that calls make are freed by calls of their own. Made from the sources by cbindgen. */

#ifndef PAIRFORGE_H
#define PAIRFORGE_H

#include <stddef.h>
#include <stdint.h>

// The status of a call. The numbers are those of the command's exit statuses.
typedef enum pairforge_status {
    PAIRFORGE_OK = 0,
    // Input that cannot be computed: numbers, options, the text of a kernel.
    PAIRFORGE_INPUT = 1,
    // The call itself is wrong: a null pointer, a name that is not there.
    PAIRFORGE_USAGE = 2,
    // A tool or a device is missing or has failed.
    PAIRFORGE_TOOL = 3,
    // A fault of the library.
    PAIRFORGE_INTERNAL = 4,
} pairforge_status;

// Sources and targets on a GPU, of which the plan has copies there, for any number of charges. One thread at a time may use it.
typedef struct pairforge_gpu_plan pairforge_gpu_plan;

// A compiled kernel with values of its parameters. Runs of one kernel can go on at once in any number of threads; setting a parameter
// and freeing is for one thread while no other uses it.
typedef struct pairforge_kernel pairforge_kernel;

// Options of a plan. Whatever is not set is chosen: by the tolerance where there is one, else as the field usually has it.
typedef struct pairforge_options pairforge_options;

// Sources and targets at fixed positions, for any number of sets of charges. Runs of one plan and of several can go on at once in any
// number of threads; freeing and updating a plan is for one thread while no other uses it.
typedef struct pairforge_plan pairforge_plan;

// A kernel on an open backend with sources, for many runs. One thread uses it at a time.
typedef struct pairforge_session pairforge_session;

// Sums of a kernel at every target.
typedef struct pairforge_sums pairforge_sums;

// Points in space: coordinates `x[k * stride]` and so on. Three columns have the stride 1, and an array of triples `p` is
// `x = p, y = p + 1, z = p + 2` with the stride 3.
typedef struct pairforge_points {
    const double *x;
    const double *y;
    const double *z;
    size_t count;
    // From one point to the next, in numbers.
    ptrdiff_t stride;
} pairforge_points;

// Results at the targets, each at `[k * stride]`; null pointers for what is not wanted. Potentials are sums of q / |x_j - x_i| over all
// other sources, and gradients are those with respect to x_i.
typedef struct pairforge_field {
    double *potential;
    double *gx;
    double *gy;
    double *gz;
    // xx, xy, xz, yy, yz, zz of the Hessian, where the option `hessian` asks for it.
    double *hessian[6];
    // The number of targets.
    size_t count;
    ptrdiff_t potential_stride;
    ptrdiff_t gradient_stride;
    ptrdiff_t hessian_stride;
} pairforge_field;

// Loads of the sources: charges at `charges[k * charge_stride]`, dipole moments (charge times length) at `px[k * dipole_stride]` and so
// on, or both. Null pointers for what they do not carry.
typedef struct pairforge_sources {
    const double *charges;
    const double *px;
    const double *py;
    const double *pz;
    // The number of sources.
    size_t count;
    ptrdiff_t charge_stride;
    ptrdiff_t dipole_stride;
} pairforge_sources;

// Points on a GPU: addresses there of coordinates `x[k * stride]` and so on, of `float` where `bytes` is 4 and of `double` where it is 8.
typedef struct pairforge_gpu_points {
    const void *x;
    const void *y;
    const void *z;
    size_t count;
    // From one point to the next, in numbers.
    ptrdiff_t stride;
    int bytes;
} pairforge_gpu_points;

// Results at the targets, on a GPU, each at `[k * stride]`; null pointers for what is not wanted.
typedef struct pairforge_gpu_field {
    void *potential;
    void *gx;
    void *gy;
    void *gz;
    // xx, xy, xz, yy, yz, zz of the Hessian, where the option `hessian` asks for it.
    void *hessian[6];
    // The number of targets.
    size_t count;
    ptrdiff_t potential_stride;
    ptrdiff_t gradient_stride;
    ptrdiff_t hessian_stride;
    int bytes;
} pairforge_gpu_field;

// Loads of the sources, on a GPU: charges at `charges[k * charge_stride]`, dipole moments (charge times length) at `px[k * dipole_stride]`
// and so on, or both. Null pointers for what they do not carry.
typedef struct pairforge_gpu_sources {
    const void *charges;
    const void *px;
    const void *py;
    const void *pz;
    // The number of sources.
    size_t count;
    ptrdiff_t charge_stride;
    ptrdiff_t dipole_stride;
    int bytes;
} pairforge_gpu_sources;

// A column of numbers for a pin: `mj` for a scalar, `xi[0]` for the first element of a vector.
typedef struct pairforge_column {
    const char *name;
    const double *values;
    size_t count;
    // From one number to the next, in numbers.
    ptrdiff_t stride;
} pairforge_column;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The sentence of the last call of this thread that failed, empty if none has. It stays until the next one that fails.
const char *pairforge_last_error(void);

// The version of the library, such as `0.1.0`.
const char *pairforge_version(void);

// Makes options of which none is set.
enum pairforge_status pairforge_options_new(struct pairforge_options **options);

// Frees options; plans that were made with them keep theirs.
void pairforge_options_free(struct pairforge_options *options);

// Sets an option whose value is a number: `tolerance` (relative error of the gradient), `order`, `theta`, `leaf`, `softening` (a length),
// `hessian` (0 or 1), `periodic` (the side of a cube).
enum pairforge_status pairforge_options_set_number(struct pairforge_options *options,
                                                   const char *name,
                                                   double value);

// Sets an option whose value is a text: `backend` (`cpu`, `cuda`, `emulator`, `cycle`, `board:PORT`), `precision` (`f32`, `f64`), `expansion`
// (`cartesian`, `solid`).
enum pairforge_status pairforge_options_set_text(struct pairforge_options *options,
                                                 const char *name,
                                                 const char *value);

// Makes a plan for `sources`, which are the targets too where `targets` is null. `options` may be null for none. The plan keeps
// copies.
enum pairforge_status pairforge_plan_new(const struct pairforge_points *sources,
                                         const struct pairforge_points *targets,
                                         const struct pairforge_options *options,
                                         struct pairforge_plan **plan);

// Gives a plan other points, as many or not. It keeps its options, and with a tolerance what it has found for it.
enum pairforge_status pairforge_plan_update(struct pairforge_plan *plan,
                                            const struct pairforge_points *sources,
                                            const struct pairforge_points *targets);

// Computes the field of charges `charges[k * stride]`, as many as there are sources.
enum pairforge_status pairforge_plan_run(const struct pairforge_plan *plan,
                                         const double *charges,
                                         size_t count,
                                         ptrdiff_t stride,
                                         const struct pairforge_field *field);

// Computes the fields of several sets of charges or dipole moments at once, `fields[k]` that of `sets[k]`. Those of charges alone share
// the pairs of the near field, so that several cost less than one after the other.
enum pairforge_status pairforge_plan_run_sets(const struct pairforge_plan *plan,
                                              const struct pairforge_sources *sets,
                                              const struct pairforge_field *fields,
                                              size_t count);

// Sums directly in f64: the reference for the error of a plan. Only `eps`, a softening length, is an option.
enum pairforge_status pairforge_direct(const struct pairforge_points *sources,
                                       const struct pairforge_points *targets,
                                       const double *charges,
                                       ptrdiff_t stride,
                                       double eps,
                                       const struct pairforge_field *field);

// The same for charges or dipole moments, or both.
enum pairforge_status pairforge_direct_set(const struct pairforge_points *sources,
                                           const struct pairforge_points *targets,
                                           const struct pairforge_sources *set,
                                           double eps,
                                           const struct pairforge_field *field);

// Frees a plan.
void pairforge_plan_free(struct pairforge_plan *plan);

// Makes a plan for `sources` on a GPU, which are the targets too where `targets` is null. `options` may be null for none; the backend is
// `cuda`. The plan has copies, made behind what the CUDA stream `stream` has; null is the default stream. Where the GPU does not run all
// stages, data go through the host if `through_host` is not 0, and else the plan is refused.
enum pairforge_status pairforge_gpu_plan_new(const struct pairforge_gpu_points *sources,
                                             const struct pairforge_gpu_points *targets,
                                             const struct pairforge_options *options,
                                             int through_host,
                                             void *stream,
                                             struct pairforge_gpu_plan **plan);

// Gives a plan the positions that are there now, as many or not, without the host.
enum pairforge_status pairforge_gpu_plan_update(struct pairforge_gpu_plan *plan,
                                                const struct pairforge_gpu_points *sources,
                                                const struct pairforge_gpu_points *targets,
                                                void *stream);

// Computes the field of charges `charges[k * stride]` on the GPU, `float` or `double` by their `bytes`, as many as there are sources. What
// the stream has later sees the results.
enum pairforge_status pairforge_gpu_plan_run(struct pairforge_gpu_plan *plan,
                                             const void *charges,
                                             size_t count,
                                             ptrdiff_t stride,
                                             int bytes,
                                             const struct pairforge_gpu_field *field,
                                             void *stream);

// The same for charges or dipole moments, or both. The first moments take a copy of the positions to the host and back.
enum pairforge_status pairforge_gpu_plan_run_set(struct pairforge_gpu_plan *plan,
                                                 const struct pairforge_gpu_sources *set,
                                                 const struct pairforge_gpu_field *field,
                                                 void *stream);

// Frees a plan.
void pairforge_gpu_plan_free(struct pairforge_gpu_plan *plan);

// Compiles a text of PG2; `name` is what its Verilog modules are called. All mistakes of the text are in `pairforge_last_error`, one a
// line, each with line, column, code and remedy.
enum pairforge_status pairforge_kernel_compile(const char *name,
                                               const char *source,
                                               struct pairforge_kernel **kernel);

// Takes a shipped kernel, such as `p2p`.
enum pairforge_status pairforge_kernel_shipped(const char *name, struct pairforge_kernel **kernel);

// Frees a kernel; sessions that were opened with it keep theirs.
void pairforge_kernel_free(struct pairforge_kernel *kernel);

// The compiler's warnings as a text, one a line; to be freed by `pairforge_text_free`.
enum pairforge_status pairforge_kernel_warnings(const struct pairforge_kernel *kernel, char **warnings);

// Gives a parameter a value; of a vector each element has one, as in `a[0]`.
enum pairforge_status pairforge_kernel_set_param(struct pairforge_kernel *kernel,
                                                 const char *name,
                                                 double value);

// Sums over all sources (columns `j`) at every target (columns `i`), on a backend such as `emulator`.
enum pairforge_status pairforge_kernel_run(const struct pairforge_kernel *kernel,
                                           const char *backend,
                                           const struct pairforge_column *i,
                                           size_t i_columns,
                                           const struct pairforge_column *j,
                                           size_t j_columns,
                                           struct pairforge_sums **sums);

// Builds an engine of so many pipelines as synthesisable Verilog: a text, to be freed by `pairforge_text_free`.
enum pairforge_status pairforge_kernel_build(const struct pairforge_kernel *kernel,
                                             uint32_t pipelines,
                                             char **verilog);

// Frees a text that a call has made.
void pairforge_text_free(char *text);

// Opens a backend for many runs of a kernel with the parameters that it has.
enum pairforge_status pairforge_session_open(const struct pairforge_kernel *kernel,
                                             const char *backend,
                                             struct pairforge_session **session);

// Gives a parameter another value.
enum pairforge_status pairforge_session_set_param(struct pairforge_session *session,
                                                  const char *name,
                                                  double value);

// Takes sources, for all runs until the next ones.
enum pairforge_status pairforge_session_set_sources(struct pairforge_session *session,
                                                    const struct pairforge_column *j,
                                                    size_t columns);

// Sums over all sources at targets.
enum pairforge_status pairforge_session_run(struct pairforge_session *session,
                                            const struct pairforge_column *i,
                                            size_t columns,
                                            struct pairforge_sums **sums);

// Closes a session.
void pairforge_session_close(struct pairforge_session *session);

// Writes what an output, or an element of one as in `gout[0]`, is at all targets to `values[k * stride]`; `count` is the number of
// targets.
enum pairforge_status pairforge_sums_column(const struct pairforge_sums *sums,
                                            const char *name,
                                            double *values,
                                            size_t count,
                                            ptrdiff_t stride);

// All flags that the sums at a target have raised, as bits: overflow 1, underflow 2, saturation 4, invalid 8, wrap 16; 0 for a target that
// is not there.
uint32_t pairforge_sums_flags(const struct pairforge_sums *sums,
                              size_t target);

// Frees sums.
void pairforge_sums_free(struct pairforge_sums *sums);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PAIRFORGE_H */
