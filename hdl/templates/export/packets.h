/* Packets of an engine, as docs/engine.md of Pairforge describes them: writing them to a buffer and reading answers from one, in
 * C99 without libraries. In front of each packet stands a word with the number of its words. */
#ifndef PAIRFORGE_PACKETS_H
#define PAIRFORGE_PACKETS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    PAIRFORGE_LOAD_J = 0x01, PAIRFORGE_PARAM = 0x02, PAIRFORGE_RUN = 0x03, PAIRFORGE_TARGETS = 0x04,
    PAIRFORGE_STATUS = 0x05, PAIRFORGE_END = 0x06, PAIRFORGE_IDENT = 0x07,
    PAIRFORGE_RESULT = 0x81, PAIRFORGE_STATUS_REPLY = 0x82, PAIRFORGE_END_REPLY = 0x83, PAIRFORGE_IDENT_REPLY = 0x84
};
enum { PAIRFORGE_VERSION = 1, PAIRFORGE_MOST_WORDS = 1 << 24 };

/* An engine: words of a beat of its streams, targets that a lane group takes at a time, lane groups, capacities, words of records. */
struct pairforge_identity {
    uint32_t beat_words, lanes, groups, j_records, segments;
    uint32_t j_words, i_words, param_words, result_words;
    uint64_t hash;
    char kernel[29];
};

/* A buffer that packets are put into. `lacks` is set, and stays, once one has no room. */
struct pairforge_packets {
    uint32_t *at;
    size_t room, used;
    int lacks;
};

/* Words that belong together. */
struct pairforge_words {
    const uint32_t *at;
    size_t count;
};

/* Puts the words of `head` and then those of `body` as one packet. */
static inline void pairforge_put(struct pairforge_packets *to, struct pairforge_words head, struct pairforge_words body) {
    size_t count = head.count + body.count;
    if (count > PAIRFORGE_MOST_WORDS || to->lacks || count + 1 > to->room - to->used) {
        to->lacks = 1;
        return;
    }
    uint32_t *at = to->at + to->used;
    *at++ = (uint32_t)count;
    memcpy(at, head.at, head.count * sizeof *at);
    if (body.count > 0) memcpy(at + head.count, body.at, body.count * sizeof *at);
    to->used += count + 1;
}

/* Puts a packet of one word and what belongs to it: PARAM, TARGETS, STATUS, END or IDENT. */
static inline void pairforge_put_one(struct pairforge_packets *to, uint32_t opcode, uint32_t argument, struct pairforge_words body) {
    uint32_t word = opcode << 24 | argument;
    struct pairforge_words head = {&word, 1};
    pairforge_put(to, head, body);
}

/* Puts LOAD_J: records of sources, the first of them at `first`. */
static inline void pairforge_put_sources(struct pairforge_packets *to, const struct pairforge_identity *id, uint32_t first,
                                         struct pairforge_words records) {
    uint32_t words[] = {(uint32_t)PAIRFORGE_LOAD_J << 24, first, (uint32_t)(records.count / id->j_words)};
    struct pairforge_words head = {words, 3};
    pairforge_put(to, head, records);
}

/* Puts RUN in front of `targets` targets over the `sources` sources from `first` on, all in lane group 0. */
static inline void pairforge_put_run(struct pairforge_packets *to, uint32_t tag, uint32_t targets, uint32_t first, uint32_t sources) {
    uint32_t words[] = {(uint32_t)PAIRFORGE_RUN << 24, tag, targets, 1, first, sources};
    struct pairforge_words head = {words, 6}, none = {NULL, 0};
    pairforge_put(to, head, none);
}

/* Puts the next targets of a run, as many as a lane group takes at a time, and says how many these are. */
static inline uint32_t pairforge_put_targets(struct pairforge_packets *to, const struct pairforge_identity *id, struct pairforge_words records) {
    uint32_t n = (uint32_t)(records.count / id->i_words);
    if (n > id->lanes) n = id->lanes;
    records.count = (size_t)n * id->i_words;
    pairforge_put_one(to, PAIRFORGE_TARGETS, n, records);
    return n;
}

/* The packet at `*at` of a buffer, behind which `*at` then stands; one without words at its end, or where what is there is none. */
static inline struct pairforge_words pairforge_next(struct pairforge_words buffer, size_t *at) {
    struct pairforge_words packet = {NULL, 0};
    if (*at >= buffer.count) return packet;
    size_t count = buffer.at[*at];
    if (count == 0 || count > buffer.count - *at - 1) return packet;
    packet.at = buffer.at + *at + 1;
    packet.count = count;
    *at += count + 1;
    return packet;
}

/* Words of a RESULT in front of its records: a byte of flags for each target of a group stands there from word 2 on. */
static inline size_t pairforge_result_head(const struct pairforge_identity *id) {
    return 2 + (id->lanes + 3) / 4;
}

/* Whether a packet is a RESULT of `n` targets. */
static inline int pairforge_is_result(const struct pairforge_identity *id, struct pairforge_words packet, uint32_t n) {
    return packet.count >= pairforge_result_head(id) + (size_t)n * id->result_words &&
           packet.at[0] == ((uint32_t)PAIRFORGE_RESULT << 24 | n);
}

/* Reads an answer to IDENT: NULL, or what is wrong with it. */
static inline const char *pairforge_read_identity(struct pairforge_words p, struct pairforge_identity *id) {
    if (p.count < 17 || p.at[0] >> 24 != PAIRFORGE_IDENT_REPLY) return "it did not say which engine it is";
    if ((p.at[0] & 0xff) != PAIRFORGE_VERSION) return "it speaks another version of the packets";
    id->beat_words = p.at[0] >> 8 & 0xff;
    id->groups = p.at[1] >> 8 & 0xff;
    if (id->groups == 0 || (p.at[1] & 0xff) < id->groups) return "its identity makes no sense";
    /* With filters in front of its pipelines, each of these has a target. */
    uint32_t filters = p.at[2] >> 24;
    id->lanes = (p.at[1] & 0xff) / id->groups * (filters ? filters : 1);
    id->segments = p.at[2] & 0xffffff;
    id->j_records = p.at[3];
    id->hash = (uint64_t)p.at[5] << 32 | p.at[4];
    for (int k = 0; k < 28; k++) id->kernel[k] = (char)(p.at[6 + k / 4] >> (8 * (k % 4)));
    id->kernel[28] = 0;
    id->j_words = p.at[13], id->i_words = p.at[14], id->param_words = p.at[15], id->result_words = p.at[16];
    if (id->j_words == 0 || id->i_words == 0 || id->result_words == 0) return "its identity makes no sense";
    return NULL;
}
#endif
