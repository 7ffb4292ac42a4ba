// Made values.txt: gcc -w values.c && ./a.out > values.txt (glibc 2.36, x86-64).
//
// A line each: kind of argument, format, argument, and in brackets what comes out. Doubles are given by their bits.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

int main(void) {
    const char *int_formats[] = {
        "%d", "%5d", "%-7d", "%+d", "% i", "%07d", "%.3d", "%8.3d", "%-+8.3i", "%.0d", "%+.0d", "%u", "%x", "%X", "%#x",
        "%#X", "%#o", "%o", "%#.0o", "%#.0x", "%#010x", "%-#10o", "%08.3x", "%hhd", "%hhu", "%hd", "%hu", "%hhx", "%#.5o",
        "%0-8d", "% 05d", "%+ d",
    };
    const int ints[] = {0, 1, -1, 42, -12345, INT_MAX, INT_MIN, 300};
    const char *long_formats[] = {
        "%ld", "%20ld", "%lu", "%lx", "%#lX", "%lo", "%-22ld", "%.25ld", "%+li",
    };
    const long longs[] = {0, 1, -1, LONG_MAX, LONG_MIN, 123456789012345};
    const char *double_formats[] = {
        "%f", "%.0f", "%#.0f", "%.3f", "%12.2f", "%-12.2f", "%+f", "% .1f", "%010.2f", "%F", "%e", "%.0e", "%#.0e", "%E",
        "%12.3e", "%012.3e", "%g", "%.0g", "%#g", "%.10g", "%G", "%.3g", "%#.3G", "%+10g", "%a", "%A", "%.0a", "%.3a",
        "%#.0a", "%.15a", "%20a", "%020a", "%-20a", "%+.1a", "%.30f", "%.20e", "%.17g", "%lf", "%.2lf",
    };
    const double doubles[] = {
        0, -0.0, 1, -1, 0.5, 1.5, 2.5, 0.1, -123.456, 1e10, 123456, 1234567, 999999.5, 0.0001, 0.00001234, 1e-5, 1e100,
        1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, INFINITY, -INFINITY, NAN, 3.999999, 9.5, 0.099999999, 100,
        1e15, 1e16, 0x1.fffffffffffffp0, 0x1.8p-1050,
    };
    const char *string_formats[] = {"%s", "%10s", "%-10s", "%.3s", "%10.2s", "%.0s"};
    char line[1000];
    for (size_t f = 0; f < COUNT(int_formats); f++)
        for (size_t k = 0; k < COUNT(ints); k++) {
            snprintf(line, sizeof line, int_formats[f], ints[k]);
            printf("int %s %d [%s]\n", int_formats[f], ints[k], line);
        }
    for (size_t f = 0; f < COUNT(long_formats); f++)
        for (size_t k = 0; k < COUNT(longs); k++) {
            snprintf(line, sizeof line, long_formats[f], longs[k]);
            printf("long %s %ld [%s]\n", long_formats[f], longs[k], line);
        }
    for (size_t f = 0; f < COUNT(double_formats); f++)
        for (size_t k = 0; k < COUNT(doubles); k++) {
            // glibc loses the zeros here: C99, 7.19.6.1 wants 1.00000e+06.
            if (strchr(double_formats[f], '#') && doubles[k] == 999999.5)
                continue;
            unsigned long bits;
            memcpy(&bits, &doubles[k], sizeof bits);
            snprintf(line, sizeof line, double_formats[f], doubles[k]);
            printf("double %s %lu [%s]\n", double_formats[f], bits, line);
        }
    for (size_t f = 0; f < COUNT(string_formats); f++) {
        snprintf(line, sizeof line, string_formats[f], "hello");
        printf("string %s hello [%s]\n", string_formats[f], line);
    }
}
