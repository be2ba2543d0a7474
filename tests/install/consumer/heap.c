/* A C program with a heap of the installed library. */
#include <stdio.h>
#include <string.h>

#include <heapwood/allocators/heapwood_heap.h>

int main(void) {
    heapwood_heap_options options;
    heapwood_heap_use use;
    heapwood_heap* heap;
    char* text;
    memset(&options, 0, sizeof options);
    options.bytes = 1 << 20;
    options.place = HEAPWOOD_ON_HOST;
    heap = heapwood_heap_create(&options);
    if (heap == NULL) {
        printf("C: %s\n", heapwood_heap_error());
        return 1;
    }
    text = heapwood_malloc(heap, 6);
    strcpy(text, "heart");
    text = heapwood_realloc(heap, text, 1000);
    strcat(text, "wood");
    printf("C: %s, by %s\n", text, heapwood_heap_allocator());
    if (strcmp(text, "heartwood") != 0) return 1;
    heapwood_free(heap, text);
    if (heapwood_heap_get_use(heap, &use) != 0 || use.allocated_bytes != 0) return 1;
    return heapwood_heap_destroy(heap);
}
