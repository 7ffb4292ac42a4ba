//! `freeze` instructions, which the optimiser leaves and LLVM's SPIR-V translator does not know.
//!
//! A frozen value is the value itself, or any one value if that is undefined. The kernels here are executed and priced
//! with values that are always some number, so that the instruction can be replaced by its operand.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::build::BuildError;
use super::run::{BITCODE, run};

/// Removes all `freeze` instructions from the bitcode in `work`.
pub(super) fn remove(clang: &Path, work: &Path, name: &str) -> Result<(), BuildError> {
    let text = work.join("kernel.ll");
    let convert = |from: &Path, form: &str, to: &Path| {
        let mut arguments: Vec<OsString> =
            ["-x", "ir", "--target=spir64-unknown-unknown", "-O1", "-Xclang", "-disable-llvm-passes"]
                .map(OsString::from)
                .to_vec();
        arguments.extend(["-Wno-override-module", "-emit-llvm", form, "-o"].map(OsString::from));
        arguments.extend([to.into(), from.into()]);
        run(clang, &arguments, work, name)
    };
    convert(&work.join(BITCODE), "-S", &text)?;
    let read = fs::read_to_string(&text).map_err(|error| BuildError::File { path: text.clone(), error })?;
    fs::write(&text, remove_from_text(&read))
        .map_err(|error| BuildError::File { path: text.clone(), error })?;
    convert(&text, "-c", &work.join(BITCODE))?;
    Ok(())
}

/// LLVM's text form without `freeze`.
fn remove_from_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut function = String::new();
    for line in text.split_inclusive('\n') {
        function.push_str(line);
        // Names of values are those of one function, which ends with a brace at the start of a line.
        if line.starts_with('}') {
            out.push_str(&remove_from_function(&function));
            function.clear();
        }
    }
    out + &function
}

/// A function without `freeze`. Unnamed results keep it: their numbers must stay complete.
fn remove_from_function(function: &str) -> String {
    let mut function = function.to_owned();
    while let Some((line, result, operand)) = function.lines().find_map(parse_freeze) {
        let without = function.replacen(&format!("{line}\n"), "", 1);
        function = renamed(&without, &result, &operand);
    }
    function
}

/// `  %a.fr = freeze i32 %a, !dbg !7` as the line, `%a.fr` and `%a`.
fn parse_freeze(line: &str) -> Option<(String, String, String)> {
    let (result, instruction) = line.trim().split_once(" = ")?;
    let typed = instruction.strip_prefix("freeze ")?;
    let is_number = result.strip_prefix('%')?.bytes().all(|byte| byte.is_ascii_digit());
    let typed = typed.split(", !").next()?;
    let operand = typed.rsplit(' ').next()?;
    let operand = if matches!(operand, "undef" | "poison") { "zeroinitializer" } else { operand };
    // A constant of several words, or a name in quotes, is left.
    let is_word = operand.starts_with('%') || !operand.ends_with(['>', '}', ']', '"']);
    (!is_number && is_word).then(|| (line.to_owned(), result.to_owned(), operand.to_owned()))
}

/// The text with a value's name replaced where it is a whole name.
fn renamed(text: &str, name: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, found) = rest.split_at(at);
        let after = &found[name.len()..];
        let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"-$._".contains(&byte);
        out.push_str(before);
        out.push_str(if after.bytes().next().is_some_and(goes_on) { name } else { to });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_values_are_replaced_by_their_operands() {
        let text = "define void @k(i32 %a) {\n  %a.fr = freeze i32 %a, !dbg !7\n  %a.fr1 = freeze i32 %a.fr\n  \
                    %b = add i32 %a.fr, %a.fr1\n  ret void\n}\ndefine void @m(i32 %a.fr) {\n  %c = add i32 %a.fr, 1\n}\n";
        let want = "define void @k(i32 %a) {\n  %b = add i32 %a, %a\n  ret void\n}\ndefine void @m(i32 %a.fr) {\n  \
                    %c = add i32 %a.fr, 1\n}\n";
        assert_eq!(remove_from_text(text), want);
    }

    #[test]
    fn undefined_values_become_zeros_and_numbers_stay() {
        let text = "define void @k() {\n  %x.fr = freeze <4 x i32> undef\n  %1 = freeze i32 %0\n  use <4 x i32> %x.fr\n}\n";
        let want = "define void @k() {\n  %1 = freeze i32 %0\n  use <4 x i32> zeroinitializer\n}\n";
        assert_eq!(remove_from_text(text), want);
    }
}
