/* Runs a target over files and directories of files, for compilers without libFuzzer. Says how many; none at
 * all is a failure, so that a corpus that went missing is noticed. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#define REPLAY_BYTES_MAX (16u << 20)
#define REPLAY_PATH_MAX 4096

static int replay_file(const char *path) {
    cleanup_file FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    cleanup_free uint8_t *data = mem_alloc(REPLAY_BYTES_MAX);
    size_t size = fread(data, 1, REPLAY_BYTES_MAX, file);
    /* Memory of the exact size, as libFuzzer gives it. */
    cleanup_free uint8_t *exact = (uint8_t *)mem_dup((const char *)data, size);
    LLVMFuzzerTestOneInput(exact, size);
    return 1;
}

static int replay_directory(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
        char name[REPLAY_PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        count = replay_file(name) < 0 ? -1 : count + 1;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv) {
    int total = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        int count = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode) ? replay_directory(argv[i])
                                                                       : replay_file(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total ? 0 : 1;
}
