//! Any input: no panic, no hang, no more memory than the limit.

use proptest::prelude::*;
use tripipe_launch_file::{Limits, ParameterKind};

use super::{Shelf, buffer, kernel, value};

/// Pieces of launch files, in any order and with arbitrary text in between.
fn pieces(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![8 => prop::sample::select(words).prop_map(str::to_owned), 1 => any::<String>(), 1 =>
        any::<i64>().prop_map(|number| number.to_string())];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

const TOML: &[&str] = &[
    "source = 'k.cl'\n",
    "global = 8\n",
    "[[argument]]\n",
    "buffer = ",
    "image = ",
    "value = ",
    "'float3'\n",
    "'uchar'\n",
    "count = ",
    "[2, 3]\n",
    "7\n",
    "1e400",
    "nan",
    "{ ",
    " }\n",
    ", ",
    "seed = 3",
    "range = { step = -1 }\n",
    "random = { seed = 1, low = 2 }\n",
    "values = [1, 2, 3]\n",
    "fill = 0\n",
    "file = 'a.bin'\n",
    "npy = 'a.npy'\n",
    "picture = 'a.png'\n",
    "width = 5",
    "height = 4",
    "order = 'rgba'",
    "channel = 'unorm-int8'",
    "dump = true\n",
    "dump = 'a.png'\n",
    "expect = { fill = 1, ulp = 3 }\n",
    "same_as = 0\n",
    "local = ",
    "null = true\n",
    "name = 'a'\n",
    "9223372036854775807\n",
    "[",
    "]\n",
    "\n",
];
const SIM: &[&str] = &[
    "k.cl\n",
    "k\n",
    "8 1 1\n",
    "4 1 1\n",
    "<size=4>",
    "<size=16 ",
    "fill=1",
    "range=0:1:3",
    "hex ",
    "dump ",
    "float ",
    "uchar ",
    "noinit",
    "null",
    "ro ",
    "wo ",
    ">",
    "<",
    "\n",
    " 1 2 3 4 ",
    "# ",
    "<size=18446744073709551615 fill=0>",
    "-1 ",
    "0x",
    "é",
];

/// Loads the file for kernels with each kind of parameter.
fn load(file: &tripipe_launch_file::LaunchFile) {
    let opaque = ParameterKind::Opaque { type_name: "s".to_owned(), bytes: None };
    let all = [
        buffer("float"),
        value("float3"),
        ParameterKind::Local,
        ParameterKind::Image,
        opaque,
        ParameterKind::Unknown,
    ];
    for kind in all {
        let kinds = vec![kind; file.arguments.len().min(26)];
        // A mebibyte, so that contents are generated quickly.
        if let Ok(loaded) = file.load(&[kernel(&kinds)], &mut Shelf::default(), Limits { bytes: 1 << 20 }) {
            for memory in loaded.memory {
                let size = memory.array.bytes().unwrap();
                assert!(size > 0 && size <= 1 << 20);
                assert!(memory.initial.is_none_or(|initial| initial.len() == size));
                assert!(memory.expected.is_none_or(|(expected, _)| expected.len() == size));
            }
        }
    }
}

/// Checks that an error's location is inside the text.
fn check_place(error: &tripipe_launch_file::FileError, text: &str) {
    assert!(error.location.line >= 1 && error.location.column >= 1);
    assert!(error.location.line <= text.split('\n').count(), "{error}\n{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn toml_of_all_kinds(text in prop_oneof![any::<String>(), pieces(TOML)]) {
        match tripipe_launch_file::parse(&text, "k.toml") {
            Ok(file) => load(&file),
            Err(error) => check_place(&error, &text),
        }
    }

    #[test]
    fn arguments_of_all_kinds(text in pieces(TOML)) {
        let text = super::with(&format!("[[argument]]\n{text}"));
        match tripipe_launch_file::parse(&text, "k.toml") {
            Ok(file) => load(&file),
            Err(error) => check_place(&error, &text),
        }
    }

    #[test]
    fn sim_of_all_kinds(text in prop_oneof![any::<String>(), pieces(SIM)]) {
        for text in [text.clone(), format!("k.cl k 8 1 1 4 1 1\n{text}")] {
            match tripipe_launch_file::sim::parse(&text, "k.sim") {
                Ok(file) => load(&file),
                Err(error) => check_place(&error, &text),
            }
        }
    }
}

#[test]
fn deep_and_long_texts() {
    for text in [
        format!("source = 'k.cl'\nglobal = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        super::with(&format!("[[argument]]\nvalue = {}1{}", "[".repeat(100_000), "]".repeat(100_000))),
        super::with(&format!("argument = [{}]", "{ null = true }, ".repeat(100_000))),
        super::with(&format!("[[argument]]\n{}", "a.".repeat(100_000))),
    ] {
        assert!(tripipe_launch_file::parse(&text, "k.toml").is_err());
    }
    let numbers =
        super::with(&format!("[[argument]]\nbuffer = 'uchar'\nvalues = [{}]", "7, ".repeat(100_000)));
    load(&tripipe_launch_file::parse(&numbers, "k.toml").unwrap());
}
