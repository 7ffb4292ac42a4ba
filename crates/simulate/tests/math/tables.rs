//! Every function has its row, under its operands and no other.

use half::f16;
use tripipe_ir::op::{Builtin, Family, Shape};
use tripipe_simulate::math::{self, Float, Int};

fn floats<T: Float>() {
    for &builtin in Builtin::ALL {
        let lanes = !matches!(builtin.family(), Family::Geometric | Family::Vector);
        let shape = builtin.shape();
        let row = |wanted: Shape| lanes && shape == wanted;
        let any = |n| shape == Shape::Any(n);
        assert_eq!(math::float1::<T>(builtin).is_some(), row(Shape::Float(1)) || any(1), "{builtin:?}");
        assert_eq!(math::float2::<T>(builtin).is_some(), row(Shape::Float(2)) || any(2), "{builtin:?}");
        assert_eq!(math::float3::<T>(builtin).is_some(), row(Shape::Float(3)) || any(3), "{builtin:?}");
        assert_eq!(math::float_int::<T>(builtin).is_some(), row(Shape::FloatInt), "{builtin:?}");
        assert_eq!(math::float_to_int::<T>(builtin).is_some(), row(Shape::FloatToInt), "{builtin:?}");
        assert_eq!(math::floats_to_int::<T>(builtin).is_some(), row(Shape::FloatsToInt), "{builtin:?}");
        assert_eq!(math::int_to_float::<T>(builtin).is_some(), row(Shape::IntToFloat), "{builtin:?}");
    }
}

fn integers<T: Int>() {
    for &builtin in Builtin::ALL {
        let shape = builtin.shape();
        let row = |n| shape == Shape::Int(n) || shape == Shape::Any(n);
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
            builtin.shape() == Shape::Upsample,
            "{builtin:?}"
        );
    }
}
