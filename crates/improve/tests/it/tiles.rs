//! Tiles in local memory that rewrites add.

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
