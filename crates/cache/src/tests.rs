//! The cache, in temporary folders.

use super::*;

fn key(seed: u8) -> Key {
    Key::of("test", &[&[seed]])
}

fn contents(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| i as u8).collect()
}

#[test]
fn the_environment_chooses() {
    let user = || Some(PathBuf::from("/home/x/.cache"));
    assert_eq!(choose(None, None, user()), Some(Cache::at("/home/x/.cache/tripipe")));
    assert_eq!(choose(None, Some("/tmp/c".as_ref()), user()), Some(Cache::at("/tmp/c")));
    assert_eq!(choose(None, None, None), None);
    for no in ["off", "OFF", "0", "no"] {
        assert_eq!(choose(Some(no.as_ref()), Some("/tmp/c".as_ref()), user()), None);
    }
    assert!(choose(Some("on".as_ref()), None, user()).is_some());
}

#[test]
fn stored_entries_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("not/yet/there"));
    assert!(cache.load(&key(1)).is_none());
    cache.store(&key(1), &contents(1000));
    assert_eq!(cache.load(&key(1)), Some(contents(1000)));
    assert!(cache.load(&key(2)).is_none());
    cache.clear().unwrap();
    assert!(cache.load(&key(1)).is_none());
    assert_eq!(cache.files().unwrap().len(), 0);
}

#[test]
fn a_spoiled_entry_is_deleted_and_not_returned() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    cache.store(&key(1), &contents(100));
    let path = cache.path(&key(1));
    let sound = std::fs::read(&path).unwrap();
    // Every truncation and every single flipped bit must be detected.
    for len in 0..sound.len() {
        std::fs::write(&path, &sound[..len]).unwrap();
        assert_eq!(cache.load(&key(1)), None, "cut to {len}");
        assert!(!path.exists(), "cut to {len}");
    }
    for at in 0..sound.len() {
        let mut spoiled = sound.clone();
        spoiled[at] ^= 0x10;
        std::fs::write(&path, &spoiled).unwrap();
        assert_eq!(cache.load(&key(1)), None, "byte {at}");
        assert!(!path.exists(), "byte {at}");
    }
    let mut longer = sound.clone();
    longer.push(0);
    std::fs::write(&path, &longer).unwrap();
    assert_eq!(cache.load(&key(1)), None);
    // A valid file, but with the key of another entry.
    std::fs::write(cache.path(&key(2)), &sound).unwrap();
    assert_eq!(cache.load(&key(2)), None);
}

#[test]
fn the_least_recently_used_entries_are_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let size = entry::encode(&key(0), &contents(10_000)).len() as u64;
    let cache = Cache::at(folder.path()).limit(3 * size + size / 2);
    for seed in 0..3 {
        cache.store(&key(seed), &contents(10_000));
        let file = std::fs::File::options().append(true).open(cache.path(&key(seed))).unwrap();
        let past = SystemTime::now() - Duration::from_secs(1000 - u64::from(seed));
        file.set_modified(past).unwrap();
    }
    // Entry 0 is the oldest, but it is used now, so entry 1 is evicted.
    assert!(cache.load(&key(0)).is_some());
    cache.store(&key(3), &contents(10_000));
    let there: Vec<bool> = (0..4).map(|seed| cache.path(&key(seed)).exists()).collect();
    assert_eq!(there, [true, false, true, true]);
    // An entry larger than the limit is not stored and evicts nothing.
    cache.store(&key(9), &contents(4 * 10_000));
    assert_eq!(cache.files().unwrap().len(), 3);
}

#[test]
fn temporary_files_are_tidied_only_when_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let fresh = folder.path().join("writing-fresh.tmp");
    let old = folder.path().join("writing-old.tmp");
    let foreign = folder.path().join("README");
    for path in [&fresh, &old, &foreign] {
        std::fs::write(path, "x").unwrap();
    }
    let file = std::fs::File::options().append(true).open(&old).unwrap();
    file.set_modified(SystemTime::now() - 2 * FORGOTTEN).unwrap();
    cache.store(&key(1), &contents(10));
    assert!(fresh.exists() && !old.exists() && foreign.exists());
    cache.clear().unwrap();
    assert!(foreign.exists());
}

