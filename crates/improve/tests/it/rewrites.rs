//! Rewrites, each alone: what they propose is verified in the simulator, and twins that they must leave alone.

use tripipe_improve::{ALL, Allowed, CounterExample, Proposal, Required, Subject, Verified, Verifier, View};
use tripipe_launch_file::NoFiles;

use crate::{subject, targets};

/// Rows of floats and a result for each: `rows` work-items.
pub(crate) const ROWS: &str = "global = 'rows'
[[argument]]
name = 'in'
buffer = 'float'
count = ['rows', 'columns']
random = { seed = 1, low = 0, high = 1 }
[[argument]]
name = 'out'
buffer = 'float'
count = ['rows', 'columns']
fill = 0
[[argument]]
name = 'rows'
value = 40
[[argument]]
name = 'columns'
value = 70
";

/// A kernel over [`ROWS`].
pub(crate) fn rows(body: &str) -> Subject {
    let source = format!(
        "kernel void k(global const float *in, global float *out, int rows, int columns) {{\n    \
        const size_t r = get_global_id(0);\n    if (r >= rows) return;\n{body}\n}}\n"
    );
    subject(&source, ROWS)
}

/// What a rewrite proposes for a kernel on a Mali-G78.
pub(crate) fn proposals(code: &str, subject: &Subject) -> Vec<Proposal> {
    let targets = targets(&["mali-g78"]);
    let tree = subject.tree(Some(targets[0].offered.clone())).unwrap();
    let gpus = [targets[0].gpu];
    let view = View { subject, tree: Some(&tree), gpus: &gpus, allowed: Allowed { rounding: true } };
    let rewrite = ALL.iter().find(|rewrite| rewrite.rule.code == code).unwrap();
    (rewrite.proposals)(&view)
}

pub(crate) fn verified(subject: &Subject, proposal: &Proposal) -> Result<Verified, Box<CounterExample>> {
    let targets = targets(&["mali-g78"]);
    let verifier = Verifier::new(subject, &targets, &NoFiles).unwrap();
    let Proposal { host, conditions, relative_error, .. } = proposal;
    let conditions: Vec<Required> = conditions.iter().cloned().map(Required::from).collect();
    verifier.verify(&proposal.subject(subject), host, &conditions, *relative_error)
}

/// All that a rewrite proposes computes the same; returns the first new source.
pub(crate) fn holds(code: &str, subject: &Subject) -> String {
    let all = proposals(code, subject);
    assert!(!all.is_empty(), "{code} proposes nothing for\n{}", subject.source);
    for proposal in &all {
        let outcome = verified(subject, proposal);
        assert!(outcome.is_ok(), "{}: {outcome:?}\n{}", proposal.title, proposal.source);
    }
    all[0].source.clone()
}

pub(crate) fn leaves_alone(code: &str, subject: &Subject) {
    let all = proposals(code, subject);
    assert!(all.is_empty(), "{code} proposes {} for\n{}", all[0].title, subject.source);
}

#[test]
fn sums_and_extremes_of_a_row_are_taken_by_a_group() {
    for body in [
        "float sum = 0; for (int i = 0; i < columns; i++) sum += in[r * columns + i]; out[r * columns] = sum;",
        "float most = in[r * columns]; for (int i = 1; i < columns; i++) if (in[r * columns + i] > most) \
            most = in[r * columns + i]; out[r * columns] = most;",
        "float least = 9.0f; for (int i = 0; i < columns; ++i) { least = fmin(in[r * columns + i], least); } \
            out[r * columns] = least;",
        "global const float *row = in + r * columns; float sum = 3.0f; for (int i = 0; i < columns; i++) \
            sum += row[i]; for (int i = 0; i < columns; i++) out[r * columns + i] = row[i] / sum;",
        // The first of equal numbers, as before.
        "float most = 0.5f; int at = -1; for (int i = 0; i < columns; i++) { float v = floor(8 * in[r * columns + i]); \
            if (v > most) { most = v; at = i; } } out[r * columns] = at + most;",
        "float least = in[r * columns]; int at = 0; for (int i = 1; i < columns; i++) if (in[r * columns + i] < least) { \
            at = i; least = in[r * columns + i]; } out[r * columns] = at;",
        "int count = 5; for (int i = 0; i < columns; i++) if (in[r * columns + i] > 0.5f) count++; out[r * columns] = count;",
        "float sum = 0, squares = 0; for (int i = 0; i < columns; i++) { float v = in[r * columns + i]; sum += v; \
            squares += v * v; } out[r * columns] = sum * squares;",
        "if (columns > 3) { float sum = 0; for (int i = 0; i < columns; i++) sum += in[r * columns + i]; \
            out[r * columns] = sum; }",
        // Steps load what they stored themselves.
        "float sum = 0; for (int i = 0; i < columns; i++) { out[r * columns + i] = 2 * in[r * columns + i]; \
            sum += out[r * columns + i]; } for (int i = 0; i < columns; i++) out[r * columns + i] /= sum;",
    ] {
        let source = holds("row-per-group", &rows(body));
        assert!(source.contains("get_group_id(0)") && source.contains("lane"), "{source}");
    }
}

