/* @{made}@: @{top}@ from C, the engine of @{kernel}@ behind registers, with its commands and results in memory.
 *
 * A job is a buffer of packets for the engine and room for its answers, both at addresses that the masters of the wrapper know. Fill
 * the first by pairforge_put_.., start the job, wait, and read the second by pairforge_next. Where memory is not coherent, write the
 * caches back before the job, and discard them behind it. */
#ifndef @{guard}@
#define @{guard}@

{% include "export/packets.h" %}
#ifndef PAIRFORGE_AXI_H
#define PAIRFORGE_AXI_H

/* Registers, by their address in bytes. */
enum {
{%- for r in registers %}
    PAIRFORGE_AXI_@{r.name}@ = 0x@{r.hex()}@, /* @{r.doc}@ */
{%- endfor %}
};

/* Faults of a job in PAIRFORGE_AXI_STATUS. */
enum {
{%- for (name, doc) in faults %}
    PAIRFORGE_AXI_@{name}@ = 1 << @{loop.index0}@, /* @{doc}@ */
{%- endfor %}
};

/* A way to the registers: a mapping (pairforge_axi_mapped), or functions that take `context`, such as those of XRT. */
struct pairforge_axi {
    void *context;
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
};

/* The buffers of a job: addresses as the wrapper's masters have them, multiples of the bytes of their data, and bytes, multiples of 4. */
struct pairforge_axi_job {
    uint64_t commands, results;
    uint32_t command_bytes, result_bytes;
};

static inline uint32_t pairforge_axi_read_mapped(void *context, uint32_t offset) {
    return ((volatile uint32_t *)context)[offset / 4];
}

static inline void pairforge_axi_write_mapped(void *context, uint32_t offset, uint32_t value) {
    ((volatile uint32_t *)context)[offset / 4] = value;
}

/* The registers where they are mapped, as by mmap of /dev/uio0. */
static inline struct pairforge_axi pairforge_axi_mapped(volatile uint32_t *registers) {
    struct pairforge_axi axi = {(void *)registers, pairforge_axi_read_mapped, pairforge_axi_write_mapped};
    return axi;
}

static inline void pairforge_axi_start(const struct pairforge_axi *axi, struct pairforge_axi_job job) {
    axi->write(axi->context, PAIRFORGE_AXI_COMMANDS, (uint32_t)job.commands);
    axi->write(axi->context, PAIRFORGE_AXI_COMMANDS_HIGH, (uint32_t)(job.commands >> 32));
    axi->write(axi->context, PAIRFORGE_AXI_RESULTS, (uint32_t)job.results);
    axi->write(axi->context, PAIRFORGE_AXI_RESULTS_HIGH, (uint32_t)(job.results >> 32));
    axi->write(axi->context, PAIRFORGE_AXI_COMMAND_BYTES, job.command_bytes);
    axi->write(axi->context, PAIRFORGE_AXI_RESULT_BYTES, job.result_bytes);
    axi->write(axi->context, PAIRFORGE_AXI_CONTROL, 1);
}

/* Whether the job has ended; asking takes the note away, so that this is said once. */
static inline int pairforge_axi_done(const struct pairforge_axi *axi) {
    return axi->read(axi->context, PAIRFORGE_AXI_CONTROL) >> 1 & 1;
}

/* Waits for the end of a job by asking, and gives its faults. */
static inline uint32_t pairforge_axi_wait(const struct pairforge_axi *axi) {
    while (!pairforge_axi_done(axi)) continue;
    return axi->read(axi->context, PAIRFORGE_AXI_STATUS);
}

/* Bytes of results, in whole packets. */
static inline uint32_t pairforge_axi_written(const struct pairforge_axi *axi) {
    return axi->read(axi->context, PAIRFORGE_AXI_WRITTEN);
}

/* Ends a job and resets the engine, which then holds nothing. */
static inline void pairforge_axi_reset(const struct pairforge_axi *axi) {
    axi->write(axi->context, PAIRFORGE_AXI_RESET, 1);
    while (axi->read(axi->context, PAIRFORGE_AXI_RESET)) continue;
}

/* The first fault of a job as a sentence; NULL if there is none. */
static inline const char *pairforge_axi_fault(uint32_t status) {
{%- for (name, doc) in faults %}
    if (status & PAIRFORGE_AXI_@{name}@) return "@{doc}@";
{%- endfor %}
    return NULL;
}
#endif

/* The engine that this wrapper was made for; ask it by IDENT to be sure of the bitstream. */
static const struct pairforge_identity @{top}@_identity = {
    .beat_words = @{beat_words}@, .lanes = @{lanes}@, .groups = @{groups}@, .j_records = @{j_records}@, .segments = @{segments}@,
    .j_words = @{j_words}@, .i_words = @{i_words}@, .param_words = @{param_words}@, .result_words = @{result_words}@,
    .hash = 0x@{hash}@, .kernel = "@{kernel}@",
};
#endif
