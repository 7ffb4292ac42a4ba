// A hash lets unsigned numbers wrap, and takes its bits as an index.
kernel void unsigned_wrap_ok(global const uint *keys, global uint *slots, global const uint *table) {
    int i = get_global_id(0);
    uint hash = keys[i] * 2654435761u;
    hash ^= hash >> 15;
    hash += 0xdeadbeefu - keys[i];
    slots[i] = table[hash & 63];
}