/// What a group would compute otherwise, or where it could: each was accepted once, because the launches of the proof did not
/// show it.
#[test]
fn steps_that_no_group_can_share_are_left_alone() {
    for body in [
        // The counter would wrap before it reaches a number that 64 does not divide.
        "float most = 0; for (uchar i = 0; i < columns; i++) most = fmax(most, in[r * columns + i]); out[r * columns] = most;",
        // Each step rounds to an integer.
        "int sum = 0; for (int i = 0; i < columns; i++) sum += in[r * columns + i] * 0.6f; out[r * columns] = sum;",
        // The variable has less than what is compared, so that the last of several is kept.
        "int most = 0, at = 0; for (int i = 0; i < columns; i++) { float v = 9 * in[r * columns + i]; if (v > most) \
            { most = v; at = i; } } out[r * columns] = at;",
        // Steps store to each other's elements.
        "for (int i = 0; i < columns; i++) { out[i] = 1; out[rows + i] = 2; }",
        "for (int i = 0; i < columns; i++) { int j = in[r * columns + i] > 0.5f; out[r * columns + i + j] = i; }",
    ] {
        leaves_alone("row-per-group", &rows(body));
    }
    // Stores that keep apart are no obstacle.
    let pairs = "for (int i = 0; i < columns / 2; i++) { out[r * columns + 2 * i] = 1; out[r * columns + 2 * i + 1] = 2; }";
    holds("row-per-group", &rows(pairs));
    // A NaN is left out by `fmax`, so that a work-item that has met nothing else does not win.
    let nan = "float most = in[r * columns]; for (int i = 1; i < columns; i++) most = fmax(most, in[r * columns + i]); \
        out[r * columns] = most;";
    assert!(
        holds("row-per-group", &rows(nan))
            .contains("= fmax(partial_float[lane], partial_float[lane + step]);")
    );
    // The element before the first step may lie before the buffer.
    let before = "float most = 0; for (int i = 1; i < columns; i++) most = fmax(most, in[r * columns + i - 1]); \
        out[r * columns] = most;";
    for proposal in proposals("row-per-group", &rows(before)) {
        assert!(!proposal.source.contains("vload"), "{}", proposal.source);
    }
}

/// A group reads 4 elements at once, and keeps them for the next loop where the row is short enough.
#[test]
fn a_group_takes_vectors_and_keeps_rows() {
    let kept = |body: &str| {
        let subject = subject(&rows(body).source, &ROWS.replace("value = 70", "value = 72"));
        holds("row-per-group", &subject);
        let all = proposals("row-per-group", &subject);
        all.into_iter().find(|it| it.title.contains("stay in registers")).map(|it| it.source)
    };
    // Loaded once, stored once.
    let source = kept(
        "float most = in[r * columns]; for (int i = 1; i < columns; i++) if (in[r * columns + i] > most) \
            most = in[r * columns + i]; float sum = 0; for (int i = 0; i < columns; i++) { out[r * columns + i] = \
            exp(in[r * columns + i] - most); sum += out[r * columns + i]; } \
            for (int j = 0; j < columns; ++j) out[r * columns + j] /= sum;",
    );
    let source = source.unwrap();
    assert_eq!((source.matches("vload4(").count(), source.matches("vstore4(").count()), (1, 1), "{source}");
    let source = kept(
        "global const float *row = in + r * columns; float sum = 0.0f; for (int i = 0; i < columns; i++) { \
            float v = row[i]; sum += v * v; } for (int i = 0; i < columns; i++) out[r * columns + i] = row[i] / sum;",
    );
    assert_eq!(source.unwrap().matches("vload4(").count(), 1);
    // What is kept may have changed, or be wanted by others.
    for body in [
        "float sum = 0; for (int i = 0; i < columns; i++) { out[r * columns + i] = 2 * in[r * columns + i]; sum += \
            in[r * columns + i]; } out[r * columns] = 1; for (int i = 0; i < columns; i++) out[r * columns + i] /= sum;",
        "int at = r * columns; float sum = 0; for (int i = 0; i < columns; i++) sum += in[at + i]; at = 0; \
            for (int i = 0; i < columns; i++) out[r * columns + i] = in[at + i] / sum;",
    ] {
        assert_eq!(kept(body), None, "{body}");
    }
}

