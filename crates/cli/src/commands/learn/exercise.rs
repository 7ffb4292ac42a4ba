//! The exercises: a task, a kernel to start from, a launch, and the goal.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use toml_edit::DocumentMut;
use tripipe_device::Gpu;
use tripipe_launch_file::Number;

use crate::launch_input::{Description, gpu};

/// Sizes of a launch: values of arguments by name, and of macros, which are in capitals.
type Sizes = &'static [(&'static str, i64)];

/// The exercise of a lesson.
pub(super) struct Exercise {
    /// The lesson's number, from 1.
    pub(super) lesson: usize,
    /// The lesson's title.
    pub(super) title: &'static str,
    /// What to do.
    pub(super) task: &'static str,
    /// The kernel to start from.
    pub(super) start: &'static str,
    /// A kernel with the results that are wanted.
    pub(super) reference: &'static str,
    /// The launch, in the size whose time is predicted.
    launch: &'static str,
    /// The sizes in which results are compared.
    pub(super) sizes: &'static [Sizes],
    /// How far floats may be from the reference's, as a factor of their magnitude.
    pub(super) relative: f64,
    /// The GPU whose time counts.
    gpu: &'static str,
    /// The longest time, as a share of that of the kernel to start from.
    pub(super) share: f64,
    /// What to look at if there are findings or wrong results.
    pub(super) hint_of_results: &'static str,
    /// What to look at if it is too slow.
    pub(super) hint_of_time: &'static str,
}

/// The page of the course with its lesson.
const PAGES: [&str; 7] =
    ["1-flow", "2-vectors", "3-midgard", "4-warps", "5-half-images", "6-cliffs", "7-product"];

/// A file of a lesson's exercise.
macro_rules! file {
    ($lesson:literal, $name:literal) => {
        include_str!(concat!("../../../data/learn/", $lesson, "/", $name))
    };
}

/// All exercises, one for each lesson.
pub(super) const ALL: [Exercise; 7] = [
    Exercise {
        lesson: 1,
        title: "From the host to a work-item",
        task: "Make `add` correct for every count: the launch has whole work-groups of 64, and thus more work-items than \
               numbers.",
        start: file!("1", "start.cl"),
        reference: file!("1", "reference.cl"),
        launch: file!("1", "launch.toml"),
        sizes: &[&[("count", 1000)], &[("count", 64)], &[("count", 1)]],
        relative: 0.0,
        gpu: "mali-g77",
        share: 1.1,
        hint_of_results: "which work-items have no number? `get_global_id(0)` tells them, and `return` ends one.",
        hint_of_time: "one comparison a work-item is enough.",
    },
    Exercise {
        lesson: 2,
        title: "Vectors and swizzles",
        task: "Take the brightness out of a YUYV frame, eight pixels a work-item, with one load and one store.",
        start: file!("2", "start.cl"),
        reference: file!("2", "start.cl"),
        launch: file!("2", "launch.toml"),
        sizes: &[&[("PIXELS", 8)], &[("PIXELS", 520)]],
        relative: 0.0,
        gpu: "mali-t604",
        share: 0.6,
        hint_of_results: "`vload16(i, p)` reads elements 16 i to 16 i + 15, and `.even` has lanes 0, 2, 4, ...",
        hint_of_time: "a load of one byte costs as much as one of sixteen: `vload16`, a swizzle, `vstore8`.",
    },
    Exercise {
        lesson: 3,
        title: "Midgard: three pipes",
        task: "Sharpen eight gray pixels in each work-item, with vectors of eight.",
        start: file!("3", "start.cl"),
        reference: file!("3", "start.cl"),
        launch: file!("3", "launch.toml"),
        sizes: &[&[("width", 8), ("HEIGHT", 1)], &[("width", 72), ("HEIGHT", 5)]],
        relative: 0.0,
        gpu: "mali-t604",
        share: 0.3,
        hint_of_results: "sums of bytes need shorts, and `convert_uchar8_sat` limits them to 0 and 255.",
        hint_of_time: "`tripipe analyze` names the pipe that bounds it: `vload8` is for LS, `short8` fills a register of A.",
    },
    Exercise {
        lesson: 4,
        title: "Warps: who sits beside whom",
        task: "Transpose through local memory, so that neighbours read rows and write rows.",
        start: file!("4", "start.cl"),
        reference: file!("4", "start.cl"),
        launch: file!("4", "launch.toml"),
        sizes: &[&[("width", 16), ("height", 16)], &[("width", 48), ("height", 32)]],
        relative: 0.0,
        gpu: "adreno-650",
        share: 0.6,
        hint_of_results: "what one work-item writes to local memory, another reads after `barrier(CLK_LOCAL_MEM_FENCE)`.",
        hint_of_time: "`local float part[16][17]`: write it by rows, read it by columns, and let `get_local_id(0)` be the \
                       column of both the load and the store of global memory.",
    },
    Exercise {
        lesson: 5,
        title: "Half precision, buffers and images",
        task: "Compute the powers in half precision, with as many lanes as a register of a Mali-T604 has.",
        start: file!("5", "start.cl"),
        reference: file!("5", "start.cl"),
        launch: file!("5", "launch.toml"),
        sizes: &[&[("COUNT", 8)], &[("COUNT", 520)]],
        relative: 0.02,
        gpu: "mali-t604",
        share: 0.4,
        hint_of_results: "results may differ by 2 %: y = y * x + x, 32 times, from y = x.",
        hint_of_time: "`#pragma OPENCL EXTENSION cl_khr_fp16 : enable`, then `half8`: 128 bits.",
    },
    Exercise {
        lesson: 6,
        title: "Threads, registers, work-groups: the cliffs",
        task: "Compute the spread without keeping all 16 numbers in registers.",
        start: file!("6", "start.cl"),
        reference: file!("6", "start.cl"),
        launch: file!("6", "launch.toml"),
        sizes: &[&[("COUNT", 1)], &[("COUNT", 100)]],
        relative: 1e-4,
        gpu: "mali-t604",
        share: 0.75,
        hint_of_results: "the mean needs all numbers: a second pass reads them again, or the sum of squares replaces it.",
        hint_of_time: "`tripipe analyze` says how many registers there are, and what spills: read, add, forget.",
    },
    Exercise {
        lesson: 7,
        title: "The matrix product, and when the CPU wins",
        task: "Multiply matrices with a block of 4 x 4 results in registers, loaded four numbers at a time.",
        start: file!("7", "start.cl"),
        reference: file!("7", "start.cl"),
        launch: file!("7", "launch.toml"),
        sizes: &[&[("n", 4)], &[("n", 12)]],
        relative: 1e-4,
        gpu: "mali-t604",
        share: 0.35,
        hint_of_results: "the block of the work-item x, y starts at column 4 x and row 4 y.",
        hint_of_time: "each row of four of B is used by four rows of A: load it once for all of them.",
    },
];

