//! The rules of verdicts, beside those of checks.

use tripipe_ir::diagnostic::{Rule, Severity};

/// The device computed what the language does not allow.
pub static MISCOMPILED: Rule = Rule {
    code: "miscompiled",
    severity: Severity::Error,
    title: "the device's result is not one that the language allows",
    what: "A number that the device computed, and that no conforming implementation of OpenCL C may compute from the same \
           inputs. The kernel itself has no undefined behaviour in this launch.",
    why: "The driver's compiler or the device is wrong; the kernel cannot be fixed, only worked around.",
    advice: "Report the reproducer to the vendor. Rewrite the named line, or build with -cl-opt-disable.",
    exceptions: "Memory that overlaps on the device, such as sub-buffers, is separate in a capture. Bounds of functions \
                 of rounded operands are of first order.",
    ..Rule::VERDICT
};

/// Results differ within what the language allows.
pub static ROUNDING: Rule = Rule {
    code: "allowed-rounding",
    title: "the results differ as rounding may",
    what: "Numbers that differ from the simulator's within the errors that OpenCL C allows: of functions, of quotients, \
           of a product and a sum that may be fused.",
    why: "Both results are right; a test that compares exactly will fail on some device.",
    advice: "Compare with a tolerance. `#pragma OPENCL FP_CONTRACT OFF` forbids fusing.",
    exceptions: "Bounds assume a device of the full profile that rounds to nearest.",
    ..Rule::VERDICT
};

/// The language leaves the results open.
pub static OPEN: Rule = Rule {
    code: "unbounded-result",
    severity: Severity::Warning,
    title: "the language does not bound the result",
    what: "Numbers that differ from the simulator's where the language gives no bound: after a branch on a rounded \
           number, of `native_` functions, of atomic operations whose order is open, of linear filters, or with \
           -cl-fast-relaxed-math.",
    why: "The device may be right. Such results differ between devices.",
    advice: "Compare with the result in float64, which is shown. Use precise functions, and decide branches with a margin.",
    exceptions: "It is shown as a note if all numbers are within one percent of float64.",
    ..Rule::VERDICT
};

/// As [`OPEN`], near the result in float64.
pub static OPEN_NEAR: Rule = Rule {
    code: "unbounded-result-near",
    severity: Severity::Note,
    title: "the language does not bound the result, which is near float64's",
    ..OPEN
};

/// All rules of verdicts.
pub static ALL: [&Rule; 4] = [&MISCOMPILED, &ROUNDING, &OPEN, &OPEN_NEAR];
