/* A host of an engine, without any library: it opens a TCP connection to whatever carries the engine's packets, asks
 * what the engine is, loads sources and parameters, runs targets over them and prints their results.
 *
 *     cc -std=c99 -O2 engine.c -o engine
 *     ./engine HOST PORT HASH j.txt i.txt [params.txt]
 *
 * HASH is `hash` in the manifest.json of `pairforge build`. The files hold the words of the records in hexadecimal, separated by
 * anything blank, in the order of docs/engine.md: each element of a pin takes one word, or two where it has more than 32 bits, low
 * word first. A line is printed for each target: its flags, then the words of its result.
 *
 * Packets on the connection are those of docs/engine.md. In front of each stands a word with the number of its words, and words
 * are little-endian. packets.h, beside this file, writes and reads them. To go through DMA, PCIe or XRT instead, change send_packets
 * and read_packet.
 *
 * Exit status: 0, 1 for a file or an argument, 3 for the connection or the engine. */
#define _POSIX_C_SOURCE 200112L
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packets.h"

static void end(int status, const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    exit(status);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) end(1, "memory", "there is too little");
    return memory;
}

static int connect_to(const char *host, const char *port) {
    struct addrinfo hints, *found, *one;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    int failure = getaddrinfo(host, port, &hints, &found);
    if (failure) end(3, host, gai_strerror(failure));
    for (one = found; one; one = one->ai_next) {
        int to = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
        if (to < 0) continue;
        if (connect(to, one->ai_addr, one->ai_addrlen) == 0) {
            freeaddrinfo(found);
            return to;
        }
        close(to);
    }
    end(3, host, "nothing listens at that port");
    return -1;
}

