//! A kernel run as JSON.

use serde_json::{Map, Value, json};
use tripipe_launch::NdRange;
use tripipe_launch_file::{Comparison, Difference, Scalar};

use super::text::bits;
use super::{Base, Memory, Run};

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 1;

/// The run as one JSON object on one line; `printed` is the output of `printf`. Times are in seconds; sizes have as
/// many numbers as the range has dimensions; `local` is `null` where the executor chose.
pub fn json(run: &Run<'_>, printed: &str) -> String {
    let Run { kernel, program, range, device, seconds } = run;
    json!({
        "command": "run-kernel",
        "version": VERSION,
        "kernel": kernel,
        "program": program,
        "global": extents(range, range.global_size()),
        "local": range.local_size().map(|local| extents(range, local)),
        "offset": extents(range, range.global_offset()),
        "device": device,
        "seconds": seconds,
        "printed": printed,
    })
    .to_string()
}

fn extents(range: &NdRange, sizes: [usize; 3]) -> Vec<usize> {
    sizes[..range.dimensions()].to_vec()
}

/// A memory object as one JSON object on one line: `argument`, `name`, `element`, `extents`, `written` (whether
/// the kernel may write it; `null` if that is not known), and, where requested, `numbers` (flat, the lanes of a vector
/// one after the other; infinities, NaNs and all numbers in base 16 are strings), `file`, `comparison`.
pub fn json_memory(memory: &Memory<'_>) -> String {
    let mut object = Map::new();
    object.insert("command".to_owned(), "run-kernel".into());
    object.insert("version".to_owned(), VERSION.into());
    object.insert("argument".to_owned(), memory.argument.into());
    object.insert("name".to_owned(), memory.name.into());
    object.insert("element".to_owned(), memory.array.element.to_string().into());
    object.insert("extents".to_owned(), memory.array.extents.clone().into());
    object.insert("written".to_owned(), memory.written.into());
    if let Some(base) = memory.shown {
        let scalar = memory.array.element.scalar();
        let numbers = memory.array.numbers(memory.bytes).map(|number| match base {
            Base::Ten => value(Scalar::from_bytes(scalar, number)),
            Base::Sixteen => Value::String(bits(number)),
        });
        object.insert("numbers".to_owned(), numbers.collect());
    }
    if let Some(file) = memory.file {
        object.insert("file".to_owned(), file.into());
    }
    if let Some(comparison) = memory.comparison {
        object.insert("comparison".to_owned(), compared(comparison));
    }
    Value::Object(object).to_string()
}

/// The digits of the text form, as a JSON number where possible.
fn value(number: Scalar) -> Value {
    let digits = number.to_string();
    serde_json::from_str(&digits).unwrap_or(Value::String(digits))
}

fn compared(comparison: &Comparison) -> Value {
    let Comparison { numbers, differing, first, largest } = comparison;
    let difference = |difference: &Difference| {
        let Difference { index, found, want } = difference;
        json!({ "index": index, "found": value(*found), "expected": value(*want) })
    };
    json!({
        "numbers": numbers,
        "differing": differing,
        "largest_difference": value(Scalar::F64(*largest)),
        "first": first.iter().map(difference).collect::<Vec<_>>(),
    })
}
