// One vector of the source, as raw elements.
//
// A buffer is read through load/store, an image through the texture unit and its cache, which on Adreno is the only
// cache in front of the second level. The edges of rows always come from the buffer, element by element.
//
// TEXEL, READ_TEXEL: of an image, the type of a texel's components, and the function that reads one.
// FROM_BLOCK: the word type of a vector. A vector at a multiple of its size is moved as words: some compilers move
//             uchar16 in pieces.

#ifndef TEXEL
#define TEXEL uint
#define READ_TEXEL read_imageui
#endif
#ifndef FROM_BLOCK
#define FROM_BLOCK uint4
#endif

// The source: the buffer; and the image over it with the texel and row of its first element.
#if LOADS == IMAGE
#define SOURCE global const FROM *source, read_only image2d_t texels, const int2 origin
#define SAME_SOURCE source, texels, origin
#else
#define SOURCE global const FROM *source
#define SAME_SOURCE source
#endif

// A row of the source; a vector of a row; one element.
#if LOADS == IMAGE
#define ROW read_only image2d_t texels, const int2 origin
#define ROW_AT(y) texels, origin + (int2)(0, y)
#define READ(at, texel) READ_TEXEL(texels, origin + (int2)((at) / 4 + (texel), 0))
#if LANES == 4
#define RAW(at) READ(at, 0)
#elif LANES == 8
#define RAW(at) (VECTOR(TEXEL))(READ(at, 0), READ(at, 1))
#else
#define RAW(at) (VECTOR(TEXEL))(READ(at, 0), READ(at, 1), READ(at, 2), READ(at, 3))
#endif
#else
#define ROW global const FROM *row
#define ROW_AT(y) source
#if FROM_HALF && LOADS == ALIGNED
#define RAW(at) JOIN(vloada_half, LANES)(0, row + (at))
#elif FROM_HALF
#define RAW(at) JOIN(vload_half, LANES)(0, row + (at))
#elif LOADS == ALIGNED
#define RAW(at) JOIN(as_, VECTOR(FROM))(*(global const FROM_BLOCK *)(row + (at)))
#else
#define RAW(at) JOIN(vload, LANES)(0, row + (at))
#endif
#endif
#if FROM_HALF
#define RAW_ONE(at) vload_half(0, at)
#else
#define RAW_ONE(at) (*(at))
#endif
