//! Operands that are packed once.

use tripipe_kernels::Role;
use tripipe_kernels::gemm::{
    Accumulate, Batch, Elements, Gemm, Layout, OperandState, ProductExtents, Reference, Side, Unfit, plan,
    plan_packing, plan_unpacking,
};
use tripipe_launch::{Access, Executor};
use tripipe_tune::bench::sample;

use super::{buffer, everywhere, opencl, parameters, simulator};

/// B packed for one product serves all products of a batch, at any offsets: the offsets of a packed operand are not
/// read.
#[test]
fn packed_once_for_a_batch_at_offsets() {
    everywhere(|executor, kernels| {
        let one = Gemm::new(Elements::F32, ProductExtents { m: 6, n: 7, k: 9 });
        let column_major = Gemm { c: Layout::column_major(8), ..one.clone() };
        for text in kernels {
            for (one, count) in [(&one, 1), (&one, 3), (&column_major, 3)] {
                let batch = Gemm { batch: Batch::Offsets { count }, ..one.clone() };
                let parameters = parameters(text);
                let planned = plan_packing(one, &parameters, executor.probe(), Side::B).unwrap();
                let Some((packing, packed)) = planned else { continue };
                let mut operands = sample(&batch, 13);
                // The reference gets the packed operand's offset; the kernels get a wrong one.
                let mut offsets: Vec<u32> = bytemuck::pod_collect_to_vec(&operands[3][..12 * count]);
                offsets.iter_mut().skip(1).step_by(3).for_each(|offset| *offset = 0);
                operands[3] = bytemuck::cast_slice(&offsets).to_vec();
                let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
                let reference = Reference::new(&batch, &slices).unwrap();
                offsets.iter_mut().skip(1).step_by(3).for_each(|offset| *offset = u32::MAX / 2);

                let b = buffer(executor, &operands[1]);
                let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
                let bound = packing.bind(executor, &[(Role::Source, b), (Role::Result, to)]).unwrap();
                executor.run(&bound.launches).unwrap();
                bound.release(executor);
                let given = [OperandState::Changing, OperandState::Packed(packed)];
                let product = plan(&batch, &parameters, executor.probe(), given).unwrap();
                let [a, c] = [0, 2].map(|operand: usize| buffer(executor, &operands[operand]));
                let at = buffer(executor, bytemuck::cast_slice(&offsets));
                let roles = [Role::A, Role::B, Role::C, Role::Offsets];
                let memory: Vec<_> = roles.into_iter().zip([a, to, c, at]).collect();
                let bound = product.bind(executor, &memory).unwrap();
                executor.run(&bound.launches).unwrap();
                let mut found = vec![0; operands[2].len()];
                executor.read(c, 0, &mut found).unwrap();
                let verified = reference.verify(&operands[2], &found);
                verified.unwrap_or_else(|difference| panic!("{text}, {count} products: {difference}"));
                bound.release(executor);
                for memory in [a, b, c, at, to] {
                    executor.release(memory).unwrap();
                }
            }
        }
    });
}

