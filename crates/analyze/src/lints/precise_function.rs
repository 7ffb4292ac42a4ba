//! `precise-function`: a precise function where a native one may suffice.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::op::{Binary, Builtin, Ulp};
use tripipe_ir::{Flags, Inst, Kernel, Op, Scalar, Value};
use tripipe_machine::{Code, native};

use super::context::{Advice, Context, Effect};
use super::rewrite::{constant_like, replace};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "precise-function",
    severity: Severity::Note,
    title: "a precise function where a native one may suffice",
    what: "
A call of `sin`, `exp`, `pow` or a similar function, or a division, whose `native_` form takes fewer operations.",
    why: "
The precise functions reduce their argument and correct their result: tens of instructions where the hardware has one
that is about as precise as a picture needs.",
    example: "out[i] = sin(x) / y;",
    instead: "out[i] = native_divide(native_sin(x), y);",
    exceptions: "
Where the error matters. The specification guarantees 4 ULP for `sin`, 2.5 for a division and 16 for `pow`. For a
`native_` function it guarantees neither the error nor the range: `native_sin` of a large argument may return
anything. `half_` functions guarantee 8192 ULP. `-cl-fast-relaxed-math` does the same for a whole program; programs
built with it are not reported. Functions of `half` have no `native_` form.",
    source: "- OpenCL C 3.0, 7.4: errors in ULP. Costs: docs/model.md.",
    ..Rule::LINT
};

/// The replacement of a call.
#[derive(Clone, Copy, PartialEq)]
enum Native {
    /// The given function, with the same operands.
    Function(Builtin),
    /// The reciprocal of the second operand.
    Reciprocal,
    /// A multiplication by the reciprocal of the second operand, a constant.
    Product,
    /// The product of the first operand with itself: the power 2.
    Square,
}

/// A call: its name, its error, and its replacement.
#[derive(Clone, Copy, PartialEq)]
struct Call {
    name: &'static str,
    ulp: Option<f32>,
    native: Native,
}

impl Call {
    /// The call of an instruction on 32-bit floats, the only type that native functions take.
    fn of(kernel: &Kernel, inst: Inst) -> Option<Self> {
        let data = &kernel.insts[inst];
        let result = data.result?;
        let relaxed = data.flags.contains(Flags::FAST) || data.flags.contains(Flags::RECIPROCAL);
        if relaxed || kernel.ty(result).scalar() != Some(Scalar::F32) {
            return None;
        }
        match data.op {
            Op::Binary(Binary::FDiv) => {
                let native = match (kernel.constant(data.operands[0]), kernel.constant(data.operands[1])) {
                    (_, Some(_)) => Native::Product,
                    (Some(lanes), _) if lanes.iter().all(|bits| *bits == ONE) => Native::Reciprocal,
                    _ => Native::Function(Builtin::NativeDivide),
                };
                Some(Self { name: "/", ulp: Some(2.5), native })
            }
            Op::Builtin(builtin) => {
                let fast = || {
                    Builtin::named(&format!("fast_{}", builtin.name()))
                        .filter(|other| other.signature() == builtin.signature())
                };
                let exponent = data.operands.get(1).and_then(|exponent| kernel.constant(*exponent));
                let is_two =
                    exponent.is_some_and(|lanes| lanes.iter().all(|bits| *bits == TWO || *bits == 2));
                let is_square = is_two && ["pow", "powr", "pown"].contains(&builtin.name());
                let native = native(builtin).or_else(fast).map(Native::Function);
                let native = if is_square { Some(Native::Square) } else { native };
                let ulp = match builtin.ulp(Scalar::F32) {
                    Ulp::Within(ulp) => Some(ulp),
                    Ulp::Length(once, each) => {
                        Some(each.mul_add(f32::from(kernel.ty(data.operands[0]).lanes()), once))
                    }
                    Ulp::Exact | Ulp::Free => None,
                };
                Some(Self { name: builtin.name(), ulp, native: native? })
            }
            _ => None,
        }
    }

    fn replace(self, kernel: &mut Kernel, inst: Inst) {
        let operands: Vec<Value> = kernel.insts[inst].operands.to_vec();
        match self.native {
            Native::Function(builtin) => replace(kernel, inst, Op::Builtin(builtin), &operands),
            Native::Reciprocal => {
                replace(kernel, inst, Op::Builtin(Builtin::NativeRecip), &operands[1..]);
            }
            Native::Square => {
                replace(kernel, inst, Op::Binary(Binary::FMul), &[operands[0], operands[0]]);
            }
            Native::Product => {
                let factor = constant_like(kernel, operands[1], ONE);
                replace(kernel, inst, Op::Binary(Binary::FMul), &[operands[0], factor]);
            }
        }
    }

    fn is_division(self) -> bool {
        self.name == "/"
    }

    fn fix(self) -> String {
        match self.native {
            Native::Function(Builtin::NativePowr) => {
                "Write native_powr where no base is negative and its error does not matter.".into()
            }
            Native::Function(builtin) => format!("Write {} where its error does not matter.", builtin.name()),
            Native::Square => "Write the product, x * x, which is more exact.".into(),
            Native::Reciprocal => "Write native_recip where its error does not matter.".into(),
            Native::Product => {
                "Multiply by the reciprocal of the constant, if one more rounding does not matter.".into()
            }
        }
    }

    fn native_name(self) -> &'static str {
        match self.native {
            Native::Function(builtin) => builtin.name(),
            Native::Reciprocal => "native_recip",
            Native::Product | Native::Square => "a multiplication",
        }
    }
}

/// 1.0 and 2.0 in bits.
const ONE: u64 = 0x3F80_0000;
const TWO: u64 = 0x4000_0000;

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    // What is the same for the whole launch costs nothing.
    let mut priced: EntitySet<Inst> = EntitySet::new();
    priced.extend(context.shares.iter().map(|share| share.inst));
    let insts = context.instructions().filter(|(_, inst)| priced.contains(*inst));
    let calls = insts.filter_map(|(_, inst)| Some((inst, Call::of(context.kernel, inst)?)));
    for line in context.by_line(calls, |call| *call) {
        let (first, call) = line[0];
        let mut kernel = context.kernel.clone();
        for (inst, call) in &line {
            call.replace(&mut kernel, *inst);
        }
        let (code, pipes) = (context.reprice)(&kernel);
        let before = context.shares.iter().filter(|share| share.inst == first).count();
        let after = operations(context, &code, first);
        let gain = context.priced(&pipes, Effect::Kernel(Box::new(kernel)));
        if after >= before || call.is_division() && !gain.is_worth_it() {
            continue;
        }
        let precision = call.ulp.map_or(String::new(), |ulp| format!(" to {ulp} ULP"));
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[first].location,
            message: format!(
                "`{}`{precision} takes {before} operations, {} {after}",
                call.name,
                call.native_name()
            ),
            fix: call.fix(),
            gain: Some(gain),
        });
    }
}

/// The number of operations that an instruction takes.
fn operations(context: &Context<'_>, code: &Code, inst: Inst) -> usize {
    let issues = context.cfg.order.iter().flat_map(|block| &code.blocks[*block]);
    issues.flat_map(|issue| &issue.operations).filter(|(_, operation)| operation.inst == Some(inst)).count()
}
