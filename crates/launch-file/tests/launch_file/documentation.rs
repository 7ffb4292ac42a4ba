//! Checks `docs/launch-files.md`: its examples load, its lists are complete.

use tripipe_launch::{ChannelOrder, ChannelType};
use tripipe_launch_file::{Limits, Overrides, ParameterKind};

use super::{Shelf, buffer, kernel, parse, value};

const DOCUMENTATION: &str = include_str!("../../../../docs/launch-files.md");

/// The fenced blocks in `language`.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCUMENTATION.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

#[test]
fn examples_are_launch_files() {
    let examples = blocks("toml");
    assert_eq!(examples.len(), 8);
    for example in examples {
        if let Some(sequence) = tripipe_launch_file::parse_sequence(example, "k.toml", &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}\n{example}"))
        {
            assert!(sequence.launches.iter().any(|launch| !launch.uses.is_empty()));
            continue;
        }
        let file = parse(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        // For a kernel with unknown parameters, every argument can be passed except a value without its type.
        let kinds: Vec<ParameterKind> = file
            .arguments
            .iter()
            .map(|entry| match &entry.given {
                tripipe_launch_file::Given::Value { element: None, numbers } => {
                    value(["", "float", "float2", "float3", "float4"][numbers.len()])
                }
                _ => ParameterKind::Unknown,
            })
            .collect();
        let mut signature = kernel(&kinds);
        signature.parameters.iter_mut().for_each(|parameter| parameter.name.clear());
        signature.kernel = file.kernel.clone().unwrap_or("k".to_owned());
        file.load(&[signature], &mut Shelf::default(), Limits::default())
            .unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
    let [sim] = blocks("sim")[..] else { panic!() };
    let file = tripipe_launch_file::sim::parse(sim, "vecadd.sim").unwrap();
    let mut signature = kernel(&[buffer("float"), buffer("float"), buffer("float"), value("int")]);
    signature.kernel = "vecadd".to_owned();
    file.load(&[signature], &mut Shelf::default(), Limits::default()).unwrap();
}

#[test]
fn every_word_is_documented() {
    let said = |word: &str| {
        DOCUMENTATION.contains(&format!("`{word}`")) || DOCUMENTATION.contains(&format!("`{word} = "))
    };
    for order in ChannelOrder::ALL {
        let word = order.opencl_name()[3..].to_lowercase();
        assert!(said(&word), "{word}");
    }
    for channel in ChannelType::ALL {
        let word = channel.opencl_name()[3..].to_lowercase().replace('_', "-");
        assert!(said(&word), "{word}");
    }
    // The parser lists its keys when one is wrong; names in a table of the documentation are in backquotes.
    for text in ["x = 1", "source = 'a'\nglobal = 1\n[[argument]]\nx = 1"] {
        let error = parse(text).unwrap_err().to_string();
        for key in error.split_once("there are ").unwrap().1.split(", ") {
            assert!(said(key) || DOCUMENTATION.contains(&format!("`[[{key}]]`")), "{key}");
        }
    }
    for text in ["launch = []\nx = 1", "source = 'a'\n[[launch]]\nx = 1"] {
        let error = tripipe_launch_file::parse_sequence(text, "k.toml", &Overrides::default()).unwrap_err();
        for key in error.to_string().split_once("there are ").unwrap().1.split(", ") {
            assert!(said(key) || DOCUMENTATION.contains(&format!("`[[{key}]]`")), "{key}");
        }
    }
}