static void send_bytes(int to, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(to, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) end(3, "the connection", "it was closed");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Room for a packet of that many words. */
static struct pairforge_packets room_for(size_t words) {
    struct pairforge_packets packets = {NULL, words + 1, 0, 0};
    packets.at = allocate(packets.room, sizeof *packets.at);
    return packets;
}

/* Sends packets, and gives their room back. */
static void send_packets(int to, struct pairforge_packets packets) {
    if (packets.lacks) end(1, "a packet", "it has too many words");
    uint8_t *bytes = allocate(packets.used, 4);
    for (size_t k = 0; k < packets.used; k++)
        for (int b = 0; b < 4; b++) bytes[4 * k + b] = (uint8_t)(packets.at[k] >> (8 * b));
    send_bytes(to, bytes, 4 * packets.used);
    free(bytes);
    free(packets.at);
}

/* Sends a packet of one word and what belongs to it. */
static void send_one(int to, uint32_t opcode, uint32_t argument, struct pairforge_words body) {
    struct pairforge_packets packets = room_for(1 + body.count);
    pairforge_put_one(&packets, opcode, argument, body);
    send_packets(to, packets);
}

static uint32_t read_word(int from) {
    uint8_t bytes[4];
    size_t count = 0;
    while (count < 4) {
        ssize_t got = recv(from, bytes + count, 4 - count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) end(3, "the connection", "it was closed before all answers had come");
        count += (size_t)got;
    }
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Reads one packet of that opcode and of at least so many words; what fills the last beat may stand behind them. */
static struct pairforge_words read_packet(int from, uint32_t opcode, size_t least) {
    uint32_t count = read_word(from);
    if (count == 0 || count > PAIRFORGE_MOST_WORDS) end(3, "the engine", "what came is no packet");
    uint32_t *words = allocate(count, sizeof *words);
    for (uint32_t k = 0; k < count; k++) words[k] = read_word(from);
    if (words[0] >> 24 != opcode) end(3, "the engine", "it sent another packet than the one that was due");
    if (count < least) end(3, "the engine", "it sent a packet that is too short");
    struct pairforge_words packet = {words, count};
    return packet;
}

static struct pairforge_identity ask(int engine) {
    struct pairforge_words none = {NULL, 0};
    send_one(engine, PAIRFORGE_IDENT, 0, none);
    struct pairforge_words answer = read_packet(engine, PAIRFORGE_IDENT_REPLY, 1);
    struct pairforge_identity id;
    const char *wrong = pairforge_read_identity(answer, &id);
    if (wrong) end(3, "the engine", wrong);
    free((void *)answer.at);
    return id;
}

/* The words of a file: records of `each` words. */
static struct pairforge_words read_file(const char *path, uint32_t each) {
    uint32_t *words = NULL;
    size_t room = 0, filled = 0;
    unsigned long word;
    FILE *file = fopen(path, "r");
    if (!file) end(1, path, strerror(errno));
    int got;
    while ((got = fscanf(file, "%lx", &word)) == 1) {
        if (word > 0xffffffffUL) end(1, path, "a word has at most 32 bits");
        if (filled == room) {
            room = room ? 2 * room : 64;
            words = realloc(words, room * sizeof *words);
            if (!words) end(1, "memory", "there is too little");
        }
        words[filled++] = (uint32_t)word;
    }
    if (got != EOF) end(1, path, "it holds something else than hexadecimal words");
    fclose(file);
    if (each == 0 || filled % each) end(1, path, "it does not hold whole records of this kernel");
    struct pairforge_words all = {words, filled};
    return all;
}

/* Runs the targets over all sources, a group at a time: so nothing is written while an answer waits to be read. Engines are busier
 * with two groups under way. */
static void run(int engine, const struct pairforge_identity *id, uint32_t n_j, struct pairforge_words targets) {
    struct pairforge_packets packets = room_for(6);
    pairforge_put_run(&packets, 7, (uint32_t)(targets.count / id->i_words), 0, n_j);
    send_packets(engine, packets);
    while (targets.count > 0) {
        packets = room_for(1 + (size_t)id->lanes * id->i_words);
        uint32_t n = pairforge_put_targets(&packets, id, targets);
        send_packets(engine, packets);
        targets.at += (size_t)n * id->i_words;
        targets.count -= (size_t)n * id->i_words;
        struct pairforge_words result = read_packet(engine, PAIRFORGE_RESULT, 1);
        if (!pairforge_is_result(id, result, n) || result.at[1] != 7) end(3, "the engine", "it sent another run's results");
        const uint32_t *record = result.at + pairforge_result_head(id);
        for (uint32_t k = 0; k < n; k++) {
            printf("%02x", (unsigned)(result.at[2 + k / 4] >> (8 * (k % 4)) & 0xff));
            for (uint32_t w = 0; w < id->result_words; w++) printf(" %08x", (unsigned)*record++);
            printf("\n");
        }
        free((void *)result.at);
    }
}

int main(int count, char **words) {
    if (count != 6 && count != 7) end(1, "usage", "engine HOST PORT HASH j.txt i.txt [params.txt]");
    int engine = connect_to(words[1], words[2]);
    struct pairforge_identity id = ask(engine);
    if (id.hash != strtoull(words[3], NULL, 16)) {
        fprintf(stderr, "error: the engine runs %s (%016llx), which is another kernel\n", id.kernel, (unsigned long long)id.hash);
        return 3;
    }
    struct pairforge_words none = {NULL, 0}, sources = read_file(words[4], id.j_words), targets = read_file(words[5], id.i_words);
    uint32_t n_j = (uint32_t)(sources.count / id.j_words);
    if (n_j > id.j_records) end(1, words[4], "the engine's memory holds fewer records");
    struct pairforge_packets load = room_for(3 + sources.count);
    pairforge_put_sources(&load, &id, 0, sources);
    send_packets(engine, load);
    if (id.param_words > 0) {
        if (count != 7) end(1, "usage", "this kernel has parameters; name their file last");
        struct pairforge_words params = read_file(words[6], id.param_words);
        if (params.count != id.param_words) end(1, words[6], "it holds more than one record");
        send_one(engine, PAIRFORGE_PARAM, 0, params);
    }
    if (targets.count > 0) run(engine, &id, n_j, targets);
    send_one(engine, PAIRFORGE_STATUS, 1, none);
    struct pairforge_words status = read_packet(engine, PAIRFORGE_STATUS_REPLY, 7);
    if (status.at[0] & 1) end(3, "the engine", "it was sent a packet that breaks the protocol");
    send_one(engine, PAIRFORGE_END, 0, none);
    read_packet(engine, PAIRFORGE_END_REPLY, 1);
    close(engine);
    return fflush(stdout) == 0 ? 0 : 1;
}
