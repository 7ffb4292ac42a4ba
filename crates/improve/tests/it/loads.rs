//! Rewrites of loads and stores: several elements in one access.

use crate::rewrites::{ROWS, holds, leaves_alone, proposals, rows};
use tripipe_improve::Subject;

use crate::subject;

/// A product of a matrix and a transposed one, and its launch.
const PRODUCT: &str = "global = ['n', 'm']
[[argument]]
name = 'a'
buffer = 'char'
count = ['m', 'k']
random = { seed = 1 }
[[argument]]
name = 'b'
buffer = 'char'
count = ['k', 'n']
random = { seed = 2 }
[[argument]]
name = 'c'
buffer = 'int'
count = ['m', 'n']
[[argument]]
name = 'm'
value = 20
[[argument]]
name = 'n'
value = 24
[[argument]]
name = 'k'
value = 37
";

#[test]
fn neighbours_in_turn_are_loaded_together() {
    for body in [
        "float sum = 0; for (int i = 0; i < columns; i++) sum += in[r * columns + i]; out[r] = sum;",
        "float sum = 0; for (size_t i = 3; i < columns; i += 1) { float v = in[r * columns + i]; sum += v * v; } \
            out[r] = sum;",
        "global const float *row = in + r * columns; float sum = 0; int i; for (i = 0; i <= columns - 1; ++i) \
            sum = mad(row[i], *(row + i), sum); out[r] = sum + i;",
        "float sum = 0; for (int i = 0; i < columns; i++) { int at = i + r * columns; const float v = in[at]; \
            global const float *next = in + (at ^ 1); sum += v * *next; } out[r] = sum;",
        "int i; float sum = 0; if (columns > 1)\n#pragma unroll 4\n for (i = 0; i < columns; i++) \
            sum += in[r * columns + i]; else sum = 5; out[r] = sum;",
        // What differs between steps but is not in turn stays as it is.
        "float sum = 0; for (uint i = 0; i < columns; i++) sum += in[r * columns + i] * in[i * rows + r]; \
            out[r] = sum;",
        "float sum[2] = {0, 1}; for (uint i = 0; i < columns; i++) sum[i & 1] += in[r * columns + i]; \
            out[r] = sum[0] / sum[1];",
    ] {
        let source = holds("batch-loads", &rows(body));
        assert!(source.contains("vload2(0, "), "{source}");
    }
}

/// The places of a macro's parts cannot be changed: its text stays.
#[test]
fn macros_keep_their_text() {
    let source = "#define AT(row, column, width) ((row) * (width) + (column))
        #define A(y, x) a[AT(y, x, k)]
        kernel void k(global const char *a, global const char *b, global int *c, int m, int n, int k) {
            int x = get_global_id(0), y = get_global_id(1);
            if (x < n && y < m) {
                int sum = 0;
                for (int i = 0; i < k; i++)
                    sum += A(y, i) * b[AT(i, x, n)];
                c[y * n + x] = sum;
            }
        }";
    let source = holds("batch-loads", &subject(source, PRODUCT));
    assert!(source.contains("const char4 a_1 = vload4(0, &A(y, i));"), "{source}");
}

#[test]
fn a_constant_number_of_turns_needs_no_second_loop() {
    let body = "float sum = 0; for (int i = 0; i < 8; i++) sum += in[r * columns + i]; out[r] = sum;";
    let source = holds("batch-loads", &rows(body));
    assert_eq!(source.matches("for (").count(), 1, "{source}");
    let odd = "float sum = 0; for (int i = 0; i < 7; i++) sum += in[r * columns + i]; out[r] = sum;";
    assert_eq!(holds("batch-loads", &rows(odd)).matches("for (").count(), 2);
    leaves_alone("batch-loads", &rows(&odd.replace("i < 7", "i < 1")));
}

