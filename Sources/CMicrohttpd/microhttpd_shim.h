// GNU libmicrohttpd. Its variadic functions do not import, and how its enumerations import depends on its version. Each
// function here stands for one call of them.
#ifndef JOSTLE_MICROHTTPD_SHIM_H
#define JOSTLE_MICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stdint.h>

static const enum MHD_Result jostle_MHD_yes = MHD_YES;
static const enum MHD_Result jostle_MHD_no = MHD_NO;
static const enum MHD_ValueKind jostle_MHD_headers = MHD_HEADER_KIND;
static const enum MHD_ValueKind jostle_MHD_arguments = MHD_GET_ARGUMENT_KIND;
static const enum MHD_ConnectionNotificationCode jostle_MHD_started = MHD_CONNECTION_NOTIFY_STARTED;

// The library's own messages are about single connections, such as one that broke: nothing for the log of a service.
static inline void jostle_MHD_ignore_message(void *context, const char *format, va_list arguments) {
    (void)context;
    (void)format;
    (void)arguments;
}

struct jostle_MHD_options {
    int listening_socket;
    unsigned int maximum_connections;
    // Seconds.
    unsigned int inactivity;
    // Bytes for each connection.
    size_t memory;
    // PEM; null without TLS.
    const char *certificate;
    const char *key;
    void *context;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection_changed;
};

// MHD_start_daemon() without a thread: its owner polls it.
static inline struct MHD_Daemon *jostle_MHD_start_daemon(const struct jostle_MHD_options *options) {
    const unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
        // GnuTLS still accepts the versions that RFC 8996 forbids, unless a distribution says otherwise.
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem *more = options->certificate ? tls : tls + 3;
    // The logger comes first, so that it also gets the messages about the other options.
    return MHD_start_daemon(options->certificate ? flags | MHD_USE_TLS : flags, 0, NULL, NULL, options->access,
                            options->context, MHD_OPTION_EXTERNAL_LOGGER, jostle_MHD_ignore_message, NULL,
                            MHD_OPTION_LISTEN_SOCKET, options->listening_socket, MHD_OPTION_CONNECTION_LIMIT,
                            options->maximum_connections, MHD_OPTION_CONNECTION_TIMEOUT, options->inactivity,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->memory, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                            MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->context,
                            MHD_OPTION_NOTIFY_CONNECTION, options->connection_changed, options->context,
                            MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

// MHD_get_timeout() in milliseconds; negative if there is no limit.
static inline int64_t jostle_MHD_timeout(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (MHD_get_timeout(daemon, &milliseconds) != MHD_YES) return -1;
    return milliseconds > INT32_MAX ? INT32_MAX : (int64_t)milliseconds;
}

// MHD_create_response_from_buffer() with a copy of the bytes.
static inline struct MHD_Response *jostle_MHD_response(const void *bytes, size_t count) {
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

// MHD_create_response_from_callback() for a body whose length is not known.
static inline struct MHD_Response *jostle_MHD_stream(size_t block, MHD_ContentReaderCallback reader, void *context,
                                                     MHD_ContentReaderFreeCallback release) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, reader, context, release);
}

static const ssize_t jostle_MHD_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;

// MHD_get_daemon_info() for the descriptor to poll; negative if there is none.
static inline int jostle_MHD_epoll_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// MHD_get_connection_info() for the socket; negative if there is none.
static inline int jostle_MHD_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// MHD_get_connection_info() for the address of the client; null if it is not known.
static inline const struct sockaddr *jostle_MHD_client(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

// MHD_get_connection_info() for what the callback of MHD_OPTION_NOTIFY_CONNECTION has stored.
static inline void *jostle_MHD_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

#endif
