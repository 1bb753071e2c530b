// child: processes, by POSIX.
//
// A child leads a group of its own: so a ctrl-C at the terminal does not reach it before this program knows, and it
// can be ended with all that it has started. Should this program be killed with no time for that, a child that is `held` sees its
// file descriptors 3 and 4 end; a browser that was told to listen there (--remote-debugging-pipe) then ends, too.
//
// What a group leaves behind it may still write while it dies. So a folder is emptied again and again, for two seconds at most.
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "child.h"

#include "cli.h"

#if defined(__wasi__) || defined(_WIN32)

bool tnc_program_find(const char* name, char path[TNC_PATH_ROOM])
{
    (void)name, (void)path;
    return false;
}

bool tnc_folder_make(char path[TNC_PATH_ROOM])
{
    path[0] = '\0';
    tnc_complain(
        "this build starts no other programs: it was made for a machine without processes");
    return false;
}

void tnc_folder_remove(const char* path)
{
    (void)path;
}

bool tnc_is_root(void)
{
    return false;
}

bool tnc_child_start(tnc_child* child, const tnc_start* start)
{
    (void)child, (void)start;
    return false;
}

bool tnc_child_feed(tnc_child* child, const void* bytes, size_t length)
{
    (void)child, (void)bytes, (void)length;
    return false;
}

bool tnc_child_ended(tnc_child* child)
{
    (void)child;
    return true;
}

bool tnc_child_finish(tnc_child* child)
{
    (void)child;
    return true;
}

