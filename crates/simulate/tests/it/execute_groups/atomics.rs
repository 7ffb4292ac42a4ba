//! Tests every atomic for every type and address space.

use std::fmt::Write as _;

use bytemuck::Pod;
use tripipe_launch::NdRange;

use crate::execute_groups::bench::{Bench, memory};

const ITEMS: usize = 150;
const CELLS: usize = 5;

/// An integer type of OpenCL C, with the model's arithmetic.
trait Number: Pod + Ord + std::fmt::Debug {
    const NAME: &'static str;
    fn from_i64(number: i64) -> Self;
    fn to_i64(self) -> i64;
}

macro_rules! number {
    ($($type:ty = $name:literal,)*) => {
        $(impl Number for $type {
            const NAME: &'static str = $name;
            fn from_i64(number: i64) -> Self { number as $type }
            fn to_i64(self) -> i64 { self as i64 }
        })*
    };
}
number! { i32 = "int", u32 = "uint", i64 = "long", u64 = "ulong", }

/// The new number after an operation on the old number `x` with operand `a` and expected value `b`.
type Model<T> = fn(T, T, T) -> T;

/// The operations of OpenCL C 1.2, 6.12.11: name, arguments after the pointer, model.
fn operations<T: Number>() -> Vec<(&'static str, &'static str, Model<T>)> {
    vec![
        ("add", ", a", |x, a, _| T::from_i64(x.to_i64().wrapping_add(a.to_i64()))),
        ("sub", ", a", |x, a, _| T::from_i64(x.to_i64().wrapping_sub(a.to_i64()))),
        ("xchg", ", a", |_, a, _| a),
        ("inc", "", |x, _, _| T::from_i64(x.to_i64().wrapping_add(1))),
        ("dec", "", |x, _, _| T::from_i64(x.to_i64().wrapping_sub(1))),
        ("cmpxchg", ", b, a", |x, a, b| if x == b { a } else { x }),
        ("min", ", a", |x, a, _| if a < x { a } else { x }),
        ("max", ", a", |x, a, _| if a > x { a } else { x }),
        ("and", ", a", |x, a, _| T::from_i64(x.to_i64() & a.to_i64())),
        ("or", ", a", |x, a, _| T::from_i64(x.to_i64() | a.to_i64())),
        ("xor", ", a", |x, a, _| T::from_i64(x.to_i64() ^ a.to_i64())),
    ]
}

/// The kernels of a type: each operation on global memory and on local memory.
fn source<T: Number>(prefix: &str) -> String {
    let mut text = String::from("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n");
    text += "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
    let t = T::NAME;
    for (name, arguments, _) in operations::<T>() {
        writeln!(
            text,
            "kernel void {name}_global(global {t} *cells, global const {t} *as, global const {t} *bs, global {t} *old) {{
                size_t i = get_global_id(0);
                {t} a = as[i], b = bs[i];
                old[i] = {prefix}_{name}(cells + i % {CELLS}{arguments});
            }}
            kernel void {name}_local(global {t} *cells, global const {t} *as, global const {t} *bs, global {t} *old) {{
                local {t} mine[{CELLS}];
                size_t i = get_local_id(0);
                if (i < {CELLS}) mine[i] = cells[i];
                barrier(CLK_LOCAL_MEM_FENCE);
                {t} a = as[i], b = bs[i];
                old[i] = {prefix}_{name}(mine + i % {CELLS}{arguments});
                barrier(CLK_LOCAL_MEM_FENCE);
                if (i < {CELLS}) cells[i] = mine[i];
            }}"
        )
        .unwrap();
    }
    text
}

