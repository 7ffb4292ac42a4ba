//! Small kernels with costs counted by hand from the units of each family.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_ir::Module;
use tripipe_ir::text::parse;
use tripipe_machine::{Code, Model, Pipe, compile, compile_as};

/// `out[id] = f(in[id])` on `float4`: `%4` is the loaded value, and `body` computes `%5`, `%6` ... from it, one per
/// line.
fn on_float4(gpu: &str, result: &str, body: &str) -> Code {
    compile(&on_float4_text(result, body).kernels[0], find(gpu).unwrap())
}

fn on_float4_text(result: &str, body: &str) -> Module {
    let last = 5 + body.lines().count();
    let text = format!(
        "tripipe-ir 1\nkernel \"k\" {{\n  parameter \"in\" \"float4*\" pointer global align 16 to f32x4\n  \
         parameter \"out\" \"float4*\" pointer global align 16 to f32x4\nb0(%0: ptr.global, %1: ptr.global):\n  \
         %2: i64 = query.global_id.0\n  %3: ptr.global = address.16.0.inbounds %0, %2\n  %4: f32x4 = load.16 %3\n\
         {body}  %{last}: ptr.global = address.16.0.inbounds %1, %2\n  store.4 %{last}, {result}\n  return\n}}\n"
    );
    parse(&text).unwrap()
}

fn clocks(code: &Code, pipe: Pipe) -> f64 {
    code.cycles(tripipe_ir::Kernel::ENTRY)[pipe.index()]
}

/// Sums of clocks that are no whole numbers are rounded.
fn assert_near(found: f64, want: f64) {
    assert!((found - want).abs() < 1e-6 * want, "{found}, want {want}");
}

#[test]
fn a_vector_is_as_many_operations_as_the_family_needs() {
    let body = "  %5: f32x4 = fmul %4, %4\n  %6: f32x4 = fadd %5, %4\n";
    // Midgard: VMUL and VADD of one bundle. Valhall: four multiplications and four additions. Adreno the same.
    assert_eq!(clocks(&on_float4("t860", "%6", body), Pipe::Arithmetic), 1.0);
    assert_eq!(clocks(&on_float4("g77", "%6", body), Pipe::Fma), 8.0);
    // And two 64-bit addresses of three additions each, at 1.12 clocks an instruction.
    assert_near(clocks(&on_float4("640", "%6", body), Pipe::Arithmetic), 1.12 * (8.0 + 6.0));
    // Bifrost: multiplications go to FMA, additions to either slot; two addresses have one of each.
    let tuples = clocks(&on_float4("g52", "%6", body), Pipe::Arithmetic);
    assert!((6.0..=8.0).contains(&tuples), "{tuples}");
}

#[test]
fn unused_lanes_cost_nothing() {
    // One lane of four: the multiplications and additions of the other lanes are dropped if vectors are split into
    // lanes.
    let body = "  %5: f32x4 = fmul %4, %4\n  %6: f32x4 = fadd %5, %4\n  %7: f32 = extract.0 %6\n";
    assert_eq!(clocks(&on_float4("g77", "%7", body), Pipe::Fma), 2.0);
    assert_near(clocks(&on_float4("640", "%7", body), Pipe::Arithmetic), 1.12 * (2.0 + 6.0));
    assert_eq!(clocks(&on_float4("t860", "%7", body), Pipe::Arithmetic), 1.0);
}

/// Two halves are one whole: what computes them is needed, even where bringing them together is free.
#[test]
fn lanes_of_a_wider_number_are_computed() {
    let wide = "  %5: i64x2 = bitcast %4\n  %6: i64x2 = add %5, %5\n  %7: i64x2 = xor %5, %6\n  %8: f32x4 = bitcast %7\n";
    let plain = "  %5: f32x4 = fadd %4, %4\n";
    for gpu in ["640", "530", "g77", "g52", "t860"] {
        let of = |result, body| clocks(&on_float4(gpu, result, body), Pipe::LoadStore);
        assert_eq!(of("%8", wide), of("%5", plain), "{gpu}");
    }
}

