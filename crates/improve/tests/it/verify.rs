//! Proofs: right rewrites pass, wrong ones have a counter-example.

use tripipe_improve::{
    Bound, Condition, CounterExample, HostChange, Required, Subject, Verified, Verifier, VerifyError,
};
use tripipe_launch_file::{NoFiles, Number};

use crate::rewrites::{proposals, verified};
use crate::{DOUBLE, PICTURE, subject, targets};

/// Verifies a changed source of [`DOUBLE`], launched with these changes.
fn verify(
    source: &str,
    host: &[HostChange],
    conditions: &[Required],
) -> Result<Verified, Box<CounterExample>> {
    let original = subject(DOUBLE, PICTURE);
    let targets = targets(&["mali-g78"]);
    let verifier = Verifier::new(&original, &targets, &NoFiles).unwrap();
    verifier.verify(&Subject { source: source.to_owned(), ..original.clone() }, host, conditions, 0.0)
}

const PAIRS: [HostChange; 1] = [HostChange::Divide { dimension: 0, by: 2 }];

/// Two pixels a work-item, the second guarded by a condition.
fn pairs(guard: &str) -> String {
    format!(
        "kernel void k(global const uchar *source, global uchar *target, int width, int height) {{
            int x = 2 * get_global_id(0), y = get_global_id(1);
            if (x >= width || y >= height) return;
            target[y * width + x] = source[y * width + x] * 2;
            if ({guard}) target[y * width + x + 1] = source[y * width + x + 1] * 2;
        }}"
    )
}

#[test]
fn the_same_kernel_written_differently_passes() {
    let verified = verify(&DOUBLE.replace("* 2", "<< 1"), &[], &[]).unwrap();
    assert!(verified.whole, "307,200 pixels take less than a second");
    assert!(verified.launches > 10, "{verified:?}");
    // Both buffers of the given launch alone.
    assert!(verified.values > 2 * 640 * 480, "{verified:?}");
    assert_eq!(verified.left_out, 0);
}

/// As many work-items as columns, or an even number.
fn all_columns() -> Required {
    let width = (vec![(2, "width".to_owned())], 1);
    let bound = Bound { products: vec![width], constant: 0, times: 1 };
    Condition::GlobalCovers { dimension: 0, of: Some(2), bound }.into()
}

#[test]
fn several_outputs_of_a_work_item_pass_if_the_odd_one_is_guarded() {
    let verified = verify(&pairs("x + 1 < width"), &PAIRS, &[all_columns()]).unwrap();
    assert!(verified.left_out > 0, "launches of some columns: {verified:?}");
}

/// A launch over a part of the columns writes one too many.
#[test]
fn fewer_work_items_than_outputs_are_tried() {
    let example = *verify(&pairs("x + 1 < width"), &PAIRS, &[]).unwrap_err();
    assert!(matches!(example, CounterExample::Differs { .. }), "{example}");
}

/// The given picture is square, and the changed kernel takes its width for its height.
#[test]
fn equal_arguments_differ_in_derived_launches() {
    let original = subject(DOUBLE, &PICTURE.replace("640", "512").replace("480", "512"));
    let targets = targets(&["mali-g78"]);
    let verifier = Verifier::new(&original, &targets, &NoFiles).unwrap();
    let changed = |source: String| Subject { source, ..original.clone() };
    verifier.verify(&changed(DOUBLE.replace("* 2", "<< 1")), &[], &[], 0.0).unwrap();
    let wrong = DOUBLE.replace("y >= height", "y >= width");
    verifier.verify(&changed(wrong), &[], &[], 0.0).unwrap_err();
}

/// The given launch has an even width; a smaller one shows the error.
#[test]
fn a_missing_guard_is_found_on_an_odd_width() {
    let example = *verify(&pairs("1"), &PAIRS, &[]).unwrap_err();
    let said = example.to_string();
    assert!(matches!(example, CounterExample::Finds { .. } | CounterExample::Differs { .. }), "{said}");
    assert!(said.contains("width = "), "{said}");
}

/// With the condition that the width is even, launches with an odd one are left out.
#[test]
fn a_condition_leaves_launches_out() {
    let even = Condition::ArgumentMultiple { argument: 2, name: "width".to_owned(), of: 2 };
    let verified = verify(&pairs("1"), &PAIRS, &[even.into()]).unwrap();
    assert!(verified.left_out > 0 && verified.launches > 5, "{verified:?}");
    let never = Condition::ArgumentIs { argument: 2, name: "width".to_owned(), value: Number::Integer(641) };
    assert_eq!(*verify(&pairs("1"), &PAIRS, &[never.into()]).unwrap_err(), CounterExample::NoLaunch);
}

