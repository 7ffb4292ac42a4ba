//! Tiles in local memory that rewrites add and remove.

use tripipe_improve::Subject;

use crate::rewrites::{holds, leaves_alone, proposals, verified};
use crate::subject;

const MATRIX: &str = "global = ['width', 'height']
[[argument]]
name = 'in'
buffer = 'float'
count = ['height', 'width']
random = { seed = 1, low = 0, high = 1 }
[[argument]]
name = 'out'
buffer = 'float'
count = ['height', 'width']
fill = 0
[[argument]]
name = 'width'
value = 48
[[argument]]
name = 'height'
value = 40
";

fn matrix(body: &str) -> Subject {
    let source = format!(
        "kernel void k(global const float *in, global float *out, int width, int height) {{\n{body}\n}}\n"
    );
    subject(&source, MATRIX)
}

#[test]
fn what_is_stored_a_row_apart_goes_through_a_tile() {
    for (body, expected) in [
        (
            "    int x = get_global_id(0);\n    int y = get_global_id(1);\n    if (x >= width || y >= height)\n        \
            return;\n    out[x * height + y] = in[y * width + x]; // turned",
            "    const int x_1 = 16 * get_group_id(0) + get_local_id(1);\n",
        ),
        // Loads are a row apart, and stores are not; the sizes are the other way round.
        (
            "    const uint x = get_global_id(0), y = get_global_id(1);\n    if (x < height && y < width)\n        \
            out[y * height + x] = in[x * width + y] * 2.0f;",
            "    const uint x = 16 * get_group_id(0) + get_local_id(1), y = 16 * get_group_id(1) + get_local_id(0);\n",
        ),
        // Sums are taken before the test of what exists.
        (
            "    int x = get_global_id(0);\n    global float *column = out + x * height;\n    float sum = 0;\n    \
            for (int i = 0; i < 3; i++)\n        sum += in[get_global_id(1) * width + min(x + i, width - 1)];\n    \
            if (x < width) {\n        int y = get_global_id(1);\n        if (y >= height) return;\n        \
            column[y] = sum;\n    }",
            "    global float *column_1 = out + x_1 * height;\n",
        ),
    ] {
        let mut subject = matrix(body);
        if body.contains("sum") {
            subject = self::subject(&subject.source, &MATRIX.replace("40", "64"));
        }
        if expected.contains("uint") {
            subject = self::subject(
                &subject.source,
                &MATRIX.replacen("['width', 'height']", "['height', 'width']", 1),
            );
        }
        let source = holds("stage-tile", &subject);
        assert!(source.contains("local float tile[16][17];") && source.contains(expected), "{source}");
    }
}

#[test]
fn sizes_without_a_test_are_multiples_of_the_tile() {
    let body = "    size_t x = get_global_id(0), y = get_global_id(1);\n    out[x * height + y] = in[y * width + x];";
    let all = proposals("stage-tile", &matrix(body));
    assert_eq!(all.len(), 2);
    let launched = |number: usize| all[number].conditions[1].holds(&matrix(body).launch);
    assert_eq!((launched(0), launched(1)), (Some(false), Some(true)));
    assert!(verified(&matrix(body), &all[1]).is_ok(), "{}", all[1].source);
}

#[test]
fn a_tile_without_its_barrier_or_with_its_ids_exchanged_is_refused() {
    let body = "    int x = get_global_id(0), y = get_global_id(1);\n    if (x < width && y < height)\n        \
        out[x * height + y] = in[y * width + x];";
    let subject = matrix(body);
    let proposal = proposals("stage-tile", &subject).remove(0);
    for (right, wrong) in
        [("barrier(CLK_LOCAL_MEM_FENCE);", ""), ("= tile[get_local_id(0)]", "= tile[get_local_id(1)]")]
    {
        let mut harmful = proposal.clone();
        harmful.source = proposal.source.replace(right, wrong);
        assert_ne!(harmful.source, proposal.source);
        assert!(verified(&subject, &harmful).is_err(), "{}", harmful.source);
    }
}

#[test]
fn kernels_that_a_tile_does_not_serve_stay() {
    let head =
        "    int x = get_global_id(0), y = get_global_id(1);\n    if (x >= width || y >= height) return;\n";
    for body in [
        // Both lie side by side, and both a row apart.
        "out[y * width + x] = in[y * width + x];",
        "out[x * height + y] = in[x * height + y];",
        // More than one result.
        "out[x * height + y] = in[y * width + x]; out[0] = 1;",
        "for (int i = 0; i < 2; i++) out[x * height + y] = in[y * width + x + i];",
        // A place that depends on what is computed.
        "int at = x * height; at += y; out[at] = in[y * width + x];",
        // A group of its own.
        "out[x * height + y] = in[y * width + get_group_id(0) * get_local_size(0) + get_local_id(0)];",
    ] {
        leaves_alone("stage-tile", &matrix(&format!("{head}    {body}")));
    }
}

/// Work-groups of 8 x 8.
fn grouped(source: &str, launch: &str) -> Subject {
    subject(source, &launch.replacen('\n', "\nlocal = [8, 8]\n", 1))
}

const PRODUCT: &str = "#define TS 8
kernel void k(global const float *a, global const float *b, global float *c, int n, int m) {
    local float as[TS][TS], bs[TS][TS]; // a tile of each
    const int row = get_local_id(1), col = get_local_id(0);
    const int x = TS * get_group_id(0) + col, y = get_global_id(1);
    float sum = 0.0f;
    for (int t = 0; t < n / TS; t++) {
        as[row][col] = a[y * n + t * TS + col];
        bs[row][col] = b[(t * TS + row) * m + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TS; i++)
            sum += as[row][i] * bs[i][col];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * m + x] = sum;
}
";

