//! `swap-dimensions`: the first two dimensions of the launch change places.

use tripipe_ir::diagnostic::{Rule, Severity};

use crate::{HostChange, Proposal, Rewrite, View};

/// The rewrite.
pub(super) struct SwapDimensions;

const RULE: Rule = Rule {
    code: "swap-dimensions",
    severity: Severity::Note,
    title: "exchange dimensions 0 and 1 of the launch",
    explanation: r"## What it does

Exchanges dimensions 0 and 1: in the arguments of `get_global_id` and its relatives, and in the launch.

## Why

Work-items that are neighbours in dimension 0 run together in a warp. If neighbours in dimension 1 access neighbouring
elements, each access of a warp touches as many cache lines as it has work-items; exchanged, it touches one or two.

## Example

```c
kernel void scale(global float *a, int width) {
    a[get_global_id(0) * width + get_global_id(1)] *= 2.0f;
}
```

## Instead

```c
kernel void scale(global float *a, int width) {
    a[get_global_id(1) * width + get_global_id(0)] *= 2.0f;
}
```

and a launch of `{width, height}` instead of `{height, width}`.

## When not

Programs with several kernels or with includes, kernels that compute the number of a dimension, and those that require a
work-group size. A kernel whose accesses to one array get better and to another one worse, such as a transposition, may
gain nothing.

## Source

- Arm OpenCL guides: work-items of a warp should access neighbouring addresses.
- Qualcomm's guide on coalesced accesses.
",
};

/// Functions whose argument is a dimension.
const FUNCTIONS: [&str; 8] = [
    "get_global_id",
    "get_global_size",
    "get_global_offset",
    "get_local_id",
    "get_local_size",
    "get_enqueued_local_size",
    "get_group_id",
    "get_num_groups",
];

impl Rewrite for SwapDimensions {
    fn rule(&self) -> &'static Rule {
        &RULE
    }

    fn proposals(&self, view: &View<'_>) -> Vec<Proposal> {
        let subject = view.subject;
        if subject.launch.range.dimensions() < 2 {
            return Vec::new();
        }
        let Some(source) = swapped(&subject.source) else { return Vec::new() };
        vec![Proposal {
            code: RULE.code,
            title: "dimensions 0 and 1 exchanged".to_owned(),
            why: "work-items that run together access neighbouring elements".to_owned(),
            source,
            conditions: Vec::new(),
            host: vec![HostChange::SwapDimensions(0, 1)],
            relative_error: 0.0,
        }]
    }
}

/// The source with dimensions 0 and 1 exchanged; `None` if it does not use them as constants, or has several kernels or
/// includes.
fn swapped(source: &str) -> Option<String> {
    let tokens = tokens(source);
    let text = |index: usize| tokens.get(index).map_or("", |(start, end)| &source[*start..*end]);
    let mut kernels = 0;
    let mut changes = Vec::new();
    for index in 0..tokens.len() {
        match text(index) {
            "kernel" | "__kernel" => kernels += 1,
            "include" if text(index.wrapping_sub(1)) == "#" => return None,
            "reqd_work_group_size"
            | "work_group_size_hint"
            | "get_global_linear_id"
            | "get_local_linear_id" => {
                return None;
            }
            word if FUNCTIONS.contains(&word) => match [text(index + 1), text(index + 2), text(index + 3)] {
                ["(", "0", ")"] => changes.push((tokens[index + 2].0, "1")),
                ["(", "1", ")"] => changes.push((tokens[index + 2].0, "0")),
                ["(", "2", ")"] => {}
                _ => return None,
            },
            word if word.starts_with("get_sub_group") || word.starts_with("sub_group") => return None,
            _ => {}
        }
    }
    if kernels != 1 || changes.is_empty() {
        return None;
    }
    let mut result = source.to_owned();
    for (at, digit) in changes {
        result.replace_range(at..=at, digit);
    }
    Some(result)
}

/// The tokens of a source, as ranges of bytes: words, and other characters one by one; without comments and strings.
fn tokens(source: &str) -> Vec<(usize, usize)> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if bytes[at] == b'"' || bytes[at] == b'\'' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != bytes[at] {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(bytes.len()) - at
        } else if is_word(&bytes[at]) {
            let length = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
            tokens.push((at, at + length));
            length
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            if !bytes[at].is_ascii_whitespace() {
                tokens.push((at, at + length));
            }
            length
        };
        at += length;
        // An escaped quote may be followed by a character of several bytes.
        while !source.is_char_boundary(at) {
            at += 1;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::swapped;

    #[test]
    fn constants_change_places_and_comments_stay() {
        let source = "kernel void k(global int *a) { /* get_global_id(0) */ a[get_global_id( 0 ) * get_global_size(1)\n\
                      + get_global_id(1)] = 'x'; }";
        let expected = "kernel void k(global int *a) { /* get_global_id(0) */ a[get_global_id( 1 ) * get_global_size(0)\n\
                        + get_global_id(0)] = 'x'; }";
        assert_eq!(swapped(source).as_deref(), Some(expected));
    }

    #[test]
    fn nothing_is_proposed_where_a_dimension_is_not_known() {
        for source in [
            "kernel void k(global int *a, int d) { a[get_global_id(d)] = 1; }",
            "kernel void k(global int *a) { a[get_global_id(0)] = 1; } kernel void l() {}",
            "#include \"a.h\"\nkernel void k(global int *a) { a[get_global_id(0)] = 1; }",
            "kernel void k(global int *a) { a[0] = 1; }",
            "kernel void k(global int *a) { a[get_global_id(0)] = 1; /*",
        ] {
            assert_eq!(swapped(source).is_some(), source.ends_with("/*"), "{source}");
        }
    }
}
