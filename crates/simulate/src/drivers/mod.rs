//! What drivers do wrong (`tripipe_device::drivers`): whether a kernel has what makes them, and the same mistakes made on
//! purpose.

mod function;
mod pattern;
mod rules;

use std::collections::BTreeSet;

use tripipe_device::drivers::{Driver, Fit, Injection, Pattern, Quirk, QuirkKind, quirks};
use tripipe_ir::diagnostic::{Finding, counted};
use tripipe_ir::transform::corrupt::{Corruption, corrupt};
use tripipe_ir::{Inst, Kernel, Module, Op, Space, Type};

pub use rules::{ALL as RULES, DRIVER_DEFECT, DRIVER_HABIT};

use crate::source::location_of;

/// A kernel of a program.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'p> {
    /// The program.
    pub module: &'p Module,
    /// The kernel.
    pub kernel: &'p Kernel,
    /// Its build options.
    pub options: &'p [String],
}

/// What a driver is known to do to a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suspicions {
    /// One finding for each quirk whose pattern the kernel has.
    pub findings: Vec<Finding>,
    /// What could not be checked, one sentence each.
    pub left_out: BTreeSet<String>,
}

impl Subject<'_> {
    /// The instructions that a quirk is about, if the kernel has its pattern; none if it is about the whole kernel. A quirk
    /// without a pattern is `None`.
    pub fn places(&self, quirk: &Quirk) -> Option<Vec<Inst>> {
        let parts: Option<Vec<Vec<Inst>>> =
            quirk.pattern.iter().map(|part: &Pattern| pattern::places(part, self)).collect();
        let parts = parts.filter(|parts| !parts.is_empty())?;
        Some(parts.into_iter().find(|insts| !insts.is_empty()).unwrap_or_default())
    }

    /// What a driver is known to do to the kernel.
    pub fn suspicions(&self, driver: &Driver) -> Suspicions {
        let mut found = Suspicions::default();
        for quirk in quirks() {
            let Some(places) = self.places(quirk) else { continue };
            match quirk.fits(driver) {
                Fit::No => {}
                Fit::OtherScheme => {
                    let (id, versions) = (&quirk.id, quirk.versions_text());
                    found.left_out.insert(format!(
                        "whether the driver has `{id}`, which is known for versions {versions}: {} is counted in another way",
                        driver.version
                    ));
                }
                fit @ (Fit::Yes | Fit::Perhaps) => {
                    let is_certain = quirk.kind == QuirkKind::Defect && fit == Fit::Yes;
                    let rule = if is_certain { &DRIVER_DEFECT } else { &DRIVER_HABIT };
                    found.findings.push(Finding { rule, ..self.finding(quirk, driver, &places) });
                }
            }
        }
        found.findings.sort_by_key(|finding| finding.rule.severity != DRIVER_DEFECT.severity);
        found
    }

    fn finding(&self, quirk: &Quirk, driver: &Driver, places: &[Inst]) -> Finding {
        let Quirk { id, trigger, effect, workaround, thread, .. } = quirk;
        let mut known = vec![format!("`{id}`"), quirk.versions_text()];
        if driver.gpu.is_empty() && !quirk.gpus.is_empty() {
            known.push(format!("on {}", quirk.gpus.join(", ")));
        }
        let mut first = workaround.chars();
        let fix =
            first.next().map_or_else(String::new, |letter| letter.to_uppercase().chain(first).collect());
        let first = places.first().copied();
        Finding {
            rule: &DRIVER_DEFECT,
            kernel: self.kernel.name.clone(),
            location: first.and_then(|inst| location_of(self.module, self.kernel, inst)),
            instruction: first.map(|inst| self.kernel.insts[inst].op.to_string()).unwrap_or_default(),
            message: format!("{} and {trigger}: {effect} ({})", driver.version, known.join(", ")),
            fix: format!("{fix}: {thread}"),
            count: places.len().max(1) as u64,
            work_item: None,
            memory: None,
            related: Vec::new(),
        }
    }
}

/// Makes the results of a program wrong as a driver with a quirk would: those that the kernels' patterns name, or all that
/// a kernel stores if the pattern is about the whole kernel. Returns the number of places.
pub fn inject(module: &mut Module, options: &[String], quirk: &Quirk) -> usize {
    let how = match quirk.injection {
        Some(Injection::FlippedBit) => Corruption::FlippedBit,
        Some(Injection::Zero) => Corruption::Zero,
        Some(Injection::RoundedTwice) => Corruption::RoundedTwice,
        Some(Injection::BuildFails | Injection::LaunchFails) | None => return 0,
    };
    let places = |kernel: &Kernel| {
        let found = Subject { module, kernel, options }.places(quirk)?;
        Some(if found.is_empty() { stores(kernel) } else { found })
    };
    let all: Vec<Vec<Inst>> =
        module.kernels.iter().map(|kernel| places(kernel).unwrap_or_default()).collect();
    for (kernel, insts) in module.kernels.iter_mut().zip(&all) {
        corrupt(kernel, insts, how);
    }
    all.iter().map(Vec::len).sum()
}

/// The stores of a kernel in global memory.
fn stores(kernel: &Kernel) -> Vec<Inst> {
    let insts = kernel.blocks.values().flat_map(|block| block.insts.iter().copied());
    let is_global = |inst: &Inst| {
        let data = &kernel.insts[*inst];
        matches!(data.op, Op::Store(_)) && kernel.ty(data.operands[0]) == Type::Pointer(Space::Global)
    };
    insts.filter(is_global).collect()
}

/// Why a quirk lets builds or launches of a kernel fail, if it does.
pub fn failure(quirk: &Quirk, subject: &Subject<'_>) -> Option<String> {
    let fails = matches!(quirk.injection, Some(Injection::BuildFails | Injection::LaunchFails));
    let places = subject.places(quirk);
    let is_meant = quirk.pattern.is_empty() || places.is_some();
    (fails && is_meant).then(|| {
        let place = match places.unwrap_or_default().len() {
            0 => String::new(),
            count => format!(" ({})", counted(count, "place")),
        };
        format!(
            "kernel `{}` has {}{place}: {} (`{}`)",
            subject.kernel.name, quirk.trigger, quirk.effect, quirk.id
        )
    })
}