/// Saturation instead of wrapping: only numbers above 127 show it.
#[test]
fn a_wrong_value_is_a_counter_example_with_its_place() {
    let wrong = DOUBLE.replace("source[y * width + x] * 2", "min(source[y * width + x] * 2, 255)");
    let CounterExample::Differs { memory, expected, found, .. } = *verify(&wrong, &[], &[]).unwrap_err()
    else {
        panic!("not a difference");
    };
    assert_eq!((memory.as_str(), found.to_f64()), ("target", 255.0));
    assert!(expected.to_f64() < 255.0);
}

#[test]
fn a_store_too_many_is_a_counter_example() {
    let wrong = DOUBLE.replace("x >= width ||", "x > width ||");
    assert!(verify(&wrong, &[HostChange::RoundUp { dimension: 0, multiple: 16 }], &[]).is_err());
}

#[test]
fn what_does_not_compile_is_no_proof() {
    let example = *verify("kernel void k(", &[], &[]).unwrap_err();
    assert!(matches!(example, CounterExample::Fails { .. }), "{example}");
}

#[test]
fn exchanged_dimensions_pass() {
    let swapped =
        DOUBLE.replace("get_global_id(0), y = get_global_id(1)", "get_global_id(1), y = get_global_id(0)");
    verify(&swapped, &[HostChange::SwapDimensions(0, 1)], &[]).unwrap();
    verify(&swapped, &[], &[]).unwrap_err();
}

/// A sum in another order: within the bound, and not without one.
#[test]
fn floats_deviate_within_the_stated_bound() {
    let source = "kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0);
        b[i] = (a[3 * i] + a[3 * i + 1]) + a[3 * i + 2]; }";
    let launch = "global = 1000\n[[argument]]\nname = 'a'\nbuffer = 'float'\ncount = 3000\nrandom = { seed = 1 }\n\
                  [[argument]]\nname = 'b'\nbuffer = 'float'\ncount = 1000\n";
    let original = subject(source, launch);
    let targets = targets(&["mali-g78"]);
    let verifier = Verifier::new(&original, &targets, &NoFiles).unwrap();
    let other = source
        .replace("(a[3 * i] + a[3 * i + 1]) + a[3 * i + 2]", "a[3 * i] + (a[3 * i + 1] + a[3 * i + 2])");
    let changed = Subject { source: other, ..original.clone() };
    assert!(verifier.verify(&changed, &[], &[], 0.0).is_err());
    verifier.verify(&changed, &[], &[], 1e-6).unwrap();
}

/// The last work-item reads an element too many.
#[test]
fn a_kernel_that_is_wrong_itself_is_an_error() {
    let source =
        "kernel void k(global const int *a, global int *b) { size_t i = get_global_id(0); b[i] = a[i + 1]; }";
    let launch = "global = 1000\n[[argument]]\nname = 'a'\nbuffer = 'int'\ncount = 1000\nrandom = { seed = 1 }\n\
                  [[argument]]\nname = 'b'\nbuffer = 'int'\ncount = 1000\n";
    let error = Verifier::new(&subject(source, launch), &targets(&["mali-g78"]), &NoFiles).err().unwrap();
    assert!(matches!(error, VerifyError::Original { .. }), "{error}");
    assert!(error.to_string().contains("out-of-bounds-read"), "{error}");
}

/// A launch that is cut off before its end proves nothing, neither for nor against a change.
#[test]
fn a_launch_that_is_cut_off_is_no_case() {
    let source = "kernel void k(global const int *in, global int *out) {
    int i = get_global_id(0), s = 1;
    for (int q = 0; q < in[i]; q++) s = (s * 5 + q) & 0xffff;
    out[i] = s;
}
";
    let launch = "global = 4096
[[argument]]
name = 'in'
buffer = 'int'
count = 4096
random = { seed = 1, low = 5000, high = 9000 }
[[argument]]
name = 'out'
buffer = 'int'
count = 4096
fill = -7
";
    let subject = subject(source, launch);
    for proposal in proposals("restrict-pointers", &subject) {
        let outcome = verified(&subject, &proposal);
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
