struct Node { global struct Node *next; int value; };
kernel void walk(global struct Node *first, global int *out, int n)
{
    int sum = 0;
    global struct Node *at = first;
    for (int i = 0; i < n && at; ++i) { sum += at->value; at = at->next; }
    out[0] = sum;
}
