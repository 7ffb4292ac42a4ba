//! Kernels as beginners write them: every rewrite keeps every byte of the results, at every size.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tripipe_improve::{ALL, Allowed, Proposal, Subject, View};
use tripipe_ir::front::clang::Cache;
use tripipe_launch::Executor as _;
use tripipe_launch_file::{Limits, NoFiles, Signature, parse};
use tripipe_simulate::{Options, Simulator};
use tripipe_timing::{VirtualGpu, VirtualOptions};

/// A kernel and its launch; `W` and `H` stand for the size, and names for sizes of it.
struct Case {
    name: &'static str,
    global: &'static str,
    arguments: &'static [&'static str],
}

fn bytes(name: &str, count: &str, access: &str) -> String {
    buffer(name, "uchar", count, access, "low = 0, high = 255")
}

fn buffer(name: &str, element: &str, count: &str, access: &str, range: &str) -> String {
    let seed = name.bytes().map(u32::from).sum::<u32>();
    format!(
        "[[argument]]\nname = \"{name}\"\nbuffer = \"{element}\"\ncount = {count}\naccess = \"{access}\"\n\
         random = {{ seed = {seed}, {range} }}\n"
    )
}

fn argument(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["in", "uchar", name, count] => bytes(name, count, "read"),
        ["out", "uchar", name, count] => bytes(name, count, "write"),
        [direction, element, name, count] => {
            let access = if direction == "in" { "read" } else { "read-write" };
            let range = match element {
                "char" => "low = -128, high = 127",
                "int" => "low = -1000, high = 1000",
                _ => "low = -1, high = 1",
            };
            buffer(name, element, count, access, range)
        }
        [name, value] => format!("[[argument]]\nname = \"{name}\"\nvalue = {value}\n"),
        _ => panic!("{text}"),
    }
}

const CASES: &[Case] = &[
    Case {
        name: "saxpy",
        global: "[W*H]",
        arguments: &["in float x W*H", "out float y W*H", "a 0.75", "n W*H"],
    },
    Case {
        name: "gray_laplace",
        global: "[W, H]",
        arguments: &["in uchar src W*H", "out uchar dst W*H", "width W", "height H"],
    },
    Case {
        name: "rgb_laplace",
        global: "[H, W]",
        arguments: &["in uchar source 3*W*H", "out uchar result 3*W*H", "width W", "height H"],
    },
    Case {
        name: "box_blur",
        global: "[W, H]",
        arguments: &["in uchar in W*H", "out uchar out W*H", "w W", "h H"],
    },
    Case {
        name: "box_blur5",
        global: "[W, H]",
        arguments: &["in float in W*H", "out float out W*H", "w W", "h H"],
    },
    Case {
        name: "gaussian_row",
        global: "[W, H]",
        arguments: &["in uchar in W*H", "out uchar out W*H", "in float weights 7", "radius 3", "w W", "h H"],
    },
    Case {
        name: "bilateral",
        global: "[W, H]",
        arguments: &[
            "in uchar in W*H",
            "out uchar out W*H",
            "width W",
            "height H",
            "space 0.1",
            "range 0.001",
        ],
    },
    Case {
        name: "rgb_to_gray",
        global: "[W*H]",
        arguments: &["in uchar rgb 3*W*H", "out uchar gray W*H", "n W*H"],
    },
    Case {
        name: "rgb_to_planar",
        global: "[W, H]",
        arguments: &["in uchar rgb 3*W*H", "out float out 3*W*H", "w W", "h H"],
    },
    Case {
        name: "nv12_to_rgb",
        global: "[W, H]",
        arguments: &["in uchar luma W*H", "in uchar chroma W*H+2*W+2", "out uchar rgb 3*W*H", "w W", "h H"],
    },
    Case {
        name: "product",
        global: "[W, H]",
        arguments: &["in float a H*K", "in float b K*W", "out float c H*W", "m H", "n W", "k K"],
    },
    Case {
        name: "product_half",
        global: "[W, H]",
        arguments: &["in half a H*K", "in half b K*W", "out half c H*W", "n W", "k K"],
    },
    Case {
        name: "transpose",
        global: "[W, H]",
        arguments: &["in float in W*H", "out float out W*H", "width W", "height H"],
    },
    Case {
        name: "depthwise",
        global: "[32, W, H]",
        arguments: &[
            "in char in (W+2)*(H+2)*32",
            "in char weights 9*32",
            "in int bias 32",
            "out char out W*H*32",
            "channels 32",
            "width W+2",
            "out_width W",
            "out_height H",
            "multiplier 1000000",
            "shift 28",
        ],
    },
    Case {
        name: "threshold",
        global: "[W*H]",
        arguments: &["in uchar in W*H", "out uchar out W*H", "level 100", "n W*H"],
    },
    Case {
        name: "lookup",
        global: "[W*H]",
        arguments: &["in uchar in W*H", "out uchar out W*H", "in uchar table 256", "n W*H"],
    },
    Case {
        name: "brightest",
        global: "[W*H]",
        arguments: &[
            "in uchar samples 5*W*H",
            "out uchar value W*H",
            "out int place W*H",
            "pixels W*H",
            "count 5",
        ],
    },
];