#[test]
fn loops_whose_steps_depend_on_each_other_stay_whole() {
    for body in [
        // Each step needs the sum so far.
        "float sum = 0; for (int i = 0; i < columns; i++) { sum += in[r * columns + i]; out[r * columns + i] = sum; }",
        // Each step loads what the one before it has stored.
        "for (int i = 1; i < columns; i++) out[r * columns + i] = out[r * columns + i - 1] + in[r * columns + i];",
        "global float *row = out + r * columns; for (int i = 1; i < columns; i++) row[i] = out[r * columns + i - 1];",
        // All steps store to one place.
        "for (int i = 0; i < columns; i++) out[r * columns] = in[r * columns + i];",
        // The number of steps depends on the steps.
        "float sum = 0; for (int i = 0; i < columns - sum; i++) sum += in[r * columns + i]; out[r * columns] = sum;",
        // The loop may end early.
        "for (int i = 0; i < columns; i++) { if (in[r * columns + i] > 0.5f) break; out[r * columns + i] = 1; }",
        // The last of equal numbers, and a place that the steps look at.
        "float most = 0; int at = 0; for (int i = 0; i < columns; i++) if (in[r * columns + i] >= most) { \
            most = in[r * columns + i]; at = i; } out[r * columns] = at;",
        "float most = 0; int at = 0; for (int i = 0; i < columns; i++) { if (in[r * columns + i] > most) { \
            most = in[r * columns + i]; at = i; } out[r * columns + i] = at; }",
        // A product is no sum.
        "float all = 1; for (int i = 0; i < columns; i++) all *= in[r * columns + i]; out[r * columns] = all;",
    ] {
        leaves_alone("row-per-group", &rows(body));
    }
}

#[test]
fn indices_of_64_bits_become_narrow() {
    let body = "ulong at = r * columns; for (size_t i = 0; i < columns; i++) out[at + i] = in[at + i] * 2;";
    let source = holds("narrow-index", &rows(body));
    assert!(
        source.contains("const uint r") && source.contains("uint at") && source.contains("uint i"),
        "{source}"
    );
    let narrow = "kernel void k(global const float *in, global float *out, int rows, int columns) {
        int r = get_global_id(0); if (r < rows) out[r * columns] = in[r * columns]; }";
    leaves_alone("narrow-index", &subject(narrow, ROWS));
    let sum = "kernel void k(global const float *in, global float *out, int rows, int columns) {
        if (get_global_id(0) * columns < rows * columns) out[get_global_id(0) * columns] = in[get_global_id(0)]; }";
    assert!(holds("narrow-index", &subject(sum, ROWS)).contains("(uint)get_global_id(0) * columns"));
}

#[test]
fn loops_are_unrolled_and_pointers_restricted() {
    let body = "float sum = 0;\n    for (int i = 0; i < columns; i++)\n        sum += in[r * columns + i];\n    \
        out[r * columns] = sum;";
    let source = holds("unroll-loop", &rows(body));
    assert!(source.contains("    #pragma unroll 2\n    for (int i"), "{source}");
    leaves_alone("unroll-loop", &subject(&source, ROWS));
    leaves_alone("unroll-loop", &rows("for (int i = 0; i < 4; i++) out[r * columns + i] = 1;"));
    let source = holds("restrict-pointers", &rows(body));
    assert!(source.contains("global const float *restrict in, global float *restrict out"), "{source}");
    leaves_alone("restrict-pointers", &subject(&source, ROWS));
}

