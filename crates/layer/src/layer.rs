//! What happens around each call.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::call::{Argument, Call};
use crate::calls::Calls;
use crate::capture::{Capture, Captured};
use crate::commands::Commands;
use crate::driver::Driver;
use crate::entry::process_end::end_before_driver;
use crate::function::Function;
use crate::log::Log;
use crate::misuse::Misuse;
use crate::objects::{Objects, Release};
use crate::report::Report;
use crate::settings::Settings;

/// The layer of this process; `None` if nothing is asked for.
static LAYER: OnceLock<Option<Layer>> = OnceLock::new();

/// What is recorded now.
static PHASE: AtomicU8 = AtomicU8::new(OFF);

/// Nothing: before the start, after the end, and in a fork.
const OFF: u8 = 0;
/// Everything.
const ON: u8 = 1;
/// What the application still releases while the process ends. The layer does not call the driver any more.
const ENDING: u8 = 2;

/// All parts.
pub(crate) struct Layer {
    settings: &'static Settings,
    driver: Driver,
    start: Instant,
    calls_made: AtomicU64,
    threads: Mutex<BTreeMap<u32, String>>,
    objects: Objects,
    trace: Option<(Calls, Commands)>,
    log: Option<Log>,
    capture: Option<Capture>,
    misuse: Option<Misuse>,
}

/// What was done before a call.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    release: Option<Release>,
    captured: Option<Captured>,
}

impl Layer {
    /// Begins to record, if anything is asked for.
    pub(crate) fn start(driver: Driver) {
        LAYER.get_or_init(|| {
            let settings = Settings::current();
            if !settings.is_enabled() {
                return None;
            }
            let start = Instant::now();
            let log = settings.log.as_ref().and_then(|output| {
                let log = Log::new(output, start);
                log.map_err(|error| settings.problem(&format!("TRIPIPE_LAYER_LOG: {error}"))).ok()
            });
            let trace = settings.trace.as_ref().map(|_| (Calls::default(), Commands::new(driver)));
            let capture = settings.capture.as_ref().map(|selection| Capture::new(selection, driver));
            PHASE.store(ON, Ordering::Release);
            Some(Self {
                settings,
                driver,
                start,
                calls_made: AtomicU64::new(0),
                threads: Mutex::default(),
                objects: Objects::default(),
                trace,
                log,
                capture,
                misuse: settings.report.as_ref().map(|_| Misuse::new(driver)),
            })
        });
    }

