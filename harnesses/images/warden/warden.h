/* The warden: process 1 of an agent's container. See warden.c. */
#ifndef WARDEN_H
#define WARDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { FIELDS = 4096, FRAME = 4 << 20, SINKS = 2 };

/* Moves one pipe's bytes to a file, up to a limit; what is over it is read and dropped. */
struct sink {
    int pipe, file;
    long long left;
    bool truncated;
};

/* One command and everything that came of it. */
struct task {
    pid_t pid; /* 0 when there is none, or when its end was told */
    struct sink sinks[SINKS];
};

/* What a command is started with; all point into the request. */
struct order {
    uid_t uid;
    gid_t gid;
    char *folder, *in, *out, *err;
    long long limit;
    char **environment, **argv;
};

/* channel.c: frames of a 4-byte length (big endian) and fields that each end in NUL */
ssize_t receive(char **fields);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* task.c */
bool start(struct task *task, const struct order *order);
bool drain(struct sink *sink);
void finish(struct task *task);

/* look.c */
long oom_kills(void);
int processes(void);
void tell_health(const char *workspace, const char *home, bool writable);
void tell_listener(int port, uid_t uid, gid_t gid);
extern pid_t counter;
bool counter_ended(int status);
void tell_usage(uid_t uid, gid_t gid, bool here, char **folders);

/* walk.c */
typedef bool visitor(const struct stat *found);
void walk(const char *root, visitor *visit);

/* fence.c */
int fence(const char *gateway, bool closed);

#endif
