//! A call of the application, and its readable form.

use std::fmt::{Arguments, Write as _};
use std::time::Instant;

use crate::function::{Function, Parameter, Pointee};
use crate::names;

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A number, a handle, or a pointer that is not followed.
    Word(u64),
    /// What a pointer points to.
    Text(String),
    /// What a pointer points to.
    Words(Vec<u64>),
    /// What a pointer points to.
    Bytes(Vec<u8>),
}

impl Argument {
    /// The number or handle; 0 for others.
    pub(crate) fn word(&self) -> u64 {
        if let Self::Word(word) = self { *word } else { 0 }
    }

    /// The words; empty for others.
    pub(crate) fn words(&self) -> &[u64] {
        if let Self::Words(words) = self { words } else { &[] }
    }
}

/// A call that has returned.
#[derive(Debug)]
pub(crate) struct Call {
    /// What was called.
    pub(crate) function: Function,
    /// Its number among all calls, from 1.
    pub(crate) number: u64,
    /// The arguments, without the places for an event and an error code.
    pub(crate) arguments: Vec<Argument>,
    /// The error code; success for functions without one.
    pub(crate) code: i32,
    /// The handle or pointer that it returned; 0 for functions that return a code.
    pub(crate) result: u64,
    /// The event that the application received; 0 if it asked for none.
    pub(crate) event: u64,
    /// The number of the thread, from 1.
    pub(crate) thread: u32,
    /// When it began and returned.
    pub(crate) time: [Instant; 2],
}

impl Call {
    /// An argument by the name of its parameter. A NULL list is empty; for a name that the function does not have, 0.
    pub(crate) fn argument(&self, name: &str) -> &Argument {
        const NONE: &Argument = &Argument::Word(0);
        self.function.position(name).and_then(|index| self.arguments.get(index)).unwrap_or(NONE)
    }

    /// A number or handle by the name of its parameter.
    pub(crate) fn word(&self, name: &str) -> u64 {
        self.argument(name).word()
    }

    /// Whether it succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        self.code == opencl_sys::CL_SUCCESS
    }
}

/// The arguments of a call with the names of their parameters.
pub(crate) fn readable(function: Function, arguments: &[Argument]) -> Vec<(&'static str, String)> {
    let parameters = function.parameters().zip(arguments);
    let text = |(parameter, argument): (&'static Parameter, &Argument)| {
        let mut text = String::new();
        show(&mut text, parameter, argument);
        (parameter.name, text)
    };
    parameters.map(text).collect()
}

/// Adds `name = value, name = value` to a text.
pub(crate) fn list(text: &mut String, function: Function, arguments: &[Argument]) {
    for (index, (parameter, argument)) in function.parameters().zip(arguments).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(parameter.name);
        text.push_str(" = ");
        show(text, parameter, argument);
    }
}

/// What a call returned.
pub(crate) fn returned(function: Function, code: i32, result: u64) -> String {
    if code != opencl_sys::CL_SUCCESS || (result == 0 && function.has_code()) {
        names::code(code)
    } else {
        pointer(result)
    }
}

fn show(text: &mut String, parameter: &Parameter, argument: &Argument) {
    let type_name = parameter.type_name;
    match argument {
        Argument::Word(word) => number(text, type_name, *word),
        Argument::Text(words) => put(text, format_args!("{words:?}")),
        Argument::Bytes(bytes) => show_bytes(text, bytes),
        Argument::Words(words) => match (parameter.pointee, &words[..]) {
            (Pointee::ImageFormat, [order, channel]) => {
                number(text, "cl_channel_order", *order);
                text.push(' ');
                number(text, "cl_channel_type", *channel);
            }
            (Pointee::ImageDescription, [kind, rest @ ..]) => {
                number(text, "cl_mem_object_type", *kind);
                // The order of `cl_image_desc`, without its last members.
                text.push_str(" width, height, depth, array size, row pitch, slice pitch ");
                show_list(text, rest, |text, size| put(text, format_args!("{size}")));
            }
            (Pointee::Pairs, words) => show_list(text, words, |text, word| {
                // Keys and values of these lists have no type of their own.
                if word > 0xFFFF_FFFF { put_pointer(text, word) } else { put(text, format_args!("{word}")) }
            }),
            (_, words) => {
                let element = type_name.rsplit([' ', '*']).next().unwrap_or_default();
                show_list(text, words, |text, word| number(text, element, word));
            }
        },
    }
}

fn show_list(text: &mut String, words: &[u64], show: impl Fn(&mut String, u64)) {
    text.push('[');
    for (index, word) in words.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        show(text, *word);
    }
    text.push(']');
}