    /// The layer, if it records.
    pub(crate) fn current() -> Option<&'static Self> {
        if PHASE.load(Ordering::Acquire) == OFF { None } else { LAYER.get()?.as_ref() }
    }

    /// Whether the process ends.
    fn is_ending() -> bool {
        PHASE.load(Ordering::Relaxed) == ENDING
    }

    /// Stops without writing anything.
    pub(crate) fn leave() {
        PHASE.store(OFF, Ordering::Release);
    }

    /// The process begins to end: asks the driver for the last times, and writes all but the report. The first call alone
    /// does.
    pub(crate) fn end() {
        let begins = PHASE.compare_exchange(ON, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if begins && let Some(Some(layer)) = LAYER.get() {
            layer.write();
        }
    }

    /// The process has released what it releases: writes the report. The first call alone does.
    pub(crate) fn finish() {
        Self::end();
        let finishes = PHASE.swap(OFF, Ordering::AcqRel) == ENDING;
        if finishes && let Some(Some(layer)) = LAYER.get() {
            layer.report();
        }
    }

    fn write(&self) {
        if let Some(log) = &self.log {
            log.finish();
        }
        if let (Some((calls, commands)), Some(file)) = (&self.trace, &self.settings.trace) {
            commands.look_at_all();
            let mut timeline = commands.recorder.timeline();
            let (tracks, left_out) = calls.tracks(|thread| self.thread_name(thread));
            if let Some(host) = timeline.processes.first_mut() {
                host.tracks = tracks;
            }
            for (what, count) in [
                ("commands that had not ended, left out", commands.pending() as u64),
                ("later calls, left out", left_out),
            ] {
                if count > 0 {
                    timeline.facts.push(Cow::Borrowed(what), count);
                }
            }
            if let Err(error) = file.save(&timeline) {
                self.settings.problem(&error.to_string());
            }
        }
        if let Some(capture) = &self.capture {
            capture.finish();
        }
    }

    fn report(&self) {
        if let Some(log) = &self.log {
            log.finish();
        }
        if let (Some(misuse), Some(output)) = (&self.misuse, &self.settings.report) {
            let calls = self.calls_made.load(Ordering::Relaxed);
            let report = Report::new(calls, misuse, &self.objects.live(), self.start);
            output.write(&report.written(output));
        }
    }

    /// The driver.
    pub(crate) fn driver(&self) -> Driver {
        self.driver
    }

    /// The recording of commands.
    pub(crate) fn commands(&self) -> Option<&Commands> {
        self.trace.as_ref().filter(|_| !Self::is_ending()).map(|(_, commands)| commands)
    }

    /// Whether enqueues need an event.
    pub(crate) fn wants_event(&self) -> bool {
        self.commands().is_some()
    }

    /// Whether SPIR-V is read.
    pub(crate) fn wants_modules(&self) -> bool {
        self.capture.is_some()
    }

    /// The number of a call.
    pub(crate) fn next_number(&self) -> u64 {
        self.calls_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of the calling thread.
    pub(crate) fn thread(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        thread_local! {
            // Without a destructor, so that it can be used until the thread is gone.
            static NUMBER: Cell<u32> = const { Cell::new(0) };
        }
        let known = NUMBER.get();
        if known != 0 {
            return known;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        NUMBER.set(number);
        // The system's name: threads of C have no other.
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
        self.threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, format!("thread {number} {}", name.trim()).trim().to_owned());
        number
    }

    fn thread_name(&self, thread: u32) -> String {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.get(&thread).cloned().unwrap_or_else(|| format!("thread {thread}"))
    }

    /// Before a call. `arguments` reads what its arguments point to.
    pub(crate) fn before(
        &self,
        function: Function,
        words: &[u64],
        arguments: &dyn Fn() -> Vec<Argument>,
    ) -> Option<Prepared> {
        let release = self.objects.before(function, words);
        if let Some(log) = &self.log {
            log.before(function);
        }
        if Self::is_ending() {
            return release.map(|release| Prepared { release: Some(release), captured: None });
        }
        if let (Some(commands), Function::clReleaseCommandQueue, true) =
            (self.commands(), function, release.as_ref().is_some_and(|release| release.last.is_some()))
        {
            commands.look_at(words[0], usize::MAX);
        }
        let captured = self
            .capture
            .as_ref()
            .filter(|_| function.is_enqueue())
            .and_then(|capture| capture.before(function, &self.objects, arguments));
        (release.is_some() || captured.is_some()).then_some(Prepared { release, captured })
    }

    /// After a call. `own_event` is an event that the layer asked for, or 0.
    pub(crate) fn after(&self, call: Call, own_event: u64, prepared: Option<Prepared>) {
        let Prepared { release, captured } = prepared.unwrap_or_default();
        self.objects.after(&call, release.as_ref(), self.settings.backtraces);
        if Self::is_ending() {
            if let Some(log) = &self.log {
                log.add(&call, None);
            }
            return;
        }
        let launches = matches!(call.function, Function::clEnqueueNDRangeKernel | Function::clEnqueueTask);
        let kernel = launches.then(|| {
            let kernel = call.word("kernel");
            let ask = || self.driver.kernel_name(kernel).filter(|_| call.succeeded());
            self.objects.kernel_name(kernel, ask)
        });
        if let Some(capture) = &self.capture {
            capture.after(&call, captured, release.as_ref().is_some_and(|release| release.last.is_some()));
        }
        if let Some(misuse) = &self.misuse {
            misuse.add(&call, kernel.as_deref(), release.as_ref().and_then(|release| release.last.as_ref()));
        }
        if let Some(commands) = self.commands() {
            if call.function.is_enqueue() && call.succeeded() {
                commands.add(&call, own_event, kernel.as_ref());
            }
            match call.function {
                Function::clFinish => commands.look_at(call.word("command_queue"), usize::MAX),
                Function::clReleaseCommandQueue if release.is_some_and(|release| release.last.is_some()) => {
                    commands.forget(call.word("command_queue"));
                }
                _ => {}
            }
        }
        if matches!(call.function, Function::clCreateContext | Function::clCreateContextFromType) {
            end_before_driver();
        }
        if let Some(log) = &self.log {
            log.add(&call, kernel.as_deref());
        }
        if let Some((calls, commands)) = &self.trace {
            calls.add(call, kernel, &commands.recorder);
        }
    }
}
