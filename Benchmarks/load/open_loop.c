// Requests at a fixed rate, whether or not the server keeps up, and how long each took from the moment it was due:
// a request that waits because an earlier one is late counts its wait ("coordinated omission" avoided).
//
//     open_loop PORT RATE SECONDS CONNECTIONS REQUEST-FILE
//
// Prints: requests, and the percentiles 50, 90, 99, 99.9 and 100 in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Log-linear: 512 steps to each doubling, so a percentile is off by less than 0.2 %. Nanoseconds.
enum { STEPS = 512, DOUBLINGS = 32 };
static uint64_t histogram[DOUBLINGS * STEPS];

static unsigned bucket(uint64_t value) {
    if (value < STEPS) return (unsigned)value;
    unsigned doubling = 63 - (unsigned)__builtin_clzll(value) - 8;  // 2^9 = STEPS is the first
    if (doubling >= DOUBLINGS) return DOUBLINGS * STEPS - 1;
    return doubling * STEPS / 2 + (unsigned)(value >> doubling);
}

static double value_of(unsigned bucket_number) {
    unsigned doubling = bucket_number < STEPS ? 0 : (bucket_number - STEPS / 2) / (STEPS / 2);
    return (double)((uint64_t)(bucket_number - doubling * STEPS / 2) << doubling);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

struct connection {
    int descriptor;
    uint64_t due;
    size_t length;
    char answer[16384];
};

static char request[65536];
static size_t request_length;

static void send_request(struct connection *connection, uint64_t due) {
    connection->due = due;
    connection->length = 0;
    if (send(connection->descriptor, request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) fail("send");
}

// Whether the answer, which has no content or says its length, is whole.
static int receive(struct connection *connection) {
    ssize_t count = recv(connection->descriptor, connection->answer + connection->length,
                         sizeof connection->answer - 1 - connection->length, 0);
    if (count < 0 && errno == EAGAIN) return 0;
    if (count <= 0) fail("recv");
    connection->length += (size_t)count;
    connection->answer[connection->length] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n");
    if (!end) return 0;
    if (strncmp(connection->answer, "HTTP/1.1 20", 11) != 0) {
        fprintf(stderr, "not answered as it should be:\n%s\n", connection->answer);
        exit(1);
    }
    char *field = strcasestr(connection->answer, "\r\ncontent-length:");
    size_t content = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
    return connection->length >= (size_t)(end - connection->answer) + 4 + content;
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "usage: open_loop PORT RATE SECONDS CONNECTIONS REQUEST-FILE\n"), 2;
    double rate = atof(arguments[2]), seconds = atof(arguments[3]);
    int connections = atoi(arguments[4]);
    FILE *file = fopen(arguments[5], "r");
    if (!file || !(request_length = fread(request, 1, sizeof request, file))) fail(arguments[5]);
    fclose(file);
    prctl(PR_SET_TIMERSLACK, 1);

    struct connection *all = calloc((size_t)connections, sizeof *all);
    struct connection **idle = calloc((size_t)connections, sizeof *idle);
    int free_ones = 0, poll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int index = 0; index < connections; index++) {
        int one = 1, descriptor = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(descriptor, F_SETFL, O_NONBLOCK);
        all[index].descriptor = descriptor;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[index]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll_ctl");
        idle[free_ones++] = &all[index];
    }

    uint64_t total = (uint64_t)(rate * seconds), sent = 0, answered = 0, begun = now() + 10000000;
    double gap = 1e9 / rate;
    struct epoll_event events[256];
    while (answered < total) {
        uint64_t time = now();
        while (sent < total && free_ones > 0) {
            uint64_t due = begun + (uint64_t)((double)sent * gap);
            if (due > time) break;
            send_request(idle[--free_ones], due);
            sent++;
        }
        struct timespec wait = {.tv_sec = 5}, *limit = &wait;
        if (sent < total && free_ones > 0) {
            uint64_t due = begun + (uint64_t)((double)sent * gap);
            time = now();
            wait = (struct timespec){.tv_nsec = due > time ? (long)(due - time) % 1000000000 : 0};
        }
        int ready = epoll_pwait2(poll, events, 256, limit, NULL);
        if (ready < 0 && errno != EINTR) fail("epoll_pwait2");
        if (ready == 0 && wait.tv_sec == 5) return fprintf(stderr, "no answer within 5 s\n"), 1;
        time = now();
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            if (!receive(connection)) continue;
            histogram[bucket(time - connection->due)]++;
            answered++;
            idle[free_ones++] = connection;
        }
    }

    const double wanted[] = {0.5, 0.9, 0.99, 0.999, 1};
    printf("%lu", answered);
    for (int index = 0; index < 5; index++) {
        uint64_t seen = 0, target = (uint64_t)(wanted[index] * (double)answered);
        unsigned place = 0;
        while (place < DOUBLINGS * STEPS - 1 && (seen += histogram[place]) < (target ? target : 1)) place++;
        printf(" %.1f", value_of(place) / 1000);
    }
    printf("\n");
    return 0;
}
