/* What can be seen from inside, by nobody's leave: files of /proc and of the disk, no program of the image. */
#define _GNU_SOURCE
#include "warden.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const char *const SHELLS[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"};
static const char *const OOM[] = {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"};

/* How many processes of this container the kernel has killed for memory so far; -1 when it does not say. */
long oom_kills(void) {
    char line[128];
    long count = -1;
    for (size_t i = 0; i < sizeof OOM / sizeof *OOM && count < 0; i++) {
        FILE *file = fopen(OOM[i], "re");
        while (file && fgets(line, sizeof line, file)) sscanf(line, "oom_kill %ld", &count);
        if (file) fclose(file);
    }
    return count;
}

static pid_t next_pid(DIR *proc) {
    for (struct dirent *entry; (entry = readdir(proc));)
        if (isdigit((unsigned char)entry->d_name[0])) return atoi(entry->d_name);
    return 0;
}

/* Processes beside this one. */
int processes(void) {
    int count = 0;
    DIR *proc = opendir("/proc");
    if (!proc) return -1;
    for (pid_t pid; (pid = next_pid(proc));) count += pid != getpid();
    closedir(proc);
    return count;
}

static bool is_folder(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool has_shell(void) {
    for (size_t i = 0; i < sizeof SHELLS / sizeof *SHELLS; i++)
        if (access(SHELLS[i], X_OK) == 0) return true;
    return false;
}

static const char *broken(const char *workspace, const char *home, bool writable) {
    struct stat null;
    if (!is_folder(workspace)) return "the workspace was removed";
    if (!is_folder(home)) return "the home was removed";
    if (!has_shell()) return "bash was removed";
    if (stat("/dev/null", &null) || !S_ISCHR(null.st_mode)) return "/dev/null was removed";
    if (writable && access("/", W_OK)) return "the root file system cannot be written any more";
    return "";
}

static void room(const char *path, unsigned long long *bytes, unsigned long long *inodes) {
    struct statvfs disk;
    if (statvfs(path, &disk)) return;
    unsigned long long free = (unsigned long long)disk.f_bavail * disk.f_frsize;
    if (free < *bytes) *bytes = free;
    if (disk.f_files && disk.f_favail < *inodes) *inodes = disk.f_favail;
}

void tell_health(const char *workspace, const char *home, bool writable) {
    unsigned long long bytes = 1ULL << 60, inodes = 1ULL << 60;
    room(workspace, &bytes, &inodes);
    if (writable) room("/", &bytes, &inodes);
    say("look\n%s\n%llu\n%llu\n%d\n%ld", broken(workspace, home, writable), bytes, inodes, processes(), oom_kills());
}

enum { SOCKETS = 16 };

/* The inodes of the sockets that listen on a port, on whatever address. */
static int listening(int port, unsigned long *inodes) {
    static const char *const TABLES[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    int count = 0;
    char line[512];
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(TABLES[i], "re");
        while (file && fgets(line, sizeof line, file) && count < SOCKETS) {
            unsigned local, state;
            unsigned long inode;
            if (sscanf(line, " %*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", &local, &state, &inode) == 3 && state == 0x0A && (int)local == port)
                inodes[count++] = inode;
        }
        if (file) fclose(file);
    }
    return count;
}

static bool is_one(const char *link, const unsigned long *inodes, int count) {
    unsigned long inode;
    if (sscanf(link, "socket:[%lu]", &inode) != 1) return false;
    for (int i = 0; i < count; i++)
        if (inodes[i] == inode) return true;
    return false;
}

static bool holds(pid_t pid, const unsigned long *inodes, int count) {
    char path[64], link[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    if (!folder) return false;
    for (struct dirent *entry; !found && (entry = readdir(folder));) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
        if (length <= 0) continue;
        link[length] = 0;
        found = is_one(link, inodes, count);
    }
    closedir(folder);
    return found;
}

static pid_t holder(const unsigned long *inodes, int count) {
    DIR *proc = opendir("/proc");
    pid_t pid = 0;
    while (proc && (pid = next_pid(proc)) && !holds(pid, inodes, count)) {}
    if (proc) closedir(proc);
    return pid;
}

static void program(pid_t pid, char *name, size_t size) {
    char path[64], target[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    char *slash = strrchr(target, '/'), *deleted = strstr(target, " (deleted)");
    if (deleted) *deleted = 0;
    snprintf(name, size, "%.200s", slash ? slash + 1 : target);
}

/* Files of /proc/PID are open to the agent's own user alone: look as that one. */
static void look_as(uid_t uid, gid_t gid) {
    setfsgid(gid);
    setfsuid(uid);
}

/* Who listens on a port: its pid (0: it hides, -1: nobody) and program. */
void tell_listener(int port, uid_t uid, gid_t gid) {
    unsigned long inodes[SOCKETS];
    char name[256] = "";
    int count = listening(port, inodes);
    look_as(uid, gid);
    pid_t pid = count ? holder(inodes, count) : -1;
    if (pid > 0) program(pid, name, sizeof name);
    look_as(0, 0);
    say("listener\n%d\n%s", pid, name);
}

enum { SEEN = 1 << 17, WALK_SECONDS = 60 };

static unsigned long long used_bytes, used_inodes;
static time_t walk_until;
static struct { dev_t device; ino_t inode; } seen[SEEN];
static int seen_count;

static void count_file(const struct stat *found) {
    used_bytes += (unsigned long long)found->st_blocks * 512;
    used_inodes++;
}

static bool count_one(const struct stat *found) {
    count_file(found);
    return used_inodes % 1024 != 0 || time(NULL) <= walk_until;
}

/* Whether a file is met for the first time; of very many, no more are told apart. */
static bool is_new(const struct stat *found) {
    if (seen_count >= SEEN / 2) return false;
    size_t at = (found->st_ino * 2654435761u ^ found->st_dev) % SEEN;
    for (; seen[at].inode; at = (at + 1) % SEEN)
        if (seen[at].inode == found->st_ino && seen[at].device == found->st_dev) return false;
    seen[at].inode = found->st_ino;
    seen[at].device = found->st_dev;
    return ++seen_count;
}

/* Files without a name are found where processes hold them open; those in memory count as memory. */
static void count_nameless_of(pid_t pid) {
    char path[64];
    struct stat found;
    struct statfs system;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.20s", pid, entry->d_name);
        if (stat(path, &found) || !S_ISREG(found.st_mode) || found.st_nlink || !found.st_ino) continue;
        if (!statfs(path, &system) && system.f_type != TMPFS_MAGIC && is_new(&found)) count_file(&found);
    }
    closedir(folder);
}

static void count_nameless(uid_t uid, gid_t gid) {
    DIR *proc = opendir("/proc");
    look_as(uid, gid);
    for (pid_t pid; proc && (pid = next_pid(proc));)
        if (pid != getpid()) count_nameless_of(pid);
    look_as(0, 0);
    if (proc) closedir(proc);
}

static void count_all(uid_t uid, gid_t gid, char **folders) {
    walk_until = time(NULL) + WALK_SECONDS;
    for (; *folders; folders++) walk(*folders, count_one);
    count_nameless(uid, gid);
    say("usage\n%llu\n%llu", used_bytes, used_inodes);
}

/* The child that counts; 0 when there is none. */
pid_t counter;

/* Whether it ended without an answer. */
bool counter_ended(int status) {
    counter = 0;
    return status != 0;
}

/* Bytes and inodes below these folders, counted by a child, as it may take long. Where processes are used up there is none: everybody has to wait. */
void tell_usage(uid_t uid, gid_t gid, bool here, char **folders) {
    sigset_t none;
    counter = here ? -1 : fork();
    if (counter > 0) return;
    if (counter == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* whoever ends all ends this too */
        setpriority(PRIO_PROCESS, 0, 19);
    }
    count_all(uid, gid, folders);
    if (counter == 0) _exit(0);
    counter = 0;
    used_bytes = used_inodes = seen_count = 0;
    memset(seen, 0, sizeof seen);
}