#[test]
fn loads_that_a_step_may_not_do_or_may_see_changed_stay_single() {
    for body in [
        // The step before may store it.
        "for (int i = 0; i < columns; i++) out[r * columns + i] = in[r * columns + i];",
        // Not in every step.
        "float sum = 0; for (int i = 0; i < columns; i++) if (i > 3) sum += in[r * columns + i]; out[r] = sum;",
        "float sum = 0; for (int i = 0; i < columns; i++) sum += i > 3 ? in[r * columns + i] : 0; out[r] = sum;",
        // The loop may end before the last element exists.
        "float sum = 0; for (int i = 0; i < columns; i++) { if (sum > 9) break; sum += in[r * columns + i]; } \
            out[r] = sum;",
        // Not neighbours, or from a place that moves.
        "float sum = 0; for (int i = 0; i < rows; i++) sum += in[i * columns + r]; out[r] = sum;",
        "int at = 0; float sum = 0; for (int i = 0; i < 8; i++) { at += 2; sum += in[at + i]; } out[r] = sum;",
        "float sum = 0; for (int i = 0; i < 300; i++) sum += in[(uchar)(r + i)]; out[r] = sum;",
        // The counter moves in the body.
        "float sum = 0; for (int i = 0; i < columns; i++) { sum += in[r * columns + i]; i++; } out[r] = sum;",
        "volatile global const float *row = in + r * columns; float sum = 0; for (int i = 0; i < columns; i++) \
            sum += row[i]; out[r] = sum;",
    ] {
        leaves_alone("batch-loads", &rows(body));
    }
}

#[test]
fn a_block_of_a_product_takes_vectors_in_both_directions() {
    for source in [
        "kernel void k(global const char *a, global const char *b, global int *c, int m, int n, int k) {
            size_t x = get_global_id(0), y = get_global_id(1);
            if (x >= n || y >= m) return;
            int sum = 0;
            for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
            c[y * n + x] = sum;
        }",
        "kernel void k(global const char *a, global const char *b, global int *c, int m, int n, int k) {
            const int x = get_global_id(0), y = get_global_id(1);
            if (x < n && y < m) {
                global const char *row = a + y * k, *column = b + x;
                c[y * n + x] = 0;
                int sum = 7;
                for (int i = 0; i < k; ++i) { int p = row[i]; int q = column[i * n]; sum += p * q; }
                c[y * n + x] = sum;
            }
        }",
    ] {
        let source = holds("tile-product", &subject(source, PRODUCT));
        assert!(source.contains("vload4(0, ") && source.contains("vload8(0, "), "{source}");
    }
    // Only the loops of products and sums have rows.
    leaves_alone("tile-product", &rows("for (int i = 0; i < columns; i++) out[r * columns + i] = i;"));
}

/// Rows of both factors, as a fully connected layer has them, and as a convolution of 1 x 1.
fn rows_of_bytes(element: &str, body: &str) -> Subject {
    let source = format!(
        "kernel void k(global const {element} *a, global const {element} *b, global int *c, int m, int n, int k) {{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= m) return;
{body}
}}
"
    );
    let launch = PRODUCT.replace("['k', 'n']", "['n', 'k']").replace("'char'", &format!("'{element}'"));
    subject(&source, &launch)
}

#[test]
fn products_of_bytes_become_dot_products() {
    for (element, body) in [
        (
            "char",
            "int sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i]; c[y * n + x] = sum;",
        ),
        (
            "uchar",
            "uint sum = n; for (int i = 0; i < k; i++) sum = sum + (uint)a[y * k + i] * b[x * k + i]; \
            c[y * n + x] = sum;",
        ),
        (
            "char",
            "const global char *p = a + y * k, *q = b + x * k; int sum = m; for (size_t i = 0; i < k; ++i) { \
            const int left = p[i] - 3, right = (short)q[i] + n; sum += left * right; } c[y * n + x] = sum;",
        ),
        (
            "uchar",
            "int s = 0, t = 0; for (int i = 1; i < k; i++) { s -= (a[y * k + i] - m) * b[x * k + i]; \
            t += b[x * k + i]; } c[y * n + x] = s ^ t;",
        ),
        (
            "uchar",
            "int sum = 0; global const char *w = (global const char *)b + x * k; for (int i = 0; i < k; i++) \
            sum += convert_int(a[y * k + i]) * w[i]; c[y * n + x] = sum;",
        ),
        (
            "char",
            "int sum = 0; for (int i = 0; i < k; i++) sum = mad24((int)a[y * k + i], (int)b[x * k + i], sum); \
            c[y * n + x] = sum;",
        ),
        (
            "char",
            "int sum = 0; for (int i = 0; i < k; i++) { int ai = y * k + i; int bi = i + x * k; \
            int p = a[ai]; sum += p * b[bi]; } c[y * n + x] = sum;",
        ),
    ] {
        let source = holds("integer-dot", &rows_of_bytes(element, body));
        assert!(source.contains("arm_dot"), "{source}");
    }
    let body =
        "int sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i]; c[y * n + x] = sum;";
    let source = holds("tile-product", &rows_of_bytes("char", body));
    assert!(source.matches("arm_dot").count() > 8, "{source}");
}

