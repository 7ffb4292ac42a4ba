// Lists that repeat a macro.
//
// Older drivers put arrays of a kernel into memory ("spill") even where every index is constant. So everything that
// would be an array has names instead: TIMES_4(X) is X(0) X(1) X(2) X(3), and X pastes its argument into a name. The
// digits are hexadecimal, as the components of a vector are: 0x##i is the index as a number, .s##i the component.

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TIMES_1(X) X(0)
#define TIMES_2(X) TIMES_1(X) X(1)
#define TIMES_3(X) TIMES_2(X) X(2)
#define TIMES_4(X) TIMES_3(X) X(3)
#define TIMES_5(X) TIMES_4(X) X(4)
#define TIMES_6(X) TIMES_5(X) X(5)
#define TIMES_7(X) TIMES_6(X) X(6)
#define TIMES_8(X) TIMES_7(X) X(7)
#define TIMES_9(X) TIMES_8(X) X(8)
#define TIMES_10(X) TIMES_9(X) X(9)
#define TIMES_11(X) TIMES_10(X) X(a)
#define TIMES_12(X) TIMES_11(X) X(b)
#define TIMES_13(X) TIMES_12(X) X(c)
#define TIMES_14(X) TIMES_13(X) X(d)
#define TIMES_15(X) TIMES_14(X) X(e)
#define TIMES_16(X) TIMES_15(X) X(f)