/// The value of a product or sum of sizes.
fn value(text: &str, sizes: [usize; 3]) -> String {
    let mut text = text.to_owned();
    for (name, size) in ["W", "H", "K"].iter().zip(sizes) {
        text = text.replace(name, &size.to_string());
    }
    text
}

fn evaluated(text: &str) -> usize {
    let text = text.trim();
    if let Some(open) = text.find('(') {
        let close = text.find(')').unwrap();
        let inner = evaluated(&text[open + 1..close]);
        return evaluated(&format!("{}{inner}{}", &text[..open], &text[close + 1..]));
    }
    text.split('+')
        .map(|sum| sum.split('*').map(|it| it.trim().parse::<usize>().unwrap()).product::<usize>())
        .sum()
}

impl Case {
    /// The file and the kernel.
    fn kernel(&self) -> (PathBuf, &'static str) {
        let crates = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        match self.name {
            // The first step of the published ladder.
            "rgb_laplace" => (crates.join("ladders/src/laplace/published.cl"), "scalar"),
            name => (crates.join(format!("improve/tests/kernels/{name}.cl")), name),
        }
    }

    fn subject(&self, sizes: [usize; 3]) -> Subject {
        let (path, kernel) = self.kernel();
        let source = std::fs::read_to_string(&path).unwrap();
        let folder = path.parent().unwrap().to_owned();
        let global: Vec<String> = self
            .global
            .trim_matches(['[', ']'])
            .split(',')
            .map(|it| evaluated(&value(it, sizes)).to_string())
            .collect();
        let mut text = format!("source = \"{}.cl\"\nglobal = [{}]\n", self.name, global.join(", "));
        for given in self.arguments {
            let words: Vec<&str> = given.split(' ').collect();
            let (last, rest) = words.split_last().unwrap();
            let last = value(last, sizes);
            let last = if last.contains('.') { last } else { evaluated(&last).to_string() };
            text.push_str(&argument(&format!("{} {last}", rest.join(" "))));
        }
        let launch = parse(&text, self.name).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Subject { name: format!("{}.cl", self.name), source, folder, kernel: kernel.to_owned(), launch }
    }
}

fn results(subject: &Subject) -> Result<Vec<Vec<u8>>, String> {
    let mut options = Options::default();
    options.build.cache = Cache::from_environment();
    let mut simulator = Simulator::new(options);
    let (program, launch) = (subject.program(), &subject.launch);
    let kernel = simulator.kernel(&program, &subject.kernel).map_err(|error| error.to_string())?;
    let loaded = launch.load(&[Signature::of(kernel)], &mut NoFiles, Limits::default()).unwrap();
    let staged = loaded.stage(&mut simulator, program).map_err(|error| error.to_string())?;
    simulator.run(std::slice::from_ref(&staged.launch)).map_err(|error| error.to_string())?;
    Ok(staged.memory.iter().map(|object| object.read(&mut simulator).unwrap().bytes).collect())
}

/// What rewrites propose, of which `wanted` are taken, and what they propose of that: a vector kernel with its
/// overlapping loads shared.
fn proposals(subject: &Subject, wanted: impl Fn(usize) -> bool) -> Vec<(Proposal, Subject)> {
    let mut all = Vec::new();
    let first = proposals_after(subject, "").into_iter().enumerate();
    for (_, proposal) in first.filter(|(number, _)| wanted(*number)) {
        let changed = proposal.subject(subject);
        for next in proposals_after(&changed, "share-loads") {
            let title = format!("{}; {}", proposal.title, next.title);
            let shared = next.subject(&changed);
            all.push((Proposal { title, ..next }, shared));
        }
        all.push((proposal, changed));
    }
    all
}

/// What rewrites propose, or the one of a code.
fn proposals_after(subject: &Subject, code: &str) -> Vec<Proposal> {
    let tree = subject.tree(None).ok();
    let view = View { subject, tree: tree.as_ref(), gpus: &[], allowed: Allowed::default() };
    // The other rewrites have tests of their own.
    let own = [
        "widen",
        "coarsen",
        "block",
        "share-loads",
        "batch-loads",
        "tile-product",
        "merge-accesses",
        "unflatten",
    ];
    let all = ALL.iter().filter(|rewrite| own.contains(&rewrite.rule.code));
    let wanted = all.filter(|rewrite| code.is_empty() || rewrite.rule.code == code);
    wanted.flat_map(|rewrite| (rewrite.proposals)(&view)).collect()
}