#[test]
fn a_shuffle_costs_where_lanes_must_come_together() {
    // Reversed: a free swizzle of one register, or a renaming of four.
    let reversed = "  %5: f32x4 = shuffle.3.2.1.0 %4, %4\n  %6: f32x4 = fadd %5, %4\n";
    for (gpu, pipe, want) in [("t860", Pipe::Arithmetic, 1.0), ("g77", Pipe::Fma, 4.0)] {
        assert_eq!(clocks(&on_float4(gpu, "%6", reversed), pipe), want, "{gpu}");
    }
    // From two registers: on Midgard each contributes its lanes, which takes one word for both or two words.
    let mixed =
        "  %5: f32x4 = fmul %4, %4\n  %6: f32x4 = shuffle.0.1.4.5 %5, %4\n  %7: f32x4 = fmul %6, %6\n";
    let words = clocks(&on_float4("t860", "%7", mixed), Pipe::Arithmetic);
    assert!((2.0..=4.0).contains(&words), "{words}");
}

#[test]
fn registers_are_counted_in_the_gpus_own_width() {
    let body = "  %5: f32x4 = fmul %4, %4\n  %6: f32x4 = fadd %5, %4\n";
    // `%4` is live beside `%5`: two vectors of 128 bits. Lane by lane: four of `%4`, one product at a time, the id or
    // an address.
    assert!((2..=3).contains(&on_float4("t860", "%6", body).work.used));
    assert!((5..=8).contains(&on_float4("g77", "%6", body).work.used));
    assert_eq!(on_float4("g77", "%6", body).work.spill_bytes, 0);
}

#[test]
fn values_that_do_not_fit_are_stored_and_loaded_once() {
    // Seventy floats that are no neighbours, loaded and then stored last first. No load may pass a store, so all are live
    // at once.
    const FLOATS: usize = 70;
    let mut body = String::new();
    let pointer = |base: usize, at: usize| {
        (format!("%{}", 3 + 2 * FLOATS * base + at), format!("address.4.{}.inbounds %{base}, %2", 8 * at))
    };
    for at in 0..FLOATS {
        let (name, address) = pointer(0, at);
        let _ = writeln!(body, "  {name}: ptr.global = {address}");
    }
    for at in 0..FLOATS {
        let _ = writeln!(body, "  %{}: f32 = load.4 {}", 3 + FLOATS + at, pointer(0, at).0);
    }
    for at in 0..FLOATS {
        let (name, address) = pointer(1, at);
        let _ = writeln!(body, "  {name}: ptr.global = {address}");
    }
    for at in (0..FLOATS).rev() {
        let _ = writeln!(body, "  store.4 {}, %{}", pointer(1, at).0, 3 + FLOATS + at);
    }
    let text = format!(
        "tripipe-ir 1\nkernel \"k\" {{\n  parameter \"in\" \"float*\" pointer global align 4 to f32\n  \
         parameter \"out\" \"float*\" pointer global align 4 to f32\nb0(%0: ptr.global, %1: ptr.global):\n  \
         %2: i64 = query.global_id.0\n{body}  return\n}}\n"
    );
    let kernel = &parse(&text).unwrap().kernels[0];
    let code = compile(kernel, find("g77").unwrap());
    let (work, spilled) = (&code.work, code.work.spill_bytes / 4);
    // 64 registers; besides the floats, at most the id and an address of 64 bits each are live.
    assert!((FLOATS as u32..=FLOATS as u32 + 4).contains(&work.needed), "{work:?}");
    assert!((work.needed - 64..=work.needed - 64 + 4).contains(&spilled), "{work:?}");
    assert_eq!(clocks(&code, Pipe::LoadStore), f64::from(2 * FLOATS as u32 + 2 * spilled), "{work:?}");
}

