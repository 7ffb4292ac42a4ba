//! `tripipe learn`: the exercises of the course, with a checker.

mod attempt;
mod exercise;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tripipe_device::Gpu;
use tripipe_report::findings::{self, Launch, Report};
use tripipe_report::{paragraph, time};
use tripipe_simulate::watch::rules::ALL as ALL_RULES;

use super::check::sources;
use crate::files::output::Output;
use crate::finish::Finish;
use crate::progress::Progress;
use crate::terminal;

use attempt::{Attempt, Mismatch};
use exercise::{ALL, Exercise, check_free};

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe learn
  tripipe learn 3
  tripipe learn 3 -o mine.cl
  tripipe learn 3 mine.cl";

/// Learn to write fast kernels: the exercises of the course, and a checker for your solutions.
///
/// Without LESSON, the lessons are listed. With one, its task is printed; -o writes a kernel to start from, and its
/// launch file beside it. With your KERNEL.cl too, it runs with all checks in several sizes, its results are compared
/// with those of a reference, and its time is predicted on the GPU of the lesson. The exit code is 0 if the goal is
/// met, 1 if not. It needs clang, but no GPU and no OpenCL. docs/course has the lessons.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Learn {
    /// Number of a lesson.
    lesson: Option<String>,
    /// Your solution: OpenCL C with the kernel of the exercise.
    #[arg(value_name = "KERNEL.cl", conflicts_with = "output")]
    solution: Option<PathBuf>,
    /// Writes the kernel to start from to this file, and its launch file beside it; an existing file is never replaced.
    #[arg(short, long, value_name = "KERNEL.cl", requires = "lesson")]
    output: Option<PathBuf>,
}

/// The numbers of all lessons.
pub(super) fn lessons() -> impl Iterator<Item = String> {
    ALL.iter().map(|exercise| exercise.lesson.to_string())
}

impl Learn {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let Some(lesson) = &self.lesson else { return list(out) };
        let exercise = Exercise::of(lesson)?;
        if let Some(solution) = &self.solution {
            return try_out(exercise, solution, out);
        }
        let gpu = exercise.gpu()?;
        if let Some(place) = &self.output {
            let launch = start(exercise, place)?;
            say(out, "", exercise.task)?;
            say(out, "Goal: ", &format!("{}.", exercise.goal(gpu)))?;
            let (shown, launch) = (place.display(), launch.display());
            say(out, "", &format!("{shown} is the kernel to start from, {launch} its launch."))?;
            say(out, "Try it: ", &format!("tripipe learn {} {shown}", exercise.lesson))?;
            return Ok(Finish::Clean);
        }
        writeln!(out, "Lesson {}: {} ({})\n", exercise.lesson, exercise.title, exercise.page())?;
        say(out, "", exercise.task)?;
        say(out, "Goal: ", &format!("{}.", exercise.goal(gpu)))?;
        writeln!(out, "\n{}", exercise.start.trim_end())?;
        let next = format!(
            "\ntripipe learn {0} -o mine.cl    writes this kernel and its launch\n\
                            tripipe learn {0} mine.cl       tries yours",
            exercise.lesson
        );
        writeln!(out, "{next}")?;
        Ok(Finish::Clean)
    }
}

/// Lists the lessons.
fn list(out: &mut dyn Write) -> Result<Finish> {
    for exercise in &ALL {
        writeln!(out, "{}  {} ({})", exercise.lesson, exercise.title, exercise.page())?;
        out.write_all(paragraph(terminal::canvas(), "   ", 3, exercise.task).as_bytes())?;
    }
    writeln!(out, "\n`tripipe learn LESSON` prints the task and the kernel to start from.")?;
    Ok(Finish::Clean)
}

/// A sentence, which may need several lines.
fn say(out: &mut dyn Write, head: &str, text: &str) -> Result<()> {
    Ok(out.write_all(paragraph(terminal::canvas(), head, 2, text).as_bytes())?)
}

/// Writes the kernel to start from and its launch file, whose path is returned.
///
/// # Errors
/// One of the files exists, or cannot be written.
fn start(exercise: &Exercise, place: &Path) -> Result<PathBuf> {
    let launch = place.with_extension("toml");
    let Some(name) = place.file_name().and_then(|name| name.to_str()).filter(|_| launch != *place) else {
        bail!("{}: want the name of a kernel, such as mine.cl", place.display());
    };
    check_free(place)?;
    check_free(&launch)?;
    let (kernel_file, launch_file) = (Output::open(place)?, Output::open(&launch)?);
    kernel_file.write(|sink| Ok(sink.write_all(exercise.start.as_bytes())?))?;
    let text = exercise.launch_file(name)?;
    launch_file.write(|sink| Ok(sink.write_all(text.as_bytes())?))?;
    Ok(launch)
}

/// Tries a solution, and reports what passes and what misses.
fn try_out(exercise: &Exercise, solution: &Path, out: &mut dyn Write) -> Result<Finish> {
    let source =
        solution.to_str().with_context(|| format!("{} is not UTF-8; rename it", solution.display()))?;
    let program = fs::read_to_string(solution)
        .with_context(|| format!("{source} cannot be read; name a file of OpenCL C"))?;
    let gpu = exercise.gpu()?;
    let progress = Progress::compiler("compiling the kernel");
    let attempt = Attempt::new(exercise, source, &program, &progress)?;
    drop(progress);
    let launches: Vec<Launch<'_>> = attempt
        .launches
        .iter()
        .map(|(kernel, global, local)| Launch { kernel, global: *global, local: *local, seconds: None })
        .collect();
    let report = Report {
        launches: &launches,
        rules: ALL_RULES,
        left_out: &Vec::from_iter(attempt.left_out.clone()),
        findings: &attempt.findings,
        sources: &sources(&attempt.findings),
    };
    writeln!(out, "{}", findings::text(&report, terminal::canvas()).trim_end())?;
    say(out, "results: ", &results(&attempt))?;
    say(out, "time:    ", &price(exercise, gpu, &attempt))?;
    if attempt.is_passed(exercise) {
        writeln!(out, "\nLesson {}: the goal is met.", exercise.lesson)?;
        return Ok(Finish::Clean);
    }
    let hint = if attempt.is_right() { exercise.hint_of_time } else { exercise.hint_of_results };
    writeln!(out, "\nLesson {}: not yet.", exercise.lesson)?;
    say(out, "Hint: ", hint)?;
    Ok(Finish::Findings)
}

/// How the results compare with the reference's.
fn results(attempt: &Attempt) -> String {
    let Some(Mismatch { sizes, memory, comparison }) = &attempt.differs else {
        return format!("all {} numbers are right", attempt.numbers);
    };
    let first = comparison.first.first().map(|difference| {
        let index: Vec<String> = difference.index.iter().map(usize::to_string).collect();
        format!("`{memory}[{}]` is {} instead of {}; ", index.join("]["), difference.found, difference.want)
    });
    let (differing, numbers) = (comparison.differing, comparison.numbers);
    format!("{}{differing} of {numbers} numbers are wrong with {sizes}", first.unwrap_or_default())
}

/// The predicted time beside the goal.
fn price(exercise: &Exercise, gpu: &Gpu, attempt: &Attempt) -> String {
    let Some([start, own]) = attempt.seconds else {
        return "not predicted before the results are right and nothing is found".to_owned();
    };
    format!(
        "{} predicted on {}, {:.0} % of the {} of the starting kernel; the goal is {:.0} %",
        time(own),
        gpu.name(),
        100.0 * own / start,
        time(start),
        100.0 * exercise.share
    )
}
