// Element by element: loaded, changed by up to eight steps, converted, stored.
//
// All steps run in one pass, because memory is the limit for each of them. Elements are in up to three directions,
// with a distance in each; neighbours of the result are neighbours in dimension 0.
//
// STEP0 to STEP7: the steps. Each name brings its own parameters and its own statement, which are pasted into the
// kernel.
// TO, TO_HALF, TO_FLOAT: the type of the result. ELEMENT is that of the source and of the steps' operands.
// FLOAT: 1 when steps compute in float, for integers too. WIDE: an integer type that holds the product of two integers.

#pragma OPENCL FP_CONTRACT OFF

#ifndef TO
#define TO float
#define TO_HALF 0
#define TO_FLOAT 1
#define FLOAT 1
#define WIDE float
#define STEP0 ADD
#define STEP1 RELU
#define STEP2 NOTHING
#define STEP3 NOTHING
#define STEP4 NOTHING
#define STEP5 NOTHING
#define STEP6 NOTHING
#define STEP7 NOTHING
#endif

#define CONVERT(type, how) JOIN(JOIN(convert_, type), how)

#if FLOAT
#define WORK float
#define LOAD(at) (float)GET(at)
#define SUM(a, b) ((a) + (b))
#define DIFFERENCE(a, b) ((a) - (b))
#define PRODUCT(a, b) ((a) * (b))
// NaN stays NaN.
#define AT_LEAST(a, least) ((a) < (least) ? (least) : (a))
#define AT_MOST(a, most) ((a) > (most) ? (most) : (a))
#else
// Integers saturate in every step.
#define WORK ELEMENT
#define LOAD(at) GET(at)
#define SUM(a, b) add_sat(a, b)
#define DIFFERENCE(a, b) sub_sat(a, b)
#define PRODUCT(a, b) CONVERT(ELEMENT, _sat)((WIDE)(a) * (WIDE)(b))
#define AT_LEAST(a, least) max(a, least)
#define AT_MOST(a, most) min(a, most)
#endif

#if TO_HALF
#define STORE(value, at) vstore_half_rte((float)(value), 0, at)
#elif TO_FLOAT
#define STORE(value, at) *(at) = (TO)(value)
#elif FLOAT
// NaN becomes 0.
#define STORE(value, at) *(at) = value == value ? CONVERT(TO, _sat_rte)(value) : (TO)0
#else
#define STORE(value, at) *(at) = CONVERT(TO, _sat)(value)
#endif

#define AT(place) (place.x + i * place.y + j * place.z + k * place.w)

#define PARAMETERS_NOTHING(n)
#define DO_NOTHING(n)

#define OPERAND(n) , global const ELEMENT *other##n, const uint4 place##n
#define PARAMETERS_ADD(n) OPERAND(n)
#define DO_ADD(n) value = SUM(value, LOAD(other##n + AT(place##n)));
#define PARAMETERS_SUBTRACT(n) OPERAND(n)
#define DO_SUBTRACT(n) value = DIFFERENCE(value, LOAD(other##n + AT(place##n)));
#define PARAMETERS_MULTIPLY(n) OPERAND(n)
#define DO_MULTIPLY(n) value = PRODUCT(value, LOAD(other##n + AT(place##n)));

#define PARAMETERS_DIVIDE(n) OPERAND(n)
#define DO_DIVIDE(n) value = value / LOAD(other##n + AT(place##n));

#define PARAMETERS_ADD_NUMBER(n) , const WORK number##n
#define DO_ADD_NUMBER(n) value = SUM(value, number##n);
#define PARAMETERS_SUBTRACT_NUMBER(n) , const WORK number##n
#define DO_SUBTRACT_NUMBER(n) value = DIFFERENCE(value, number##n);
#define PARAMETERS_MULTIPLY_NUMBER(n) , const WORK number##n
#define DO_MULTIPLY_NUMBER(n) value = PRODUCT(value, number##n);
#define PARAMETERS_DIVIDE_NUMBER(n) , const WORK number##n
#define DO_DIVIDE_NUMBER(n) value = value / number##n;
#define PARAMETERS_CLAMP(n) , const WORK least##n, const WORK most##n
#define DO_CLAMP(n) \
    value = AT_LEAST(value, least##n); \
    value = AT_MOST(value, most##n);

#define PARAMETERS_RELU(n)
#define DO_RELU(n) value = AT_LEAST(value, (WORK)0);
#define PARAMETERS_SIGMOID(n)
#define DO_SIGMOID(n) value = 1.0f / (1.0f + exp(-value));
#define PARAMETERS_TANH(n)
#define DO_TANH(n) value = tanh(value);
// Below -14.5 the result is 0; a product with minus infinity would be NaN.
#define PARAMETERS_GELU(n)
#define DO_GELU(n) value = value < -14.5f ? -0.0f : 0.5f * value * erfc(-0.70710678f * value);

#define PARAMETERS(step, n) JOIN(PARAMETERS_, step)(n)
#define DO(step, n) JOIN(DO_, step)(n)

// A place is the index of the first element and the distances in each direction; `extents` the number of elements in
// each.
kernel void map(global const ELEMENT *source, const uint4 source_place, global TO *result, const uint4 result_place,
                const uint4 extents PARAMETERS(STEP0, 0) PARAMETERS(STEP1, 1) PARAMETERS(STEP2, 2)
                    PARAMETERS(STEP3, 3) PARAMETERS(STEP4, 4) PARAMETERS(STEP5, 5) PARAMETERS(STEP6, 6)
                        PARAMETERS(STEP7, 7))
{
    const uint i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i >= extents.x || j >= extents.y)
        return;
    WORK value = LOAD(source + AT(source_place));
    DO(STEP0, 0)
    DO(STEP1, 1)
    DO(STEP2, 2)
    DO(STEP3, 3)
    DO(STEP4, 4)
    DO(STEP5, 5)
    DO(STEP6, 6)
    DO(STEP7, 7)
    STORE(value, result + AT(result_place));
}
