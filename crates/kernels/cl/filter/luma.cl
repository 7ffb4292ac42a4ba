// The weights of red, green and blue in gray (ITU-R BT.601).
//
// For integers they are in steps of 2^-15 or 2^-14, and the sum is rounded half up.

#define LUMA_FLOAT(red, green, blue) (0.299f * (red) + 0.587f * (green) + 0.114f * (blue))
#define LUMA_15(red, green, blue) ((9798 * (red) + 19235 * (green) + 3735 * (blue) + (1 << 14)) >> 15)
#define LUMA_14(red, green, blue) ((4899 * (red) + 9617 * (green) + 1868 * (blue) + (1 << 13)) >> 14)
