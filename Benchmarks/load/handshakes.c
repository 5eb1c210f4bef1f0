// TLS handshakes, one after another on each of a few threads; each connection is closed in order as soon as it stands.
//
//     handshakes PORT 1.2|1.3 full|resumed SECONDS THREADS
//
// Prints how many were made. Every one is checked: the version, and whether it resumed as it should have.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address;
static int version, resumes;
static double until;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

// The newest ticket of a thread; OpenSSL hands the reference over.
static int keep(SSL *tls, SSL_SESSION *session) {
    SSL_SESSION **place = SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls));
    SSL_SESSION_free(*place);
    *place = session;
    return 1;
}

// One connection, from connect to the end of the stream. With `asks`, a request goes over it.
static void handshake(SSL_CTX *context, SSL_SESSION *session, int asks) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    // Ends without TIME_WAIT, which would use up the ports; the server has closed by then.
    struct linger linger = {.l_onoff = 1};
    int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    SSL *tls = SSL_new(context);
    SSL_set_fd(tls, descriptor);
    SSL_set_tlsext_host_name(tls, "localhost");
    if (session) SSL_set_session(tls, session);
    if (SSL_connect(tls) != 1) fail("handshake");
    if (SSL_version(tls) != version) fail("another version");
    if (SSL_session_reused(tls) != (session != NULL)) fail(session ? "not resumed" : "resumed");
    char bytes[4096];
    if (asks) {
        const char *request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        SSL_write(tls, request, (int)strlen(request));
        while (SSL_read(tls, bytes, sizeof bytes) > 0) {}
    }
    SSL_shutdown(tls);
    // Tickets, the answering close_notify, then the end.
    while (read(descriptor, bytes, sizeof bytes) > 0) {}
    SSL_free(tls);
    close(descriptor);
}

static void *work(void *result) {
    SSL_SESSION *ticket = NULL;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x08http/1.1", 9);
    SSL_CTX_set_app_data(context, &ticket);
    if (resumes) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, keep);
        handshake(context, NULL, 1);
        if (!ticket) fail("no ticket came");
        // The same one each time: what is measured is the server's side. With a cache of sessions OpenSSL would call a
        // ticket of TLS 1.3 used up.
        SSL_CTX_sess_set_new_cb(context, NULL);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    }
    long made = 0;
    while (now() < until) {
        handshake(context, ticket, 0);
        made++;
    }
    SSL_SESSION_free(ticket);
    SSL_CTX_free(context);
    *(long *)result = made;
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "usage: handshakes PORT 1.2|1.3 full|resumed SECONDS THREADS\n"), 2;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    version = strcmp(arguments[2], "1.2") == 0 ? TLS1_2_VERSION : TLS1_3_VERSION;
    resumes = strcmp(arguments[3], "resumed") == 0;
    until = now() + atof(arguments[4]);
    int threads = atoi(arguments[5]);
    pthread_t ids[threads];
    long made[threads], total = 0;
    for (int index = 0; index < threads; index++) pthread_create(&ids[index], NULL, work, &made[index]);
    for (int index = 0; index < threads; index++) {
        pthread_join(ids[index], NULL);
        total += made[index];
    }
    printf("%ld\n", total);
    return 0;
}
