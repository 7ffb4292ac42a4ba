// Stores the last `bytes` (at most 16) of `vector` so that they end just before `end`: only the bytes that belong to the
// work-item, so that no byte is written twice. There are stores of 16, 8, 4, 2 and 1 bytes. The stores go from the end to
// the start; after each, the remaining bytes move up to the top lanes, by swizzles that are known at compile time.
static void store_last(uchar16 vector, const uint bytes, global uchar *end)
{
    if (bytes & 16) {
        vstore16(vector, 0, end - 16);
        return;
    }
    if (bytes & 8) {
        end -= 8;
        vstore8(vector.hi, 0, end);
        vector.hi = vector.lo;
    }
    if (bytes & 4) {
        end -= 4;
        vstore4(vector.scdef, 0, end);
        vector.s89abcdef = vector.s456789ab;
    }
    if (bytes & 2) {
        end -= 2;
        vstore2(vector.sef, 0, end);
        vector.sef = vector.scd;
    }
    if (bytes & 1)
        end[-1] = vector.sf;
}