impl Exercise {
    /// The exercise of a lesson.
    ///
    /// # Errors
    /// There is no such lesson.
    pub(super) fn of(lesson: &str) -> Result<&'static Self> {
        let number: usize = lesson.trim().parse().unwrap_or_default();
        ALL.iter().find(|exercise| exercise.lesson == number).ok_or_else(|| {
            anyhow!("there is no lesson {lesson}; there are 1 to {} (`tripipe learn` lists them)", ALL.len())
        })
    }

    /// The lesson's page, as the repository and the site name it.
    pub(super) fn page(&self) -> String {
        format!("docs/course/{}.md", PAGES[self.lesson - 1])
    }

    /// The GPU whose time counts.
    ///
    /// # Errors
    /// It has no model.
    pub(super) fn gpu(&self) -> Result<&'static Gpu> {
        gpu(self.gpu).map_err(|error| anyhow!(error))
    }

    /// The goal, as part of a sentence.
    pub(super) fn goal(&self, gpu: &Gpu) -> String {
        let share = format!("{:.0} % of the time of the starting kernel", 100.0 * self.share);
        format!("correct results without findings, in at most {share} on {}", gpu.name())
    }

    /// The text of its launch file for a program in `source`.
    ///
    /// # Errors
    /// The launch file is not TOML.
    pub(super) fn launch_file(&self, source: &str) -> Result<String> {
        let mut document: DocumentMut = self.launch.parse().context("the launch of the exercise")?;
        document["source"] = toml_edit::value(source);
        Ok(document.to_string())
    }

    /// A program, whose path is `source`, with the launch of the exercise: in the size whose time is predicted, or
    /// another one.
    ///
    /// # Errors
    /// A size is not one of the launch.
    pub(super) fn description(&self, source: &str, program: &str, sizes: Sizes) -> Result<Description> {
        let is_macro = |name: &str| name.chars().all(|c| c.is_ascii_uppercase());
        let (macros, arguments): (Vec<_>, Vec<_>) = sizes.iter().partition(|(name, _)| is_macro(name));
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), Number::Integer((*value).into())));
        let macros = macros.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        let name = format!("the launch of lesson {}", self.lesson);
        let description = Description::of_launch_text(
            self.launch_file(source)?,
            &name,
            arguments.collect(),
            macros.collect(),
        )?;
        Ok(description.with_program(program.to_owned()))
    }
}

/// Refuses a place where there is a file already.
///
/// # Errors
/// There is one.
pub(super) fn check_free(path: &Path) -> Result<()> {
    if path.exists() || path.is_symlink() {
        bail!("{} exists already; choose another name, or remove it", path.display());
    }
    Ok(())
}
