//! Checks the examples of `tripipe explain`: each rule's example has exactly that finding, and its corrected version
//! has none.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, complaint};

/// A launch file without its source.
type Launch = &'static str;

const FLOATS: &str = "{ buffer = 'float', count = 64, fill = 2, access = 'read' }";
const OUT: &str = "{ buffer = 'float', count = 64 }";
const IMAGES: &str =
    "{ image = { width = 16, height = 8, order = 'rgba', channel = 'float' }, fill = 1, access = 'read' },
    { image = { width = 16, height = 8, order = 'rgba', channel = 'float' }, access = 'write' }";

/// For each rule the launch of its example, and the launch of the corrected version if it differs; `IN`, `OUT` and
/// `IMAGES` stand for common arguments.
const LAUNCHES: &[(&str, Launch, Option<Launch>)] = &[
    ("out-of-bounds-read",
     "global = 64\nargument = [IN, OUT]",
     Some("global = 64\nargument = [IN, OUT, { value = 64 }]")),
    ("out-of-bounds-write",
     "global = 80\nargument = [OUT, { value = 1 }]",
     Some("global = 80\nargument = [OUT, { value = 1 }, { value = 64 }]")),
    // With the last row, the index would leave the whole array.
    ("inner-array-bounds", "global = 2\nargument = [{ buffer = 'float', count = 2 }]", None),
    ("lane-out-of-range", "global = 64\nargument = [{ buffer = 'float4', count = 16, fill = 1 }, OUT]", None),
    ("null-pointer", "global = 64\nargument = [{ buffer = 'float', count = 64, fill = 1 }, { null = true }]", None),
    ("dangling-pointer", "global = 64\nargument = [{ buffer = 'int', count = 64 }]", None),
    ("misaligned-access",
     "global = 64\nargument = [{ buffer = 'uchar', count = 68, fill = 1 }, { buffer = 'uint', count = 64 }]",
     None),
    ("misaligned-vector",
     "global = 4\nargument = [{ buffer = 'uchar', count = 66, fill = 1 }, { buffer = 'float4', count = 4 }]",
     None),
    // 4 times 2^30 is 0 in an int that wraps around.
    ("address-overflow",
     "global = [1, 1]\noffset = [0, 4]\nargument = [{ buffer = 'uchar', count = 64 }, { value = 1073741824 }]",
     Some("global = [16, 4]\nargument = [{ buffer = 'uchar', count = 64 }, { value = 16 }]")),
    ("signed-overflow",
     "global = 2\nargument = [{ buffer = 'int', values = [3, 46341] }, { buffer = 'int', count = 2 }]",
     Some("global = 2\nargument = [{ buffer = 'int', values = [3, 46341] }, { buffer = 'long', count = 2 }]")),
    ("uninitialised-value", "global = 8\nargument = [IN, { buffer = 'float', count = 8 }, { value = 8 }]", None),
    ("data-race", "global = 64\nlocal = 64\nargument = [IN, OUT]", None),
    ("data-race-between-groups",
     "global = 64\nlocal = 16\nargument = [IN, { buffer = 'float', count = 1, fill = 0 }]",
     Some("global = 64\nlocal = 16\nargument = [IN, { buffer = 'float', count = 1 }, { value = 4 }]")),
    ("same-value-race",
     "global = 64\nargument = [{ buffer = 'float', count = 64, fill = -1 }, { buffer = 'int', count = 1, fill = 0 }]",
     None),
    ("atomic-mixed", "global = 512\nlocal = 512\nargument = [
         { buffer = 'uchar', count = 512, range = { start = 0, step = 7 } }, { buffer = 'int', count = 256, fill = 0 }]",
     Some("kernel = 'histogram'\nglobal = 512\nargument = [
         { buffer = 'uchar', count = 512, range = { start = 0, step = 7 } }, { buffer = 'int', count = 256, fill = 0 }]")),
    ("wrong-fence", "global = 64\nlocal = 64\nargument = [IN, OUT]", None),
    ("barrier-divergence", "global = 64\nlocal = 64\nargument = [IN, OUT, { value = 50 }]", None),
    ("collective-divergence", "global = 64\nlocal = 64\nargument = [
         { buffer = 'int', count = 64, range = { start = 32, step = -1 } }, { buffer = 'int', count = 1 }]", None),
    ("async-copy-divergence", "global = 64\nlocal = 64\nargument = [IN, OUT]", None),
    ("async-copy-unwaited", "global = 64\nlocal = 64\nargument = [IN, OUT]", None),
    ("image-read-outside", "global = [16, 8]\nargument = [IMAGES]", None),
    ("image-write-outside", "global = [16, 8]\nargument = [
         { image = { width = 13, height = 8, order = 'rgba', channel = 'float' }, access = 'write' }, { value = [1, 0, 0, 1] }]", None),
    ("read-only-write",
     "global = 64\nargument = [{ buffer = 'float', count = 64, fill = 1 }, OUT]",
     Some("global = 64\nargument = [IN, OUT]")),
    ("write-only-read",
     "global = 64\nargument = [IN, { buffer = 'float', count = 64, fill = 0, access = 'write' }]",
     Some("global = 64\nargument = [IN, IN, { buffer = 'float', count = 64, access = 'write' }]")),
    ("aliasing-arguments",
     "global = 1\nargument = [{ buffer = 'float', count = 64, fill = 1 }, { same_as = 0 }, { value = 64 }]",
     Some("global = 64\nargument = [{ buffer = 'float', count = 64, fill = 1 }]")),
    ("unused-argument", "global = [8, 8]\nargument = [IN, OUT, { value = 8 }, { value = 8 }]", None),
    ("argument-type", "global = 64\nargument = [{ buffer = 'int', count = 64, fill = 3, access = 'read' }, OUT]", None),
    ("division-by-zero",
     "global = 2\nargument = [{ buffer = 'int', values = [9, 0] }, { buffer = 'int', values = [3, 0] }, { buffer = 'int', count = 2 }]",
     None),
    ("division-overflow", "global = 2\nargument = [
         { buffer = 'int', values = [9, -2147483648] }, { buffer = 'int', values = [3, -1] }, { buffer = 'int', count = 2 }]", None),
    ("shift-past-width", "global = 33\nargument = [{ buffer = 'uint', count = 33 }]", None),
    ("float-to-int-range",
     "global = 3\nargument = [{ buffer = 'float', values = [0.5, 1.5, -0.5] }, { buffer = 'uchar', count = 3 }]",
     None),
    ("half-overflow",
     "global = 2\nargument = [{ buffer = 'half', values = [2, 256] }, { buffer = 'half', count = 2 }]",
     None),
    ("half-underflow",
     "global = 2\nargument = [{ buffer = 'half', fill = 1, count = 2 }, { buffer = 'half', values = [1, 0.01] }]",
     Some("global = 2\nargument = [{ buffer = 'float', fill = 1, count = 2 }, { buffer = 'half', values = [1, 0.01] }]")),
    ("accuracy-lost",
     "global = 1\nargument = [{ buffer = 'half', count = 4096, fill = 1 }, { buffer = 'half', count = 1 }, { value = 4096 }]",
     None),
    ("nan-born", "global = 2\nargument = [{ buffer = 'float4', values = [1, 2, 3, 4, 0, 0, 0, 0] }]", None),
    ("kernel-without-effect", "global = 64\nargument = [{ buffer = 'float', count = 64, fill = 2 }]", None),
    ("infinite-loop", "global = 2\nlocal = 1\nargument = [
         { buffer = 'int', values = [0, 0, 0] }, { buffer = 'int', count = 2 }]",
     Some("global = 64\nargument = [{ buffer = 'float', count = 64, fill = 2 }]")),
];

