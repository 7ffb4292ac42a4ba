// One element to and from memory.
//
// A half is loaded into float and stored from it, which every device can do, whether it computes in half or not.
//
// ELEMENT: the type in memory. HALF: 1 for half.

#ifndef ELEMENT
#define ELEMENT float
#define HALF 0
#endif

#if HALF
#define GET(at) vload_half(0, at)
#define PUT(value, at) vstore_half_rte(value, 0, at)
#else
#define GET(at) (*(at))
#define PUT(value, at) (*(at) = (ELEMENT)(value))
#endif
