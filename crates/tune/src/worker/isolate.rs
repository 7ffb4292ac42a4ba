//! What a worker's process does before it loads a driver, so that a crash of the driver harms nothing else.

use std::fs;
use std::io::{self, Write};

/// Prepares a process to be a worker, and returns the way back to the tuner. Call it before a driver is loaded.
///
/// What drivers print on standard output goes to standard error. A crash leaves no core dump, and if the system runs
/// out of memory, it stops this process first. What a system does not offer is left out.
///
/// # Errors
/// Standard output is closed.
pub fn isolate() -> io::Result<Box<dyn Write + Send>> {
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;

        use rustix::process::{Resource, Rlimit, setrlimit};

        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Box::new(fs::File::from(output)))
    }
    #[cfg(not(unix))]
    Ok(Box::new(io::stdout()))
}

/// Memory in bytes that new processes can use without swapping; `None` where the system does not say.
pub fn available_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn available_memory_is_less_than_all_memory() {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        assert_eq!(words.first(), Some(&"MemTotal:"));
        let all =
            words.get(1).and_then(|number| number.parse::<u64>().ok()).map(|kilobytes| kilobytes * 1024);
        assert!(super::available_memory_bytes() <= all && super::available_memory_bytes() > Some(0));
    }
}
