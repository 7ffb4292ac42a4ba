//! A kernel run as text.

use std::fmt::Write as _;

use tripipe_launch_file::{Comparison, Scalar};

use super::{Base, Memory, Run};
use crate::number::{counted, significant, time};

/// The run in one line: `scale of scale.cl over 16x16 in groups of 4x4, on ...: 1.23 ms; 0.12 CPU cores busy, ...`.
pub fn text(run: &Run<'_>) -> String {
    let Run { kernel, program, range, device, seconds, cpu_load, energy } = run;
    let load = cpu_load.map_or_else(String::new, |load| format!("; {}", crate::busy_cores(load)));
    let mut said = format!("{kernel} of {program} over {range:?}, on {device}: {}{load}\n", time(*seconds));
    if let Some(energy) = energy {
        let _ = writeln!(
            said,
            "energy: {} mJ a run, {} W over {} in {}, by NVML's counter of the whole board; what the board uses without work \
             is in it",
            significant(energy.joules * 1e3),
            significant(energy.watts),
            counted(energy.runs as u64, "run"),
            time(energy.seconds)
        );
    }
    said
}

/// A memory object, line by line, each with its newline: its numbers if they are shown, in the format of
/// `oclgrind-kernel` (`  name[3] = 1.5`, one index per dimension, the lanes of a vector in parentheses), the file it
/// was written to, and the differences from the expected contents.
pub fn lines<'a>(memory: &'a Memory<'a>) -> impl Iterator<Item = String> + 'a {
    // Line by line, because a buffer may have millions of numbers.
    let numbers = memory.shown.into_iter().flat_map(|base| numbers(memory, base));
    let file = memory.file.map(|file| format!("{} -> {file}\n", memory.name));
    let comparison = memory.comparison.map(|comparison| differences(memory.name, comparison));
    numbers.chain(file).chain(comparison)
}

fn numbers<'a>(memory: &'a Memory<'a>, base: Base) -> impl Iterator<Item = String> + 'a {
    let Memory { name, array, bytes, .. } = *memory;
    let head = format!("\nArgument '{name}': {}\n", counted(bytes.len() as u64, "byte"));
    let scalar = array.element.scalar();
    let mut index = vec![0; array.extents.len()];
    let element = move |element: &[u8]| {
        let mut line = format!("  {name}{} = ", brackets(&index));
        advance(&mut index, &array.extents);
        let lanes: Vec<String> = element
            .chunks_exact(scalar.bytes())
            // A vector of three numbers has room for a fourth, which is not one of its lanes.
            .take(array.element.lanes())
            .map(|number| match base {
                Base::Ten => Scalar::from_bytes(scalar, number).to_string(),
                Base::Sixteen => bits(number),
            })
            .collect();
        match &lanes[..] {
            [number] => line.push_str(number),
            lanes => {
                let _ = write!(line, "({})", lanes.join(", "));
            }
        }
        line.push('\n');
        line
    };
    std::iter::once(head)
        .chain(bytes.chunks_exact(array.element.bytes()).map(element))
        .chain(Some("\n".to_owned()))
}

/// `0x0000002a`
pub(super) fn bits(number: &[u8]) -> String {
    let mut digits = String::from("0x");
    // The bytes are in the host's order.
    let most_significant_first: &mut dyn Iterator<Item = &u8> =
        if cfg!(target_endian = "little") { &mut number.iter().rev() } else { &mut number.iter() };
    for byte in most_significant_first {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// `[3][5]`
fn brackets(index: &[usize]) -> String {
    index.iter().fold(String::new(), |mut text, index| {
        let _ = write!(text, "[{index}]");
        text
    })
}

/// Advances to the index of the next element, the last dimension fastest.
fn advance(index: &mut [usize], extents: &[usize]) {
    for (index, extent) in index.iter_mut().zip(extents).rev() {
        *index += 1;
        if *index < *extent {
            return;
        }
        *index = 0;
    }
}

fn differences(name: &str, comparison: &Comparison) -> String {
    let Comparison { numbers, differing, first, largest } = comparison;
    let numbers = counted(*numbers as u64, "number");
    if *differing == 0 {
        let exact = if *largest == 0.0 { "exactly".to_owned() } else { format!("within {largest:?}") };
        return format!("{name}: {numbers} as expected, {exact}\n");
    }
    let mut text = format!(
        "{name}: {} of {numbers} not as expected; the largest difference is {largest:?}\n",
        crate::number::grouped(*differing as u64)
    );
    for difference in first {
        let (found, want) = (difference.found, difference.want);
        let _ = writeln!(text, "  {name}{} is {found}, expected {want}", brackets(&difference.index));
    }
    if *differing > first.len() {
        let _ = writeln!(text, "  and {} more", crate::number::grouped((*differing - first.len()) as u64));
    }
    text
}
