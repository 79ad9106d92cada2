/*
 * The warden: process 1 of an agent's container. A static program, so it works when the agent has deleted everything else.
 *
 * It holds the container open whatever ends in it, starts one command at a time as the agent's user, takes its output always (to files, up to a limit, so no
 * output can block the command or fill the disk), and ends it for certain: as process 1 it may signal every process of the container at once, and the kernel
 * itself says when there is none left (ESRCH). Nobody inside can end it, as the kernel lets no signal from inside through to process 1, nor look into it, as
 * it is not dumpable. When the other end of its stdin closes, because whoever started it is gone, it ends everything and itself.
 *
 * Requests and answers (see channel.c):
 *   hello                                                     hello VERSION
 *   run UID GID FOLDER STDIN STDOUT STDERR LIMIT COUNT ENV... ARGV...
 *                                                             started PID | unstarted ERRNO (warden | command); later: exited CODE (negative: a signal)
 *   end MILLISECONDS                                          done TRUNCATED LEFT OOM-KILLS, after TERM, so much grace, and KILL
 *   look WORKSPACE HOME WRITABLE                              look BROKEN BYTES INODES PROCESSES OOM-KILLS
 *   listener PORT UID GID                                     listener PID PROGRAM
 *   usage UID GID HERE FOLDER...                              usage BYTES INODES, with files that are open and have no name any more; -1 -1 when who
 *                                                             counted was killed: then ask for counting HERE, in process 1
 *   worked                                                    worked NANOSECONDS, of processor time, by the command's own process without what it
 *                                                             has started; -1 when it has ended
 *   fence GATEWAY CLOSED                                      fenced ERRNO: from now on, of its own network this container reaches the gateway alone;
 *                                                             closed: and nothing beyond it
 * and, whenever the last process has ended: empty.
 */
#define _GNU_SOURCE
#include "warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILL_MS = 10000, AGAIN_MS = 10 };
enum phase { IDLE, ASKED, KILLING };

static struct task task = {.sinks = {{.pipe = -1, .file = -1}, {.pipe = -1, .file = -1}}};
static enum phase phase = IDLE;
static long long until; /* when this phase is over */
static bool had;        /* there were processes, whose end is to be told */

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static bool nobody(void) { return kill(-1, 0) < 0 && errno == ESRCH; }

static void reap(void) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == counter && counter_ended(status)) say("usage\n-1\n-1");
        if (pid != task.pid) continue;
        task.pid = 0;
        say("exited\n%d", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (had && nobody()) {
        had = false;
        say("empty");
    }
}

static void ended(void) {
    bool truncated = false;
    finish(&task);
    for (int i = 0; i < SINKS; i++) truncated |= task.sinks[i].truncated;
    say("done\n%d\n%d\n%ld", truncated, nobody() ? 0 : processes(), oom_kills());
    phase = IDLE;
}

/* What the end needs next. */
static void end_further(void) {
    if (phase == IDLE) return;
    if (nobody()) return ended();
    if (phase == ASKED && now() >= until) {
        phase = KILLING;
        until = now() + KILL_MS;
    }
    if (phase != KILLING) return;
    if (now() >= until) return ended();
    kill(-1, SIGKILL);
}

static void begin_end(long grace) {
    phase = ASKED;
    until = now() + grace;
    if (grace > 0) kill(-1, SIGTERM);
}

/* Take in what signals say. False when the engine wants us to end: a signal from outside the container has no sender here, so nobody inside can send it. */
static bool heed(int signals) {
    struct signalfd_siginfo got;
    if (read(signals, &got, sizeof got) < 0) return errno == EAGAIN || errno == EINTR;
    return got.ssi_signo != SIGTERM || got.ssi_pid != 0;
}

static void run(char **fields, ssize_t count) {
    struct order order = {atoi(fields[1]), atoi(fields[2]), fields[3], fields[4], fields[5], fields[6], atoll(fields[7]), NULL, NULL};
    static char *environment[FIELDS];
    long variables = atol(fields[8]);
    if (task.pid || variables < 0 || 9 + variables >= count) return say("unstarted\n%d\nwarden", EBUSY);
    memcpy(environment, fields + 9, variables * sizeof *fields);
    environment[variables] = NULL;
    order.environment = environment;
    order.argv = fields + 9 + variables;
    finish(&task);
    for (int i = 0; i < SINKS; i++) task.sinks[i].truncated = false;
    had = start(&task, &order) || had;
}

/* The process's own clock, which is exact; what /proc has is rounded, and includes children. */
static void tell_worked(void) {
    struct timespec used;
    clockid_t clock;
    bool known = task.pid && !clock_getcpuclockid(task.pid, &clock) && !clock_gettime(clock, &used);
    say("worked\n%lld", known ? used.tv_sec * 1000000000LL + used.tv_nsec : -1LL);
}

static void obey(char **fields, ssize_t count) {
    if (!strcmp(*fields, "hello")) say("hello\n3");
    if (!strcmp(*fields, "run") && count > 9) run(fields, count);
    if (!strcmp(*fields, "end") && count > 1) begin_end(atol(fields[1]));
    if (!strcmp(*fields, "look") && count > 3) tell_health(fields[1], fields[2], *fields[3] == '1');
    if (!strcmp(*fields, "listener") && count > 3) tell_listener(atoi(fields[1]), atoi(fields[2]), atoi(fields[3]));
    if (!strcmp(*fields, "usage") && count > 3) tell_usage(atoi(fields[1]), atoi(fields[2]), *fields[3] == '1', fields + 4);
    if (!strcmp(*fields, "worked")) tell_worked();
    if (!strcmp(*fields, "fence") && count > 2) say("fenced\n%d", fence(fields[1], *fields[2] == '1'));
}

static int patience(void) {
    if (phase == IDLE) return -1;
    if (phase == KILLING) return AGAIN_MS;
    long long left = until - now();
    return left < 0 ? 0 : (int)left;
}

/* Wait for anything that happens, and take it in. False when nobody wants us any more. */
static bool turn(int signals) {
    static char *fields[FIELDS];
    struct pollfd ready[] = {{0, POLLIN, 0}, {signals, POLLIN, 0}, {task.sinks[0].pipe, POLLIN, 0}, {task.sinks[1].pipe, POLLIN, 0}};
    if (poll(ready, 4, patience()) < 0) return errno == EINTR;
    for (int i = 0; i < SINKS; i++)
        if (ready[2 + i].revents) drain(&task.sinks[i]);
    if (ready[1].revents && !heed(signals)) return false;
    reap();
    if (ready[0].revents) {
        ssize_t count = receive(fields);
        if (count < 0) return false;
        obey(fields, count);
    }
    end_further();
    return true;
}

int main(void) {
    sigset_t heeded;
    sigemptyset(&heeded);
    sigaddset(&heeded, SIGCHLD);
    sigaddset(&heeded, SIGTERM);
    sigprocmask(SIG_BLOCK, &heeded, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int signals = signalfd(-1, &heeded, SFD_CLOEXEC | SFD_NONBLOCK);
    if (getpid() != 1 || signals < 0) return 1;
    while (turn(signals)) {}
    return 0; /* the kernel ends whoever is left in process 1's namespace */
}
