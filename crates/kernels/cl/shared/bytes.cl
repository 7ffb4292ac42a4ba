// Elements that are bytes: the defaults of a program that has no other elements.

#ifndef ELEMENT
#define ELEMENT uchar
#define HALF 0
#define FLOAT 0
#endif
#ifndef FROM_ALIGNED
#define FROM_ALIGNED 0
#define TO_ALIGNED 0
#define BLOCK uint
#endif
