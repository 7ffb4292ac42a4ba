//! Launches of kernels.

use std::io::Write as _;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_command_type;
use tripipe_launch::locks::lock;
use tripipe_launch::{Argument, Executor as _, Launch, NdRange};
use tripipe_simulate::drivers::Subject;
use tripipe_simulate::watch::Checks;
use tripipe_timing::VirtualGpu;

use super::device::Device;
use super::engine;
use super::event::Event;
use super::failure::{Failure, Outcome, require};
use super::findings;
use super::inject;
use super::kernel::{Kernel, Set};
use super::queue::{Queue, Waits};
use super::settings::{Execute, Settings};
use super::storage::Storage;
use super::timeline::Span;
use super::transfer::check_object;

/// The range that an application passes.
#[derive(Clone, Copy, Debug)]
pub struct WorkSizes {
    /// 1, 2 or 3.
    pub dimensions: usize,
    /// Offset of the global ids.
    pub offset: [usize; 3],
    /// Global size; 1 in further dimensions.
    pub global: [usize; 3],
    /// Work-group size, if the application chooses it.
    pub local: Option<[usize; 3]>,
}

impl WorkSizes {
    fn range(&self) -> NdRange {
        let [x, y, z] = self.global;
        let range = match self.dimensions {
            1 => NdRange::d1(x),
            2 => NdRange::d2(x, y),
            _ => NdRange::d3(x, y, z),
        };
        let [x, y, z] = self.offset;
        let range = range.offset(x, y, z);
        match self.local {
            Some([x, y, z]) => range.local(x, y, z),
            None => range,
        }
    }

    /// Checks the sizes against the limits of a device and a kernel.
    fn check(&self, kernel: &Kernel, device: &Device, most: usize) -> Outcome<()> {
        let size =
            |code, what: String| Err(Failure::new(code, format!("kernel `{}`: {what}", kernel.ir().name)));
        let required = kernel.ir().required_local_size.map(|size| size.map(|extent| extent as usize));
        if let (Some(local), Some(required)) = (self.local, required)
            && local != required
        {
            return size(cl::CL_INVALID_WORK_GROUP_SIZE, format!("it requires work-groups of {required:?}"));
        }
        let Some(local) = self.local.or(required) else { return Ok(()) };
        if local.contains(&0) {
            return size(cl::CL_INVALID_WORK_GROUP_SIZE, "a work-group has at least one work-item".into());
        }
        let limits = device.probe.max_work_item_sizes;
        if local.iter().zip(limits).any(|(extent, limit)| *extent > limit) {
            return size(
                cl::CL_INVALID_WORK_ITEM_SIZE,
                format!("a work-group has at most {limits:?} work-items"),
            );
        }
        let items = local.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        if items.is_none_or(|items| items > most) {
            return size(
                cl::CL_INVALID_WORK_GROUP_SIZE,
                format!("a work-group has at most {most} work-items"),
            );
        }
        let uneven = self.global.iter().zip(local).any(|(global, local)| global % local != 0);
        if uneven && (kernel.program.is_uniform() || !kernel.program.allows_non_uniform(device)) {
            return size(
                cl::CL_INVALID_WORK_GROUP_SIZE,
                "the global size is not a multiple of the work-group's".into(),
            );
        }
        Ok(())
    }
}

/// The work-group size that a launch has for which the application chooses none.
///
/// # Errors
/// The kernel and the queue do not go together, or the device cannot run the kernel.
pub fn suggested(queue: &Arc<Queue>, kernel: &Arc<Kernel>, sizes: WorkSizes) -> Outcome<[usize; 3]> {
    let device = runs_on(queue, kernel)?;
    let (program, entry) = (&kernel.executable.launch, &kernel.ir().name);
    let range = queue.owner().engine.with(&device, |gpu| {
        gpu.with_local(program, entry, sizes.range()).map_err(|error| engine::failure(&error))
    })?;
    Ok(range.local_size().unwrap_or([1; 3]))
}

/// The device of a queue, on which a kernel was built.
fn runs_on(queue: &Arc<Queue>, kernel: &Arc<Kernel>) -> Outcome<Arc<Device>> {
    let own = Arc::ptr_eq(kernel.program.owner(), queue.owner());
    require(own, cl::CL_INVALID_CONTEXT, "the kernel and the queue are of different contexts")?;
    let device = Arc::clone(queue.device());
    let built = kernel.program.check_devices(std::slice::from_ref(&device));
    built.map_err(|failure| Failure { code: cl::CL_INVALID_PROGRAM_EXECUTABLE, ..failure })?;
    Ok(device)
}

