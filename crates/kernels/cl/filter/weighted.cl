// Weighted sums of pixels, all channels of one together if they are side by side.
//
// SUM:    holds every sum: int for 8 bits, long for more, float. A weight of 1 is 2^BITS.
// SIGNED: 1 when weights may be below 0, so that sums may exceed what the result's type has.

#ifndef FLOAT
#define FLOAT 1
#define SUM float
#define BITS 0
#endif
#ifndef SIGNED
#define SIGNED 0
#endif

// Channels that are loaded and stored at once, and a vector of them.
#define CHANNELS TO_CHANNELS
#if FROM_PLANAR || TO_PLANAR || CHANNELS == 1
#define AT_ONCE 1
#define WIDTH
#define VLOAD(at) *(at)
#define VSTORE(value, at) *(at) = value
#else
#define AT_ONCE CHANNELS
#define WIDTH CHANNELS
#define VLOAD(at) JOIN(vload, CHANNELS)(0, at)
#define VSTORE(value, at) JOIN(vstore, CHANNELS)(value, 0, at)
#endif
#define Sums JOIN(SUM, WIDTH)
#define Elements JOIN(ELEMENT, WIDTH)

#if HALF
#define LOAD(at) JOIN(vload_half, WIDTH)(0, at)
#define STORE(value, at) JOIN(JOIN(vstore_half, WIDTH), _rte)(value, 0, at)
#elif FLOAT
#define LOAD(at) VLOAD(at)
#define STORE(value, at) VSTORE(value, at)
#else
#define LOAD(at) JOIN(convert_, Sums)(VLOAD(at))
#if SIGNED
#define TO_ELEMENTS JOIN(JOIN(convert_, Elements), _sat)
#else
#define TO_ELEMENTS JOIN(convert_, Elements)
#endif
// Half is added, so that the shift rounds to the nearest.
#define STORE(value, at) VSTORE(TO_ELEMENTS((value + ((SUM)1 << (2 * BITS - 1))) >> (2 * BITS)), at)
#endif

// A value whose weight is 0 may be NaN or infinite.
#if FLOAT
#define COUNTED(weight, value) ((weight) == 0 ? (Sums)0 : (weight) * (value))
#else
#define COUNTED(weight, value) ((weight) * (value))
#endif