fn put(text: &mut String, what: Arguments<'_>) {
    // A text takes everything.
    let _ = text.write_fmt(what);
}

/// A number or handle of a type.
fn number(text: &mut String, type_name: &str, word: u64) {
    match type_name {
        "usize" | "cl_uint" | "cl_GLuint" | "cl_GLenum" => put(text, format_args!("{word}")),
        "cl_kernel" | "cl_mem" | "cl_command_queue" | "cl_event" | "cl_context" | "c_void" => {
            put_pointer(text, word);
        }
        "cl_bool" if word <= 1 => text.push_str(["CL_FALSE", "CL_TRUE"][word as usize]),
        _ => {
            if let Some(name) = names::value(type_name, word) {
                text.push_str(name);
            } else if let Some(names) = names::bits(type_name, word) {
                text.push_str(&names);
            } else if type_name == "cl_int" || type_name == "cl_GLint" {
                put(text, format_args!("{}", word as i64));
            } else if ["_info", "_type", "_mode"].iter().any(|end| type_name.ends_with(end)) {
                put(text, format_args!("{word:#x}"));
            } else {
                put_pointer(text, word);
            }
        }
    }
}

fn put_pointer(text: &mut String, word: u64) {
    if word == 0 {
        text.push_str("NULL");
    } else {
        put(text, format_args!("{word:#x}"));
    }
}

/// A handle or an address.
pub(crate) fn pointer(word: u64) -> String {
    let mut text = String::new();
    put_pointer(&mut text, word);
    text
}

/// Up to 16 bytes; those of 4 as numbers too.
fn show_bytes(text: &mut String, bytes: &[u8]) {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        let word = u32::from_ne_bytes(four);
        return put(text, format_args!("{word:#x} (int {}, float {})", word as i32, f32::from_bits(word)));
    }
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return put(text, format_args!("{:#x}", u64::from_ne_bytes(eight)));
    }
    for (index, byte) in bytes.iter().take(16).enumerate() {
        put(text, format_args!("{}{byte:02x}", if index == 0 { "" } else { " " }));
    }
    if bytes.len() > 16 {
        put(text, format_args!(" ... ({} bytes)", bytes.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_names_of_the_header() {
        let arguments = [Argument::Word(0x50), Argument::Word(33), Argument::Word(64), Argument::Word(0)];
        let text: Vec<String> = readable(Function::clCreateBuffer, &arguments)
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        assert_eq!(
            text,
            [
                "context = 0x50",
                "flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR",
                "size = 64",
                "host_ptr = NULL"
            ]
        );
    }

    #[test]
    fn ranges_are_lists_and_events_are_handles() {
        let words = |words: &[u64]| Argument::Words(words.to_vec());
        let arguments = [
            Argument::Word(1),
            Argument::Word(2),
            Argument::Word(2),
            Argument::Word(0),
            words(&[64, 4]),
            Argument::Word(0),
            Argument::Word(1),
            words(&[0xab]),
        ];
        let text = readable(Function::clEnqueueNDRangeKernel, &arguments);
        assert_eq!(text[4], ("global_work_size", "[64, 4]".to_owned()));
        assert_eq!(text[5], ("local_work_size", "NULL".to_owned()));
        assert_eq!(text[7], ("event_wait_list", "[0xab]".to_owned()));
    }

    #[test]
    fn results_are_codes_or_handles() {
        assert_eq!(returned(Function::clFinish, 0, 0), "CL_SUCCESS");
        assert_eq!(returned(Function::clFinish, -36, 0), "CL_INVALID_COMMAND_QUEUE");
        assert_eq!(returned(Function::clCreateBuffer, 0, 0x20), "0x20");
        assert_eq!(returned(Function::clCreateBuffer, -61, 0), "CL_INVALID_BUFFER_SIZE");
        assert_eq!(returned(Function::clSVMAlloc, 0, 0), "NULL");
    }

    #[test]
    fn values_are_shown_as_what_they_may_be() {
        let shown_bytes = |bytes: &[u8]| {
            let mut text = String::new();
            show_bytes(&mut text, bytes);
            text
        };
        assert_eq!(shown_bytes(&1.5f32.to_ne_bytes()), "0x3fc00000 (int 1069547520, float 1.5)");
        assert_eq!(shown_bytes(&0x1234u64.to_ne_bytes()), "0x1234");
        assert_eq!(shown_bytes(&[1, 2]), "01 02");
        assert!(shown_bytes(&[7; 20]).ends_with("... (20 bytes)"));
    }
}
