//! Metadata that LLVM's translator stores in strings: `kernel_arg_type.NAME.int*,float,`.

use super::declare::Declarations;

/// The comma-separated list of that kind for a kernel; empty if there is none.
pub(super) fn list(all: &Declarations, kind: &str, kernel: &str) -> Vec<String> {
    let prefix = format!("{kind}.{kernel}.");
    let mut found: Vec<_> = all.strings.iter().filter(|entry| entry.1.starts_with(&prefix)).collect();
    found.sort();
    found.first().map_or_else(Vec::new, |(_, text)| {
        let list = &text[prefix.len()..];
        list.trim_end_matches(',').split(',').map(str::to_owned).collect()
    })
}