#[test]
fn loop_carried_sums_spill_one_load_and_one_store_per_iteration() {
    // Seventy sums; every iteration adds the same value to each. b1 is the loop, with its exit at the end.
    const SUMS: usize = 70;
    let list =
        |from: usize| (from..from + SUMS).map(|value| format!("%{value}")).collect::<Vec<_>>().join(", ");
    let (first, counter) = (2, 2 + SUMS);
    let loaded = counter + 1;
    let next = loaded + 1;
    let (zero, one, many) = (next + SUMS + 2, next + SUMS + 3, next + SUMS + 4);
    let mut text = format!(
        "tripipe-ir 1\nkernel \"k\" {{\n  parameter \"in\" \"float*\" pointer global align 4 to f32\n  \
         parameter \"n\" \"int\" value i32\n  const %{zero}: f32 = 0\n  const %{one}: i32 = 1\n  const %{many}: i32 = 0\n\
         b0(%0: ptr.global, %1: i32):\n  jump b1({}, %{many})\n",
        vec![format!("%{zero}"); SUMS].join(", ")
    );
    let parameters: Vec<String> = (0..SUMS).map(|at| format!("%{}: f32", first + at)).collect();
    let _ = writeln!(text, "b1({}, %{counter}: i32):\n  %{loaded}: f32 = load.4 %0", parameters.join(", "));
    for at in 0..SUMS {
        let _ = writeln!(text, "  %{}: f32 = fadd %{}, %{loaded}", next + at, first + at);
    }
    let (counted, goes_on) = (next + SUMS, next + SUMS + 1);
    let _ = writeln!(
        text,
        "  %{counted}: i32 = add %{counter}, %{one}\n  %{goes_on}: bool = slt %{counted}, %1\n  \
         branch %{goes_on}, b1({}, %{counted}), b2\nb2:",
        list(next)
    );
    for at in 0..SUMS {
        let _ = writeln!(text, "  store.4 %0, %{}", next + at);
    }
    text += "  return\n}\n";
    let code = compile(&parse(&text).unwrap().kernels[0], find("g77").unwrap());
    let (needed, in_loop) = (code.work.needed, code.cycles(tripipe_ir::Block::from_u32(1)));
    // The sums, the added value, the counter.
    assert!((SUMS as u32..=SUMS as u32 + 4).contains(&needed), "{:?}", code.work);
    // One load, plus a load and a store for each register over the limit; a few more where spilled registers meet.
    let least = 1 + 2 * (needed - 64);
    let found = in_loop[Pipe::LoadStore.index()];
    assert!((f64::from(least)..=f64::from(least + 12)).contains(&found), "{found}, at least {least}");
}

#[test]
fn halves_of_a_vector_are_done_together_where_the_compiler_does() {
    // Two sums of two lanes each, which only VADD can compute: two words, or one for both.
    let body = "  %5: f32x2 = shuffle.0.1 %4, %4\n  %6: f32x2 = shuffle.2.3 %4, %4\n  %7: f32x2 = fadd %5, %5\n  \
                %8: f32x2 = fadd %6, %6\n  %9: f32x4 = shuffle.0.1.2.3 %7, %8\n";
    let data = include_str!("../data/midgard.toml");
    let joins = "joins_halves = true";
    assert!(data.contains(joins));
    let words = |text: &str| {
        let model = Model::from_toml(text, "Mali-T860").unwrap();
        let code = compile_as(&on_float4_text("%9", body).kernels[0], find("t860").unwrap(), &model);
        let issues = code.blocks[tripipe_ir::Kernel::ENTRY].iter();
        let sums = issues.filter(|issue| {
            issue.operations.iter().any(|(_, other)| other.work == tripipe_machine::Work::Add)
        });
        sums.count()
    };
    assert_eq!((words(data), words(&data.replace(joins, "joins_halves = false"))), (1, 2));
}

/// Messages of eight neighbouring floats that are copied, aligned to a float each: two of four where Mesa's compiler for the
/// family joins them. The published bytes of the T604's ladder are loaded one by one.
#[test]
fn neighbours_are_one_access() {
    let address = |name: usize, base: usize, at: usize| {
        format!("  %{name}: ptr.global = address.32.{}.inbounds %{base}, %2\n", 4 * at)
    };
    let text = |between: &str| {
        let mut body = String::new();
        for at in 0..8 {
            body += &address(3 + at, 0, at);
            body += &address(11 + at, 1, at);
        }
        for at in 0..8 {
            let _ = writeln!(body, "  %{}: f32 = load.4 %{}", 19 + at, 3 + at);
        }
        for at in 0..8 {
            let _ =
                writeln!(body, "  store.4 %{}, %{}{}", 11 + at, 19 + at, if at == 3 { between } else { "" });
        }
        format!(
            "tripipe-ir 1\nkernel \"k\" {{\n  parameter \"in\" \"float*\" pointer global align 4 to f32\n  \
             parameter \"out\" \"float*\" pointer global align 4 to f32\nb0(%0: ptr.global, %1: ptr.global):\n  \
             %2: i64 = query.global_id.0\n{body}  return\n}}\n"
        )
    };
    let messages = |gpu: &str, text: &str| {
        let code = compile(&parse(text).unwrap().kernels[0], find(gpu).unwrap());
        code.blocks[tripipe_ir::Kernel::ENTRY].iter().filter(|issue| issue.pipe == Pipe::LoadStore).count()
    };
    for gpu in ["t860", "g52", "g77", "640"] {
        assert_eq!(messages(gpu, &text("")), 4, "{gpu}");
        // A load between them may read what was stored.
        assert_eq!(messages(gpu, &text("\n  %27: f32 = load.4 %11\n  store.4 %18, %27")), 6, "{gpu}");
    }
    assert_eq!(messages("t604", &text("")), 12, "pairs of stores share a word there");
}
