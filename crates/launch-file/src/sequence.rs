//! Launch files with several launches of one program, some of which use memory of earlier ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tripipe_device::document::{Document, Item};
use tripipe_launch::{Access, Argument, ExecuteError, Executor, MemoryId, Program};

use crate::element::integer_range;
use crate::error::{FileError, FileReason, error_at};
use crate::expression::Overrides;
use crate::parse::launch;
use crate::{Contents, Given, LaunchFile, Loaded, Memory, MemoryShape, Number, Random, Staged};

/// More than an application launches in a frame.
const LAUNCHES_MAX: usize = 10_000;
/// Of all launches together, with repetitions.
const RUNS_MAX: usize = 1_000_000;

const ROOT_KEYS: [&str; 6] = ["source", "spirv", "options", "assume", "driver", "launch"];
const LAUNCH_KEYS: [&str; 8] = ["name", "kernel", "global", "local", "offset", "argument", "repeat", "queue"];

/// The launches of a file, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSequence {
    /// The launches; at least one.
    pub launches: Vec<SequenceLaunch>,
}

/// A launch among several.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceLaunch {
    /// Its name; by default the kernel's.
    pub name: String,
    /// How often it runs, one after the other; at least once.
    pub repeat: usize,
    /// The name of its queue; empty by default.
    pub queue: String,
    /// The launch. Arguments that use memory of an earlier launch have the shape of that memory, without contents.
    pub file: LaunchFile,
    /// These arguments.
    pub uses: Vec<Use>,
}

/// The queues of the launches of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues<'s> {
    /// Their names, by their first launches.
    pub names: Vec<&'s str>,
    /// The number of each launch's queue.
    pub of: Vec<usize>,
    /// The launches of other queues that each launch waits for, because one of both writes memory that they share: the last
    /// ones of their queues.
    pub after: Vec<Vec<usize>>,
    /// The other queues that upload memory of each launch.
    pub after_uploads: Vec<Vec<usize>>,
}

/// An argument that is the memory of an earlier launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The argument, from 0.
    pub argument: usize,
    /// The launch that the memory is made for, from 0.
    pub launch: usize,
    /// The argument of that launch that it is made for.
    pub of: usize,
}

/// Parses a launch file with a list `[[launch]]`, in the format of `docs/launch-files.md`; `None` if it has no such
/// list: [`parse_with`](crate::parse_with) reads it.
///
/// # Errors
/// As [`parse`](crate::parse); `use` does not name memory of an earlier launch.
pub fn parse_sequence(
    text: &str,
    name: &str,
    overrides: &Overrides,
) -> Result<Option<LaunchSequence>, FileError> {
    let document = Document::parse(text, name)?;
    let root = document.root("a launch file");
    let Some(list) = root.get("launch") else { return Ok(None) };
    root.check_keys(&ROOT_KEYS)?;
    let mut launches: Vec<SequenceLaunch> = Vec::new();
    for (index, item) in list.items().enumerate() {
        if index == LAUNCHES_MAX {
            return Err(item.impossible(format!("at most {LAUNCHES_MAX} launches")).into());
        }
        let table = item.table(format!("launch {index}"))?;
        table.check_keys(&LAUNCH_KEYS)?;
        let mut uses = Uses { earlier: &launches, found: Vec::new() };
        let file = launch(&root, &table, name, overrides, None, &mut uses)?;
        let uses = uses.found;
        let left = RUNS_MAX - launches.iter().map(|launch| launch.repeat).sum::<usize>();
        let repeat = match table.get("repeat") {
            Some(item) => {
                let want = || format!("from 1 to {left}: all launches together run at most {RUNS_MAX} times");
                item.whole_of(&(1..=left), want)?
            }
            None if left == 0 => {
                return Err(item
                    .impossible(format!("within {RUNS_MAX} runs, which the launches before it have"))
                    .into());
            }
            None => 1,
        };
        let named = table.get("name").map(|item| item.string().map(str::to_owned)).transpose()?;
        let name = named.or_else(|| file.kernel.clone()).unwrap_or_else(|| format!("launch {index}"));
        let queue = table.get("queue").map(|item| item.string().map(str::to_owned)).transpose()?;
        launches.push(SequenceLaunch { name, repeat, queue: queue.unwrap_or_default(), file, uses });
    }
    if launches.is_empty() {
        return Err(list.impossible("at least one launch").into());
    }
    // One launch may write what another one reads, whatever each of them does.
    let owners: Vec<Use> = launches.iter().flat_map(|launch| launch.uses.iter().copied()).collect();
    for Use { launch, of, .. } in owners {
        if let Some(Given::Memory(memory)) =
            launches[launch].file.arguments.get_mut(of).map(|entry| &mut entry.given)
        {
            memory.access = Access::ReadWrite;
        }
    }
    Ok(Some(LaunchSequence { launches }))
}

