//! What the CPU path runs on.

use std::sync::OnceLock;

use crate::Threads;

/// The name of the CPU path for display, with the number of threads that the CPU path uses.
pub fn name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let threads = Threads::All.count();
        let plural = if threads == 1 { "" } else { "s" };
        format!("CPU path ({}, {threads} thread{plural})", processor().unwrap_or_else(|| "CPU".to_owned()))
    })
    .clone()
}

/// The processor's name, on systems that provide it in a file, as Linux and Android do.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned()).filter(|value| !value.is_empty())
    };
    // x86 has the first, 32-bit Arm the second; 64-bit Arm has neither.
    field("model name").or_else(|| field("Hardware"))
}