/// Enqueues a launch.
///
/// # Errors
/// Arguments are missing, the range does not fit, or the device cannot run the kernel.
pub fn enqueue(
    queue: &Arc<Queue>,
    kind: cl_command_type,
    kernel: &Arc<Kernel>,
    sizes: WorkSizes,
    wait: Vec<Arc<Event>>,
) -> Outcome<Arc<Event>> {
    let device = runs_on(queue, kernel)?;
    let arguments = kernel.arguments()?;
    for argument in &arguments {
        if let Set::Object(memory) = argument {
            check_object(memory, queue)?;
        }
    }
    let entry = kernel.ir().name.clone();
    let facts = kernel.executable.facts(&device, &entry)?;
    sizes.check(kernel, &device, facts.max_work_group_size)?;
    let local = facts.local_bytes + kernel.local_arguments() as u64;
    if local > device.probe.local_memory_bytes {
        let limit = device.probe.local_memory_bytes;
        let what = format!("kernel `{entry}` uses {local} bytes of local memory, the device has {limit}");
        return Err(Failure::new(cl::CL_OUT_OF_RESOURCES, what));
    }
    inject::launch(&Subject { module: &kernel.executable.module, kernel: kernel.ir(), options: &[] })?;
    if sizes.global.contains(&0) {
        // OpenCL 3.0: such a command does nothing.
        return queue.submit(kind, wait, Waits::Queue, Box::new(|| Ok(Span::default())));
    }
    let shared = lock(&kernel.shared).clone();
    // The program stays built for as long as the executable exists.
    let executable = Arc::clone(&kernel.executable);
    let engine = Arc::clone(&queue.owner().engine);
    let is_timed = queue.is_profiling();
    let action = move || {
        // Whether each argument's memory has bytes that were not computed.
        let mut undefined = Vec::new();
        let ran = engine.with(&device, |gpu| {
            let task = Task { device: &device, arguments: &arguments };
            let mut storages: Vec<&Storage> = Vec::new();
            let used =
                arguments.iter().filter_map(Set::storage).chain(shared.iter().map(|storage| &**storage));
            for storage in used {
                if storages.iter().all(|other| !std::ptr::eq(*other, storage)) {
                    storages.push(storage);
                }
            }
            lend_all(&storages, &device, gpu, &mut |gpu| {
                let arguments = task.bind(gpu)?;
                let launch = Launch {
                    program: Arc::clone(&executable.launch),
                    entry: entry.clone(),
                    arguments,
                    range: sizes.range(),
                };
                run(gpu, &launch, &mut undefined, is_timed)
            })
        });
        // Here no launch has the bytes.
        for (argument, _) in arguments.iter().zip(undefined).filter(|(_, undefined)| *undefined) {
            match argument {
                Set::Object(memory) => memory.storage.undefine(memory.offset, memory.size),
                Set::Shared(storage, offset) => storage.undefine(*offset, storage.size() - offset),
                _ => {}
            }
        }
        ran
    };
    queue.submit(kind, wait, Waits::Queue, Box::new(action))
}

impl Set {
    fn storage(&self) -> Option<&Storage> {
        match self {
            Self::Object(memory) => Some(&memory.storage),
            Self::Shared(storage, _) => Some(storage),
            _ => None,
        }
    }
}

/// Calls `with` while a virtual GPU has the bytes of all storages.
fn lend_all(
    storages: &[&Storage],
    device: &Device,
    gpu: &mut VirtualGpu,
    with: &mut dyn FnMut(&mut VirtualGpu) -> Outcome<Span>,
) -> Outcome<Span> {
    match storages {
        [] => with(gpu),
        [first, rest @ ..] => first.lend(device, gpu, |gpu| lend_all(rest, device, gpu, with)),
    }
}

struct Task<'a> {
    device: &'a Device,
    arguments: &'a [Set],
}

impl Task<'_> {
    fn bind(&self, gpu: &mut VirtualGpu) -> Outcome<Vec<Argument>> {
        let bound = self.arguments.iter().map(|set| {
            Ok(match set {
                Set::Object(memory) => Argument::Memory(memory.id(self.device, gpu)?),
                Set::Shared(storage, offset) => Argument::Memory(storage.id(self.device, gpu, *offset)?),
                Set::Null => Argument::Null,
                Set::Value(value) => Argument::Value(value.clone()),
                Set::Bytes(bytes) => Argument::Bytes(Arc::clone(bytes)),
                Set::Local(bytes) => Argument::Local { bytes: *bytes },
                Set::Sampler(sampler) => Argument::Sampler(*sampler),
            })
        });
        bound.collect()
    }
}

/// Runs a launch. Its time is predicted only if it is asked for: on other queues, no call answers with it.
fn run(gpu: &mut VirtualGpu, launch: &Launch, undefined: &mut Vec<bool>, is_timed: bool) -> Outcome<Span> {
    let settings = Settings::current();
    let ran = if settings.check && settings.execute == Execute::All {
        // With checks, an error of the kernel is a finding, and what is undefined has no time.
        let has_time = is_timed && gpu.predict(launch).is_ok();
        gpu.run_checked(launch, &Checks::all()).map(findings::record).map(|()| has_time)
    } else if settings.execute == Execute::Sample {
        gpu.run_sample(launch).map(|arguments| *undefined = arguments).map(|()| true)
    } else if is_timed {
        gpu.run(std::slice::from_ref(launch)).map(|_| true)
    } else {
        gpu.run_untimed(launch).map(|()| false)
    };
    let printed = gpu.take_printed();
    if !printed.is_empty() {
        // What a kernel prints goes to the standard output; where there is none, nothing can be done.
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(&printed).and_then(|()| out.flush());
    }
    for stray in gpu.take_strays() {
        settings.print_stray(&stray);
    }
    let has_time = ran.map_err(|error| engine::failure(&error))?;
    let Some(prediction) = gpu.predictions().first().filter(|_| has_time) else { return Ok(Span::default()) };
    Ok(Span {
        launch_ns: (prediction.launch_seconds * 1e9).round() as u64,
        // A launch takes some time.
        busy_ns: ((prediction.seconds * 1e9).round() as u64).max(1),
    })
}
