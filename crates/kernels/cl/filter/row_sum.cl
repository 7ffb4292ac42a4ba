// A row of the window over a row of the image.
//
// The loop is unrolled and its weights are constants: what remains is one multiply-add for each weight other than 0.
//
// OPERATION: LINEAR, GRADIENT, LEAST or MOST. START: what a sum or an extreme starts from.

#ifndef OPERATION
#define OPERATION LINEAR
#endif
#ifndef START
#define START 0
#endif

constant WORK across[] = { ACROSS };
constant uchar kind_of[] = { KIND };
constant WORK down[] = { DOWN };

// One kind of the window's rows over a row of the image.
static Work row_sum(const Row row, const int kind)
{
    Work sum = START;
    UNROLL_LOOP
    for (int column = 0; column < WIDTH; ++column) {
        const WORK weight = across[kind * WIDTH + column];
        if (weight != 0)
            sum = taken(OPERATION, sum, weight, tap(row, column));
    }
    return sum;
}
