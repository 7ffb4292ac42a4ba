//! Captures of launches: which, with which arguments, and the memory before and after.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opencl_sys as cl;

use crate::call::{Argument, Call};
use crate::capture_files as files;
use crate::driver::{Driver, ImageFacts};
use crate::function::Function;
use crate::objects::{ObjectKind, Objects};
use crate::settings::Selection;

/// The captures of this process.
pub(crate) struct Capture {
    selection: Selection,
    driver: Driver,
    state: Mutex<CaptureState>,
}

#[derive(Default)]
struct CaptureState {
    /// Enqueues of any kind so far.
    enqueues: u64,
    /// Launches captured so far, by kernel.
    captured: HashMap<Arc<str>, u64>,
    kernels: HashMap<u64, Vec<Option<Set>>>,
    programs: HashMap<u64, Built>,
    /// Events that the application has not completed.
    open: HashSet<u64>,
    /// Numbers of memory objects, for the names of files.
    memory: HashMap<u64, u64>,
    left_out: Vec<String>,
}

/// What a kernel's argument was set to.
#[derive(Clone, Debug)]
enum Set {
    Bytes(Vec<u8>),
    /// So many bytes of local memory, or a null pointer.
    Null(u64),
    /// An address in shared virtual memory.
    Shared(u64),
}

/// What a program was made of.
#[derive(Clone, Debug, Default)]
struct Built {
    options: String,
    module: Option<Arc<[u8]>>,
    /// The only program that it was linked from.
    from: Option<u64>,
}

/// Memory of a launch.
#[derive(Clone, Debug)]
enum Memory {
    Buffer(u64, usize),
    Image(u64, ImageFacts),
    /// The start and the bytes of shared virtual memory.
    Shared(u64, usize),
}

/// A launch whose memory was read before it began.
#[derive(Debug)]
pub(crate) struct Captured {
    folder: PathBuf,
    queue: u64,
    /// Memory by argument, and the name of its file.
    memory: Vec<(Memory, String)>,
}