/// Unpacking restores the packed operand, from any memory and layout.
#[test]
fn unpacking_gives_back_what_was_packed() {
    everywhere(|executor, kernels| {
        for elements in [Elements::F32, Elements::F16(Accumulate::F32), Elements::I8ToI32] {
            for [m, n, k] in [[6, 7, 9], [33, 70, 5], [1, 1, 1], [64, 16, 4]] {
                let row_major = Gemm::new(elements, ProductExtents { m, n, k });
                let column_major = Gemm { c: Layout::column_major(m), ..row_major.clone() };
                for (text, gemm) in
                    kernels.iter().flat_map(|text| [(text, &row_major), (text, &column_major)])
                {
                    for side in [Side::A, Side::B] {
                        let planned = plan_packing(gemm, &parameters(text), executor.probe(), side);
                        let Ok(Some((packing, packed))) = planned else { continue };
                        let operand = &sample(gemm, 21)[side as usize];
                        let from = buffer(executor, operand);
                        let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
                        let plain = buffer(executor, &vec![0xAA; operand.len()]);
                        let back = plan_unpacking(&packed, executor.probe());
                        for (plan, memories) in [(&packing, [from, to]), (&back, [to, plain])] {
                            let bound = plan
                                .bind(executor, &[(Role::Source, memories[0]), (Role::Result, memories[1])])
                                .unwrap();
                            executor.run(&bound.launches).unwrap();
                            bound.release(executor);
                        }
                        let mut found = vec![0; operand.len()];
                        executor.read(plain, 0, &mut found).unwrap();
                        // B is row-major in the description, and is returned column-major.
                        let width = operand.len() / if side == Side::A { m * k } else { k * n };
                        let want = if side == Side::A {
                            operand.clone()
                        } else {
                            let element = |at: usize| &operand[at * width..][..width];
                            (0..k * n).flat_map(|at| element(at % k * n + at / k).to_vec()).collect()
                        };
                        assert_eq!(found, want, "{text}, {elements:?}, {m}x{n}x{k}, {side:?}");
                        for memory in [from, to, plain] {
                            executor.release(memory).unwrap();
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn packed_once_and_used_again() {
    // With images over buffers, and without.
    packed_once(&mut simulator());
    if let Some(mut executor) = opencl().into_iter().next() {
        packed_once(&mut executor);
    }
}

fn packed_once(executor: &mut dyn Executor) {
    let gemm = Gemm {
        b: Layout::row_major(9).transposed(),
        ..Gemm::new(Elements::F32, ProductExtents { m: 6, n: 7, k: 9 })
    };
    for text in [
        "tile 4x8 b=packed group=1x1 rolled",
        "tile 4x4 b=image group=1x1 rolled",
        "local 4x4 depth=16 group=4x4 b=packed",
    ] {
        let parameters = parameters(text);
        let (packing, packed) = plan_packing(&gemm, &parameters, executor.probe(), Side::B).unwrap().unwrap();
        assert!(plan_packing(&gemm, &parameters, executor.probe(), Side::A).unwrap().is_none());
        let operands = sample(&gemm, 11);
        let b = buffer(executor, &operands[1]);
        let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
        let bound = packing.bind(executor, &[(Role::Source, b), (Role::Result, to)]).unwrap();
        executor.run(&bound.launches).unwrap();
        bound.release(executor);
        for seed in [11, 12] {
            // The same B, another A.
            let mut operands = operands.clone();
            operands[0] = sample(&gemm, seed).swap_remove(0);
            let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
            let reference = Reference::new(&gemm, &slices).unwrap();
            let product = plan(
                &gemm,
                &parameters,
                executor.probe(),
                [OperandState::Changing, OperandState::Packed(packed)],
            )
            .unwrap();
            let [a, c] = [0, 2].map(|operand: usize| buffer(executor, &operands[operand]));
            let memory = [(Role::C, c), (Role::A, a), (Role::B, to)];
            let bound = product.bind(executor, &memory).unwrap();
            assert!(bound.preparation.is_empty());
            executor.run(&bound.launches).unwrap();
            let mut found = vec![0; operands[2].len()];
            executor.read(c, 0, &mut found).unwrap();
            reference
                .verify(&operands[2], &found)
                .unwrap_or_else(|difference| panic!("{text}: {difference}"));
        }
        // Alpha does not matter; another extent does.
        let scaled = Gemm { alpha: 0.0, ..gemm.clone() };
        let again = plan(
            &scaled,
            &parameters,
            executor.probe(),
            [OperandState::Changing, OperandState::Packed(packed)],
        );
        assert!(again.is_ok(), "{text}");
        let other = Gemm { n: 6, ..gemm.clone() };
        let refused = plan(
            &other,
            &parameters,
            executor.probe(),
            [OperandState::Changing, OperandState::Packed(packed)],
        );
        assert!(matches!(refused, Err(Unfit::Packed { operand: "B" })), "{text}");
    }
}
