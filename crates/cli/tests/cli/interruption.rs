//! Ctrl-C and requests to terminate during work.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Bench;
use crate::npy::file;

/// Interrupts a command once its unfinished output exists; it must end with this code and leave only the files that
/// were there.
fn interrupt(bench: &Bench, signal: &str, code: i32, arguments: &[&str]) {
    let before = bench.files();
    let mut child = bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !bench.files().iter().any(|name| name.starts_with(".tripipe-")) {
        assert!(start.elapsed() < Duration::from_secs(60), "no output was begun");
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it could be interrupted");
        sleep(Duration::from_millis(1));
    }
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
    assert_eq!(bench.files(), before);
}

#[test]
fn a_product() {
    let bench = Bench::new();
    let side = 3000usize;
    let zeros = vec![0; 8 * side * side];
    bench.write("a.npy", file("<f8", false, &format!("({side}, {side})"), &zeros));
    bench.write("c.npy", "what was there");
    // 128 and the number of the signal, as POSIX shells report it.
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        interrupt(&bench, signal, code, &["gemm", "a.npy", "a.npy", "-o", "c.npy"]);
        assert_eq!(bench.read("c.npy"), b"what was there");
    }
}

#[test]
fn a_ladder() {
    let bench = Bench::new();
    interrupt(&bench, "-INT", 130, &["ladder", "laplace", "--sizes", "1024x1024", "--runs", "1000"]);
}