impl Capture {
    /// No captures so far.
    pub(crate) fn new(selection: &Selection, driver: Driver) -> Self {
        Self { selection: selection.clone(), driver, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CaptureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before an enqueue: reads the memory of a launch that is selected.
    pub(crate) fn before(
        &self,
        function: Function,
        objects: &Objects,
        arguments: &dyn Fn() -> Vec<Argument>,
    ) -> Option<Captured> {
        let number = {
            let mut state = self.lock();
            state.enqueues += 1;
            state.enqueues - 1
        };
        let launches = matches!(function, Function::clEnqueueNDRangeKernel | Function::clEnqueueTask);
        let Selection { first, last, .. } = self.selection;
        if !launches || number < first || last.is_some_and(|last| number > last) {
            return None;
        }
        let arguments = arguments();
        let argument = |name: &str| function.position(name).and_then(|index| arguments.get(index));
        let (queue, kernel) = (argument("command_queue")?.word(), argument("kernel")?.word());
        // A handle that is not a kernel is the driver's to refuse.
        if objects.kind(kernel) != Some(ObjectKind::Kernel) || objects.kind(queue) != Some(ObjectKind::Queue)
        {
            return None;
        }
        let name = objects.kernel_name(kernel, || self.driver.kernel_name(kernel));
        let set = {
            let mut state = self.lock();
            if !self.selection.kernels.is_empty()
                && !self.selection.kernels.iter().any(|known| **known == *name)
            {
                return None;
            }
            if !state.open.is_empty() {
                state.left_out.push(format!(
                    "Enqueue_{number}_{name}: an event of the application (clCreateUserEvent) was not complete; \
                     waiting for the memory could wait forever"
                ));
                return None;
            }
            let captured = state.captured.entry(Arc::clone(&name)).or_default();
            if self.selection.count.is_some_and(|count| *captured >= count) {
                return None;
            }
            *captured += 1;
            state.kernels.get(&kernel).cloned().unwrap_or_default()
        };
        // What the memory will be when the launch begins.
        self.driver.finish(queue);
        self.driver.wait(argument("event_wait_list").map_or(&[], Argument::words));
        let folder = self.selection.folder.join("Replay").join(format!("Enqueue_{number}_{name}"));
        let mut launch =
            Launch { capture: self, objects, folder, queue, number, name: &name, memory: Vec::new() };
        let sizes = |name: &str| argument(name).map_or(&[][..], Argument::words);
        let ranges = [sizes("global_work_size"), sizes("local_work_size"), sizes("global_work_offset")];
        let written = launch.write(kernel, &set, ranges);
        let Launch { folder, memory, .. } = launch;
        match written {
            Ok(()) => Some(Captured { folder, queue, memory }),
            Err(reason) => {
                let _ = fs::remove_dir_all(&folder);
                self.lock().left_out.push(format!("Enqueue_{number}_{name}: {reason}"));
                None
            }
        }
    }

    /// After any call: takes note of arguments and programs, and reads the memory of a captured launch.
    pub(crate) fn after(&self, call: &Call, captured: Option<Captured>, is_gone: bool) {
        if let Some(captured) = captured {
            if call.succeeded() {
                self.driver.finish(captured.queue);
                self.read_all(&captured);
            } else {
                let _ = fs::remove_dir_all(&captured.folder);
            }
        }
        if call.succeeded() {
            self.note(call, is_gone);
        }
    }

    fn read_all(&self, captured: &Captured) {
        for (memory, name) in &captured.memory {
            let path = captured.folder.join("Post").join(name);
            let written = self.read(captured.queue, memory).and_then(|bytes| files::write(&path, &bytes));
            if let Err(reason) = written {
                self.lock().left_out.push(format!("{}: {reason}", path.display()));
            }
        }
    }

    fn read(&self, queue: u64, memory: &Memory) -> Result<Vec<u8>, String> {
        match memory {
            Memory::Buffer(handle, bytes) => self.driver.read_buffer(queue, *handle, *bytes),
            Memory::Image(handle, facts) => self.driver.read_image(queue, *handle, facts),
            Memory::Shared(start, bytes) => self.driver.read_shared(queue, *start, *bytes),
        }
        .map_err(|code| format!("memory cannot be read: {}", crate::names::code(code)))
    }

    fn note(&self, call: &Call, is_gone: bool) {
        use Function as F;
        let mut state = self.lock();
        let options = || match call.argument("options") {
            Argument::Text(options) => options.clone(),
            _ => String::new(),
        };
        match call.function {
            F::clSetKernelArg => {
                let set = match call.argument("arg_value") {
                    Argument::Bytes(bytes) => Set::Bytes(bytes.clone()),
                    _ => Set::Null(call.word("arg_size")),
                };
                state.set(call, set);
            }
            F::clSetKernelArgSVMPointer => state.set(call, Set::Shared(call.word("arg_value"))),
            F::clCloneKernel => {
                let set = state.kernels.get(&call.word("source_kernel")).cloned().unwrap_or_default();
                state.kernels.insert(call.result, set);
            }
            F::clCreateKernel => {
                state.kernels.remove(&call.result);
            }
            F::clReleaseKernel if is_gone => {
                state.kernels.remove(&call.word("kernel"));
            }
            F::clReleaseMemObject if is_gone => {
                state.memory.remove(&call.word("memobj"));
            }
            F::clBuildProgram | F::clCompileProgram => {
                state.programs.entry(call.word("program")).or_default().options = options();
            }
            F::clCreateProgramWithSource | F::clCreateProgramWithBinary => {
                state.programs.remove(&call.result);
            }
            F::clCreateProgramWithIL => {
                let module = match call.argument("il") {
                    Argument::Bytes(bytes) => Some(bytes.clone().into()),
                    _ => None,
                };
                state.programs.insert(call.result, Built { module, ..Built::default() });
            }
            F::clLinkProgram => {
                let from = match call.argument("input_programs").words() {
                    [only] => Some(*only),
                    _ => None,
                };
                // The application may release the program that it was linked from.
                let built = from.and_then(|from| state.programs.get(&from).cloned()).unwrap_or_default();
                state.programs.insert(call.result, Built { from, ..built });
            }
            F::clCreateUserEvent => {
                state.open.insert(call.result);
            }
            F::clSetUserEventStatus => {
                state.open.remove(&call.word("event"));
            }
            _ => {}
        }
    }

    /// Writes down which launches were not captured, and why.
    pub(crate) fn finish(&self) {
        let left_out = std::mem::take(&mut self.lock().left_out);
        if !left_out.is_empty() {
            let _ = files::write(&self.selection.folder.join("left_out.txt"), left_out.join("\n").as_bytes());
        }
    }
}

impl CaptureState {
    fn set(&mut self, call: &Call, set: Set) {
        let index = call.word("arg_index") as usize;
        let all = self.kernels.entry(call.word("kernel")).or_default();
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        all[index] = Some(set);
    }
}

/// A launch that is being captured.
struct Launch<'a> {
    capture: &'a Capture,
    objects: &'a Objects,
    folder: PathBuf,
    queue: u64,
    number: u64,
    name: &'a str,
    memory: Vec<(Memory, String)>,
}

impl Launch<'_> {
    fn write(
        &mut self,
        kernel: u64,
        set: &[Option<Set>],
        [global, local, offset]: [&[u64]; 3],
    ) -> Result<(), String> {
        let driver = self.capture.driver;
        self.file("kernelName.txt", self.name.as_bytes())?;
        self.file("enqueueNumber.txt", format!("{}\n", self.number).as_bytes())?;
        self.file("worksizes.txt", files::work_sizes(global, local, offset).as_bytes())?;
        let program = driver.kernel_program(kernel);
        let built = self.capture.lock().programs.get(&program).cloned().unwrap_or_default();
        self.file("buildOptions.txt", format!("{}\n", built.options).as_bytes())?;
        let source = driver.source(program).or_else(|| {
            let from = built.from.filter(|from| self.objects.kind(*from) == Some(ObjectKind::Program))?;
            driver.source(from)
        });
        if let Some(source) = source {
            self.file("kernel.cl", source.as_bytes())?;
        }
        if let Some(module) = &built.module {
            self.file("kernel.spv", module)?;
        }
        for (index, set) in set.iter().enumerate() {
            match set {
                None => {}
                Some(Set::Null(bytes)) => {
                    self.file(&format!("Local{index}.txt"), bytes.to_string().as_bytes())?;
                }
                Some(Set::Bytes(bytes)) => {
                    self.file(&format!("Argument{index}.bin"), bytes)?;
                    let handle = <[u8; size_of::<usize>()]>::try_from(&bytes[..]);
                    if let Ok(handle) = handle {
                        self.object(index, usize::from_ne_bytes(handle) as u64)?;
                    }
                }
                Some(Set::Shared(pointer)) => {
                    let Some((start, bytes)) = self.objects.shared(*pointer) else {
                        self.file(&format!("Argument{index}.bin"), &pointer.to_ne_bytes())?;
                        continue;
                    };
                    self.file(&format!("Argument{index}.bin"), &start.to_ne_bytes())?;
                    let skipped = (pointer - start).to_string();
                    self.file(&format!("SVM_Arg_Offset_{index}.txt"), skipped.as_bytes())?;
                    self.memory(index, start, Memory::Shared(start, bytes as usize))?;
                }
            }
        }
        Ok(())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        files::write(&self.folder.join(name), bytes)
    }

