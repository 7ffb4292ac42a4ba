//! Division of work into bands for the threads.

use std::hint::spin_loop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Threads;

/// Work with less than this many bytes of output stays on the calling thread: waking another thread takes some ten
/// microseconds, in which a single core writes about as much.
const SMALL_BYTES: usize = 128 << 10;

/// Bytes of output in a band. Small enough that the rows a band shares with its neighbours are still in the cache (1
/// MiB of L2 per core is common) and that the threads end together; large enough that the cost of distributing bands is
/// negligible.
const BAND_BYTES: usize = 512 << 10;

/// The minimum number of bands for each thread: while one wakes up, the others have work, and at the end none waits long
/// for another.
const BANDS_PER_WORKER: usize = 4;

/// The number of rows of `row_bytes` output bytes in a band, a multiple of `step`; `None` when all `rows` are to be
/// done on the calling thread.
pub(super) fn band_rows(rows: usize, row_bytes: usize, step: usize, threads: Threads) -> Option<usize> {
    let small = rows.saturating_mul(row_bytes) <= SMALL_BYTES;
    let workers = rayon::current_num_threads();
    if threads == Threads::One || small || workers == 1 {
        return None;
    }
    let fair = rows.div_ceil(BANDS_PER_WORKER * workers);
    Some((BAND_BYTES / row_bytes).clamp(1, fair).next_multiple_of(step))
}

/// Calls `band(first_row, rows)` for bands that together cover `dst`, whose rows have `row_len` elements. Every band
/// except the last has a multiple of `step` rows.
pub(super) fn for_each_band<T: Send>(
    dst: &mut [T],
    row_len: usize,
    step: usize,
    threads: Threads,
    band: impl Fn(usize, &mut [T]) + Sync,
) {
    if dst.is_empty() {
        return;
    }
    match band_rows(dst.len() / row_len, row_len * size_of::<T>(), step, threads) {
        None => band(0, dst),
        Some(rows) => {
            share_out(dst.chunks_mut(rows * row_len).enumerate(), |(index, chunk)| band(index * rows, chunk));
        }
    }
}

/// Calls `work` with every item, on the calling thread and on all workers of the current pool but one.
///
/// The calling thread works as well because a pool that has gone to sleep wakes one worker, which wakes the next: for a
/// large image on two cores that took a third of the time.
pub(super) fn share_out<T>(items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    share_out_with(items, || (), |(), item| work(item));
}

/// As [`share_out`]; each thread that gets an item makes a state of its own first, and gets items in ascending order.
pub(super) fn share_out_with<T, S>(
    items: impl Iterator<Item = T> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
) {
    let items = Mutex::new(items);
    let next = || items.lock().ok()?.next();
    let work = || {
        let Some(first) = next() else { return };
        let mut state = state();
        work(&mut state, first);
        while let Some(item) = next() {
            work(&mut state, item);
        }
    };
    let others = rayon::current_num_threads() - 1;
    let ended = AtomicUsize::new(0);
    rayon::in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| {
                work();
                ended.fetch_add(1, Ordering::Release);
            });
        }
        work();
        // A worker of the pool has others' work to do while it waits.
        if rayon::current_thread_index().is_none() {
            spin_until(|| ended.load(Ordering::Acquire) == others);
        }
    });
}

/// Waits for some microseconds, or until `is_done`. The scope's own wait puts the thread to sleep at once, and waking it
/// takes longer than the last band of another thread.
fn spin_until(is_done: impl Fn() -> bool) {
    const AT_MOST: Duration = Duration::from_micros(50);
    /// Checks between two looks at the clock.
    const CHECKS: usize = 64;

    let begun = Instant::now();
    while begun.elapsed() < AT_MOST {
        for _ in 0..CHECKS {
            if is_done() {
                return;
            }
            spin_loop();
        }
    }
}
