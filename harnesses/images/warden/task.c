/* Start a command as somebody else, and take its output. */
#define _GNU_SOURCE
#include "warden.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, DRAINS = 17 }; /* a pipe holds at most 1 MiB when its writers are gone */

/* What root in a container keeps, as `user = "root"` asks for: enough to install packages, not to look into the warden. */
static const int ROOT_KEEPS[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_NET_BIND_SERVICE};

static bool kept(int capability) {
    for (size_t i = 0; i < sizeof ROOT_KEEPS / sizeof *ROOT_KEEPS; i++)
        if (ROOT_KEEPS[i] == capability) return true;
    return false;
}

static void drop_capabilities(bool root) {
    for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
        if (!root || !kept(capability)) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

/* With the kernel's own choice of victim, a host that runs out of memory takes agents before anything of the host. */
static void first_victim(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t written = write(file, "500", 3);
    (void)written;
    close(file);
}

/* An agent that locked itself out of a folder of its own gets back in. */
static void unlock(const char *folder) {
    struct stat found;
    if (lstat(folder, &found) == 0 && S_ISDIR(found.st_mode) && (found.st_mode & S_IRWXU) != S_IRWXU) {
        int failed = chmod(folder, found.st_mode | S_IRWXU);
        (void)failed; /* then it stays outside, and the command says so */
    }
}

static const char *home_of(char *const *environment) {
    for (; *environment; environment++)
        if (!strncmp(*environment, "HOME=", 5)) return *environment + 5;
    return "/";
}

static bool become(const struct order *order) {
    first_victim();
    drop_capabilities(order->uid == 0);
    if (setgroups(0, NULL) || setresgid(order->gid, order->gid, order->gid) || setresuid(order->uid, order->uid, order->uid)) return false;
    umask(022);
    unlock(order->folder);
    unlock(home_of(order->environment));
    return chdir(order->folder) == 0;
}

static void run_child(const struct order *order, int in, int out, int err, int failure) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 && become(order)) {
        environ = order->environment;
        execvp(order->argv[0], order->argv);
    }
    int number = errno;
    ssize_t written = write(failure, &number, sizeof number);
    (void)written;
    _exit(127);
}

static int open_sink(struct sink *sink, const char *path, long long limit) {
    int ends[2];
    sink->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (sink->file < 0) return -1;
    if (pipe2(ends, O_CLOEXEC)) return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    sink->pipe = ends[0];
    sink->left = limit;
    sink->truncated = false;
    return ends[1];
}

/* Fork and exec; the error's number, 0 when the command runs. A fork that fails is no fault of the command's. */
static int launch(struct task *task, const struct order *order, int in, int out, int err, bool *ours) {
    int failure[2], number = 0;
    if (pipe2(failure, O_CLOEXEC)) return *ours = true, errno;
    task->pid = fork();
    if (task->pid == 0) run_child(order, in, out, err, failure[1]);
    if (task->pid < 0) *ours = true, number = errno;
    close(failure[1]);
    if (task->pid > 0 && read(failure[0], &number, sizeof number) <= 0) number = 0;
    close(failure[0]);
    return number;
}

/* Start a command in a session of its own and say so, or why not. */
bool start(struct task *task, const struct order *order) {
    int in = open(*order->in ? order->in : "/dev/null", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int out = open_sink(&task->sinks[0], order->out, order->limit);
    int err = strcmp(order->out, order->err) ? open_sink(&task->sinks[1], order->err, order->limit) : out;
    bool ours = in < 0 || out < 0 || err < 0;
    int number = ours ? errno : launch(task, order, in, out, err, &ours);
    close(in);
    close(out);
    if (err != out) close(err);
    if (number) {
        task->pid = 0;
        say("unstarted\n%d\n%s", number, ours ? "warden" : "command");
        return false;
    }
    say("started\n%d", task->pid);
    return true;
}

static void keep(struct sink *sink, const char *data, ssize_t count) {
    if (count > sink->left) {
        sink->truncated = true;
        count = sink->left;
    }
    while (count > 0) {
        ssize_t written = write(sink->file, data, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) { /* disk full: the command goes on, and the record says that it is cut */
            sink->truncated = true;
            sink->left = 0;
            return;
        }
        data += written;
        count -= written;
        sink->left -= written;
    }
}

/* Take what is there now, a bounded amount; false when nothing was. */
bool drain(struct sink *sink) {
    static char chunk[CHUNK];
    if (sink->pipe < 0) return false;
    ssize_t got = read(sink->pipe, chunk, sizeof chunk);
    if (got > 0) keep(sink, chunk, got);
    if (got == 0) {
        close(sink->pipe);
        sink->pipe = -1;
    }
    return got > 0;
}

/* Take the last output, and close all. */
void finish(struct task *task) {
    for (int i = 0; i < SINKS; i++) {
        struct sink *sink = &task->sinks[i];
        for (int n = 0; n < DRAINS && drain(sink); n++) {}
        if (sink->pipe >= 0) close(sink->pipe);
        if (sink->file >= 0) close(sink->file);
        sink->pipe = sink->file = -1;
    }
}
