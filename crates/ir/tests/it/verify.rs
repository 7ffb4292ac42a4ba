//! Each invariant of a kernel, violated once.

use cranelift_entity::EntityRef as _;
use tripipe_ir::{Module, ValueDef, text, verify};

const GOOD: &str = r#"tripipe-ir 1
file0 "k.cl"
object @0 "table" constant align 4 [2 * 4 of i32] bytes x0100000002000000
kernel "k" {
  parameter "a" "int*" pointer global align 4 to i32
  parameter "n" "int" value i32
  place !0 file0 1 2
  place !1 file0 3 4 !0
  object $0 "t" private align 4 [4 * 4 of i32] unwritten
  format "%d"
  const %20: i32 = 7
  const %21: f32 = 1.5
  const %22: i32x2 = 1 -2
  const %23: bool = true
b0(%0 "a": ptr.global, %1 "n": i32):
  %2: i64 = query.global_id.1 !0
  %3: ptr.private = object.0 !1
  %4: ptr.private = address.4.0.count.4 %3, %1
  %5: i32 = load.4 %4
  %6: i32 = add [nsw] %5, %20
  %7: bool = slt %6, %1
  branch %7, b1(%6), b2
b1(%8: i32):
  store.4 %0, %8
  %9: i32x2 = shuffle.1.0 %22, %22
  %10: i32 = extract.1 %9
  %11: f32 = convert.s.f.rte %10
  %12: f32 = call.fmax %11, %21
  %13: i32 = atomic.add.device.relaxed %0, %10
  printf.0 %13
  switch %8, 1 b1(%8), 2 b2, else b2
b2:
  barrier.workgroup.workgroup.seqcst.local
  %14: ptr.constant = program.0
  %15: i64 = ptrtoint %14
  %16: i32 = select %23, %20, %1
  %17: i64 = convert.s.s.rte %16
  %18: i32x2 = construct %16, %20
  %19: bool = group.workgroup.any %23
  return
}
"#;

fn verified(text: &str) -> Result<(), String> {
    let module = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify::verify(&module).map_err(|error| error.to_string())
}

#[test]
fn the_valid_module_is_accepted() {
    verified(GOOD).unwrap();
    let module = text::parse(GOOD).unwrap();
    // Constants are printed before the blocks, wherever they were created.
    assert_eq!(text::parse(&module.to_string()).unwrap(), module);
}