fn check_type<T: Number>(prefix: &str) {
    let Some(mut bench) = Bench::new(source::<T>(prefix), "-cl-std=CL1.2") else { return };
    let mut random = fastrand::Rng::with_seed(7);
    // Small numbers sometimes equal the expected value; large ones wrap.
    let mut numbers = |count: usize| -> Vec<T> {
        (0..count)
            .map(|_| T::from_i64(if random.bool() { random.i64(-3..3) } else { random.i64(..) }))
            .collect()
    };
    let (cells, a, b) = (numbers(CELLS), numbers(ITEMS), numbers(ITEMS));
    for (name, _, model) in operations::<T>() {
        let mut left = cells.clone();
        let old: Vec<T> = (0..ITEMS)
            .map(|item| {
                let cell = &mut left[item % CELLS];
                std::mem::replace(cell, model(*cell, a[item], b[item]))
            })
            .collect();
        for (space, local) in [("global", 32), ("local", ITEMS)] {
            let memories = [bench.buffer(&cells), bench.buffer(&a), bench.buffer(&b), bench.buffer(&a)];
            let range = NdRange::d1(ITEMS).local(local, 1, 1);
            bench.run(&format!("{name}_{space}"), range, &memories.map(memory));
            let case = format!("{}: {name}_{space}", T::NAME);
            assert_eq!(bench.read::<T>(memories[3], ITEMS), old, "{case}");
            assert_eq!(bench.read::<T>(memories[0], CELLS), left, "{case}");
        }
    }
}

#[test]
fn of_32_bits() {
    check_type::<i32>("atomic");
    check_type::<u32>("atomic");
}

#[test]
fn of_64_bits() {
    check_type::<i64>("atom");
    check_type::<u64>("atom");
}

#[test]
fn of_c11() {
    let source = "
        kernel void orders(global atomic_int *cells, global int *old) {
            int i = get_global_id(0);
            int expected = 3;
            global int *o = old + 8 * i;
            o[0] = atomic_load(cells);
            atomic_store_explicit(cells, i + 1, memory_order_release, memory_scope_work_group);
            o[1] = atomic_exchange_explicit(cells, i + 3, memory_order_acq_rel, memory_scope_device);
            o[2] = atomic_compare_exchange_strong(cells, &expected, 40);
            o[3] = expected;
            expected = 40;
            o[4] = atomic_compare_exchange_weak(cells, &expected, 50 + i);
            o[5] = expected;
            o[6] = atomic_fetch_sub(cells, 7);
            o[7] = atomic_fetch_max_explicit(cells + 1, i * (i & 1 ? 1 : -1), memory_order_relaxed);
        }
        kernel void flags(global atomic_flag *flags, global int *old) {
            int i = get_global_id(0);
            old[i] = atomic_flag_test_and_set(flags + i % 3);
            if (i == 4)
                atomic_flag_clear(flags + 1);
        }
        int add(atomic_int *to, int a) { return atomic_fetch_add(to, a); }
        kernel void anywhere(global atomic_int *cell, global int *old) {
            int i = get_local_id(0);
            local atomic_int near;
            atomic_int own;
            if (i == 0) atomic_init(&near, 100);
            atomic_init(&own, 1000 * i);
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_int *to = i % 3 == 0 ? (atomic_int *)cell : i % 3 == 1 ? (atomic_int *)&near : &own;
            old[i] = add(to, i);
            old[i + 66] = atomic_load(&own);
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL2.0") else { return };

    let (cells, old) = (bench.buffer(&[9, 0]), bench.buffer(&[0; 16]));
    bench.run("orders", NdRange::d1(2).local(1, 1, 1), &[cells, old].map(memory));
    // The first exchange finds the 3 that it expects, the second finds a 4.
    let first = [9, 1, 1, 3, 1, 40, 50, 0];
    let second = [43, 2, 0, 4, 0, 4, 4, 0];
    assert_eq!(bench.read::<i32>(old, 16), [first, second].concat());
    assert_eq!(bench.read::<i32>(cells, 2), [-3, 1]);

    let (flags, old) = (bench.buffer(&[0, 0, 0]), bench.buffer(&[0; 8]));
    bench.run("flags", NdRange::d1(8).local(1, 1, 1), &[flags, old].map(memory));
    assert_eq!(bench.read::<i32>(old, 8), [0, 0, 0, 1, 1, 1, 1, 0]);
    assert_eq!(bench.read::<i32>(flags, 3).iter().map(|flag| flag & 1).collect::<Vec<_>>(), [1, 1, 1]);

    let (cell, old) = (bench.buffer(&[10]), bench.buffer(&[0; 132]));
    bench.run("anywhere", NdRange::d1(66).local(66, 1, 1), &[cell, old].map(memory));
    let (mut global, mut local) = (10, 100);
    let mut model = [0; 132];
    for i in 0..66 {
        let mut own = 1000 * i as i32;
        let cell = match i % 3 {
            0 => &mut global,
            1 => &mut local,
            _ => &mut own,
        };
        model[i] = *cell;
        *cell += i as i32;
        model[i + 66] = own;
    }
    assert_eq!(bench.read::<i32>(old, 132), model);
    assert_eq!(bench.read::<i32>(cell, 1), [global]);
}

#[test]
fn of_floats() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_fp64 : enable
        #define KERNEL(T) \\
            kernel void t_##T(global atomic_##T *cells, global const T *a, global T *old) { \\
                int i = get_global_id(0); \\
                old[4 * i] = atomic_fetch_add(cells, a[i]); \\
                old[4 * i + 1] = atomic_fetch_min(cells + 1, a[i]); \\
                old[4 * i + 2] = atomic_fetch_max(cells + 2, a[i]); \\
                old[4 * i + 3] = atomic_exchange(cells + 3, a[i]); \\
            }
        KERNEL(float)
        KERNEL(double)";
    fn check<T: Pod + PartialEq + std::fmt::Debug>(
        bench: &mut Bench,
        name: &str,
        from: impl Fn(f64) -> T,
        add: impl Fn(T, T) -> T,
        less: impl Fn(T, T) -> bool,
    ) {
        let a: Vec<T> = (0..100).map(|i| from((f64::from(i) * 7.77).sin() * 1e3 / 3.0)).collect();
        let start = [0.1, 5.0, 5.0, 7.0].map(&from);
        let (cells, input, old) = (bench.buffer(&start), bench.buffer(&a), bench.buffer(&vec![a[0]; 400]));
        bench.run(&format!("t_{name}"), NdRange::d1(100).local(10, 1, 1), &[cells, input, old].map(memory));
        let mut left = start;
        let mut model = Vec::new();
        for x in a {
            model.extend(left);
            left[0] = add(left[0], x);
            left[1] = if less(x, left[1]) { x } else { left[1] };
            left[2] = if less(left[2], x) { x } else { left[2] };
            left[3] = x;
        }
        assert_eq!(bench.read::<T>(old, 400), model, "{name}");
        assert_eq!(bench.read::<T>(cells, 4), left, "{name}");
    }
    let Some(mut bench) = Bench::new(source, "-cl-std=CL2.0") else { return };
    check(&mut bench, "float", |x| x as f32, |a, b| a + b, |a, b| a < b);
    check(&mut bench, "double", |x| x, |a, b| a + b, |a, b| a < b);
}

