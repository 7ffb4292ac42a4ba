//! Kernels that are built on another thread while the CPU path does the work.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tripipe_kernels::Plan;
use tripipe_launch::Program;
use tripipe_opencl::BuiltProgram;

use crate::Error;
use crate::context::{Core, Kernels, Runner};
use crate::operation::Planned;

/// The background builds of a context. Dropping it waits for builds in progress: a compiler that is still running when
/// the process ends may crash the process.
#[derive(Default)]
pub(crate) struct Builds(Mutex<Vec<JoinHandle<()>>>);

/// A plan whose kernels are being built, or have been built.
pub(crate) struct Build {
    planned: OnceLock<Planned>,
    /// For each operand, whether it can begin later than the plan says.
    can_move: Vec<bool>,
    /// `Some` until it is planned.
    under_way: Mutex<Option<UnderWay>>,
}

struct UnderWay {
    plan: Plan<'static>,
    made: Receiver<Made>,
}

/// The output of a build thread. A program that does not build is left out; the operation that needs it builds it
/// again, to get the error.
#[derive(Default)]
struct Made {
    programs: Vec<BuiltProgram>,
    seconds: f64,
}

impl Build {
    /// Starts building what the plan needs on another thread; `None` when nothing is left to build, or no other thread
    /// can do it.
    pub(crate) fn begin(builds: &Builds, kernels: &Kernels, plan: &Plan<'static>) -> Option<Self> {
        let (builder, missing) = match &mut *kernels.executor() {
            Runner::OpenCl(executor) => {
                let mut missing: Vec<(Arc<Program>, Vec<String>)> = Vec::new();
                for launch in plan.preparation().iter().chain(plan.launches()) {
                    match missing.iter_mut().find(|(program, _)| *program == launch.program) {
                        Some((_, entries)) => entries.push(launch.entry.clone()),
                        None if executor.has_built(&launch.program) => {}
                        None => missing.push((Arc::clone(&launch.program), vec![launch.entry.clone()])),
                    }
                }
                (executor.builder(), missing)
            }
            Runner::Other(_) => return None,
        };
        if missing.is_empty() {
            return None;
        }
        let (sender, made) = channel();
        let build = move || {
            let start = Instant::now();
            let built = missing.iter().filter_map(|(program, entries)| {
                let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
                builder.build(program, &entries).ok()
            });
            let programs = built.collect();
            // The receiver may be gone.
            let _ = sender.send(Made { programs, seconds: start.elapsed().as_secs_f64() });
        };
        let thread = thread::Builder::new().name("tripipe-build".to_owned()).spawn(build).ok()?;
        let mut builds = lock(&builds.0);
        builds.retain(|build| !build.is_finished());
        builds.push(thread);
        let can_move = (0..plan.operands()).map(|operand| plan.can_move(operand)).collect();
        let under_way = UnderWay { plan: plan.clone(), made };
        Some(Self { planned: OnceLock::new(), can_move, under_way: Mutex::new(Some(under_way)) })
    }

    /// Whether an operand can begin later than the plan says.
    pub(crate) fn can_move(&self, operand: usize) -> bool {
        self.can_move.get(operand).copied().unwrap_or_default()
    }

    /// The plan with its kernels, once they are built; `then` is called when the builds are first seen to be complete.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    pub(crate) fn planned(
        &self,
        core: &Arc<Core>,
        kernels: &Kernels,
        then: impl FnOnce(),
    ) -> Result<Option<&Planned>, Error> {
        if self.planned.get().is_none() {
            let mut under_way = lock(&self.under_way);
            if let Some(UnderWay { plan, made }) = &*under_way {
                let made = match made.try_recv() {
                    Ok(made) => made,
                    Err(TryRecvError::Empty) => return Ok(None),
                    Err(TryRecvError::Disconnected) => Made::default(),
                };
                if let Runner::OpenCl(executor) = &mut *kernels.executor() {
                    for program in made.programs {
                        executor.adopt(program)?;
                    }
                }
                let planned = Planned::new(core, kernels, plan.clone())?.built_beside(made.seconds);
                self.planned.get_or_init(|| planned);
                *under_way = None;
                then();
            }
        }
        Ok(self.planned.get())
    }
}

impl Drop for Builds {
    fn drop(&mut self) {
        for thread in std::mem::take(&mut *lock(&self.0)) {
            // A thread that panicked has built nothing; this was seen before.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
