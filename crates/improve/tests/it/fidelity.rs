//! What is kept of an author's text.

use crate::rewrites::{holds, rows};

/// The published half product's loop: an Adreno computes `fma` of halves with a function.
#[test]
fn fused_products_come_apart_and_back() {
    let text = holds(
        "multiply-add",
        &rows(
            "    float sum = 0;\n    for (int i = 0; i < columns; i++) sum = fma(in[r * columns + i], in[i], sum);\n    out[r] = sum;",
        ),
    );
    assert!(text.contains("sum = in[r * columns + i] * in[i] + sum;"), "{text}");
    let text = holds(
        "multiply-add",
        &rows(
            "    float sum = 0;\n    for (int i = 0; i < columns; i++) sum += in[i] * in[r * columns];\n    out[r] = 2 * sum + in[r] * (1.0f + sum * in[r]);",
        ),
    );
    assert!(text.contains("sum = fma(in[i], in[r * columns], sum);"), "{text}");
    let mad = rows("    out[r] = mad(in[r], 2.0f, mad(in[r], in[r], 1.0f));");
    assert!(holds("multiply-add", &mad).contains("out[r] = in[r] * 2.0f + (in[r] * in[r] + 1.0f);"));
}
