// A lower bound may be the end itself, where there is no key.
int lower_bound(global const int *keys, int n, int wanted) {
    int first = 0;
    while (n > 0) {
        int middle = n / 2;
        if (keys[first + middle] < wanted) {
            first += middle + 1;
            n -= middle + 1;
        } else {
            n = middle;
        }
    }
    return first;
}

kernel void search_past_end(global const int *keys, global int *found, int n) {
    int i = get_global_id(0);
    int at = lower_bound(keys, n, i);
    found[i] = keys[at] == i; //~ ERROR out-of-bounds-read
}

kernel void search_past_end_ok(global const int *keys, global int *found, int n) {
    int i = get_global_id(0);
    int at = lower_bound(keys, n, i);
    found[i] = at < n && keys[at] == i;
}