const SIZES: &[[usize; 3]] = &[[1, 1, 3], [5, 4, 1], [16, 8, 5], [37, 9, 6]];

fn cases() -> impl Iterator<Item = &'static Case> {
    let only = std::env::var("CASE").ok();
    CASES.iter().filter(move |case| only.as_ref().is_none_or(|only| only == case.name))
}

/// Every rewrite of a kernel beside the original: each at one of the sizes, in turn; at every size with `EVERY_SIZE` in
/// the environment.
fn check(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    let every = std::env::var_os("EVERY_SIZE").is_some();
    let mut titles = BTreeSet::new();
    let mut wrong = Vec::new();
    for (turn, sizes) in SIZES.iter().enumerate() {
        let subject = case.subject(*sizes);
        let expected = results(&subject).unwrap();
        for (proposal, changed) in proposals(&subject, |number| every || number % SIZES.len() == turn) {
            let found = results(&changed);
            if found.as_ref() != Ok(&expected) {
                let error = found.err().unwrap_or_default();
                wrong.push(format!("{sizes:?}: {} {error}\n{}", proposal.title, proposal.source));
            }
            titles.insert(proposal.title);
        }
    }
    assert!(wrong.is_empty(), "{} wrong, the first:\n{}", wrong.len(), wrong[0]);
    assert!(!titles.is_empty(), "no rewrite");
}

/// Copies of a kernel that is vectors already: the function for single outputs is called for each of them.
#[test]
fn copies_of_vectors_compute_the_same() {
    for (name, rewrite) in [("gray_laplace", "widen"), ("rgb_laplace", "widen"), ("saxpy", "widen")] {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        // Multiples of what is computed together, and a rest at the end of a row.
        let subject = case.subject([64, 32, 1]);
        let expected = results(&subject).unwrap();
        let mut count = 0;
        for proposal in proposals_after(&subject, rewrite).into_iter().take(4) {
            let wide = proposal.subject(&subject);
            for copies in proposals_after(&wide, "coarsen").into_iter().step_by(2) {
                let found = results(&copies.subject(&wide));
                let title = format!("{}; {}", proposal.title, copies.title);
                assert_eq!(found.as_ref(), Ok(&expected), "{title}\n{}", copies.source);
                count += 1;
            }
        }
        assert!(count > 0, "{name}: no copies of vectors");
    }
}

macro_rules! cases {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

cases! {
    saxpy gray_laplace rgb_laplace box_blur box_blur5 gaussian_row bilateral rgb_to_gray rgb_to_planar nv12_to_rgb
    product product_half transpose depthwise threshold lookup brightest
}

fn seconds(subject: &Subject, gpu: &str) -> f64 {
    let options = VirtualOptions { time_only: true, ..VirtualOptions::default() };
    let mut device = VirtualGpu::new(tripipe_device::find(gpu).unwrap(), options);
    let program = subject.program();
    let signature = Signature::of(device.kernel(&program, &subject.kernel).unwrap());
    let loaded = subject.launch.load(&[signature], &mut NoFiles, Limits::default()).unwrap();
    let staged = loaded.stage(&mut device, program).unwrap();
    match device.predict(&staged.launch) {
        Ok(prediction) => prediction.seconds,
        Err(_) => f64::NAN,
    }
}

/// Predicted times of all rewrites: `CASE=saxpy cargo test … -- --ignored --nocapture prices`.
#[test]
#[ignore = "prints predicted times"]
fn prices() {
    for case in cases() {
        let subject = case.subject([1024, 256, 128]);
        let gpus = ["mali-t604", "mali-g77", "mali-g78", "adreno-650"];
        let before = gpus.map(|gpu| seconds(&subject, gpu));
        println!("{}: {}", case.name, before.map(|it| format!("{:9.1} us", it * 1e6)).join(" "));
        for (proposal, changed) in proposals(&subject, |_| true) {
            if std::env::var("TITLE").is_ok_and(|title| !proposal.title.contains(&title)) {
                continue;
            }
            let after = gpus.map(|gpu| seconds(&changed, gpu));
            let ratios: Vec<String> =
                before.iter().zip(after).map(|(a, b)| format!("{:6.2}x", a / b)).collect();
            println!("  {} {} {}", ratios.join(" "), proposal.code, proposal.title);
        }
    }
}

/// The sources of the proposals: `CASE=saxpy cargo test … -- --ignored --nocapture sources`.
#[test]
#[ignore = "prints sources"]
fn sources() {
    for case in cases() {
        let subject = case.subject([64, 16, 8]);
        for (proposal, _) in proposals(&subject, |_| true) {
            if std::env::var("TITLE").is_ok_and(|title| !proposal.title.contains(&title)) {
                continue;
            }
            println!("// {}: {}\n{}", case.name, proposal.title, proposal.source);
        }
    }
}
