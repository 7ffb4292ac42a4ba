//! Published measurements of the rates of single operations.

use std::fmt::Write as _;

use serde::Deserialize;
use tripipe_analyze::{Analysis, Column, Setup, analyze};
use tripipe_device::find;
use tripipe_ir::front::clang::build_text;
use tripipe_machine::Pipe;

use crate::held::{compiled, error, keep, percent};

#[derive(Deserialize)]
struct Rates {
    rate: Vec<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    gpu: String,
    r#type: String,
    code: String,
    per_clock: Option<f64>,
    relative: Option<f64>,
    #[serde(default)]
    fitted: bool,
    /// Repeating the operation does not change the result, and compilers know that.
    #[serde(default)]
    idempotent: bool,
}

/// The number of live values, and how often each is recomputed.
const VALUES: usize = 8;
const ROUNDS: usize = 4;

impl Rate {
    fn rounds(&self) -> usize {
        if self.idempotent { 1 } else { ROUNDS }
    }

    fn lanes(&self) -> f64 {
        self.r#type.trim_start_matches(char::is_alphabetic).parse().unwrap_or(1.0)
    }
}

/// A kernel that recomputes `VALUES` values from one another that often.
fn kernel(name: &str, ty: &str, code: &str, rounds: usize) -> String {
    let mut text = format!(
        "kernel void {name}(global {ty} *memory)\n{{\n    global {ty} *own = memory + {VALUES} * get_global_id(0);\n"
    );
    for at in 0..VALUES {
        let _ = writeln!(text, "    {ty} x{at} = own[{at}];");
    }
    for at in 0..VALUES * rounds {
        let [to, b, c] = [0, 1, 2].map(|next| (at + next) % VALUES);
        let _ = writeln!(text, "    {{ const {ty} a = x{to}, b = x{b}, c = x{c}; x{to} = {code}; }}");
    }
    for at in 0..VALUES {
        let _ = writeln!(text, "    own[{at}] = x{at};");
    }
    text + "}\n"
}

/// The additional arithmetic cycles of one kernel over another.
fn more(one: &Analysis, other: &Analysis) -> f64 {
    let pipe = |at: usize| {
        let clocks = |analysis: &Analysis| analysis.longest.pipes[at].as_constant().unwrap();
        clocks(one) - clocks(other)
    };
    let clocks: [f64; Pipe::ALL.len()] = std::array::from_fn(pipe);
    let columns = one.columns.iter().filter(|column| !matches!(column, Column::LoadStore | Column::Texture));
    columns.map(|column| column.cycles(one.gpu, &clocks)).fold(0.0, f64::max)
}

#[test]
fn costs_of_operations_match_measured_ones() {
    let rates: Rates = toml::from_str(include_str!("../../held/rates.toml")).unwrap();
    let mut text = String::from("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    text += &kernel("sum", "float", "a + b", ROUNDS + 1);
    text += &kernel("sum_less", "float", "a + b", 1);
    for (at, rate) in rates.rate.iter().enumerate() {
        let (ty, code) = (&rate.r#type, &rate.code);
        // An idempotent operation is compared with a kernel that only moves values.
        let (rounds, less) = if rate.idempotent { (1, "b") } else { (rate.rounds() + 1, code.as_str()) };
        text += &kernel(&format!("k{at}"), ty, code, rounds);
        text += &kernel(&format!("k{at}_less"), ty, less, 1);
    }
    let Some(module) = compiled(|build| build_text("rates.cl", &text, None, build)) else { return };
    let mut table = String::from(
        "| GPU | operation | measured | model | error of the time |  |\n|---|---|--:|--:|--:|---|\n",
    );
    let mut errors = Vec::new();
    for (at, rate) in rates.rate.iter().enumerate() {
        let gpu = find(&rate.gpu).unwrap();
        let priced = |name: &str| analyze(module.kernel(name).unwrap(), gpu, &Setup::default());
        let cost = more(&priced(&format!("k{at}")), &priced(&format!("k{at}_less")))
            / (VALUES * rate.rounds()) as f64;
        let addition = more(&priced("sum"), &priced("sum_less")) / (VALUES * ROUNDS) as f64;
        let (measured, found, unit) = match (rate.per_clock, rate.relative) {
            (Some(per_clock), None) => (per_clock, rate.lanes() / cost, "a clock"),
            (None, Some(relative)) => (relative, cost / addition, "additions"),
            _ => unreachable!("a rate is measured one way"),
        };
        // The error of the time: a rate per clock is its inverse.
        let off = if rate.per_clock.is_some() { error(measured, found) } else { error(found, measured) };
        if !rate.fitted {
            errors.push(off.abs());
        }
        let _ = writeln!(
            table,
            "| {} | `{}` on {} | {measured} {unit} | {found:.2} | {} | {} |",
            rate.gpu,
            rate.code,
            rate.r#type,
            percent(off),
            if rate.fitted { "fitted to this" } else { "" }
        );
    }
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|error| **error <= 0.25).count();
    let _ = writeln!(
        table,
        "\nOf the {} that nothing was fitted to, {within} are within 25 %; half are within {:.0} %.",
        errors.len(),
        100.0 * errors[errors.len() / 2]
    );
    keep("rates", &table);
}
