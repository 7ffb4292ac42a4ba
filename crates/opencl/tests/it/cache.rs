//! The program cache with a real driver.

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use tripipe_launch::NdRange;
use tripipe_opencl::memory::Buffer;
use tripipe_opencl::{Arg, Cache, Context, KernelArguments, LaunchError, Program, Queue};

use crate::support;

fn request(value: i32) -> tripipe_launch::Program {
    let source = "kernel void put(global int *to, int by) { to[0] = VALUE * by; }
                  kernel void second(global int *to) { to[0] = -VALUE; }";
    tripipe_launch::Program::from_source("put.cl", source).define("VALUE", value)
}

fn entries(cache: &Cache) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(cache.folder()) else { return Vec::new() };
    // Without the count of bytes, which has no kind.
    listing.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some()).collect()
}

/// Runs `put` and returns the stored value.
fn put(context: &Context, program: &Program) -> i32 {
    let queue = Queue::new(context).unwrap();
    let to = Buffer::zeroed(context, 4, tripipe_launch::Access::ReadWrite).unwrap();
    let kernel = program.kernel("put").unwrap();
    kernel.launch(&queue, &[(&to).into(), Arg::value(2i32)], &NdRange::d1(1)).unwrap();
    let mut found = [0i32];
    to.read(&queue, 0, &mut found).unwrap();
    found[0]
}

#[test]
fn the_second_build_comes_from_the_cache() {
    let Some(device) = support::device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let context = Context::new(&device).unwrap();

    let cold = Program::build_cached(&context, &request(21), &cache).unwrap();
    assert!(!cold.from_cache());
    // Stored only after a kernel was made.
    assert_eq!(entries(&cache).len(), 0);
    assert_eq!(put(&context, &cold), 42);
    assert_eq!(entries(&cache).len(), 1);

    // In another context, as in a new process.
    let context = Context::new(&device).unwrap();
    let warm = Program::build_cached(&context, &request(21), &cache).unwrap();
    assert!(warm.from_cache());
    assert_eq!(put(&context, &warm), 42);
    let mut kernels = warm.kernels().to_vec();
    kernels.sort();
    assert_eq!(kernels, ["put", "second"]);
    assert!(matches!(warm.kernel("third"), Err(LaunchError::NoSuchKernel { .. })));
    // The arguments that the compiler reported are still known.
    assert_eq!(warm.kernel("put").unwrap().arguments(), cold.kernel("put").unwrap().arguments(),);
    assert!(
        matches!(warm.kernel("second").unwrap().arguments(), KernelArguments::Known(all) if all.len() == 1)
    );

    // Another definition is another program.
    let other = Program::build_cached(&context, &request(5), &cache).unwrap();
    assert!(!other.from_cache());
    assert_eq!(put(&context, &other), 10);
    assert_eq!(entries(&cache).len(), 2);
}

#[test]
fn spoiled_entries_are_rebuilt() {
    let Some(device) = support::device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let context = Context::new(&device).unwrap();
    assert_eq!(put(&context, &Program::build_cached(&context, &request(3), &cache).unwrap()), 6);
    let [path] = &entries(&cache)[..] else { panic!("one entry") };
    let sound = std::fs::read(path).unwrap();

    // A consistent header over contents that are not a binary: magic and version 12 bytes, key 32, length 8, checksum
    // 32, then no kernels and the binary.
    let garbage = b"this was never a program".repeat(10);
    let mut body = 0u64.to_le_bytes().to_vec();
    body.extend_from_slice(&(garbage.len() as u64).to_le_bytes());
    body.extend_from_slice(&garbage);
    let entry_of = |body: &[u8]| {
        let length = (body.len() as u64).to_le_bytes();
        [&sound[..44], &length, &Sha256::digest(body), body].concat()
    };
    let foreign = entry_of(&body);
    // The same over contents that end in the middle of a number.
    let cut = entry_of(&body[..5]);

    let mut flipped = sound.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for spoiled in [Vec::new(), sound[..sound.len() / 2].to_vec(), flipped, foreign, cut] {
        std::fs::write(path, &spoiled).unwrap();
        let program = Program::build_cached(&context, &request(3), &cache).unwrap();
        assert!(!program.from_cache());
        assert_eq!(put(&context, &program), 6);
        // The entry is valid again.
        assert!(Program::build_cached(&context, &request(3), &cache).unwrap().from_cache());
    }
}

#[test]
fn an_unusable_cache_folder_is_not_an_error() {
    let Some(device) = support::device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let cache = Cache::at(file.join("below"));
    let context = Context::new(&device).unwrap();
    for _ in 0..2 {
        let program = Program::build_cached(&context, &request(4), &cache).unwrap();
        assert!(!program.from_cache());
        assert_eq!(put(&context, &program), 8);
    }
}