#[test]
fn outside_and_misaligned_is_a_fault() {
    let source = "
        kernel void past(global int *cells) { atomic_inc(cells + 2 * get_global_id(0)); }
        kernel void odd(global char *cells) { atomic_inc((global int *)(cells + 2)); }
        kernel void null(global int *cells) { atomic_inc(cells); }
        kernel void past_local(global int *cells) {
            local int mine[4];
            atomic_inc(mine + 4 + get_local_id(0));
            cells[0] = mine[0];
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2") else { return };
    let cells = bench.buffer(&[0; 6]);
    let range = NdRange::d1(4).local(4, 1, 1);
    let mut error = |entry: &str| bench.try_run(entry, range, &[memory(cells)]).unwrap_err();
    let past = error("past");
    assert!(
        past.contains("work-item [3, 0, 0]") && past.contains("4 bytes at offset 24 of `cells`"),
        "{past}"
    );
    let odd = error("odd");
    assert!(odd.contains("4 bytes at offset 2 of `cells`, which is not a multiple of 4"), "{odd}");
    let past = error("past_local");
    assert!(past.contains("writes 4 bytes at offset 16 of `past_local.mine`, which has 16 bytes"), "{past}");
    let null = bench.try_run("null", range, &[tripipe_launch::Argument::Null]).unwrap_err();
    assert!(null.contains("null pointer"), "{null}");
}
