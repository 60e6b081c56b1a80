/* A job of a wrapper that is simulated at the other end of two pipes, by the driver that `build --wrapper axi` writes:
 *
 *     cc -std=c99 -DTOP=NAME -DHEADER='"NAME.h"' simulated.c -o job && ./job BENCH j.txt i.txt [params.txt]
 *
 * It prints a line for each target: its flags, then the words of its result. Behind them come the faults of jobs that are wrong. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include HEADER

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define ID (&NAMED(TOP, _identity))
enum { AT = 0x1000, TO = 0x20000, ROOM = 0x8000, MOST = 0x4000 };

static FILE *to, *from;

static uint32_t answer(void) {
    unsigned word;
    fflush(to);
    if (fscanf(from, "%x", &word) != 1) exit((fprintf(stderr, "the simulation has ended\n"), 3));
    return word;
}

static uint32_t read_register(void *context, uint32_t offset) {
    (void)context;
    fprintf(to, "r %x\n", offset);
    return answer();
}

static void write_register(void *context, uint32_t offset, uint32_t value) {
    (void)context;
    fprintf(to, "w %x %x\n", offset, value);
}

static void simulate(const char *bench) {
    int in[2], out[2];
    if (pipe(in) || pipe(out)) exit(3);
    if (fork() == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execlp("vvp", "vvp", "-n", bench, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to = fdopen(in[1], "w");
    from = fdopen(out[0], "r");
}

static struct pairforge_words read_words(const char *path) {
    static uint32_t all[3][MOST];
    static int files;
    uint32_t *at = all[files++];
    struct pairforge_words words = {at, 0};
    FILE *file = fopen(path, "r");
    unsigned word;
    while (file && words.count < MOST && fscanf(file, "%x", &word) == 1) at[words.count++] = word;
    if (!file || fclose(file)) exit(1);
    return words;
}

/* Runs what has been put, and gives the faults of the job and what it has written. */
static uint32_t run(const struct pairforge_axi *axi, const struct pairforge_packets *packets, uint32_t room, struct pairforge_words *results) {
    static uint32_t words[ROOM / 4];
    for (size_t k = 0; k < packets->used; k++) fprintf(to, "p %x %x\n", (unsigned)(AT / 4 + k), packets->at[k]);
    struct pairforge_axi_job job = {AT, TO, (uint32_t)(4 * packets->used), room};
    pairforge_axi_start(axi, job);
    uint32_t faults = pairforge_axi_wait(axi);
    results->at = words;
    results->count = pairforge_axi_written(axi) / 4;
    for (size_t k = 0; k < results->count; k++) {
        fprintf(to, "g %x\n", (unsigned)(TO / 4 + k));
        words[k] = answer();
    }
    return faults;
}

int main(int count, char **words) {
    static uint32_t buffer[MOST];
    struct pairforge_packets packets = {buffer, MOST, 0, 0};
    struct pairforge_words none = {NULL, 0}, results;
    if (count < 4) return 2;
    simulate(words[1]);
    struct pairforge_axi axi = {NULL, read_register, write_register};
    struct pairforge_words sources = read_words(words[2]), targets = read_words(words[3]);
    pairforge_put_one(&packets, PAIRFORGE_IDENT, 0, none);
    pairforge_put_sources(&packets, ID, 0, sources);
    if (ID->param_words > 0) pairforge_put_one(&packets, PAIRFORGE_PARAM, 0, read_words(words[4]));
    uint32_t n = (uint32_t)(targets.count / ID->i_words);
    pairforge_put_run(&packets, 7, n, 0, (uint32_t)(sources.count / ID->j_words));
    for (struct pairforge_words rest = targets; rest.count >= ID->i_words;) {
        size_t taken = (size_t)pairforge_put_targets(&packets, ID, rest) * ID->i_words;
        rest.at += taken;
        rest.count -= taken;
    }
    uint32_t faults = run(&axi, &packets, ROOM, &results);
    if (faults) exit((fprintf(stderr, "%s\n", pairforge_axi_fault(faults)), 3));
    size_t at = 0, head = pairforge_result_head(ID);
    struct pairforge_identity id;
    const char *wrong = pairforge_read_identity(pairforge_next(results, &at), &id);
    if (wrong || memcmp(id.kernel, ID->kernel, sizeof id.kernel) || id.hash != ID->hash || id.lanes != ID->lanes || id.j_records != ID->j_records ||
        id.segments != ID->segments || id.beat_words != ID->beat_words || id.j_words != ID->j_words || id.i_words != ID->i_words ||
        id.param_words != ID->param_words || id.result_words != ID->result_words || id.groups != ID->groups)
        exit((fprintf(stderr, "another engine: %s\n", wrong ? wrong : id.kernel), 3));
    for (uint32_t first = 0; first < n; first += ID->lanes) {
        uint32_t here = n - first < ID->lanes ? n - first : ID->lanes;
        struct pairforge_words packet = pairforge_next(results, &at);
        if (!pairforge_is_result(ID, packet, here) || packet.at[1] != 7) exit((fprintf(stderr, "another packet\n"), 3));
        for (uint32_t k = 0; k < here; k++) {
            printf("%02x", (unsigned)(packet.at[2 + k / 4] >> (8 * (k % 4)) & 0xff));
            for (uint32_t w = 0; w < ID->result_words; w++) printf(" %08x", (unsigned)packet.at[head + (size_t)k * ID->result_words + w]);
            printf("\n");
        }
    }
    if (at != results.count) exit((fprintf(stderr, "more than the results\n"), 3));
    /* The same without room for the last word; with a count that goes too far; and behind a reset. */
    struct pairforge_words some;
    printf("%x\n", (unsigned)run(&axi, &packets, (uint32_t)(4 * results.count - 4), &some));
    buffer[0] = (uint32_t)packets.used;
    printf("%x\n", (unsigned)run(&axi, &packets, ROOM, &some));
    pairforge_axi_reset(&axi);
    packets.used = 0;
    pairforge_put_one(&packets, PAIRFORGE_END, 0, none);
    printf("%x\n", (unsigned)run(&axi, &packets, ROOM, &some));
    fclose(to);
    return some.count == 2 && some.at[1] >> 24 == PAIRFORGE_END_REPLY ? 0 : 3;
}
