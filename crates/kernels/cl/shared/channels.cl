// Where the channels of a pixel are: side by side (packed), or in planes.
//
// FROM_CHANNELS, TO_CHANNELS: channels of a pixel of the source and of the result. FROM_PLANAR, TO_PLANAR: 1 for
//                             planes.

#ifndef FROM_CHANNELS
#define FROM_CHANNELS 3
#define TO_CHANNELS 3
#endif
#ifndef FROM_PLANAR
#define FROM_PLANAR 0
#define TO_PLANAR 0
#endif

// Elements from a pixel to the next, and from a channel to the next; `plane` is the distance from plane to plane.
#if FROM_PLANAR
#define FROM_STEP 1
#define FROM_NEXT(plane) (plane)
#else
#define FROM_STEP FROM_CHANNELS
#define FROM_NEXT(plane) 1
#endif
#if TO_PLANAR
#define TO_STEP 1
#define TO_NEXT(plane) (plane)
#else
#define TO_STEP TO_CHANNELS
#define TO_NEXT(plane) 1
#endif
