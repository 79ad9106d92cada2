/* Requests come on stdin, answers go to stdout. Both are pipes that only the engine holds the other end of. */
#include "warden.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char frame[FRAME];

static bool fill(char *to, size_t count) {
    while (count) {
        ssize_t got = read(0, to, count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        count -= got;
    }
    return true;
}

/* The next request as an array of strings, closed with NULL; their number, or -1 when there will be no more. */
ssize_t receive(char **fields) {
    uint32_t length;
    if (!fill((char *)&length, sizeof length)) return -1;
    length = ntohl(length);
    if (length == 0 || length > FRAME || !fill(frame, length) || frame[length - 1]) return -1;
    ssize_t count = 0;
    for (char *at = frame; at < frame + length && count < FIELDS - 1; at += strlen(at) + 1) fields[count++] = at;
    fields[count] = NULL;
    return count;
}

/* One answer; its fields are divided by newlines. Short enough for a pipe to take it whole, so a child may answer too. */
void say(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + 4, sizeof text - 4, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if (length > (int)sizeof text - 5) length = sizeof text - 5;
    uint32_t size = htonl(length);
    memcpy(text, &size, 4);
    while (write(1, text, length + 4) < 0 && errno == EINTR) {}
}