#[test]
fn every_broken_line_is_found() {
    let broken = [
        // 1: the entry and the parameters.
        (
            "parameter \"n\" \"int\" value i32",
            "parameter \"n\" \"int\" value i64",
            "not of the argument's type i64",
        ),
        ("  parameter \"n\" \"int\" value i32\n", "", "another number of parameters"),
        ("branch %7, b1(%6), b2", "branch %7, b1(%6), b0(%0, %1)", "goes to the entry"),
        // 2: references refer to existing things.
        ("branch %7, b1(%6), b2", "branch %7, b1(%6), b9", "b9 does not exist"),
        ("object.0 !1", "object.3 !1", "$3 does not exist"),
        ("program.0", "program.4", "@4 does not exist"),
        ("printf.0 %13", "printf.1 %13", "format 1 does not exist"),
        ("query.global_id.1 !0", "query.global_id.1 !7", "!7 does not exist"),
        ("store.4 %0, %8", "store.4 %0, %88", "%88 does not exist"),
        // 5: arguments of edges.
        ("branch %7, b1(%6), b2", "branch %7, b1, b2", "brings 0 values to b1, which takes 1"),
        ("branch %7, b1(%6), b2", "branch %7, b1(%2), b2", "%2 is not of the type of %8"),
        // 6: conditions.
        ("branch %7, b1(%6), b2", "branch %6, b1(%6), b2", "branches on %6, which is not a bool"),
        ("2 b2, else b2", "1 b2, else b2", "has equal cases"),
        ("switch %8,", "switch %0,", "which is not an integer"),
        ("2 b2, else b2", "4294967296 b2, else b2", "cases that do not fit"),
        // 7: dominance.
        (
            "%6: i32 = add [nsw] %5, %20",
            "%6: i32 = add [nsw] %6, %20",
            "%6 is not defined on every path to here",
        ),
        ("select %23, %20, %1", "select %23, %20, %8", "%8 is not defined on every path to here"),
        ("branch %7, b1(%6), b2", "branch %7, b1(%13), b2", "%13 is not defined on every path to its end"),
        // 8: constants.
        ("const %22: i32x2 = 1 -2", "const %22: i32x2 = 1", "a constant that does not fit i32x2"),
        ("const %23: bool = true", "const %23: bool = x2", "a constant that does not fit bool"),
        // 9 and 10: operations.
        ("add [nsw] %5, %20", "add [nsw] %5, %2", "has the wrong operands for i32: i32, i64"),
        ("add [nsw] %5, %20", "fadd %5, %20", "has the wrong operands"),
        ("add [nsw] %5, %20", "add %5", "has the wrong operands"),
        ("slt %6, %1", "flt %6, %1", "cannot compare i32 with result bool"),
        ("load.4 %4", "load.3 %4", "the alignment is not a power of two"),
        ("load.4 %4", "load.4 %1", "has the wrong operands"),
        ("store.4 %0, %8", "store.6 %0, %8", "the alignment is not a power of two"),
        ("store.4 %0, %8", "store.4 %8, %8", "has the wrong operands"),
        ("address.4.0.count.4 %3, %1", "address.4.0.count.4 %3", "a stride without an index"),
        ("address.4.0.count.4 %3, %1", "address.0.0 %3, %1", "an index without a stride"),
        ("query.global_id.1 !0", "query.global_id.3 !0", "must return i64"),
        ("shuffle.1.0 %22", "shuffle.1.4 %22", "has invalid lanes"),
        ("extract.1 %9", "extract.2 %9", "must extract a lane of a vector"),
        ("convert.s.f.rte %10", "convert.f.f.rte %10", "cannot convert i32 to f32"),
        ("call.fmax %11, %21", "call.fmax %11", "has the wrong operands for f32: f32"),
        ("call.fmax %11, %21", "call.u_max %11, %21", "has the wrong operands"),
        ("atomic.add.device.relaxed %0, %10", "atomic.fadd.device.relaxed %0, %10", "cannot return i32"),
        (
            "atomic.add.device.relaxed %0, %10",
            "atomic.cmpxchg.device.relaxed %0, %10",
            "has the wrong operands",
        ),
        ("  %13: i32 = atomic.add", "  %13: i32 = atomic.store", "has the wrong operands"),
        ("ptrtoint %14", "ptrtoint %20", "has the wrong operands"),
        ("select %23, %20, %1", "select %20, %20, %1", "has the wrong operand types for a selection"),
        ("construct %16, %20", "construct %16", "must have one scalar operand per lane"),
        ("group.workgroup.any %23", "group.workgroup.any %20", "has the wrong operands"),
        (
            "barrier.workgroup.workgroup.seqcst.local",
            "barrier.workgroup.workgroup.seqcst.local %1",
            "has the wrong operands",
        ),
        // 11: objects.
        ("object $0 \"t\" private align 4", "object $0 \"t\" private align 3", "$0 is aligned to 3"),
        ("object $0 \"t\" private align 4", "object $0 \"t\" global align 4", "$0 is in global memory"),
        ("object @0 \"table\" constant", "object @0 \"table\" local", "@0 is in local memory"),
        ("bytes x0100000002000000", "bytes x01000000", "has 8 bytes and holds 4"),
        ("bytes x0100000002000000", "bytes x0100000002000000 0 @5 0", "an object that does not exist"),
        // 12: locations.
        (
            "place !0 file0 1 2",
            "place !0 file0 1 2 !1",
            "is inlined at a location that is not defined before it",
        ),
    ];
    for (good, bad, message) in broken {
        assert!(GOOD.contains(good), "{good}");
        let error = verified(&GOOD.replacen(good, bad, 1)).expect_err(bad);
        assert!(error.contains(message), "{bad}: {error}");
    }
}

/// 3 and 4 cannot be expressed as text: in the text form, each instruction is in its block.
#[test]
fn tables_have_to_agree() {
    let module = || text::parse(GOOD).unwrap();
    let error = |module: &Module| verify::verify(module).unwrap_err().to_string();
    let entry = tripipe_ir::Kernel::ENTRY;
    let mut doubled = module();
    let first = doubled.kernels[0].blocks[entry].insts[0];
    doubled.kernels[0].blocks[entry].insts.push(first);
    assert!(error(&doubled).contains("i0 is here and elsewhere"), "{}", error(&doubled));
    let mut other = module();
    other.kernels[0].values[tripipe_ir::Value::new(2)].def = ValueDef::Result(tripipe_ir::Inst::new(3));
    assert!(error(&other).contains("%2 is not the result of i0"), "{}", error(&other));
    let mut moved = module();
    moved.kernels[0].values[tripipe_ir::Value::new(8)].def = ValueDef::Parameter(entry, 0);
    assert!(error(&moved).contains("%8 is not its parameter 0"), "{}", error(&moved));
    let mut empty = module();
    empty.kernels[0].blocks.clear();
    assert!(error(&empty).contains("no entry block"), "{}", error(&empty));
}