#[test]
fn sums_of_something_else_have_no_dot_product() {
    for body in [
        // B's bytes lie apart.
        "int sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x]; c[y * n + x] = sum;",
        // Sums of floats, of 16 bits, and of saturated steps.
        "float sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i]; c[y * n + x] = sum;",
        "short sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i]; c[y * n + x] = sum;",
        "int sum = 0; for (int i = 0; i < k; i++) sum = add_sat(sum, a[y * k + i] * b[x * k + i]); \
            c[y * n + x] = sum;",
        // Products of three, products that are cut to a byte, and of the counter.
        "int sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i] * a[y * k + i]; \
            c[y * n + x] = sum;",
        "int sum = 0; for (int i = 0; i < k; i++) { char v = a[y * k + i] + 1; sum += v * b[x * k + i]; } \
            c[y * n + x] = sum;",
        "int sum = 0; for (int i = 0; i < k; i++) sum += a[y * k + i] * (b[x * k + i] + i); c[y * n + x] = sum;",
        "int sum = 1; for (int i = 0; i < k; i++) sum += sum + a[y * k + i] * b[x * k + i]; c[y * n + x] = sum;",
    ] {
        leaves_alone("integer-dot", &rows_of_bytes("char", body));
    }
}

/// A launch of one dimension over a picture.
fn flat(body: &str) -> Subject {
    let source = format!(
        "#define CHANNELS 3
kernel void k(global const float *in, global float *out, int rows, int columns) {{
{body}
}}
"
    );
    subject(&source, &ROWS.replace("global = 'rows'", "global = 'rows * columns'"))
}

#[test]
fn ids_that_are_taken_apart_become_two() {
    for body in [
        "int id = get_global_id(0); if (id >= rows * columns) return; int r = id / columns, c = id % columns;
            out[id] = in[r * columns + (c + 1) % columns];",
        "const size_t id = get_global_id(0); if (id < (size_t)rows * columns) { int c = id % columns; \
            int left = (id % columns) > 0 ? c - 1 : c; out[(id / columns) * columns + c] = in[id - c + left]; }",
        "uint i = (uint)get_global_id(0); uint n = rows * columns; if (i >= n) return; \
            out[i] = in[i / CHANNELS * CHANNELS + i % CHANNELS] + (i % CHANNELS);",
    ] {
        let source = holds("unflatten", &flat(body));
        assert!(source.contains("get_global_id(1)") && !source.contains("% columns;"), "{source}");
    }
    for body in [
        // The id moves, or is not taken apart, or groups matter.
        "int id = get_global_id(0); if (id >= rows * columns) return; id++; out[id - 1] = in[id % columns];",
        "int id = get_global_id(0); if (id >= rows * columns) return; out[id] = in[id];",
        "int id = get_global_id(0); if (id >= rows * columns) return; out[id] = in[id % columns] + get_local_id(0);",
    ] {
        leaves_alone("unflatten", &flat(body));
    }
    let mut hidden = flat(
        "int id = get_global_id(0); if (id >= rows * columns) return; out[id] = in[id % columns] + at();",
    );
    hidden.source.insert_str(0, "static int at() { return get_global_id(0); }\n");
    leaves_alone("unflatten", &hidden);
}

/// Elements of 4 work-items, `rows` rows of 4 columns at a time.
fn fours(body: &str) -> Subject {
    let source = format!(
        "kernel void k(global const float *in, global float *out, int rows, int columns) {{
    const int r = get_global_id(0);
    if (r >= rows) return;
    const int at = r * columns;
{body}
}}
"
    );
    subject(&source, ROWS)
}

#[test]
fn neighbours_are_loaded_and_stored_together() {
    for (body, load, store) in [
        ("out[at] = in[at] * 2; out[at + 1] = in[at + 1] * 2;", "vload2(0, &in[at])", "vstore2((float2)("),
        (
            "float a = in[at + 1], b = in[at + 2]; float c = in[at]; out[at + 2] = a - b; out[at] = c; \
            out[1 + at] = c * b;",
            "vload3(",
            "vstore3((float3)(",
        ),
        (
            "for (int i = 0; i < 4; i++) out[at + i] = in[at + i] + i;",
            "vload4(0, &in[at + 0])",
            "vstore4((float4)(",
        ),
        (
            "float sum = 0; for (int i = 1; i <= 8; ++i) { sum += *(in + at + i); } out[at] = sum;",
            "vload8(",
            "out[at] = sum",
        ),
        (
            "global float *p = out + at; p[0] = p[0] + 1; p[1] = p[1] + 2;",
            "vload2(0, &p[0])",
            "vstore2((float2)(",
        ),
    ] {
        let source = holds("merge-accesses", &fours(body));
        assert!(source.contains(load) && source.contains(store), "{source}");
    }
}

