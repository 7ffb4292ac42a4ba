//! What is kept of an author's text.

use std::time::Duration;

use tripipe_improve::{ALL, Options, SearchError, search};
use tripipe_launch_file::NoFiles;

use crate::rewrites::{holds, rows};
use crate::{PICTURE, subject, targets};

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

const BRANCHES: &str =
    "kernel void k(global const uchar *source, global uchar *target, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int value = source[y * width + x]
#if FACTOR > 1 // doubled
        * FACTOR
#endif
        ;
#ifdef cl_khr_fp64
    value = convert_int(value * 1.5);
#elif defined(ROUND)
    value += 1;
#  if ROUND > 2
    value += 2;
#  endif
#else
    value = 0;
#endif
    target[y * width + x] = value;
}
";

#[test]
fn conditionals_are_reduced_to_what_is_compiled() {
    let mut original = subject(BRANCHES, PICTURE);
    original.launch.options.defines.push(("ROUND".to_owned(), "3".to_owned()));
    let found = |names: &[&str]| {
        let options = Options { depth: 3, width: 1, limit: Duration::from_secs(600), ..Options::default() };
        let own = ["compiled-branches", "widen"];
        let rewrites: Vec<_> =
            ALL.iter().copied().filter(|rewrite| own.contains(&rewrite.rule.code)).collect();
        search(&original, &targets(names), &rewrites, &NoFiles, &options, &mut |_| {})
    };
    // A Mali-T604 has fp64, a Mali-G71 has not.
    let improved = found(&["mali-g71"]).unwrap();
    let codes: Vec<&str> = improved.steps.iter().map(|step| step.code).collect();
    assert_eq!(codes, ["compiled-branches", "widen"], "{:?}", improved.refused);
    let reduced = &improved.steps[0].subject.source;
    assert!(reduced.contains("value += 1;\n    value += 2;\n    target"), "{reduced}");
    assert!(!reduced.contains('#') && !reduced.contains("FACTOR"), "{reduced}");
    assert!(found(&["mali-t604"]).unwrap().steps[0].subject.source.contains("1.5"));
    let error = found(&["mali-t604", "mali-g71"]).unwrap_err();
    assert!(matches!(error, SearchError::Differs { .. }), "{error}");
}