#[test]
fn an_unwritable_folder_is_not_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let cache = Cache::at(file.join("below"));
    cache.store(&key(1), &contents(10));
    assert!(cache.load(&key(1)).is_none());
}

#[test]
fn lines_of_several_writers_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("new"));
    assert_eq!(cache.lines(&key(1)), [""; 0]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for line in 0..50 {
                    cache.append(&key(1), &format!("{writer} {line} {}", "x".repeat(100))).unwrap();
                }
            });
        }
    });
    let lines = cache.lines(&key(1));
    assert_eq!(lines.len(), 200);
    for writer in 0..4 {
        let own: Vec<usize> = lines
            .iter()
            .filter_map(|line| line.strip_prefix(&format!("{writer} ")))
            .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(own, (0..50).collect::<Vec<_>>());
    }
    assert!(cache.lines(&key(2)).is_empty());
}

#[test]
fn what_a_killed_process_left_costs_no_other_line() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    cache.append(&key(1), "one").unwrap();
    let path = cache.path(&key(1));
    let mut torn = std::fs::File::options().append(true).open(&path).unwrap();
    torn.write_all(b"tw\xff").unwrap();
    cache.append(&key(1), "three\nlines").unwrap();
    assert_eq!(cache.lines(&key(1)), ["one", "tw\u{fffd}", "three lines"]);
    torn.set_len(LINES_LIMIT_BYTES + 1).unwrap();
    assert!(cache.append(&key(1), "four").is_err());
    cache.clear().unwrap();
    assert!(cache.lines(&key(1)).is_empty());
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    assert!(Cache::at(file.join("below")).append(&key(1), "one").is_err());
}

#[test]
fn concurrent_writers_leave_a_valid_entry() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path()).limit(1 << 20);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    cache.store(&key(1), &contents(5000));
                    if let Some(found) = cache.load(&key(1)) {
                        assert_eq!(found, contents(5000));
                    }
                }
            });
        }
    });
    assert_eq!(cache.load(&key(1)), Some(contents(5000)));
}

#[test]
fn the_folder_is_read_only_when_the_limit_may_be_exceeded() {
    let folder = tempfile::tempdir().unwrap();
    let size = entry::encode(&key(0), &contents(1000)).len() as u64;
    let cache = Cache::at(folder.path()).limit(40 * size);
    cache.store(&key(0), &contents(1000));
    // An entry that no process has counted: it is found when the folder is read.
    std::fs::write(cache.path(&key(200)), vec![0u8; 1000]).unwrap();
    for seed in 1..40 {
        cache.store(&key(seed), &contents(1000));
        assert_eq!(cache.files().unwrap().len(), usize::from(seed) + 2, "nothing is evicted after {seed}");
    }
    // 41 entries are too many: the folder is read, and those that were stored first go, down to 15/16 of the limit.
    cache.store(&key(40), &contents(1000));
    assert!(!cache.path(&key(0)).exists() && cache.path(&key(40)).exists());
    let bytes = || cache.files().unwrap().iter().map(|file| file.bytes).sum::<u64>();
    assert!(bytes() <= 40 * size * 15 / 16, "{}", bytes());
    assert!(bytes() > 36 * size, "{}", bytes());
    // Many more stores, of two processes: the limit holds.
    let other = cache.clone();
    for seed in 41..180 {
        let cache = if seed % 2 == 0 { &cache } else { &other };
        cache.store(&key(seed), &contents(1000));
        assert!(bytes() <= 40 * size);
        assert!(cache.load(&key(seed)).is_some());
    }
}

#[test]
fn a_spoiled_tally_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let size = entry::encode(&key(0), &contents(1000)).len() as u64;
    let cache = Cache::at(folder.path()).limit(4 * size);
    let long = vec![7; 4096 * 8];
    for spoiled in [&b""[..], b"x", &[0xff; 8], &[0xff; 16], &long] {
        cache.clear().unwrap();
        for seed in 0..4 {
            cache.store(&key(seed), &contents(1000));
        }
        std::fs::write(folder.path().join("stored"), spoiled).unwrap();
        cache.store(&key(4), &contents(1000));
        // As without a file: one or two go.
        let left = cache.files().unwrap().len();
        assert!((3..=4).contains(&left), "{spoiled:?}: {left}");
    }
    cache.clear().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
