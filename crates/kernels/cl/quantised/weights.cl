// Weights of 16, 8 or 4 bits: how a work-item reads the next eight steps along K of its outputs.
//
// Weights are packed in lines: a line has one element for each output, so that neighbouring work-items read
// neighbouring elements, whatever the format. An element is a half, or a word of 32 bits with the next four or eight
// steps along K, the first in the lowest bits. In an image a texel is four outputs of a line: on an Adreno the texture
// unit reads twice as fast as loads from buffers.
//
// A product of one vector does one multiply-add for each weight, so only memory counts, and unpacking must not take
// longer than loading.
//
// FORMAT:  F16, I8, Q8_0 or Q4_0. OUTPUTS: neighbouring outputs of a work-item. IMAGE: 1 reads weights from an image.
// MASKS:   Q4_0 only: 1 masks a number where it is. It is then too large by a power of two, by which x is made smaller:
//          exact, and without the shift. The 8 that makes numbers signed is subtracted once, after the sum.

#define F16 0
#define I8 1
#define Q8_0 2
#define Q4_0 3
#ifndef FORMAT
#define FORMAT Q4_0
#endif
#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#ifndef IMAGE
#define IMAGE 0
#endif
#ifndef MASKS
#define MASKS 0
#endif

#if OUTPUTS == 1
typedef float lanes_t;
typedef uint words_t;
#define TO_FLOAT convert_float
#define AS_INT as_int
#else
typedef JOIN(float, OUTPUTS) lanes_t;
typedef JOIN(uint, OUTPUTS) words_t;
#define TO_FLOAT JOIN(convert_float, OUTPUTS)
#define AS_INT JOIN(as_int, OUTPUTS)
#endif

#if FORMAT == F16
#define ELEMENTS_TYPE half
#define LINE_TYPE lanes_t
#define TEXEL read_imagef
#else
#define ELEMENTS_TYPE uint
#define LINE_TYPE words_t
#define TEXEL read_imageui
#endif

// A line of the work-item's outputs, which begin at `column`.
#if IMAGE
#define WEIGHTS_TYPE read_only image2d_t
#define AT(further, line) TEXEL(weights, (int2)(column / 4 + further, line))
#if OUTPUTS == 4
#define LINE(line) AT(0, line)
#elif OUTPUTS == 8
#define LINE(line) ((LINE_TYPE)(AT(0, line), AT(1, line)))
#else
#define LINE(line) ((LINE_TYPE)(AT(0, line), AT(1, line), AT(2, line), AT(3, line)))
#endif
#else
#define WEIGHTS_TYPE global const ELEMENTS_TYPE *
#if FORMAT != F16
#define LINE(line) (*(global const LINE_TYPE *)(weights + (line) * pitch + column))
#elif OUTPUTS == 1
#define LINE(line) vload_half((line) * pitch + column, weights)
#else
#define LINE(line) JOIN(vloada_half, OUTPUTS)(0, weights + (line) * pitch + column)
#endif
#endif

// The weights of eight steps as w_0 to w_7, without the scale.
#define EIGHT_STEPS(X) \
    const lanes_t w_0 = X(0), w_1 = X(1), w_2 = X(2), w_3 = X(3), w_4 = X(4), w_5 = X(5), w_6 = X(6), w_7 = X(7);
#if FORMAT == F16
#define STEP_LINE(i) LINE(8 * chunk + i)
#define LOAD_WEIGHTS EIGHT_STEPS(STEP_LINE)
#elif FORMAT == Q4_0
#if MASKS
#define NUMBER_OF(i) TO_FLOAT(word & (15u << (4 * i)))
#else
#define NUMBER_OF(i) TO_FLOAT(AS_INT((word >> (4 * i)) & 15u) - 8)
#endif
#define LOAD_WEIGHTS \
    const words_t word = LINE(chunk); \
    EIGHT_STEPS(NUMBER_OF)
#else
// The byte moves to the top of the word, and back with its sign.
#define BYTE_OF(i) TO_FLOAT(AS_INT((i < 4 ? first : second) << (24 - 8 * (i % 4))) >> 24)
#define LOAD_WEIGHTS \
    const words_t first = LINE(2 * chunk), second = LINE(2 * chunk + 1); \
    EIGHT_STEPS(BYTE_OF)
#endif
