//! Limits on the host memory that may be requested.

use std::fs;

use anyhow::{Result, bail};

/// Bytes that the system can provide without swapping; `None` if it does not report them (systems other than Linux).
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses work that needs more memory than is available, because the system would otherwise kill the program
/// half-way.
///
/// # Errors
/// `bytes` is `None` (the number overflows) or more than is available; `what` names the work, `way_out` says what to
/// do.
pub(crate) fn check(what: &str, bytes: Option<u64>, way_out: &str) -> Result<()> {
    let Some(bytes) = bytes else { bail!("{what} needs more memory than can be addressed; {way_out}") };
    match available_bytes() {
        Some(available) if bytes > available => bail!(
            "{what} needs about {}, {} are free; {way_out}",
            tripipe_report::bytes(bytes),
            tripipe_report::bytes(available)
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_more_memory_than_any_machine_has() {
        assert!(check("it", None, "take less").is_err());
        assert!(check("it", Some(1), "take less").is_ok());
        if available_bytes().is_some() {
            let message = check("it", Some(u64::MAX), "take less").unwrap_err().to_string();
            assert!(message.ends_with("; take less"), "{message}");
        }
    }
}
