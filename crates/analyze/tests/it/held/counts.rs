//! Kernels whose words, instructions and messages were counted by hand.

use tripipe_analyze::{Analysis, Column, Setup, analyze};
use tripipe_device::find;
use tripipe_ir::Module;
use tripipe_ir::flow::{Cfg, Dominators, Loops};
use tripipe_ir::front::clang::build_file;
use tripipe_machine::{Code, Pipe, compile};

use crate::held::{compiled, file};

/// The kernel's code for a GPU, and the clocks of each pipe in its innermost loop, or in all blocks if it has none.
fn code(module: &Module, kernel: &str, gpu: &str) -> (Code, [f64; Pipe::ALL.len()]) {
    let kernel = module.kernel(kernel).unwrap();
    let cfg = Cfg::new(kernel);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let depth = cfg.order.iter().map(|block| loops.depth(*block)).max().unwrap();
    let code = compile(kernel, find(gpu).unwrap());
    let mut clocks = [0.0; Pipe::ALL.len()];
    for block in cfg.order.iter().filter(|block| loops.depth(**block) == depth) {
        code.cycles(*block).iter().zip(&mut clocks).for_each(|(cycles, sum)| *sum += cycles);
    }
    (code, clocks)
}

fn kernels() -> Option<Module> {
    compiled(|build| build_file(&file("counts.cl"), build))
}

#[test]
fn a_product_of_sixteen_sums_needs_no_spill_on_midgard() {
    let Some(module) = kernels() else { return };
    // Live at most: four sums, four rows of B, one row of A, the four indices of the rows of A in one register, and the
    // counter and an index: 10 or 11 registers of 16, with 64 threads in flight. The loads are all of the LS words.
    for gpu in ["t604", "t760", "t860"] {
        let (code, clocks) = code(&module, "product_4x4", gpu);
        assert_eq!(code.work.spill_bytes, 0, "{gpu}: {:?}", code.work);
        assert_eq!(clocks[Pipe::LoadStore.index()], 8.0, "{gpu}");
    }
}

#[test]
fn local_memory_is_addressed_by_offsets() {
    let Some(module) = kernels() else { return };
    // An iteration loads two floats of global memory and stores them to local memory: 4 messages. The 16 floats of a
    // row of the left tile are 4 vectors, the column of the right tile is 16 floats: 20 messages. Two barriers.
    for (gpu, messages) in [("g52", 26.0), ("g77", 26.0), ("t860", 24.0)] {
        let (code, clocks) = code(&module, "product_tiled", gpu);
        assert_eq!(clocks[Pipe::LoadStore.index()], messages, "{gpu}");
        assert_eq!(code.work.spill_bytes, 0, "{gpu}");
        // The sum, the counter, ids, three offsets of the tiles, and the four floats of a vector with those of a
        // column: fewer than 32 registers, so that all threads are in flight.
        assert!(code.work.used <= if gpu == "t860" { 8 } else { 32 }, "{gpu}: {:?}", code.work);
    }
    // Midgard: barriers are words of the texture pipe.
    assert_eq!(code(&module, "product_tiled", "t860").1[Pipe::Texture.index()], 2.0);
    // Valhall, before the loop: two local ids times their strides (shifts), each added to the base of the segment, and
    // one sum of the two for each tile. No address has 64 bits.
    let (code, _) = code(&module, "product_tiled", "g77");
    let wide = |issue: &tripipe_machine::Issue| {
        issue.operations.iter().any(|(_, operation)| operation.work == tripipe_machine::Work::Address)
    };
    // The two of the loop, which are global, and that of the result: two clocks each.
    assert_eq!(code.blocks.values().flatten().filter(|issue| wide(issue)).count(), 6);
}

#[test]
fn only_the_used_half_of_an_index_is_computed() {
    let Some(module) = kernels() else { return };
    for gpu in ["t604", "t860", "g52", "g77", "adreno-640"] {
        let (one, other) =
            (code(&module, "index_of_64_bits", gpu).1, code(&module, "index_of_32_bits", gpu).1);
        assert_eq!(one, other, "{gpu}");
    }
}

