//! What a store costs in a folder with many entries: with the number of bytes known, and with the folder read at each store.
//!
//! `cargo bench -p tripipe-cache`; the two take turns, and the medians are printed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::time::Instant;

use tripipe_cache::{Cache, Key};

fn main() {
    println!("{:>8} {:>12} {:>12} {:>8}", "entries", "known, us", "read, us", "ratio");
    for entries in [10u32, 1000, 10_000] {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).limit(1 << 40);
        let contents = [7u8; 4000];
        for entry in 0..entries {
            // The file's name and contents do not matter to the time.
            std::fs::write(
                folder.path().join(Key::of("test", &[&entry.to_le_bytes()]).to_string()),
                contents,
            )
            .unwrap();
        }
        let key = Key::of("test", &[b"measured"]);
        cache.store(&key, &contents);
        let mut times = [const { Vec::new() }; 2];
        for turn in 0..400 {
            let reads = turn % 2;
            if reads == 1 {
                std::fs::remove_file(folder.path().join("stored")).unwrap();
            }
            let start = Instant::now();
            cache.store(&key, &contents);
            times[reads].push(start.elapsed().as_secs_f64() * 1e6);
        }
        let [known, read] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!("{entries:>8} {known:>12.0} {read:>12.0} {:>8.1}", read / known);
    }
}
