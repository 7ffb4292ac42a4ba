//! The best parameters of a kernel on each device, as a table and as a header for C.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tripipe_launch_file::{Tuning, quoted};

use super::{FAMILY, KernelProblem};
use crate::results::ProblemResults;

/// The best parameters of a kernel on each of several devices.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTable {
    /// The launch file's name.
    pub launch: String,
    /// The kernel.
    pub kernel: String,
    /// One for each device with a time, in the order of their names.
    pub best: Vec<BestParameters>,
    /// The parameters whose worst time relative to the best of each device is least, and that ratio; of those with a
    /// time on every device. `None` if there are none.
    pub everywhere: Option<(Vec<(String, String)>, f64)>,
}

/// The best parameters on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct BestParameters {
    /// The device's name.
    pub device: String,
    /// The driver's version; may be empty.
    pub driver: String,
    /// Names and values: macros, then `local` and `options` if they were varied.
    pub values: Vec<(String, String)>,
    /// Seconds of a run.
    pub seconds: f64,
    /// Seconds with the launch file's own values, or the first candidate's.
    pub first_seconds: Option<f64>,
    /// Whether the times are predicted.
    pub predicted: bool,
    /// The day, e.g. `2026-11-23`.
    pub day: String,
}

fn pairs(tuning: &Tuning, parameters: &str) -> Option<Vec<(String, String)>> {
    let chosen = tuning.chosen(parameters)?;
    let pair = |(one, index): (&tripipe_launch_file::TuningDimension, usize)| {
        (one.name.clone(), one.values[index].clone())
    };
    Some(tuning.dimensions.iter().zip(chosen).map(pair).collect())
}

impl KernelTable {
    /// The best parameters among the results for this problem.
    pub fn new(problem: &KernelProblem, results: &[ProblemResults]) -> Self {
        let description = problem.description();
        let file = problem.launch_file(problem.first()).ok();
        let tuning = file.and_then(|file| file.tuning);
        let (mut best, mut ratios) = (Vec::new(), BTreeMap::<&str, Vec<f64>>::new());
        let text = problem.to_string();
        let own = results.iter().filter(|one| one.problem == text && !one.timed.is_empty());
        for one in own {
            let reference = one.timed.iter().find_map(|timed| timed.times.reference);
            let seconds = |index: usize| one.timed[index].times.at(reference);
            let first = one.timed.iter().position(|timed| timed.parameters == problem.first());
            for (index, timed) in one.timed.iter().enumerate() {
                ratios.entry(&timed.parameters).or_default().push(seconds(index) / seconds(0));
            }
            let fastest = &one.timed[0];
            best.extend(tuning.as_ref().and_then(|tuning| pairs(tuning, &fastest.parameters)).map(
                |values| BestParameters {
                    device: one.device.product.clone().unwrap_or_else(|| one.device.name.clone()),
                    driver: one.device.driver.clone(),
                    values,
                    seconds: seconds(0),
                    first_seconds: first.map(seconds),
                    predicted: fastest.times.predicted,
                    day: fastest.day.clone(),
                },
            ));
        }
        let worst = |ratios: &[f64]| ratios.iter().copied().fold(1.0, f64::max);
        let everywhere = ratios
            .iter()
            .filter(|(_, ratios)| ratios.len() == best.len())
            .map(|(parameters, ratios)| (*parameters, worst(ratios)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .and_then(|(parameters, worst)| Some((pairs(tuning.as_ref()?, parameters)?, worst)));
        let kernel = description.signature.kernel.clone();
        Self { launch: description.name.clone(), kernel, best, everywhere }
    }

    /// Whether no device has a time.
    pub fn is_empty(&self) -> bool {
        self.best.is_empty()
    }

    /// The table as TOML: one `[[best]]` for each device, and `[everywhere]`.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "# The fastest parameters of a kernel, by `tripipe tune {FAMILY}`.\nlaunch = {}\n{FAMILY} = {}\n",
            quoted(&self.launch),
            quoted(&self.kernel)
        );
        let values = |text: &mut String, values: &[(String, String)]| {
            let all: Vec<String> =
                values.iter().map(|(name, value)| format!("{name} = {}", quoted(value))).collect();
            let _ = writeln!(text, "values = {{ {} }}", all.join(", "));
        };
        for one in &self.best {
            let BestParameters { device, driver, seconds, first_seconds, predicted, day, .. } = one;
            let _ = write!(text, "\n[[best]]\ndevice = {}\n", quoted(device));
            if !driver.is_empty() {
                let _ = writeln!(text, "driver = {}", quoted(driver));
            }
            values(&mut text, &one.values);
            let _ = writeln!(text, "seconds = {seconds:e}");
            if let Some(first) = first_seconds {
                let _ = writeln!(text, "first_seconds = {first:e}");
            }
            let basis = if *predicted { "predicted" } else { "measured" };
            let _ = writeln!(text, "basis = \"{basis}\"\ndate = {}", quoted(day));
        }
        if let Some((everywhere, worst)) = &self.everywhere {
            text.push_str("\n[everywhere]\n");
            values(&mut text, everywhere);
            let _ = writeln!(text, "at_most_times_the_best = {worst:.3}");
        }
        text
    }