/// The code below a heading of a page.
fn code<'p>(page: &'p str, head: &str) -> &'p str {
    let section = page.split_once(&format!("\n## {head}\n")).unwrap().1;
    section.split_once("```c\n").unwrap().1.split_once("```").unwrap().0
}

#[test]
fn examples_have_their_finding_and_corrected_ones_have_none() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let codes: Vec<&str> = tripipe_simulate::watch::rules::ALL.iter().map(|rule| rule.code).collect();
    assert_eq!(codes, LAUNCHES.iter().map(|launch| launch.0).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (code_of, example, instead) in LAUNCHES {
        let page = bench.succeed(&["explain", code_of, "--format", "markdown"]);
        for (head, launch, want) in
            [("Example", *example, &[*code_of][..]), ("Instead", instead.unwrap_or(example), &[])]
        {
            let source = code(&page, head);
            let options = source.lines().find_map(|line| line.strip_prefix("// options:")).unwrap_or("");
            let launch = launch.replace("IMAGES", IMAGES).replace("IN", FLOATS).replace("OUT", OUT);
            bench.write("k.cl", source);
            bench.write("k.toml", format!("source = 'k.cl'\noptions = '{options}'\n{launch}\n"));
            let form = ["--format", "json", "--limit-steps", "1000000", "--fail-on", "note"];
            let output = bench.run(&[&["check", "k.toml"], &form[..]].concat());
            let said = String::from_utf8_lossy(&output.stdout);
            let found: Value = serde_json::from_str(&said).unwrap_or_default();
            let mut found: Vec<&str> = found["findings"]
                .as_array()
                .map(|findings| findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect())
                .unwrap_or_default();
            found.dedup();
            if found != want || output.status.code() != Some(i32::from(!want.is_empty())) {
                let errors = complaint(&output.stderr);
                wrong.push(format!("{code_of}, {head}: {found:?} {said}{errors}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
