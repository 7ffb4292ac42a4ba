// A row of the source, as the window sees it.
//
// Nearly all work-items load whole vectors. Those at the ends of a row would leave it, so they fetch element by
// element and fold positions outside back into the image. Rows above and below are folded by every work-item: that is
// one comparison for LANES elements.

// The element `at` of a row of `width` pixels, which may be outside.
static WORK element(global const FROM *row, const int at, const int width)
{
    const int pixel = at < 0 ? (at + 1) / STEP - 1 : at / STEP;
    const int folded = fold(pixel, width);
#if BORDER == CONSTANT
    if (folded < 0)
        return OUTSIDE;
#endif
    return load_one(row + (folded * STEP + (at - pixel * STEP)) * SPREAD);
}

// Whether everything that is loaded around element x is inside the row.
static bool is_inside(const int x, const int width)
{
    return (x >= LOADED_FIRST) & (x <= width * STEP - REACH);
}

// What is loaded of row y around element x; y is -1 for the constant outside. `inside`: all of it is inside the row.
static Loaded load_row(SOURCE, const uint pitch, const int x, const int y, const int width, const bool inside)
{
    Loaded row;
#if BORDER == CONSTANT
    if (y < 0) {
        UNROLL_LOOP
        for (int part = 0; part < LOADED_PARTS; ++part)
            row.part[part] = OUTSIDE;
        return row;
    }
#endif
    source += pitch * y;
    if (inside) {
        UNROLL_LOOP
        for (int part = 0; part < LOADED_PARTS; ++part)
            row.part[part] = load(ROW_AT(y), (x + LOADED_AT(part)) * SPREAD);
        return row;
    }
    WORK span[LOADED_FIRST + REACH];
    KEEP_LOOP
    for (int i = 0; i < LOADED_FIRST + REACH; ++i)
        span[i] = element(source, x - LOADED_FIRST + i, width);
    UNROLL_LOOP
    for (int part = 0; part < LOADED_PARTS; ++part)
        row.part[part] = JOIN(vload, LANES)(0, span + LOADED_FIRST + LOADED_AT(part));
    return row;
}
