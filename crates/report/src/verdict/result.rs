//! A verdict as the result of the command.

use tripipe_capture::verdict::{JudgedMemory, Kind, Number};
use tripipe_ir::diagnostic::Rule;
use tripipe_results::{JudgedArgument, JudgedNumber, Verdict};

use super::{JudgedLaunch, ran};
use crate::findings;

/// The verdict on a launch.
pub fn result(launch: &JudgedLaunch<'_>, checks: &[&'static Rule]) -> Verdict {
    let judged = launch.judged;
    let report = findings::Report {
        launches: &[ran(judged)],
        rules: checks,
        left_out: &judged.left_out,
        findings: &judged.findings,
        sources: launch.sources,
    };
    Verdict {
        version: Verdict::VERSION,
        file: launch.file.to_owned(),
        device: launch.device.map(str::to_owned),
        kernel: judged.kernel.clone(),
        global: judged.global,
        local: judged.local,
        verdict: judged.verdict.name().to_owned(),
        memory: judged.memory.iter().map(memory).collect(),
        reproducer: launch.reproducer.clone(),
        findings: judged.findings.iter().map(|finding| findings::finding(&report, finding)).collect(),
        left_out: judged.left_out.clone(),
    }
}

fn memory(memory: &JudgedMemory) -> JudgedArgument {
    JudgedArgument {
        argument: memory.argument,
        name: memory.name.clone(),
        numbers: memory.numbers,
        differing: memory.differing,
        allowed: memory.allowed,
        open: memory.open,
        wrong: memory.wrong,
        first: memory.first.iter().map(number).collect(),
    }
}

fn number(number: &Number) -> JudgedNumber {
    let kind = match number.kind {
        Kind::Wrong => "wrong",
        Kind::Open => "open",
        Kind::Allowed => "allowed",
    };
    JudgedNumber {
        index: number.index.clone(),
        offset: number.offset,
        kind: kind.to_owned(),
        device: number.device.clone(),
        defined: number.defined.clone(),
        float64: number.exact.map(|exact| exact.to_string()),
        bounds: number.bounds.map(|bounds| bounds.map(|bound| bound.to_string())),
        work_item: number.work_item,
        cause: number.cause.clone(),
    }
}