/// The memory that a launch can use of earlier ones, and what it uses.
#[derive(Debug, Default)]
pub(crate) struct Uses<'l> {
    earlier: &'l [SequenceLaunch],
    found: Vec<Use>,
}

impl Uses<'_> {
    /// The memory that `item`, the key `use` of an argument, names as `LAUNCH.ARGUMENT`.
    ///
    /// # Errors
    /// It is not that of an earlier launch.
    pub(crate) fn memory(&mut self, item: &Item<'_>, argument: usize) -> Result<Memory, FileError> {
        let text = item.string()?;
        let refused = |reason| error_at(item, FileReason::Use { found: format!("`{text}`"), reason });
        if self.earlier.is_empty() {
            return Err(refused("is not possible here: no launch comes before this one"));
        }
        let Some((name, of)) = text.rsplit_once('.') else {
            return Err(refused("is not of the form `LAUNCH.ARGUMENT`"));
        };
        // Of launches with the same name, the last one.
        let Some(launch) = self.earlier.iter().rposition(|launch| launch.name == name) else {
            return Err(refused(
                "is not of a launch before this one; a launch goes by its `name`, or else by its kernel",
            ));
        };
        let arguments = &self.earlier[launch].file.arguments;
        let named = arguments.iter().position(|entry| entry.name.as_deref() == Some(of));
        let position = named.or_else(|| of.parse().ok().filter(|position| *position < arguments.len()));
        let Some(mut position) = position else {
            return Err(refused("is not an argument of that launch, by its name or position"));
        };
        if let Given::SameAs { index } = arguments[position].given {
            position = index;
        }
        let Given::Memory(memory) = &arguments[position].given else {
            return Err(refused("is neither a buffer nor an image"));
        };
        // What that launch uses itself was made for another one.
        let own = Use { argument, launch, of: position };
        let older = self.earlier[launch].uses.iter().find(|older| older.argument == position);
        self.found.push(older.map_or(own, |older| Use { argument, ..*older }));
        let is_sized = match &memory.shape {
            MemoryShape::Buffer { extents, .. } => extents.is_some(),
            MemoryShape::Image { extent, .. } => extent.is_some(),
        };
        // Contents decide the size of what has no other.
        let contents = if is_sized { Contents::Unwritten } else { memory.contents.clone() };
        Ok(Memory { contents, dump: None, expect: None, ..memory.clone() })
    }
}