fn product() -> Subject {
    let buffer = |name: &str, rows: &str, columns: &str| {
        format!(
            "[[argument]]\nname = '{name}'\nbuffer = 'float'\ncount = ['{rows}', '{columns}']\n\
             random = {{ seed = 1, low = -1, high = 1 }}\n"
        )
    };
    let numbers = "[[argument]]\nname = 'n'\nvalue = 24\n[[argument]]\nname = 'm'\nvalue = 40\n";
    let buffers = [buffer("a", "16", "n"), buffer("b", "n", "m"), buffer("c", "16", "m")].concat();
    grouped(PRODUCT, &format!("global = ['m', 16]\n{buffers}{numbers}"))
}

const BLUR: &str = "#define R 2
kernel void k(global const float *in, global float *out, int width, int height) {
    local float t[8 + 2 * R][8 + 2 * R];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    for (int j = ly; j < 8 + 2 * R; j += 8)
        for (int i = lx; i < 8 + 2 * R; i += 8) {
            int sx = clamp((int)get_group_id(0) * 8 + i - R, 0, width - 1);
            int sy = clamp((int)get_group_id(1) * 8 + j - R, 0, height - 1);
            t[j][i] = in[sy * width + sx];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int j = 0; j < 2 * R + 1; j++)
        for (int i = 0; i < 2 * R + 1; i++)
            sum += t[ly + j][lx + i];
    out[y * width + x] = sum / 25;
}
";

#[test]
fn copies_in_local_memory_are_loaded_where_they_are_read() {
    let source = holds("unstage-tile", &product());
    for gone in ["local", "barrier", "get_group_id", "row"] {
        assert!(!source.contains(gone), "{gone}:\n{source}");
    }
    assert!(source.contains("sum += a[y * n + t * TS + i] * b[(t * TS + i) * m + x];"), "{source}");
    let source = holds("unstage-tile", &grouped(BLUR, MATRIX));
    for gone in ["local", "barrier", "get_group_id", "sx"] {
        assert!(!source.contains(gone), "{gone}:\n{source}");
    }
    // A transpose, and a row with a neighbour.
    let body = "    local float tile[8][9];\n    int lx = get_local_id(0), ly = get_local_id(1);\n    \
        tile[ly][lx] = in[get_global_id(1) * width + get_global_id(0)];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
        out[(get_group_id(0) * 8 + ly) * height + get_group_id(1) * 8 + lx] = tile[lx][ly];";
    assert!(!holds("unstage-tile", &grouped(&matrix(body).source, MATRIX)).contains("barrier"));
}

#[test]
fn a_shifted_copy_is_refused() {
    let (subject, proposal) = (product(), proposals("unstage-tile", &product()).remove(0));
    for (right, wrong) in [("t * TS + i]", "t * TS]"), ("y * n", "x * n")] {
        let mut harmful = proposal.clone();
        harmful.source = proposal.source.replace(right, wrong);
        assert_ne!(harmful.source, proposal.source);
        assert!(verified(&subject, &harmful).is_err(), "{}", harmful.source);
    }
}

#[test]
fn tiles_that_are_more_than_copies_stay() {
    for (right, wrong) in [
        // Work-items change the tile, or store to it in two places.
        ("sum += as[row][i]", "sum += as[row][i]++"),
        ("as[row][col] = a", "as[col][row] = 0; as[row][col] = a"),
        // What was copied a turn before is read.
        ("        as[row][col] = a", "        sum += as[row][0];\n        as[row][col] = a"),
        // The buffer changes in between.
        ("c[y * m + x] = sum", "c[y * m + x] = sum; ((global float *)a)[0] = 1"),
        // Global memory is exchanged, too.
        ("barrier(CLK_LOCAL_MEM_FENCE);\n    }", "barrier(CLK_GLOBAL_MEM_FENCE);\n    }"),
        // The copy depends on more than where it is stored.
        ("a[y * n + t * TS + col]", "a[y * n + t * TS + col] * sum"),
    ] {
        let mut subject = product();
        subject.source = PRODUCT.replacen(right, wrong, 1);
        assert_ne!(subject.source, PRODUCT);
        leaves_alone("unstage-tile", &subject);
    }
}

/// Without bounds tests, work-items behind the end of a row write zeros over each other's where the loop takes no turn: that
/// the stores of blocks overlap them in parts is no fault of the blocks.
#[test]
fn a_product_without_its_tiles_is_blocked() {
    let source =
        "kernel void k(global const float *a, global const float *b, global float *c, int m, int n, int k) {
    int y = get_global_id(1), x = get_global_id(0);
    float sum = 0.0f;
    for (int t = 0; t < k / 16; t++)
        for (int i = 0; i < 16; i++)
            sum += a[y * k + t * 16 + i] * b[(t * 16 + i) * n + x];
    c[y * n + x] = sum;
}
";
    let buffer = |name, count| format!("[[argument]]\nname = '{name}'\nbuffer = 'float'\ncount = {count}\n");
    let random = |name, count| buffer(name, count) + "random = { seed = 1, low = -1, high = 1 }\n";
    let number = |name, value| format!("[[argument]]\nname = '{name}'\nvalue = {value}\n");
    let buffers =
        random("a", "['m', 'k']") + &random("b", "['k', 'n']") + &buffer("c", "['m', 'n']\nfill = 0");
    let numbers = number("m", 64) + &number("n", 64) + &number("k", 64);
    let launch = format!("global = ['n', 'm']\nlocal = [16, 16]\n{buffers}{numbers}");
    holds("block", &subject(source, &launch));
}
