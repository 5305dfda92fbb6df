/* The memory of one call from Python. All of it is freed when the call ends. Memory that is released earlier is kept for later
 * reservations, since memory from the system would have to be cleared first.
 *
 * If no memory is left, the call ends with NO_MEMORY, which Python raises as MemoryError.
 */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

enum { DONE = 0, NO_MEMORY = 1 };

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef struct Block Block;

typedef struct {
    Block *last;  /* reserved */
    Block *spare; /* released */
    jmp_buf out_of_memory;
} Workspace;

/* Reserves memory, which is not cleared. */
void *reserve(Workspace *workspace, size_t bytes);

/* Releases the blocks that were reserved after ``mark``, an earlier value of workspace->last. */
void release(Workspace *workspace, Block *mark);

/* Frees everything. */
void end(Workspace *workspace);

static inline double *reals(Workspace *workspace, int64_t count)
{
    return reserve(workspace, (size_t)count * sizeof(double));
}

static inline int64_t *integers(Workspace *workspace, int64_t count)
{
    return reserve(workspace, (size_t)count * sizeof(int64_t));
}

static inline uint8_t *flags(Workspace *workspace, int64_t count)
{
    return reserve(workspace, (size_t)count);
}

/* Every function that Python calls begins with BEGIN and ends with END. */
#define BEGIN(workspace)                     \
    Workspace workspace = {0};               \
    if (setjmp(workspace.out_of_memory)) {   \
        end(&workspace);                     \
        return NO_MEMORY;                    \
    }

#define END(workspace)           \
    end(&workspace);             \
    return DONE;

#endif
