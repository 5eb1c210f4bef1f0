// A wire to PostgreSQL's socket that delivers everything MICROSECONDS late in each direction, one thread a connection.
//   delay PORT SOCKET MICROSECONDS
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char *target;
static int64_t late;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

struct piece {
    struct piece *next;
    int64_t due;
    size_t length, sent;
    char bytes[];
};

struct direction {
    int from, to, over;
    struct piece *first, **last;
};

static int take(struct direction *way) {
    struct piece *piece = malloc(sizeof *piece + 65536);
    ssize_t length = recv(way->from, piece->bytes, 65536, MSG_DONTWAIT);
    if (length <= 0) {
        free(piece);
        return length < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    }
    piece->next = NULL, piece->due = now() + late, piece->length = length, piece->sent = 0;
    *way->last = piece, way->last = &piece->next;
    return 0;
}

static int deliver(struct direction *way) {
    while (way->first && way->first->due <= now()) {
        struct piece *piece = way->first;
        ssize_t sent = send(way->to, piece->bytes + piece->sent, piece->length - piece->sent, MSG_NOSIGNAL);
        if (sent < 0) return -1;
        piece->sent += sent;
        if (piece->sent < piece->length) continue;
        way->first = piece->next;
        if (!way->first) way->last = &way->first;
        free(piece);
    }
    return 0;
}

static void *carry(void *argument) {
    int client = (int)(intptr_t)argument, server = socket(AF_UNIX, SOCK_STREAM, 0), one = 1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, target, sizeof address.sun_path - 1);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct direction ways[2] = {{client, server, 0, NULL, NULL}, {server, client, 0, NULL, NULL}};
    for (int i = 0; i < 2; i++) ways[i].last = &ways[i].first;
    int alive = connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    while (alive) {
        int64_t due = INT64_MAX;
        for (int i = 0; i < 2; i++)
            if (ways[i].first && ways[i].first->due < due) due = ways[i].first->due;
        int64_t wait = due == INT64_MAX ? -1 : due - now();
        struct timespec timeout = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
        struct pollfd polled[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        if (ppoll(polled, 2, due == INT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR) break;
        for (int i = 0; i < 2 && alive; i++) {
            if (polled[i].revents && take(&ways[i]) < 0) alive = 0;
            if (deliver(&ways[i]) < 0) alive = 0;
        }
    }
    close(client), close(server);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: delay PORT SOCKET MICROSECONDS\n"), 2;
    target = arguments[2], late = atoll(arguments[3]) * 1000;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) return perror("delay"), 1;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, NULL, carry, (void *)(intptr_t)client) == 0) pthread_detach(thread);
    }
}