#[test]
fn accesses_that_may_not_happen_or_may_meet_stay_apart() {
    for body in [
        "if (columns > 1) out[at] = in[at]; out[at + 1] = 0;",
        "int i = at; out[i] = 1; i += 5; out[i + 1] = 2;",
        "out[at] = 1; float a = out[at + rows - rows]; out[at + 1] = a;",
        "out[at] = in[at] > 0 ? in[at + 1] : 0;",
        // The second step loads what the first one stored.
        "out[at] = out[at] + 1; out[at + 1] = out[at + 1] + out[at];",
        "out[at] = 1; barrier(CLK_GLOBAL_MEM_FENCE); out[at + 1] = 2;",
    ] {
        leaves_alone("merge-accesses", &fours(body));
    }
}

/// The outputs at the edge of one dimension are computed one by one, at each position of the other one.
#[test]
fn a_block_at_the_edge_has_all_rows() {
    let source =
        "kernel void k(global const char *a, global const char *b, global int *c, int m, int n, int k) {
        int x = get_global_id(0);
        int y = get_global_id(1);
        if (x < n && y < m) {
            int sum = 0;
            for (int i = 0; i < k; i++) sum += a[y * k + i] * b[x * k + i];
            c[y * n + x] = sum > 0 ? sum : 0;
        }
    }";
    let launch = PRODUCT.replace("['k', 'n']", "['n', 'k']");
    let source = holds("tile-product", &subject(source, &launch));
    assert!(source.contains("sum_1_1 ") || source.contains("sum__1"), "{source}");
}

/// A filter along a row, and its launch: `taps` weights.
fn filter(body: &str) -> Subject {
    let source = format!(
        "kernel void k(global const float *in, global const float *weights, global float *out, int n, int taps) {{
    int i = get_global_id(0);
    if (i >= n) return;
    float sum = 0;
{body}
    out[i] = sum;
}}
"
    );
    let launch = "global = ['n']
[[argument]]
name = 'in'
buffer = 'float'
count = ['n + taps']
random = { seed = 1 }
[[argument]]
name = 'weights'
buffer = 'float'
count = ['taps']
random = { seed = 2 }
[[argument]]
name = 'out'
buffer = 'float'
count = ['n']
[[argument]]
name = 'n'
value = 100
[[argument]]
name = 'taps'
value = 16
";
    subject(&source, launch)
}

/// A window of 16 beside vectors of 8 reads 23 elements: three loads.
#[test]
fn a_window_is_read_by_the_fewest_loads() {
    for body in [
        "for (int k = 0; k < 16; k++) sum += weights[k] * in[i + k];",
        "for (int k = 0; k < taps; k++) sum += weights[k] * in[i + k];",
        "for (int k = 0; k < 16; ++k) { const float v = in[i + k]; float w = v * 2; w += weights[k]; sum += v * w; }",
        "for (int k = -15; k <= 0; k++) sum += weights[-k] * in[i - k];",
    ] {
        let subject = filter(body);
        holds("share-loads", &subject);
        let all = proposals("share-loads", &subject);
        let eight = all.iter().find(|it| it.title.starts_with("8 x 1")).unwrap();
        assert_eq!(eight.source.matches("vload8(").count(), 3, "{}", eight.source);
        assert_eq!(eight.source.matches("for (int k").count(), 1, "the function of one output has it still");
    }
}

#[test]
fn what_does_not_overlap_is_loaded_as_before() {
    for body in [
        // Steps of a whole vector, or no window at all.
        "for (int k = 0; k < 16; k++) sum += weights[k] * in[i];",
        "for (int k = 0; k < n; k++) sum += in[k];",
        "sum = in[i];",
        // The turns are not known.
        "for (int k = 0; k < (int)in[0]; k++) sum += in[i + k];",
    ] {
        leaves_alone("share-loads", &filter(body));
    }
}
