/* A host of an engine in one file, without any library: it opens a TCP connection to whatever carries the engine's packets, asks
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
 * are little-endian. To go through DMA, PCIe or XRT instead, change send_packet and read_packet.
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

enum { LOAD_J = 0x01, PARAM = 0x02, RUN = 0x03, TARGETS = 0x04, STATUS = 0x05, END = 0x06, IDENT = 0x07 };
enum { RESULT = 0x81, STATUS_REPLY = 0x82, END_REPLY = 0x83, IDENT_REPLY = 0x84 };
enum { VERSION = 1, MOST_WORDS = 1 << 24 };

struct words {
    uint32_t *at;
    size_t count;
};

/* The engine's answer to IDENT. */
struct identity {
    uint32_t beat_words, lanes, groups, j_records, segments;
    uint32_t j_words, i_words, param_words, result_words;
    uint64_t hash;
    char kernel[29];
};

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

/* Sends the words of `head` and then those of `body` as one packet. */
static void send_packet(int to, struct words head, struct words body) {
    size_t count = head.count + body.count;
    if (count > MOST_WORDS) end(1, "a packet", "it has too many words");
    uint8_t *bytes = allocate(count + 1, 4);
    for (size_t k = 0; k <= count; k++) {
        uint32_t word = k == 0 ? (uint32_t)count : k <= head.count ? head.at[k - 1] : body.at[k - 1 - head.count];
        for (int b = 0; b < 4; b++) bytes[4 * k + b] = (uint8_t)(word >> (8 * b));
    }
    send_bytes(to, bytes, 4 * (count + 1));
    free(bytes);
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
static struct words read_packet(int from, uint32_t opcode, size_t least) {
    struct words packet;
    packet.count = read_word(from);
    if (packet.count == 0 || packet.count > MOST_WORDS) end(3, "the engine", "what came is no packet");
    packet.at = allocate(packet.count, sizeof(uint32_t));
    for (size_t k = 0; k < packet.count; k++) packet.at[k] = read_word(from);
    if (packet.at[0] >> 24 != opcode) end(3, "the engine", "it sent another packet than the one that was due");
    if (packet.count < least) end(3, "the engine", "it sent a packet that is too short");
    return packet;
}

static struct identity ask(int engine) {
    uint32_t question = (uint32_t)IDENT << 24;
    struct words head = {&question, 1}, none = {NULL, 0};
    send_packet(engine, head, none);
    struct words p = read_packet(engine, IDENT_REPLY, 17);
    struct identity id;
    if ((p.at[0] & 0xff) != VERSION) end(3, "the engine", "it speaks another version of the packets");
    id.beat_words = p.at[0] >> 8 & 0xff;
    id.groups = p.at[1] >> 8 & 0xff;
    if (id.groups == 0 || (p.at[1] & 0xff) < id.groups) end(3, "the engine", "its identity makes no sense");
    /* With filters in front of its pipelines, each of these has a target. */
    uint32_t filters = p.at[0] >> 16 & 0xff;
    id.lanes = (p.at[1] & 0xff) / id.groups * (filters ? filters : 1);
    id.segments = p.at[2];
    id.j_records = p.at[3];
    id.hash = (uint64_t)p.at[5] << 32 | p.at[4];
    for (int k = 0; k < 28; k++) id.kernel[k] = (char)(p.at[6 + k / 4] >> (8 * (k % 4)));
    id.kernel[28] = 0;
    id.j_words = p.at[13], id.i_words = p.at[14], id.param_words = p.at[15], id.result_words = p.at[16];
    free(p.at);
    return id;
}

/* The words of a file: records of `each` words. */
static struct words read_file(const char *path, uint32_t each) {
    struct words words = {NULL, 0};
    size_t room = 0;
    unsigned long word;
    FILE *file = fopen(path, "r");
    if (!file) end(1, path, strerror(errno));
    int got;
    while ((got = fscanf(file, "%lx", &word)) == 1) {
        if (word > 0xffffffffUL) end(1, path, "a word has at most 32 bits");
        if (words.count == room) {
            room = room ? 2 * room : 64;
            words.at = realloc(words.at, room * sizeof *words.at);
            if (!words.at) end(1, "memory", "there is too little");
        }
        words.at[words.count++] = (uint32_t)word;
    }
    if (got != EOF) end(1, path, "it holds something else than hexadecimal words");
    fclose(file);
    if (each == 0 || words.count % each) end(1, path, "it does not hold whole records of this kernel");
    return words;
}

/* Runs the targets over all sources, a group at a time: so nothing is written while an answer waits to be read. Engines are busier
 * with two groups under way. */
static void run(int engine, const struct identity *id, uint32_t n_j, struct words targets) {
    struct words none = {NULL, 0};
    uint32_t n_i = (uint32_t)(targets.count / id->i_words);
    uint32_t head[] = {(uint32_t)RUN << 24, 7, n_i, 1, 0, n_j};
    struct words description = {head, 6};
    send_packet(engine, description, none);
    for (uint32_t first = 0; first < n_i; first += id->lanes) {
        uint32_t n = n_i - first < id->lanes ? n_i - first : id->lanes;
        uint32_t opcode = (uint32_t)TARGETS << 24 | n;
        struct words one = {&opcode, 1}, records = {targets.at + (size_t)first * id->i_words, (size_t)n * id->i_words};
        send_packet(engine, one, records);
        size_t before = 2 + (id->lanes + 3) / 4;
        struct words result = read_packet(engine, RESULT, before + (size_t)n * id->result_words);
        if ((result.at[0] & 0xffffff) != n || result.at[1] != 7) end(3, "the engine", "it sent another run's results");
        for (uint32_t k = 0; k < n; k++) {
            printf("%02x", (unsigned)(result.at[2 + k / 4] >> (8 * (k % 4)) & 0xff));
            for (uint32_t w = 0; w < id->result_words; w++)
                printf(" %08x", (unsigned)result.at[before + (size_t)k * id->result_words + w]);
            printf("\n");
        }
        free(result.at);
    }
}

int main(int count, char **words) {
    if (count != 6 && count != 7) end(1, "usage", "engine HOST PORT HASH j.txt i.txt [params.txt]");
    int engine = connect_to(words[1], words[2]);
    struct identity id = ask(engine);
    if (id.hash != strtoull(words[3], NULL, 16)) {
        fprintf(stderr, "error: the engine runs %s (%016llx), which is another kernel\n", id.kernel, (unsigned long long)id.hash);
        return 3;
    }
    struct words none = {NULL, 0}, sources = read_file(words[4], id.j_words), targets = read_file(words[5], id.i_words);
    uint32_t n_j = (uint32_t)(sources.count / id.j_words);
    if (n_j > id.j_records) end(1, words[4], "the engine's memory holds fewer records");
    uint32_t load[] = {(uint32_t)LOAD_J << 24, 0, n_j}, opcode = (uint32_t)PARAM << 24;
    struct words head = {load, 3}, one = {&opcode, 1};
    send_packet(engine, head, sources);
    if (id.param_words > 0) {
        if (count != 7) end(1, "usage", "this kernel has parameters; name their file last");
        struct words params = read_file(words[6], id.param_words);
        if (params.count != id.param_words) end(1, words[6], "it holds more than one record");
        send_packet(engine, one, params);
    }
    if (targets.count > 0) run(engine, &id, n_j, targets);
    opcode = (uint32_t)STATUS << 24 | 1;
    send_packet(engine, one, none);
    struct words status = read_packet(engine, STATUS_REPLY, 7);
    if (status.at[0] & 1) end(3, "the engine", "it was sent a packet that breaks the protocol");
    opcode = (uint32_t)END << 24;
    send_packet(engine, one, none);
    read_packet(engine, END_REPLY, 1);
    close(engine);
    return fflush(stdout) == 0 ? 0 : 1;
}