    /// An argument that has the size of a handle: what it is a handle of, if it is one.
    fn object(&mut self, index: usize, handle: u64) -> Result<(), String> {
        let driver = self.capture.driver;
        match self.objects.kind(handle) {
            Some(ObjectKind::Sampler) => {
                let facts = driver.sampler_facts(handle).ok_or("a sampler has no properties")?;
                self.file(&format!("Sampler{index}.txt"), files::sampler(facts).as_bytes())
            }
            Some(kind) if kind.is_memory() => {
                let is_buffer = driver.memory_kind(handle) == Some(u64::from(cl::CL_MEM_OBJECT_BUFFER));
                if is_buffer {
                    let bytes = driver.memory_bytes(handle).ok_or("a buffer has no size")?;
                    self.file(&format!("SVM_Arg_Offset_{index}.txt"), b"0")?;
                    return self.memory(index, handle, Memory::Buffer(handle, bytes));
                }
                let facts = driver.image_facts(handle).ok_or("an image has no properties")?;
                self.file(&format!("Image_MetaData_{index}.txt"), files::image(&facts).as_bytes())?;
                self.memory(index, handle, Memory::Image(handle, facts))
            }
            _ => Ok(()),
        }
    }

    /// Writes memory as it is before the launch.
    fn memory(&mut self, index: usize, handle: u64, memory: Memory) -> Result<(), String> {
        let object = {
            let mut state = self.capture.lock();
            let next = state.memory.len() as u64;
            *state.memory.entry(handle).or_insert(next)
        };
        let of = match &memory {
            Memory::Image(_, facts) => files::image_file(object, facts),
            _ => format!("Buffer_{object:04}.bin"),
        };
        let name = format!("Enqueue_{:04}_Kernel_{}_Arg_{index}_{of}", self.number, self.name);
        let bytes = self.capture.read(self.queue, &memory)?;
        files::write(&self.folder.join("Pre").join(&name), &bytes)?;
        self.memory.push((memory, name));
        Ok(())
    }
}
