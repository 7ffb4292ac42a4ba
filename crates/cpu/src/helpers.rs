//! Threads that help a caller with its work.
//!
//! A caller does its work itself, item by item. It calls helpers, and lends work to one that says it runs and waits for
//! it: a helper to which the system gives no processor, because other threads keep them busy, is never waited for. A
//! helper that gets no work for some microseconds sleeps.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use tripipe_launch::locks::{lock, recovered};

/// How long a helper without work polls before it sleeps.
const PATIENCE: Duration = Duration::from_micros(100);
/// The same while the work of a caller is under way: items take up to a millisecond, and a helper that has just woken up
/// waits for the end of one.
const PATIENCE_DURING_WORK: Duration = Duration::from_millis(2);
/// How long a caller or a helper polls before it lets other threads have the processor between two polls.
const ALONE: Duration = Duration::from_micros(20);
/// How long a caller polls for the last item of a helper before it sleeps: some systems take milliseconds to wake a
/// thread.
const LAST_ITEM: Duration = Duration::from_millis(20);
/// Between the end of the last item and that of its task, which the caller would sleep to wait for.
const LAST_STEPS: Duration = Duration::from_micros(1);
/// Helpers that a caller wakes. Each of them wakes one more, while there are calls.
const WOKEN: usize = 2;

/// More threads than this for a processor only wait for each other, and thousands take seconds to start.
const MOST_PER_PROCESSOR: usize = 16;

/// The helpers of this process: with the caller one thread for each processor that it may use, or as many as
/// `RAYON_NUM_THREADS` says. They are separate from the global pool of `rayon`, whose threads belong to the application,
/// and may all be waiting for operations. `None` where there is one processor, or where the system provides no threads.
pub(super) fn helpers() -> Option<&'static Helpers> {
    static HELPERS: OnceLock<Option<Helpers>> = OnceLock::new();
    let helpers = HELPERS.get_or_init(|| Helpers::new(None).filter(|helpers| helpers.count > 0)).as_ref()?;
    helpers.start();
    Some(helpers)
}

/// The threads that `RAYON_NUM_THREADS` asks for, at most [`MOST_PER_PROCESSOR`] for each processor; 0 for the pool's own
/// choice.
fn wanted_threads() -> usize {
    let wanted = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    wanted.unwrap_or(0).min(MOST_PER_PROCESSOR * processors)
}

/// Threads that help.
pub(super) struct Helpers {
    pool: ThreadPool,
    /// How many help one caller at most.
    pub(super) count: usize,
    started: OnceLock<()>,
    /// Calls that no helper has answered yet. A helper that wakes up when the work is done answers, too: the next work is
    /// often about to come, and would be done before it wakes up again.
    calls: Mutex<usize>,
    called: Condvar,
    /// Helpers that run, and that no caller has chosen yet.
    waiting: AtomicUsize,
    /// Callers whose work is under way.
    callers: AtomicUsize,
}

impl Helpers {
    /// `count` helpers, or as many as there are processors besides the caller's. They do not start yet.
    fn new(count: Option<usize>) -> Option<Self> {
        let name = |index| format!("tripipe-cpu-path-{index}");
        let threads = count.unwrap_or_else(wanted_threads);
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?;
        let count = count.unwrap_or(pool.current_num_threads() - 1);
        Some(Self {
            pool,
            count,
            started: OnceLock::new(),
            calls: Mutex::new(0),
            called: Condvar::new(),
            waiting: AtomicUsize::new(0),
            callers: AtomicUsize::new(0),
        })
    }

    fn start(&'static self) {
        self.started.get_or_init(|| self.pool.spawn_broadcast(|_| self.answer_calls()));
    }

    /// Calls `work` on the calling thread, and on at most `most` helpers at the same time. `work` is to take items from
    /// a place that all share until there are none left, and to call its argument whenever there is another item that
    /// a helper could begin with. Returns when every call has returned.
    pub(super) fn share(&self, most: usize, work: &(dyn Fn(&dyn Fn()) + Sync)) {
        if self.pool.current_thread_index().is_some() {
            // A helper has no helpers.
            work(&|| ());
        } else if rayon::current_thread_index().is_some() {
            // A thread of another pool would run other work of that pool while it waits. That work may want a lock that
            // the caller holds.
            thread::scope(|scope| {
                scope
                    .spawn(|| self.share_from_here(most, work))
                    .join()
                    .unwrap_or_else(|panic| resume_unwind(panic));
            });
        } else {
            self.share_from_here(most, work);
        }
    }

    fn share_from_here(&self, most: usize, work: &(dyn Fn(&dyn Fn()) + Sync)) {
        let most = most.min(self.count);
        let (lent, ended) = (Cell::new(0), AtomicUsize::new(0));
        self.pool.in_place_scope(|scope| {
            let call = Call::new(self, most);
            work(&|| {
                while lent.get() < most && self.choose() {
                    lent.set(lent.get() + 1);
                    scope.spawn(|_| {
                        work(&|| ());
                        ended.fetch_add(1, Ordering::Release);
                    });
                }
            });
            drop(call);
            let begun = Instant::now();
            while ended.load(Ordering::Acquire) < lent.get() && begun.elapsed() < LAST_ITEM {
                poll_again(begun);
            }
            let ended = Instant::now();
            while lent.get() > 0 && ended.elapsed() < LAST_STEPS {
                std::hint::spin_loop();
            }
        });
    }

