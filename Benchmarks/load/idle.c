// Opens connections, asks once over each, and then holds them idle until its standard input ends.
//
//     idle PORT COUNT plain|tls REQUEST-FILE
//
// Prints "ready" when every connection has had its answer, and "lost N" at the end: how many the server had closed.
// Fails when the server keeps a connection waiting for ten seconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "usage: idle PORT COUNT plain|tls REQUEST-FILE\n"), 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connections = atoi(arguments[2]), secure = strcmp(arguments[3], "tls") == 0;
    char request[8192], answer[16384];
    FILE *file = fopen(arguments[4], "r");
    size_t length = file ? fread(request, 1, sizeof request, file) : 0;
    if (length == 0) fail(arguments[4]);

    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x08http/1.1", 9);
    struct pollfd *sockets = calloc((size_t)connections, sizeof *sockets);
    for (int index = 0; index < connections; index++) {
        int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        sockets[index] = (struct pollfd){.fd = descriptor, .events = POLLRDHUP};
        struct timeval patience = {.tv_sec = 10};
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
        if (!secure) {
            if (write(descriptor, request, length) != (ssize_t)length) fail("write");
            if (read(descriptor, answer, sizeof answer) <= 0) fail("no answer");
            continue;
        }
        SSL *tls = SSL_new(context);  // kept: the connection stands as long as this program
        SSL_set_fd(tls, descriptor);
        SSL_set_tlsext_host_name(tls, "localhost");
        if (SSL_connect(tls) != 1) fail("handshake");
        if (SSL_write(tls, request, (int)length) <= 0) fail("write");
        if (SSL_read(tls, answer, sizeof answer) <= 0) fail("no answer");
    }
    puts("ready");
    fflush(stdout);
    while (read(0, answer, sizeof answer) > 0) {}
    int lost = 0;
    poll(sockets, (nfds_t)connections, 0);
    for (int index = 0; index < connections; index++) lost += (sockets[index].revents & (POLLRDHUP | POLLHUP)) != 0;
    printf("lost %d\n", lost);
    return 0;
}