#[test]
fn small_arguments_become_constants() {
    let launch = format!("{ROWS}[[argument]]\nname = 'radius'\nvalue = 2\n");
    let body = |steps: &str| {
        let source = format!(
            "kernel void k(global const float *in, global float *out, int rows, int columns, int radius) {{
    int r = get_global_id(0);
    if (r >= rows) return;
    float sum = 0;
    {steps}
    out[r * columns] = sum;
}}
"
        );
        subject(&source, &launch)
    };
    let sum = "for (int k = -radius; k <= radius; k++) sum += in[r * columns + k + radius] * (k / radius);";
    let source = holds("specialise-arguments", &body(sum));
    assert!(source.contains("int k = -2; k <= 2; k++"), "{source}");
    assert!(source.contains("k + 2] * (k / 2)") && source.contains("int radius)"), "{source}");
    // No loop depends on it; it is changed; its value is large.
    leaves_alone("specialise-arguments", &body("sum = in[r * columns + radius];"));
    leaves_alone("specialise-arguments", &body("while (radius > 0) sum += in[r * columns + radius--];"));
    leaves_alone(
        "specialise-arguments",
        &body("for (int k = 0; k < columns; k++) sum += in[r * columns + k];"),
    );
}

#[test]
fn dimensions_are_exchanged_with_the_launch() {
    let source = "kernel void k(global const float *in, global float *out, int rows, int columns) {
    int y = get_global_id(0);
    int x = get_global_id(1);
    out[y * columns + x] = in[y * columns + x] + get_global_size(0);
}
";
    let launch = ROWS.replace("global = 'rows'", "global = ['rows', 'columns']");
    let source = holds("swap-dimensions", &subject(source, &launch));
    assert!(source.contains("y = get_global_id(1)") && source.contains("get_global_size(1)"), "{source}");
}

/// A helper that asks for its work-item is exchanged with its kernel, unless another kernel calls it.
#[test]
fn helpers_are_exchanged_with_their_kernel() {
    let helper = "int column() { return get_global_id(1); }\n";
    let source = "kernel void k(global const float *in, global float *out, int rows, int columns) {
    int y = get_global_id(0);
    if (column() < columns) out[y * columns + column()] = in[y * columns + column()];
}
";
    let launch = ROWS.replace("global = 'rows'", "global = ['rows', 'columns']");
    let changed = holds("swap-dimensions", &subject(&format!("{helper}{source}"), &launch));
    assert!(changed.contains("return get_global_id(0)"), "{changed}");
    let other = "kernel void other(global int *out) { out[column()] = 1; }\n";
    leaves_alone("swap-dimensions", &subject(&format!("{helper}{source}{other}"), &launch));
    // Its work-item is another one where a work-item computes several rows or columns.
    leaves_alone(
        "coarsen",
        &subject(&format!("{}{source}", helper.replace('1', "get_work_dim() - 1")), &launch),
    );
}

#[test]
fn functions_become_native_within_their_bound() {
    let body = "out[r * columns] = exp(in[r * columns]) + sqrt(in[r * columns + 1]);";
    let source = holds("native-functions", &rows(body));
    assert!(source.contains("native_exp(") && source.contains("native_sqrt("), "{source}");
    leaves_alone("native-functions", &rows("out[r * columns] = native_exp(in[r * columns]);"));
}

#[test]
fn divisions_by_what_does_not_change_become_products() {
    let body = "    float sum = 0;\n    for (int i = 0; i < columns; i++)\n        sum += in[r * columns + i] / (3.0f * columns) + (in[r] / 7.0f - 0.5f) / 0.3f;\n    \
        out[r * columns] = sum / columns / 4.0f;";
    let source = holds("reciprocals", &rows(body));
    for expected in [
        "const float inverse = 1.0f / (3.0f * columns);\n",
        "sum += in[r * columns + i] * inverse + (in[r] * (1.0f / 7.0f) - 0.5f) * (1.0f / 0.3f);",
        "out[r * columns] = sum * inverse_1 / 4.0f;",
    ] {
        assert!(source.contains(expected), "{expected}\n{source}");
    }
    for body in [
        // Sums of integers, powers of two, and divisors that change.
        "    out[r] = (int)in[r] / 3 + in[r] / 4.0f;",
        "    float by = in[r + 1];\n    out[r] = in[r] / by;",
        "    columns = columns + 1;\n    out[r] = in[r] / columns;",
    ] {
        leaves_alone("reciprocals", &rows(body));
    }
}

#[test]
fn a_product_with_another_reciprocal_is_refused() {
    let subject = rows("    out[r * columns] = in[r * columns] / 7.0f;");
    let mut harmful = proposals("reciprocals", &subject).remove(0);
    harmful.source = harmful.source.replace("1.0f / 7.0f", "1.0f / 7.001f");
    assert!(verified(&subject, &harmful).is_err(), "{}", harmful.source);
}

