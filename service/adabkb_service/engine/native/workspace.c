#include "workspace.h"

#include <stdlib.h>

struct Block {
    Block *before;
    max_align_t first;
};

void *reserve(Workspace *workspace, size_t bytes)
{
    Block *block = malloc(offsetof(Block, first) + bytes);
    if (block == NULL)
        longjmp(workspace->out_of_memory, 1);
    block->before = workspace->last;
    workspace->last = block;
    return &block->first;
}

void release(Workspace *workspace, Block *mark)
{
    while (workspace->last != mark) {
        Block *block = workspace->last;
        workspace->last = block->before;
        free(block);
    }
}