#[test]
fn neighbouring_loads_are_one() {
    let Some(module) = kernels() else { return };
    // Loads and stores: one vector, whatever its alignment (nir_opt_load_store_vectorize with the limits of each back end);
    // two vectors of two, as the store may change the later ones.
    for (kernel, messages) in
        [("neighbours_aligned", 2.0), ("neighbours_unaligned", 2.0), ("neighbours_around_a_store", 4.0)]
    {
        for gpu in ["t860", "g52", "g77", "adreno-640"] {
            assert_eq!(code(&module, kernel, gpu).1[Pipe::LoadStore.index()], messages, "{kernel} on {gpu}");
        }
    }
    // Valhall: the address of 64 bits takes two clocks of CVT, that of the result another two.
    let (_, clocks) = code(&module, "neighbours_unaligned", "g77");
    assert_eq!(clocks[Pipe::Convert.index()], 4.0);
}

/// Clocks of a column of an engine: cycles times lanes. The second is the upper end of the range.
fn column(analysis: &Analysis, wanted: Column, lanes: f64) -> (f64, f64) {
    let at = analysis.columns.iter().position(|column| *column == wanted).unwrap();
    let clocks = |columns: &[tripipe_analyze::Polynomial]| columns[at].as_constant().unwrap() * lanes;
    (clocks(&analysis.longest.columns), clocks(&analysis.longest_at_most))
}

#[test]
fn functions_of_full_precision_cost_their_published_sequences() {
    let Some(module) = kernels() else { return };
    let g77 = |kernel: &str| analyze(module.kernel(kernel).unwrap(), find("g77").unwrap(), &Setup::default());
    // libclc's pow: 23 additions, 19 multiplications with addition, 12 without. Its tables are 3 loads beside the two of
    // the operands and the store; two of them are neighbours, which one load reads. In place of that, exp2 of log2 and a multiplication were 4 operations of FMA.
    let power = g77("power");
    assert_eq!(column(&power, Column::Fma, 32.0).0, 54.0);
    let messages = power.longest.messages.as_constant().unwrap();
    assert_eq!(messages, 5.0);
    // Logic 42, selections by a mask 8, shifts 6: at a quarter of the rate.
    assert_eq!(column(&power, Column::Special, 8.0).0, 56.0);
    // libclc's sin of a small angle: 19 additions, 27 multiplications with addition, 8 without; 8 of logic.
    let sine = g77("sine");
    assert_eq!(column(&sine, Column::Fma, 32.0).0, 54.0);
    // Large angles: 8 products, 7 upper halves of two instructions, 21 of logic, 5 shifts more. The address of the value
    // takes 2 more at most.
    assert_eq!(column(&sine, Column::Special, 8.0), (8.0, 8.0 + 8.0 + 14.0 + 21.0 + 5.0 + 2.0));
}

#[test]
fn addresses_and_ids_are_a_range() {
    let Some(module) = kernels() else { return };
    let priced = |gpu: &str| analyze(module.kernel("copy").unwrap(), find(gpu).unwrap(), &Setup::default());
    // Valhall: two addresses in an instruction of two clocks each. At most, each is four clocks, and the id is a sum of
    // two more; the shifts of 64 bits are four on SFU.
    let valhall = priced("g77");
    assert_eq!(column(&valhall, Column::Convert, 32.0), (4.0, 4.0 + 4.0 + 2.0));
    assert_eq!(column(&valhall, Column::Special, 8.0), (0.0, 4.0));
    // Adreno: three instructions an address, at most eight, and three for the id.
    let (low, high) = column(&priced("adreno-640"), Column::Arithmetic, 1.0);
    assert!((high / low - 19.0 / 6.0).abs() < 1e-6, "{low} {high}");
    // Midgard adds the index in the load, so that nothing is uncertain.
    let midgard = priced("t860");
    assert_eq!(midgard.longest_at_most, midgard.longest.columns);
}