impl LaunchSequence {
    /// Creates the memory of all launches on `executor`, each of them once. `loaded` are the launches with their
    /// contents, in order. [`Staged::memory`] of a launch is what is made for it.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn stage(
        &self,
        loaded: Vec<Loaded>,
        executor: &mut dyn Executor,
        program: &Arc<Program>,
    ) -> Result<Vec<Staged>, ExecuteError> {
        let mut all: Vec<Staged> = Vec::with_capacity(loaded.len());
        for (launch, loaded) in self.launches.iter().zip(loaded) {
            let known = |used: &Use| match all
                .get(used.launch)
                .and_then(|staged| staged.launch.arguments.get(used.of))
            {
                Some(Argument::Memory(id)) => Some((used.argument, *id)),
                _ => None,
            };
            let known: Vec<(usize, MemoryId)> = launch.uses.iter().filter_map(known).collect();
            all.push(loaded.stage_with(executor, Arc::clone(program), &known)?);
        }
        Ok(all)
    }

    /// The launch and the argument that the memory of an argument is made for.
    pub fn owner(&self, launch: usize, argument: usize) -> (usize, usize) {
        let Some(own) = self.launches.get(launch) else { return (launch, argument) };
        let argument = match own.file.arguments.get(argument).map(|entry| &entry.given) {
            Some(Given::SameAs { index }) => *index,
            _ => argument,
        };
        let used = own.uses.iter().find(|used| used.argument == argument);
        used.map_or((launch, argument), |used| (used.launch, used.of))
    }

    /// A launch alone, without what is shown or compared. Memory of earlier launches has the contents that it is made
    /// with, or else random numbers: integers of 32 and 64 bits from 0 to 255, as they may be indices.
    pub fn alone(&self, launch: usize) -> Option<LaunchFile> {
        let own = self.launches.get(launch)?;
        let mut file = own.file.clone();
        file.forget_results();
        // Two arguments may be one memory object, which another launch made.
        for argument in 0..file.arguments.len() {
            let owner = self.owner(launch, argument);
            let is_memory = |at: usize| matches!(own.file.arguments[at].given, Given::Memory(_));
            let first = (0..argument).find(|first| is_memory(*first) && self.owner(launch, *first) == owner);
            if let Some(index) = first.filter(|_| is_memory(argument)) {
                file.arguments[argument].given = Given::SameAs { index };
            }
        }
        for (number, used) in own.uses.iter().enumerate() {
            let made = self.launches.get(used.launch)?.file.arguments.get(used.of).map(|entry| &entry.given);
            let Some(Given::Memory(Memory { contents: made, .. })) = made else { continue };
            let given = file.arguments.get_mut(used.argument).map(|entry| &mut entry.given);
            let Some(Given::Memory(memory)) = given else { continue };
            let is_wide = match &memory.shape {
                MemoryShape::Buffer { element, .. } => {
                    integer_range(element.scalar()).is_some() && element.scalar().bytes() > 2
                }
                MemoryShape::Image { .. } => false,
            };
            let [low, high] = [0, 255].map(|end| is_wide.then_some(Number::Integer(end)));
            memory.contents = match made {
                Contents::Unwritten => Contents::Random(Random { seed: 1 + number as u64, low, high }),
                made => made.clone(),
            };
        }
        Some(file)
    }

    /// The queues of the launches, and what these wait for. `writes` says whether a launch may write an argument's memory:
    /// launches of different queues that only read the same memory do not wait for each other.
    pub fn queues(&self, writes: impl Fn(usize, usize) -> bool) -> Queues<'_> {
        let mut queues =
            Queues { names: Vec::new(), of: Vec::new(), after: Vec::new(), after_uploads: Vec::new() };
        // Of each memory object, the last launch of each queue that reads it, and that writes it.
        let mut users: HashMap<(usize, usize), [BTreeMap<usize, usize>; 2]> = HashMap::new();
        for (index, launch) in self.launches.iter().enumerate() {
            let queue = queues.names.iter().position(|name| *name == launch.queue).unwrap_or_else(|| {
                queues.names.push(&launch.queue);
                queues.names.len() - 1
            });
            queues.of.push(queue);
            let (mut after, mut uploads) = (BTreeSet::new(), BTreeSet::new());
            for argument in 0..launch.file.arguments.len() {
                let owner = self.owner(index, argument);
                uploads.extend(Some(queues.of[owner.0]).filter(|own| *own != queue));
                let [readers, writers] = users.entry(owner).or_default();
                let writes = writes(index, argument);
                let conflicts = writers.iter().chain(readers.iter().filter(|_| writes));
                after.extend(conflicts.filter(|(other, _)| **other != queue).map(|(_, last)| *last));
                if writes { writers } else { readers }.insert(queue, index);
            }
            queues.after.push(after.into_iter().collect());
            queues.after_uploads.push(uploads.into_iter().collect());
        }
        queues
    }

    /// The number of each launch as often as it runs, in order.
    pub fn order(&self) -> Vec<usize> {
        let launches = self.launches.iter().enumerate();
        launches.flat_map(|(index, launch)| std::iter::repeat_n(index, launch.repeat)).collect()
    }
}