#[test]
fn small_constant_powers_become_products() {
    let body =
        "out[r * columns] = pow(in[r * columns] - 0.5f, 2.0f) + 1.0f / pow(in[r * columns + 1], 2.0f);";
    let source = holds("powers", &rows(body));
    assert!(
        source.contains("(in[r * columns] - 0.5f) * (in[r * columns] - 0.5f) + 1.0f / (in[r"),
        "{source}"
    );
    // More exact than what they replace: nobody has to allow it.
    let cubes = rows("out[r * columns] = pow(in[r * columns], 2.0f) + pown(in[r * columns + 1], 3);");
    let [cubes_replaced] = &proposals("powers", &cubes)[..] else { panic!("one way") };
    assert!(!cubes_replaced.rounds() && !cubes_replaced.source.contains("pow"), "{}", cubes_replaced.source);
    verified(&cubes, cubes_replaced).unwrap();
    for body in [
        // A sum of integers, which is multiplied as integers; a base that is computed by a call; other exponents.
        "out[r * columns] = pow(r + columns, 2.0f);",
        "out[r * columns] = pow(exp(in[r * columns]), 2.0f);",
        "out[r * columns] = pow(in[r * columns], 2.5f) + pow(in[r * columns], in[r]);",
    ] {
        leaves_alone("powers", &rows(body));
    }
}

/// All statements of a macro lie at its name, so that the next one begins before the last one ends.
#[test]
fn several_statements_of_a_macro_do_no_harm() {
    let source =
        "#define TAKE(all, most, value) all += value; if (most < value) { most = value; } else all += 1
kernel void k(global const float *in, global float *out, int rows, int columns) {
    const size_t r = get_global_id(0);
    if (r >= rows) return;
    float all = 0, most = 0;
    for (int i = 0; i < columns; i++) {
        TAKE(all, most, in[r * columns + i]);
    }
    TAKE(all, most, in[r]);
    out[r * columns] = all + most;
}
";
    let subject = subject(source, ROWS);
    for rewrite in ALL {
        for proposal in proposals(rewrite.rule.code, &subject) {
            let outcome = verified(&subject, &proposal);
            assert!(outcome.is_ok(), "{}: {outcome:?}\n{}", proposal.title, proposal.source);
        }
    }
}

/// Pixels of bytes, and a result for each.
const PIXELS: &str = "global = 'items'
[[argument]]
name = 'in'
buffer = 'uchar'
count = '4 * items + 16'
random = { seed = 1 }
[[argument]]
name = 'out'
buffer = 'uchar'
count = '4 * items'
[[argument]]
name = 'gain'
value = 0.75
[[argument]]
name = 'items'
value = 100
";

fn pixels(body: &str) -> Subject {
    let source = format!(
        "#define BIAS 0.5f\nfloat scaled(float x) {{ return x * 0.5f; }}\n\
         kernel void k(global const uchar *in, global uchar *out, float gain, int items) {{\n    \
         const size_t i = get_global_id(0);\n{body}\n}}\n"
    );
    subject(&source, PIXELS)
}

#[test]
fn floats_between_pixels_become_halves() {
    let body = "    float sum = 0.0f;
    for (int k = 0; k < 4; k++)
        sum += gain * in[i + k];
    float2 both = (float2)(sum, 1.f) * 0.25f + BIAS;
    out[i] = convert_uchar_sat_rte(both.x);";
    let source = holds("half-precision", &pixels(body));
    for part in ["half sum = 0.0h;", "(half)gain * in[i + k]", "(half2)(sum, 1.h) * 0.25h + (half)BIAS"] {
        assert!(source.contains(part), "{part}: {source}");
    }
    let body = "    float4 a = convert_float4(vload4(i, in)), b;
    b = fma(a, (float4)(0.5f), 1.0f);
    vstore4(convert_uchar4_sat(b), i, out);";
    let source = holds("half-precision", &pixels(body));
    assert!(source.contains("half4 a = convert_half4(vload4(i, in)), b;"), "{source}");
    // What memory has stays, and is converted on the way.
    let body = "    float x = in[r * columns];
    float4 v = vload4(0, in + r * columns) * x;
    vstore4(v, 0, out + r * columns);";
    let source = holds("half-precision", &rows(body));
    assert!(source.contains("half x = (half)in[r * columns];"), "{source}");
    assert!(source.contains("convert_half4(vload4(0, in + r * columns))"), "{source}");
    assert!(source.contains("vstore4(convert_float4(v)"), "{source}");
    for body in [
        // No variable of floating point; a function of the source; a comparison whose lanes become narrower; bits; a
        // hardware function for floats only; a pointer to a variable.
        "out[i] = in[i] * 2;",
        "float x = scaled(in[i]); out[i] = x;",
        "float4 a = convert_float4(vload4(i, in)); vstore4(convert_uchar4_sat(select(a, a + 1, a > 2.0f)), i, out);",
        "float x = in[i]; out[i] = as_int(x) >> 23;",
        "float x = in[i]; out[i] = native_sqrt(x);",
        "float x = in[i], whole; out[i] = 255 * fract(x, &whole);",
    ] {
        leaves_alone("half-precision", &pixels(body));
    }
    // 25 bytes reach numbers at which a half steps by four.
    let body = "    float sum = 0.0f;
    for (int k = 0; k < 64; k++) sum += in[i + (k & 15)];
    out[i] = fmod(sum, 256.0f);";
    let subject = pixels(body);
    let all = proposals("half-precision", &subject);
    assert!(matches!(*verified(&subject, &all[0]).unwrap_err(), CounterExample::Differs { .. }));
}

