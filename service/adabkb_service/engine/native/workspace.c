#include "workspace.h"

#include <stdlib.h>

struct Block {
    Block *before;
    size_t bytes;
    max_align_t first;
};

/* Takes a block of at least this size, and less than about twice the size, from the spare ones; NULL if there is none. */
static Block *spare(Workspace *workspace, size_t bytes)
{
    for (Block **link = &workspace->spare; *link != NULL; link = &(*link)->before) {
        Block *block = *link;
        if (block->bytes >= bytes && block->bytes / 2 < bytes) {
            *link = block->before;
            return block;
        }
    }
    return NULL;
}

void *reserve(Workspace *workspace, size_t bytes)
{
    Block *block = spare(workspace, bytes);
    if (block == NULL) {
        block = malloc(offsetof(Block, first) + bytes);
        if (block == NULL)
            longjmp(workspace->out_of_memory, 1);
        block->bytes = bytes;
    }
    block->before = workspace->last;
    workspace->last = block;
    return &block->first;
}

void release(Workspace *workspace, Block *mark)
{
    while (workspace->last != mark) {
        Block *block = workspace->last;
        workspace->last = block->before;
        block->before = workspace->spare;
        workspace->spare = block;
    }
}

static void free_all(Block *block)
{
    while (block != NULL) {
        Block *before = block->before;
        free(block);
        block = before;
    }
}

void end(Workspace *workspace)
{
    free_all(workspace->last);
    free_all(workspace->spare);
}
