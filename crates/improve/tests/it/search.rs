//! The search: what gains is applied, what is wrong is not.

use std::time::Duration;

use tripipe_improve::{ALL, HostChange, Options, Proposal, Refusal, Rewrite, View, search};
use tripipe_ir::diagnostic::Rule;
use tripipe_launch_file::NoFiles;

use crate::{DOUBLE, PICTURE, subject, targets};

/// A kernel whose neighbours in dimension 0 read neighbouring columns of different rows.
const COLUMNS: &str = "kernel void k(global const float *a, global float *b, int width) {
    int y = get_global_id(0), x = get_global_id(1);
    b[y * width + x] = 2.0f * a[y * width + x];
}
";

const MATRIX: &str = "global = [1024, 512]
[[argument]]
name = 'a'
buffer = 'float'
count = 524288
random = { seed = 1 }
[[argument]]
name = 'b'
buffer = 'float'
count = 524288
[[argument]]
name = 'width'
value = 512
";

/// Every GPU model prefers rows; the vendors' guides say the same.
#[test]
fn columns_become_rows() {
    let original = subject(COLUMNS, MATRIX);
    let targets = targets(&["mali-t604", "adreno-650"]);
    let options = Options { depth: 3, width: 2, limit: Duration::from_secs(600), ..Options::default() };
    // Others find other ways to read rows.
    let own = ["swap-dimensions", "resize-work-group"];
    let rewrites: Vec<Rewrite> =
        ALL.iter().copied().filter(|rewrite| own.contains(&rewrite.rule.code)).collect();
    let found = search(&original, &targets, &rewrites, &NoFiles, &options, &mut |_| {}).unwrap();
    assert!(found.steps.iter().any(|step| step.code == "swap-dimensions"), "{:?}", found.refused);
    assert!(found.ratio() < 0.95, "{}", found.ratio());
    assert!(found.subject().source.contains("int y = get_global_id(1), x = get_global_id(0);"));
    assert_eq!(found.subject().launch.range.global_size(), [512, 1024, 1]);
    assert!(found.host.contains(&HostChange::SwapDimensions(0, 1)));
    for step in &found.steps {
        assert!(step.verified.launches > 0 && step.verified.whole, "{step:?}");
        assert_eq!(step.prices.len(), 2);
    }
}

const NOTHING: Rule = Rule { code: "nothing", title: "computes nothing", ..Rule::REWRITE };

/// Much faster because it computes nothing.
fn nothing(view: &View<'_>) -> Vec<Proposal> {
    let propose = |source: String| Proposal {
        title: "no store".to_owned(),
        why: "stores cost time".to_owned(),
        source,
        ..Proposal::of(NOTHING.code)
    };
    let source = &view.subject.source;
    vec![
        propose(source.replace("* 2", "* 0")),
        propose(source.replace("return;", "return")),
        propose(source.clone()),
    ]
}

#[test]
fn a_wrong_rewrite_is_refused_with_a_counter_example() {
    let original = subject(DOUBLE, PICTURE);
    let targets = targets(&["mali-g78"]);
    let rewrites = [Rewrite { rule: &NOTHING, prepares: false, proposals: nothing }];
    let found = search(&original, &targets, &rewrites, &NoFiles, &Options::default(), &mut |_| {}).unwrap();
    assert!(found.steps.is_empty());
    assert_eq!(found.subject(), &original);
    let reasons: Vec<&Refusal> = found.refused.iter().map(|refused| &refused.reason).collect();
    assert!(reasons.iter().any(|reason| matches!(reason, Refusal::Proof(_))), "{reasons:?}");
    // A missing semicolon does not compile, and the same source is not tried again.
    assert!(reasons.iter().any(|reason| matches!(reason, Refusal::Price { .. })), "{reasons:?}");
    assert_eq!(found.tried, 3, "the original, and two others");
}

/// A loop that no derived launch makes shorter.
#[test]
#[ignore = "timed; run it alone"]
fn a_long_loop_does_not_outlast_the_limit() {
    let source = "kernel void k(global const float *a, global float *b, int width) {
    int y = get_global_id(0);
    float sum = 0;
    for (int i = 0; i < 65536; i++) sum += a[(y * 512 + i) & 0x7ffff];
    b[y] = sum;
}
";
    let original = subject(source, &MATRIX.replace("[1024, 512]", "512"));
    let limit = Duration::from_secs(20);
    let options = Options { limit, ..Options::default() };
    let start = std::time::Instant::now();
    let found = search(&original, &targets(&["mali-g78"]), ALL, &NoFiles, &options, &mut |_| {});
    assert!(start.elapsed() < limit.mul_f64(1.2), "{:?}: {:?}", start.elapsed(), found.map(|it| it.tried));
}

#[test]
fn the_time_limit_ends_the_search() {
    let original = subject(COLUMNS, MATRIX);
    let options = Options { limit: Duration::ZERO, ..Options::default() };
    let found = search(&original, &targets(&["mali-g78"]), ALL, &NoFiles, &options, &mut |_| {}).unwrap();
    assert!(found.out_of_time && found.steps.is_empty());
}

/// Why a kernel over [`MATRIX`] is not improved for some GPUs.
fn refused(source: &str, gpus: &[&str]) -> String {
    let (original, targets) = (subject(source, MATRIX), targets(gpus));
    let found = search(&original, &targets, ALL, &NoFiles, &Options::default(), &mut |_| {});
    found.unwrap_err().to_string()
}

#[test]
fn what_one_build_shows_is_not_rewritten_for_others() {
    let body = |text: &str| COLUMNS.replace("    b[y", &format!("{text}    b[y"));
    let inside = body("#ifdef BRIGHT\n#define MORE 1\n    y += 0;\n#endif\n");
    assert!(refused(&inside, &["mali-g78"]).starts_with("line 3: `k` has a `#ifdef` inside"));
    let outside = format!(
        "#ifdef cl_arm_integer_dot_product_int8\n#define MORE 8\n#else\n#define MORE 0\n#endif\n{}",
        COLUMNS.replace("2.0f *", "MORE +")
    );
    let said = refused(&outside, &["adreno-740", "mali-g78"]);
    assert!(said.starts_with("Adreno 740 and Mali-G78 compile different code"), "{said}");
    let called = format!(
        "{COLUMNS}kernel void other(global const float *a, global float *b, int width) {{ k(a, b, width); }}\n"
    );
    assert!(refused(&called, &["mali-g78"]).starts_with("`other` calls the kernel `k`"));
}
