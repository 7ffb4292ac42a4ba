//! Every function is listed for its operand types, and for no others.

use half::f16;
use tripipe_ir::op::{Builtin, BuiltinSignature, Family};
use tripipe_simulate::math::{self, Float, Int};

use crate::math::kind::Kind;
use crate::math::samples;

fn floats<T: Float>() {
    for &builtin in Builtin::ALL {
        let lanes = !matches!(builtin.family(), Family::Geometric | Family::Vector);
        let shape = builtin.signature();
        let row = |wanted: BuiltinSignature| lanes && shape == wanted;
        let any = |n| shape == BuiltinSignature::Any(n);
        assert_eq!(
            math::float1::<T>(builtin).is_some(),
            row(BuiltinSignature::Float(1)) || any(1),
            "{builtin:?}"
        );
        assert_eq!(
            math::float2::<T>(builtin).is_some(),
            row(BuiltinSignature::Float(2)) || any(2),
            "{builtin:?}"
        );
        assert_eq!(
            math::float3::<T>(builtin).is_some(),
            row(BuiltinSignature::Float(3)) || any(3),
            "{builtin:?}"
        );
        assert_eq!(math::array1::<T>(builtin).is_some(), math::float1::<T>(builtin).is_some(), "{builtin:?}");
        assert_eq!(math::array2::<T>(builtin).is_some(), math::float2::<T>(builtin).is_some(), "{builtin:?}");
        assert_eq!(math::array3::<T>(builtin).is_some(), math::float3::<T>(builtin).is_some(), "{builtin:?}");
        assert_eq!(math::float_int::<T>(builtin).is_some(), row(BuiltinSignature::FloatInt), "{builtin:?}");
        assert_eq!(
            math::float_to_int::<T>(builtin).is_some(),
            row(BuiltinSignature::FloatToInt),
            "{builtin:?}"
        );
        assert_eq!(
            math::floats_to_int::<T>(builtin).is_some(),
            row(BuiltinSignature::FloatsToInt),
            "{builtin:?}"
        );
        assert_eq!(
            math::int_to_float::<T>(builtin).is_some(),
            row(BuiltinSignature::IntToFloat),
            "{builtin:?}"
        );
    }
}

fn integers<T: Int>() {
    for &builtin in Builtin::ALL {
        let shape = builtin.signature();
        let row = |n| shape == BuiltinSignature::Int(n) || shape == BuiltinSignature::Any(n);
        let words = matches!(builtin, Builtin::SMad24 | Builtin::UMad24 | Builtin::SMul24 | Builtin::UMul24);
        let width = !words || T::BITS == 32;
        assert_eq!(math::int1::<T>(builtin).is_some(), row(1) && width, "{builtin:?}");
        assert_eq!(math::int2::<T>(builtin).is_some(), row(2) && width, "{builtin:?}");
        assert_eq!(math::int3::<T>(builtin).is_some(), row(3) && width, "{builtin:?}");
    }
}

#[test]
fn every_function_has_its_row() {
    floats::<f16>();
    floats::<f32>();
    floats::<f64>();
    integers::<i8>();
    integers::<u8>();
    integers::<i16>();
    integers::<u16>();
    integers::<i32>();
    integers::<u32>();
    integers::<i64>();
    integers::<u64>();
    for &builtin in Builtin::ALL {
        assert_eq!(
            math::upsample::<u8>(builtin).is_some(),
            builtin.signature() == BuiltinSignature::Upsample,
            "{builtin:?}"
        );
    }
}

fn arrays<T: Kind>() {
    let same = |x: T, y: T| x.bits() == y.bits() || (x.to_f64().is_nan() && y.to_f64().is_nan());
    // With and without angles that are too large for vector code.
    let numbers = samples::numbers::<T>();
    let near: Vec<T> = numbers.iter().copied().filter(|x| x.to_f64().abs() < 1e6).collect();
    let triples = samples::triples::<T>();
    let [a, b, c] = [0, 1, 2].map(|i| -> Vec<T> { triples.iter().map(|t| [t.0, t.1, t.2][i]).collect() });
    for &builtin in Builtin::ALL {
        if let (Some(array), Some(one)) = (math::array1::<T>(builtin), math::float1::<T>(builtin)) {
            for x in [&numbers, &near] {
                let mut out = vec![T::default(); x.len()];
                array(x, &mut out);
                assert!(x.iter().zip(&out).all(|(&x, &out)| same(out, one(x))), "{builtin:?} of {}", T::NAME);
            }
        }
        if let (Some(array), Some(one)) = (math::array2::<T>(builtin), math::float2::<T>(builtin)) {
            let mut out = vec![T::default(); a.len()];
            array(&a, &b, &mut out);
            let each = a.iter().zip(&b).zip(&out);
            assert!(
                each.into_iter().all(|((&a, &b), &out)| same(out, one(a, b))),
                "{builtin:?} of {}",
                T::NAME
            );
        }
        if let (Some(array), Some(one)) = (math::array3::<T>(builtin), math::float3::<T>(builtin)) {
            let mut out = vec![T::default(); a.len()];
            array(&a, &b, &c, &mut out);
            let mut each = triples.iter().zip(&out);
            assert!(each.all(|(t, &out)| same(out, one(t.0, t.1, t.2))), "{builtin:?} of {}", T::NAME);
        }
    }
}

#[test]
fn arrays_are_the_functions() {
    arrays::<f16>();
    arrays::<f32>();
    arrays::<f64>();
}

/// Only as many elements as the shortest array has, down to none.
#[test]
fn arrays_of_any_length() {
    let floor = math::array1::<f32>(Builtin::Floor).unwrap();
    for count in 0..70 {
        let x: Vec<f32> = (0..count).map(|n| n as f32 + 0.5).collect();
        let mut out = vec![-1.0; 40];
        floor(&x, &mut out);
        assert!((0..40).all(|n| out[n] == if n < count { n as f32 } else { -1.0 }));
    }
}