#[test]
fn functions_of_a_byte_become_tables() {
    // The variables that only the formula reads go. 255 (128 / 255)^2.2 = 55.98.
    let body = "    float value = in[i] / 255.0f;\n    float linear = pow(value, 2.2f);\n    \
                out[i] = (uchar)(linear * 255.0f + 0.5f);";
    let source = holds("tabulate", &pixels(body));
    assert!(source.contains("    out[i] = k_table_1[in[i]];") && !source.contains("value ="), "{source}");
    let numbers: Vec<&str> = source.split(&['{', '}', ','][..]).map(str::trim).skip(1).collect();
    assert!(source.starts_with("constant uchar k_table_1[256] = {") && numbers[128] == "56", "{source}");
    // One table for three channels, of floats where they are mixed; arguments have their values, as a condition.
    let body = "    float r = exp(gain * in[4 * i] / 64), g = exp(gain * in[4 * i + 1] / 64);\n    \
                out[i] = (uchar)clamp(log(r + g), 0.0f, 255.0f);";
    let mixed = pixels(body);
    let source = holds("tabulate", &mixed);
    assert!(source.contains("log(k_table_1[in[4 * i]] + k_table_1[in[4 * i + 1]])"), "{source}");
    let [proposal] = &proposals("tabulate", &mixed)[..] else { panic!("one way") };
    let conditions: Vec<String> = proposal.conditions.iter().map(ToString::to_string).collect();
    assert!(conditions == ["`gain` is 0.75"] && !proposal.rounds(), "{conditions:?}");
    // Signed bytes; a loop's counter; what is read twice; variables that get another value, also in a branch that is not theirs.
    for body in [
        "float v = in[i] / 255.0f; v = pow(v, 2.2f); v *= gain; v = fmin(v, 1.0f); if (items > 3) { out[i] = 255 * v; }",
        "float v = in[i]; int n = v / 2; v += n; n = sqrt(v); out[i] = n;",
        "char c = as_char(in[i]); out[i] = convert_uchar_sat(sqrt(fabs((float)c)) * 20);",
        "float sum = 0; for (int j = 0; j < 4; j++) { float v = in[i + j]; sum += sqrt(v) + v; } out[i] = sum / 9;",
        "const uchar c = in[i]; const float v = c / 255.0f; out[i] = v < 0.04f ? 255 * v : 255 * pow(v, 0.4f);",
    ] {
        assert!(holds("tabulate", &pixels(body)).contains("k_table_1["), "{body}");
    }
    for body in [
        // Two bytes; no byte; nothing dear; what a work-item knows; memory that is written between; another gain a turn.
        "out[i] = pow(in[i] / 255.0f, in[i + 1] / 255.0f);",
        "out[i] = pow((float)i, gain);",
        "out[i] = in[i] * gain + 1;",
        "out[i] = sqrt((float)in[i] + get_local_id(0));",
        "float v = out[i]; out[i] = in[i]; out[i] += sqrt(v);",
        "float v = in[i]; if (items > 3) v = 3; out[i] = sqrt(v);",
        "float v = in[i]; for (int j = 0; j < 3; j++) { out[i] = sqrt(v); v = in[i + 1]; }",
        "float g = gain; for (int j = 0; j < 3; j++) { out[i] = pow(in[i] / 255.0f, g); g *= 2; }",
    ] {
        leaves_alone("tabulate", &pixels(body));
    }
}