    /// A header for C and OpenCL C: the parameters of the device whose macro is defined (`-D GPU_MALI_G78`), else those
    /// that are good everywhere, or the first device's. Macros that are defined already stay as they are.
    pub fn to_header(&self) -> String {
        let name = macro_name(&self.kernel);
        let mut text = format!(
            "/* The fastest parameters of kernel {}, by `tripipe tune {FAMILY} {}`. Define the macro of a\n \
             * device when you build the kernel (-D {}), or none for values for all of them. */\n",
            self.kernel,
            self.launch,
            self.best.first().map_or_else(|| "GPU_NAME".to_owned(), |one| device_macro(&one.device))
        );
        let mut last = None;
        for one in &self.best {
            let gpu = device_macro(&one.device);
            // Two drivers of one device: the first one counts.
            if last.as_ref() == Some(&gpu) {
                continue;
            }
            let word = if last.is_none() { "if" } else { "elif" };
            let basis = if one.predicted { "predicted" } else { "measured" };
            let _ = writeln!(
                text,
                "#{word} defined({gpu})\n/* {}: {:.6} ms, {basis} {} */",
                one.device,
                one.seconds * 1e3,
                one.day
            );
            define(&mut text, &name, &one.values);
            last = Some(gpu);
        }
        let default = match (&self.everywhere, self.best.first()) {
            (Some((values, worst)), _) => {
                let comment =
                    format!("/* At most {worst:.3} times the best time of each of these devices. */");
                Some((values, comment))
            }
            (None, Some(one)) => Some((&one.values, format!("/* As for {}. */", one.device))),
            (None, None) => None,
        };
        if let Some((values, comment)) = default {
            let _ = writeln!(text, "#else\n{comment}");
            define(&mut text, &name, values);
            text.push_str("#endif\n");
        }
        text
    }
}

/// Defines what is not defined yet. Values that are not macros of the kernel are for the host, under names with the
/// kernel's.
fn define(text: &mut String, kernel: &str, values: &[(String, String)]) {
    let mut one = |name: &str, value: &str| {
        let _ = writeln!(text, "#ifndef {name}\n#define {name} {value}\n#endif");
    };
    for (name, value) in values {
        match (name.as_str(), value.as_str()) {
            ("local", "driver") => one(&format!("{kernel}_LOCAL"), "NULL"),
            ("local", sizes) => {
                for (axis, size) in ["X", "Y", "Z"].iter().zip(sizes.split('x')) {
                    one(&format!("{kernel}_LOCAL_{axis}"), size);
                }
            }
            ("options", "none") => one(&format!("{kernel}_OPTIONS"), "\"\""),
            ("options", options) => {
                one(&format!("{kernel}_OPTIONS"), &format!("\"{}\"", options.replace(',', " ")));
            }
            (name, value) => one(name, value),
        }
    }
}

/// The macro that selects a device: `GPU_MALI_G78`.
fn device_macro(device: &str) -> String {
    format!("GPU_{}", macro_name(device))
}

fn macro_name(text: &str) -> String {
    let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    let text: String = letters.collect();
    text.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}
