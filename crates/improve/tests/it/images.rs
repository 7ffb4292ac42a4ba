//! Buffers that become images.

use crate::rewrites::{holds, leaves_alone, proposals, verified};
use crate::subject;

/// A product of matrices of an element type, and its launch.
fn launch(element: &str) -> String {
    let matrix = |name: &str, count: &str, seed: u32| {
        format!(
            "[[argument]]\nname = '{name}'\nbuffer = '{element}'\ncount = {count}\nrandom = {{ seed = {seed} }}\n"
        )
    };
    format!(
        "global = ['n', 'm']\n{}{}[[argument]]\nname = 'c'\nbuffer = 'float'\ncount = ['m', 'n']\nfill = 0\n\
         [[argument]]\nname = 'm'\nvalue = 20\n[[argument]]\nname = 'n'\nvalue = 24\n[[argument]]\nname = 'k'\nvalue = 40\n",
        matrix("a", "['m', 'k']", 1),
        matrix("b", "['k', 'n']", 2)
    )
}

fn kernel(element: &str, body: &str) -> String {
    format!(
        "kernel void k(global const {element} *a, global const {element} *b, global float *c, int m, int n, int k) {{
    const int y = get_global_id(1);
{body}
}}
"
    )
}

const PLAIN: &str = "    const int x = get_global_id(0);
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;";

#[test]
fn rows_become_rows_of_texels() {
    for (element, function) in [
        ("float", "read_imagef"),
        ("half", "read_imageh"),
        ("uchar", "(uchar)read_imageui"),
        ("char", "(char)read_imagei"),
        ("ushort", "(ushort)read_imageui"),
    ] {
        let source = kernel(element, PLAIN);
        let source = format!("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n{source}");
        let subject = subject(&source, &launch(element));
        holds("buffer-to-image", &subject);
        let all = proposals("buffer-to-image", &subject);
        assert_eq!(all.len(), 3, "one, the other, both");
        assert!(all[2].source.contains(&format!("{function}(b, (int2)(")), "{}", all[2].source);
        assert!(!all[2].source.contains("*a") && !all[2].source.contains("*b"), "{}", all[2].source);
    }
}

#[test]
fn vectors_become_texels_of_four() {
    let source = kernel(
        "float",
        "    const int x = 4 * get_global_id(0);
    if (x >= n || y >= m) return;
    float4 sum = 0;
    int i = 0;
    for (; i + 3 < k; i += 4) {
        const float4 row = vload4(0, &a[y * k + i]);
        sum += row.s0 * vload4(0, &b[i * n + x]);
        sum += row.s1 * vload4(0, &b[(i + 1) * n + x]);
        sum += row.s2 * vload4(0, b + (i + 2) * n + x);
        sum += row.s3 * vload4(0, b + (i + 3) * n + x);
    }
    for (; i < k; i++)
        sum += a[y * k + i] * vload4(0, &b[i * n + x]);
    vstore4(sum, 0, &c[y * n + x]);",
    );
    let launch = launch("float").replace("['n', 'm']", "['n / 4', 'm']");
    let subject = subject(&source, &launch);
    holds("buffer-to-image", &subject);
    let all = proposals("buffer-to-image", &subject);
    let both = &all[2].source;
    assert!(both.contains("read_imagef(b, (int2)((int)get_global_id(0), i + 1))"), "{both}");
    assert!(both.contains("read_imagef(a, (int2)(i >> 2, y))"), "{both}");
    // In the second loop, the channel is not known.
    assert!(both.contains("a_at(a, i, y)") && both.contains("column & 3"), "{both}");
}

/// Vectors that start inside a texel are put together of two.
#[test]
fn windows_become_parts_of_texels() {
    let source =
        "kernel void k(global const float *a, global const float *b, global float *c, int m, int n, int k) {
    const int x = 4 * get_global_id(0), y = get_global_id(1);
    if (x + 5 >= k || x + 3 >= n || y >= m) return;
    global const float *row = a + y * k;
    const float4 next = vload4(0, row + x + 1);
    vstore4(vload4(0, row + x) + next + row[x + 5] + b[y], 0, &c[y * n + x]);
}
";
    let launch = launch("float").replace("['n', 'm']", "['n / 4', 'm']");
    let source = holds("buffer-to-image", &subject(source, &launch));
    assert!(source.contains(".s12") && source.contains(".s3") && !source.contains("*row"), "{source}");
}

#[test]
fn functions_of_the_source_get_the_image() {
    let source = "static float one(global const float *b, int n, int x, int i) { return b[i * n + x]; }
kernel void k(global const float *a, global const float *b, global float *c, int m, int n, int k) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= m) return;
    float sum = b[x];
    for (int i = 0; i < k; i++) sum += a[y * k + i] * one(b, n, x, i) * b[i * n + x];
    c[y * n + x] = sum;
}
";
    let all = proposals("buffer-to-image", &subject(source, &launch("float")));
    let b = all.iter().find(|it| it.title == "`b` as an image").unwrap();
    assert!(b.source.contains("one(read_only image2d_t b, int n"), "{}", b.source);
    assert!(verified(&subject(source, &launch("float")), b).is_ok(), "{}", b.source);
}

#[test]
fn buffers_that_are_no_rows_or_are_written_stay() {
    for body in [
        // No rows.
        "    const int x = get_global_id(0);\n    c[x] = a[x] + b[x];",
        // Indices from the buffer itself, and from its address.
        "    const int x = get_global_id(0);\n    c[x] = a[y * n + (int)a[y * k + x]] + b[x];",
        "    global const float *p = &a[y * k];\n    p += 1;\n    c[y] = p[y * k] + b[y];",
    ] {
        leaves_alone("buffer-to-image", &subject(&kernel("float", body), &launch("float")));
    }
    let written = kernel("float", PLAIN)
        .replace("global const", "global")
        .replace("    float sum", "    a[y * k] = b[y * n] = 1;\n    float sum");
    leaves_alone("buffer-to-image", &subject(&written, &launch("float")));
}