void tnc_child_kill(tnc_child* child)
{
    (void)child;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static void nap(double seconds)
{
    const struct timespec span = {.tv_nsec = (long)(1e9 * seconds)};
    nanosleep(&span, NULL);
}

// ---- Programs and folders ------------------------------------------------------------------------

static bool is_program(const char* path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool tnc_program_find(const char* name, char path[TNC_PATH_ROOM])
{
    const char* list = getenv("PATH");
    if (strchr(name, '/')) {
        const int length = snprintf(path, TNC_PATH_ROOM, "%s", name);
        return length < TNC_PATH_ROOM && is_program(path);
    }
    for (const char* at = list && list[0] ? list : "/usr/local/bin:/usr/bin:/bin"; at;) {
        const int  count  = (int)strcspn(at, ":");
        const int  length = snprintf(path, TNC_PATH_ROOM, "%.*s/%s", count, at, name);
        const bool whole  = count > 0 && length < TNC_PATH_ROOM;
        if (whole && is_program(path)) return true;
        at = at[count] ? at + count + 1 : NULL;
    }
    return false;
}

bool tnc_is_root(void)
{
    return geteuid() == 0;
}

bool tnc_folder_make(char path[TNC_PATH_ROOM])
{
    enum {
        PARENT_MAX = 48
    }; // a browser has sockets there, whose names have room for 107 bytes in all
    const char* parent = getenv("TMPDIR");
    if (!parent || !parent[0] || strlen(parent) > PARENT_MAX) parent = "/tmp";
    if (snprintf(path, TNC_PATH_ROOM, "%s/tenon-XXXXXX", parent) < TNC_PATH_ROOM && mkdtemp(path))
        return true;
    tnc_complain("cannot make a folder in '%s': %s", parent, strerror(errno));
    path[0] = '\0';
    return false;
}

static int remove_one(const char* path, const struct stat* about, int kind, struct FTW* walk)
{
    (void)about, (void)kind, (void)walk;
    remove(path);
    return 0;
}

void tnc_folder_remove(const char* path)
{
    enum { TRIES = 100 };
    struct stat about;
    for (int i = 0; path[0] && i < TRIES && lstat(path, &about) == 0; ++i) {
        if (i > 0) nap(0.02);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

// ---- Starting ------------------------------------------------------------------------------------

// The environment, with another folder for temporary files. NULL: no memory.
static char** make_environment(const char* folder, char* tmpdir, size_t size)
{
    size_t count = 0, kept = 0;
    while (environ[count]) ++count;
    char** list = calloc(count + 2, sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < count; ++i)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0) list[kept++] = environ[i];
    snprintf(tmpdir, size, "TMPDIR=%s", folder);
    list[kept] = tmpdir;
    return list;
}

static bool open_pipe(int pair[2])
{
    if (pipe(pair) != 0) {
        pair[0] = pair[1] = -1;
        return false;
    }
    for (int i = 0; i < 2; ++i) { // not passed on by accident; 3 and 4 are the child's
        const int fd = fcntl(pair[i], F_DUPFD_CLOEXEC, 5);
        close(pair[i]);
        pair[i] = fd;
    }
    return pair[0] >= 0 && pair[1] >= 0;
}

static void close_end(int* fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

// in, hold: what it is to read from, if it is to.
static int spawn(pid_t* pid, const tnc_start* start, int in, int hold, char** environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          traits;
    sigset_t                   usual;
    int                        error = posix_spawn_file_actions_init(&files);
    if (error) return error;
    error = posix_spawnattr_init(&traits);
    if (error) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    if (start->fed) posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    else posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, start->log,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    if (start->held) {
        posix_spawn_file_actions_adddup2(&files, hold, 3);
        posix_spawn_file_actions_addopen(&files, 4, "/dev/null", O_WRONLY, 0);
    }
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigdefault(&traits, &usual);
    posix_spawnattr_setpgroup(&traits, 0);
    posix_spawnattr_setflags(&traits, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    // argv is not const for historical reasons only
    error = posix_spawn(pid, start->words[0], &files, &traits, (char**)(uintptr_t)start->words,
                        environment);
    posix_spawnattr_destroy(&traits);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool tnc_child_start(tnc_child* child, const tnc_start* start)
{
    char   tmpdir[TNC_PATH_ROOM + 8];
    int    in[2] = {-1, -1}, hold[2] = {-1, -1};
    pid_t  pid   = 0;
    char** list  = make_environment(start->folder, tmpdir, sizeof tmpdir);
    int    error = list ? 0 : ENOMEM;
    if (!error && start->fed && !open_pipe(in)) error = errno;
    if (!error && start->held && !open_pipe(hold)) error = errno;
    if (!error) error = spawn(&pid, start, in[0], hold[0], list);
    free(list);
    close_end(&in[0]);
    close_end(&hold[0]);
    *child = (tnc_child){.pid = error ? 0 : pid, .in = in[1], .hold = hold[1]};
    if (!error) return true;
    close_end(&child->in);
    close_end(&child->hold);
    tnc_complain("cannot start '%s': %s", start->words[0], strerror(error));
    return false;
}

// ---- Working with it -----------------------------------------------------------------------------

bool tnc_child_feed(tnc_child* child, const void* bytes, size_t length)
{
    const char* at = bytes;
    while (length > 0) {
        const ssize_t count = child->pid ? write(child->in, at, length) : -1;
        if (count < 0 && (!child->pid || errno != EINTR || tnc_interrupted())) return false;
        if (count > 0) {
            at += count;
            length -= (size_t)count;
        }
    }
    return true;
}

static void note_end(tnc_child* child, int status)
{
    kill((pid_t)-child->pid, SIGKILL); // what it has started
    child->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    child->pid  = 0;
    close_end(&child->in);
    close_end(&child->hold);
}

bool tnc_child_ended(tnc_child* child)
{
    int status;
    if (child->pid && waitpid((pid_t)child->pid, &status, WNOHANG) == child->pid)
        note_end(child, status);
    return child->pid == 0;
}

bool tnc_child_finish(tnc_child* child)
{
    if (child->pid) close_end(&child->in);
    while (!tnc_child_ended(child)) {
        if (tnc_interrupted()) return false;
        nap(0.005);
    }
    return true;
}

void tnc_child_kill(tnc_child* child)
{
    int status = 0;
    if (child->pid == 0) return;
    kill((pid_t)-child->pid, SIGKILL);
    while (waitpid((pid_t)child->pid, &status, 0) < 0 && errno == EINTR) {}
    note_end(child, status);
}

#endif