    /// Takes one of the waiting helpers; it will run the next work that is lent.
    fn choose(&self) -> bool {
        let one_less = |waiting: usize| waiting.checked_sub(1);
        self.waiting.load(Ordering::Relaxed) > 0
            && self.waiting.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_less).is_ok()
    }

    /// What a helper does.
    fn answer_calls(&self) {
        loop {
            let mut calls = recovered(self.called.wait_while(lock(&self.calls), |calls| *calls == 0));
            *calls -= 1;
            let more = *calls > 0;
            drop(calls);
            if more {
                self.called.notify_one();
            }
            self.waiting.fetch_add(1, Ordering::AcqRel);
            let mut begun = Instant::now();
            loop {
                let patience = match self.callers.load(Ordering::Relaxed) {
                    0 => PATIENCE,
                    _ => PATIENCE_DURING_WORK,
                };
                if rayon::yield_now() == Some(Yield::Executed) {
                    self.waiting.fetch_add(1, Ordering::AcqRel);
                    begun = Instant::now();
                } else if begun.elapsed() > patience && self.choose() {
                    // Nobody else has chosen this helper, or the one that was chosen instead of it stays.
                    break;
                }
                poll_again(begun);
            }
        }
    }
}

/// Waits a moment in a loop that began at `begun`.
fn poll_again(begun: Instant) {
    if begun.elapsed() < ALONE {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

/// A call for helpers, for as long as there is work for them.
struct Call<'h>(&'h Helpers);

impl<'h> Call<'h> {
    fn new(helpers: &'h Helpers, most: usize) -> Self {
        helpers.callers.fetch_add(1, Ordering::Relaxed);
        let unanswered = most.saturating_sub(helpers.waiting.load(Ordering::Relaxed));
        if unanswered > 0 {
            let mut calls = lock(&helpers.calls);
            // Callers at the same time share those that answer.
            *calls = (*calls).max(unanswered);
            drop(calls);
            (0..unanswered.min(WOKEN)).for_each(|_| helpers.called.notify_one());
        }
        Self(helpers)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.callers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;
    use std::thread::ThreadId;

    use super::*;

    /// A test has its own helpers, so that no other test keeps them busy.
    fn helpers(count: usize) -> &'static Helpers {
        Box::leak(Box::new(Helpers::new(Some(count)).unwrap()))
    }

    /// Shares items; returns the thread that did each.
    fn threads_of(
        helpers: &Helpers,
        items: usize,
        most: usize,
        item: impl Fn(usize) + Sync,
    ) -> Vec<ThreadId> {
        let next = AtomicUsize::new(0);
        let threads = Mutex::new(vec![None; items]);
        helpers.share(most, &|lend| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= items {
                    return;
                }
                lend();
                item(index);
                let before = lock(&threads)[index].replace(thread::current().id());
                assert!(before.is_none(), "item {index} was done twice");
            }
        });
        recovered(threads.into_inner()).into_iter().map(Option::unwrap).collect()
    }

    /// What a system does that gives a helper no processor.
    #[test]
    fn a_helper_that_never_starts_is_not_waited_for() {
        let helpers = helpers(2);
        let own = thread::current().id();
        assert_eq!(threads_of(helpers, 100, 2, |_| ()), vec![own; 100]);
        // Helpers that start later answer one call each.
        assert_eq!(*lock(&helpers.calls), 2);
    }

    /// Calls `on_helper` on a helper, and returns when the call has: the calling thread lends it work until it has begun,
    /// and calls again where the helper lost its patience first.
    fn run_on_helper(helpers: &Helpers, on_helper: impl Fn() + Sync) {
        let (own, begun) = (thread::current().id(), AtomicUsize::new(0));
        while begun.load(Ordering::Acquire) == 0 {
            helpers.share(1, &|lend| {
                if thread::current().id() != own {
                    begun.store(1, Ordering::Release);
                    return on_helper();
                }
                let since = Instant::now();
                while begun.load(Ordering::Acquire) == 0 && since.elapsed() < Duration::from_millis(10) {
                    lend();
                    thread::yield_now();
                }
            });
        }
    }

    #[test]
    fn a_helper_that_another_caller_keeps_busy_is_not_waited_for() {
        let helpers = helpers(1);
        helpers.start();
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let ended = Mutex::new(ended);
        thread::scope(|scope| {
            scope.spawn(|| {
                run_on_helper(helpers, || {
                    tell.send(()).unwrap();
                    let _ = lock(&ended).recv();
                });
            });
            told.recv().unwrap();
            let own = thread::current().id();
            assert_eq!(threads_of(helpers, 100, 1, |_| ()), vec![own; 100]);
            drop(end);
        });
    }

    #[test]
    fn no_more_helpers_than_wanted_take_part() {
        let helpers = helpers(3);
        helpers.start();
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..50 {
            threads_of(helpers, 40, 1, |_| {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_micros(20));
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        }
        assert!(most.into_inner() <= 2);
    }

    #[test]
    fn many_callers_share_few_helpers() {
        let helpers = helpers(2);
        helpers.start();
        thread::scope(|scope| {
            for caller in 0..6 {
                scope.spawn(move || {
                    for items in 0..200 {
                        let done = threads_of(helpers, items, caller % 3, |_| ());
                        assert_eq!(done.len(), items);
                    }
                });
            }
        });
        // Helpers without work end up asleep, however the calls and answers overlapped.
        let begun = Instant::now();
        while helpers.waiting.load(Ordering::Relaxed) > 0 || *lock(&helpers.calls) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "helpers do not sleep");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_helpers_go_on() {
        let helpers = helpers(1);
        helpers.start();
        let calls: [&dyn Fn(); 2] = [&|| helpers.share(1, &|_| panic!("as it should")), &|| {
            run_on_helper(helpers, || panic!("as it should"));
        }];
        for call in calls {
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
            run_on_helper(helpers, || ());
        }
    }
}
