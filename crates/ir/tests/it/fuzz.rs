//! Damaged modules and damaged text give a result or an error: no panic, no hang, no excessive memory.
//!
//! `TRIPIPE_FUZZ_SECONDS` runs longer than the brief default. Inputs are small, so that a run covers many of them.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tripipe_ir::front::clang::{Build, build_text};
use tripipe_ir::front::spirv::{Limits, Options, load};
use tripipe_ir::{text, verify};

use crate::support;

/// Small modules that together contain most instructions.
const SOURCES: [&str; 6] = [
    "kernel void k(global int *a, int n) { int s = 0; for (int i = 0; i < n; ++i) { if (a[i] > 3) s += a[i]; else s ^= i; }
        switch (s) { case 1: a[0] = 2; break; case 7: a[1] = 3; default: a[2] = 4; } a[3] = s; }",
    "constant int t[2][3] = {{1, 2, 3}, {4, 5, 6}}; typedef struct { float4 v; int n[3]; char c; } S;
     S f(S s) { s.n[1] = 3; s.v.x += 1; return s; }
     kernel void k(global S *a, S s, int i, local int *l) { S r = f(s); r.n[i] = t[i][1]; a[i] = r; l[i] = r.n[2]; }",
    "kernel void k(global float *a, global half *h, global uchar16 *u) { float x = sin(a[0]) + pow(a[1], a[2]); int e;
        x += frexp(x, &e) + e; vstore_half4_rtz((float4)(x), 1, h); a[3] = vload_half(2, h); float4 v = vload4(0, a);
        v.xz = v.yw; vstore3(v.xyz, 1, a); u[0] = convert_uchar16_sat(convert_short16(u[1]) - (short16)7); }",
    "kernel void k(read_only image2d_t i, write_only image2d_t o, sampler_t s, local float4 *l, global float4 *g) {
        int2 p = (int2)(get_global_id(0), get_global_id(1)); write_imagef(o, p, read_imagef(i, s, p));
        event_t e = async_work_group_copy(l, g, 16, 0); wait_group_events(1, &e); barrier(CLK_LOCAL_MEM_FENCE);
        g[1] = l[get_local_id(0)]; printf(\"%d\\n\", p.x); }",
    "kernel void k(volatile global int *a, local uint *l) { atomic_add(a, 1); atomic_cmpxchg(a, 2, 3); atomic_max(l, 4u);
        mem_fence(CLK_GLOBAL_MEM_FENCE); a[1] = any((int4)(a[2])) ? popcount(a[3]) : mad_sat(a[4], a[5], a[6]); }",
    "int g(int *p, int n) { p[n] = 1; return p[0]; } kernel void k(global int *a, int n) { int t[4]; int i = 0;
        if (n > 3) goto m; b: a[i] = i; m: i++; if (i < n) goto b; a[0] = g(t, n) + g(t + 1, n); }",
];

#[derive(Clone, Debug)]
enum Damage {
    /// Replaces a word.
    Set(prop::sample::Index, u32),
    /// Replaces a word with a small number: an id, an opcode's operand.
    Small(prop::sample::Index, u32),
    /// Flips a bit.
    Flip(prop::sample::Index, u8),
    /// Replaces a word with a copy of another.
    Copy(prop::sample::Index, prop::sample::Index),
    /// Removes a word.
    Remove(prop::sample::Index),
    /// Truncates the module.
    Cut(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        1 => (any::<prop::sample::Index>(), any::<u32>()).prop_map(|(at, word)| Damage::Set(at, word)),
        6 => (any::<prop::sample::Index>(), 0_u32..300).prop_map(|(at, word)| Damage::Small(at, word)),
        3 => (any::<prop::sample::Index>(), 0_u8..32).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        6 => (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(to, from)| Damage::Copy(to, from)),
        1 => any::<prop::sample::Index>().prop_map(Damage::Remove),
        1 => any::<prop::sample::Index>().prop_map(Damage::Cut),
    ];
    proptest::collection::vec(one, 1..4)
}

fn apply(bytes: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    for damage in damages {
        if words.len() < 8 {
            break;
        }
        // The header is not changed: a module without it is rejected at once.
        let place = |index: &prop::sample::Index| 5 + index.index(words.len() - 5);
        match damage {
            Damage::Set(at, word) | Damage::Small(at, word) => {
                let at = place(at);
                words[at] = *word;
            }
            Damage::Flip(at, bit) => {
                let at = place(at);
                words[at] ^= 1 << bit;
            }
            Damage::Copy(to, from) => {
                let (to, from) = (place(to), place(from));
                words[to] = words[from];
            }
            Damage::Remove(at) => {
                let at = place(at);
                words.remove(at);
            }
            Damage::Cut(at) => {
                let at = place(at);
                words.truncate(at);
            }
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn damaged_modules_are_answered() {
    let mut modules = Vec::new();
    for source in SOURCES {
        let build = Build { options: vec!["-cl-std=CL2.0".into()], ..Build::default() };
        match support::built(build_text("k.cl", source, None, &build)) {
            Some(built) => modules.push(built.spirv),
            None => return,
        }
    }
    let seconds = std::env::var("TRIPIPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let end = Instant::now() + Duration::from_secs(seconds);
    let limits = Limits { instructions: 20_000, initial_bytes: 1 << 16, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let (mut loaded, mut refused) = (0, 0);
    let mut rng = 0_u64;
    while Instant::now() < end {
        rng += 1;
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&(rng ^ if seconds > 60 { 0x5eed } else { 0 }).to_le_bytes());
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 200, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed),
        );
        let result = runner.run(&(0..modules.len(), damage()), |(which, damages)| {
            let bytes = apply(&modules[which], &damages);
            let started = Instant::now();
            let answer = load(&bytes, &options);
            prop_assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
            if let Ok(module) = answer {
                prop_assert!(verify::verify(&module).is_ok());
            }
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
        let which = rng as usize % modules.len();
        match load(&modules[which], &options) {
            Ok(_) => loaded += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(loaded > 0 && refused == 0, "the undamaged modules load");
    println!("{} damaged modules answered", rng * 200);
}

proptest! {
    #![proptest_config(Config { cases: 2000, failure_persistence: None, ..Config::default() })]

    /// Lines of a valid text, truncated, duplicated and shuffled.
    #[test]
    fn damaged_text_is_answered(
        edits in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<char>()),
            1..4,
        )
    ) {
        let mut text = String::from(include_str!("../files/sum.ir"));
        for (at, other, c) in edits {
            let mut chars: Vec<char> = text.chars().collect();
            let (at, other) = (at.index(chars.len()), other.index(chars.len()));
            match other % 4 {
                0 => chars[at] = c,
                1 => { chars.remove(at); }
                2 => chars[at] = chars[other],
                _ => chars.insert(at, chars[other]),
            }
            text = chars.into_iter().collect();
        }
        if let Ok(module) = text::parse(&text) {
            // It need not be valid, but the verifier must return.
            let _ = verify::verify(&module);
        }
    }
}
