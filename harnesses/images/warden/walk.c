/* A walk through all that lies below a folder, however deep. nftw() aborts where its descriptors do not reach down, fts ends where a path has 64 KiB, and
   either has been built by agents. Here one folder is open at a time, and no path is ever put together. */
#define _GNU_SOURCE
#include "warden.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* A folder on the way down, and the names of those in it that are still to be entered, one NUL behind each. */
struct step {
    dev_t device;
    ino_t inode;
    char *names;
    size_t size;
};

static struct step *steps;
static size_t depth, room;

static bool add_name(struct step *step, const char *name) {
    size_t length = strlen(name) + 1;
    char *more = realloc(step->names, step->size + length);
    if (!more) return false;
    memcpy(more + step->size, name, length);
    step->names = more;
    step->size += length;
    return true;
}

/* Tell what is in the open folder, and remember its folders; those of other file systems are not entered. */
static bool look_around(int here, struct step *step, visitor *visit) {
    struct stat found;
    bool go_on = true;
    int again = openat(here, ".", FOLDER);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (!folder) return true; /* its owner has locked it, or it is gone */
    for (struct dirent *entry; go_on && (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (fstatat(here, entry->d_name, &found, AT_SYMLINK_NOFOLLOW)) continue;
        go_on = visit(&found);
        if (go_on && S_ISDIR(found.st_mode) && found.st_dev == step->device) go_on = add_name(step, entry->d_name);
    }
    closedir(folder);
    return go_on;
}

static bool step_into(int here, visitor *visit) {
    struct stat found;
    if (depth == room) {
        struct step *more = realloc(steps, (room * 2 + 64) * sizeof *steps);
        if (!more) return false;
        steps = more;
        room = room * 2 + 64;
    }
    if (fstat(here, &found)) return false;
    steps[depth] = (struct step){.device = found.st_dev, .inode = found.st_ino};
    return look_around(here, &steps[depth++], visit);
}

/* The last name that is left, taken off. */
static char *next_name(struct step *step) {
    if (!step->size) return NULL;
    size_t at = step->size - 1;
    while (at && step->names[at - 1]) at--;
    step->size = at;
    return step->names + at;
}

/* Back up, unless the folder was moved meanwhile: then nobody knows where this leads. -1 for that. */
static int step_back(int here) {
    struct stat found;
    free(steps[--depth].names);
    if (!depth) return -1;
    int above = openat(here, "..", FOLDER);
    if (above < 0) return -1;
    if (!fstat(above, &found) && found.st_dev == steps[depth - 1].device && found.st_ino == steps[depth - 1].inode) return above;
    close(above);
    return -1;
}

static void go(int here, visitor *visit) {
    bool go_on = step_into(here, visit);
    while (go_on && here >= 0) {
        char *name = next_name(&steps[depth - 1]);
        int next = name ? openat(here, name, FOLDER) : step_back(here);
        if (name && next < 0) continue; /* gone, or no folder any more */
        close(here);
        here = next;
        if (name) go_on = step_into(here, visit);
    }
    if (here >= 0) close(here);
}

/* Visit the root and all below it on its file system, links not followed, until a visit says no. What moves meanwhile may be missed. */
void walk(const char *root, visitor *visit) {
    struct stat found;
    if (lstat(root, &found) || !visit(&found)) return;
    int here = S_ISDIR(found.st_mode) ? open(root, FOLDER) : -1;
    if (here >= 0) go(here, visit);
    while (depth) free(steps[--depth].names);
}
