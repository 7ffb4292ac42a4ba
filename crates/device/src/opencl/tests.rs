use crate::catalog::{catalog, find};
use crate::family::Vendor;

/// What clinfo printed on the devices of the sources, in part.
#[test]
fn drivers_list_what_published_reports_list() {
    for (gpu, driver, version, has, lacks) in [
        (
            "t860",
            "OpenCL 1.2 v1.r14p0-01rel0-git(966ed26)",
            (1, 2),
            &["cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_arm_non_uniform_work_group_size"][..],
            &["cl_khr_subgroups", "cl_khr_depth_images", "cl_arm_integer_dot_product_int8"][..],
        ),
        ("g71", "v1.r5p0-01rel0", (1, 2), &["cl_khr_fp16"], &["cl_khr_subgroups", "cl_khr_fp64"]),
        ("g72", "v1.r10p0-01rel0", (2, 0), &["cl_khr_depth_images"], &["cl_khr_subgroups", "cl_khr_fp64"]),
        ("g52", "r16p0", (2, 0), &["cl_khr_subgroups"], &["cl_khr_subgroup_ballot"]),
        (
            "g52",
            "r40p0",
            (3, 0),
            &["cl_khr_integer_dot_product", "cl_khr_subgroup_shuffle", "cl_arm_integer_dot_product_int8"],
            &["cl_arm_integer_dot_product_accumulate_int8", "cl_khr_subgroup_rotate"],
        ),
        (
            "g610",
            "r35p0",
            (2, 1),
            &["cl_khr_subgroup_ballot", "cl_arm_integer_dot_product_accumulate_int8"],
            &["cl_khr_subgroup_shuffle", "cl_khr_integer_dot_product"],
        ),
        ("g610", "r40p0", (3, 0), &["cl_khr_subgroup_rotate", "cl_khr_il_program"], &["cl_khr_fp64"]),
        ("530", "E031.31", (2, 0), &["cl_khr_subgroups"], &["cl_qcom_subgroup_shuffle"]),
        ("640", "E031.37", (2, 0), &["cl_qcom_subgroup_shuffle"], &["cl_qcom_dot_product8"]),
        (
            "650",
            "OpenCL 2.0 QUALCOMM build: commit #191610ae03 Compiler E031.37.12.01",
            (2, 0),
            &["cl_qcom_dot_product8", "cl_qcom_reqd_sub_group_size", "cl_khr_subgroups"],
            &["cl_khr_il_program", "cl_khr_int64_base_atomics", "cl_khr_subgroup_shuffle"],
        ),
        ("730", "E031.38.11.12", (3, 0), &["cl_qcom_reqd_sub_group_size"], &["cl_khr_integer_dot_product"]),
        ("740", "E031.45", (3, 0), &["cl_khr_integer_dot_product"], &["cl_khr_subgroup_shuffle"]),
        ("750", "E031.45.02.06", (3, 0), &["cl_khr_subgroup_ballot"], &["cl_khr_subgroup_shuffle"]),
    ] {
        let opencl = find(gpu).unwrap().opencl_of(driver).unwrap();
        assert_eq!(opencl.version, version, "{gpu} {driver}");
        for name in has {
            assert!(opencl.has(name), "{gpu} {driver}: {name}");
        }
        for name in lacks {
            assert!(!opencl.has(name), "{gpu} {driver}: {name}");
        }
    }
    assert!(find("g610").unwrap().opencl_of("E031.45").is_err());
    let error = find("740").unwrap().opencl_of("r38").unwrap_err().to_string();
    assert!(error.contains("E031.41"), "{error}");
}

/// llama.cpp reads two digits after the 5th, 8th and 11th character of `E031`.
#[test]
fn the_compiler_of_an_adreno_is_named_as_phones_name_it() {
    let of = |gpu: &str| find(gpu).unwrap().opencl().compiler_text();
    assert_eq!(of("750").as_deref(), Some("Compiler E031.45.00.00"));
    assert_eq!(of("830").as_deref(), Some("Compiler E031.47.00.00"));
    assert_eq!(of("g77"), None);
    let vectors = |gpu: &str| find(gpu).unwrap().opencl().vector_broadcast;
    assert!(vectors("830") && !vectors("750"));
}

/// An Adreno 740 has no `sub_group_shuffle_xor` (a pull request to llama.cpp); OpenCL C 1.2 has no work-group functions.
#[test]
fn what_is_missing_is_named() {
    let of = |gpu: &str, name: &str| find(gpu).unwrap().opencl().missing(name).map(|(what, _)| what);
    assert_eq!(of("740", "sub_group_shuffle_xor").as_deref(), Some("cl_khr_subgroup_shuffle"));
    assert_eq!(of("740", "sub_group_shuffle_up").as_deref(), Some("cl_khr_subgroup_shuffle_relative"));
    assert_eq!(of("740", "sub_group_reduce_add"), None);
    assert_eq!(of("t860", "arm_dot_acc").as_deref(), Some("cl_arm_integer_dot_product_accumulate_int8"));
    assert_eq!(of("t860", "work_group_reduce_add").as_deref(), Some("CL2.0"));
    assert_eq!(of("g77", "work_group_reduce_add").as_deref(), Some(""), "a matter of -cl-std");
    assert_eq!(of("g77", "my_function"), None);
    let (_, sentence) = find("t860").unwrap().opencl().missing("work_group_reduce_add").unwrap();
    assert_eq!(sentence, "`work_group_reduce_add` needs OpenCL C 2.0, and Mali-T860 offers OpenCL C 1.2");
}

#[test]
fn assumptions_add_to_what_is_offered() {
    let opencl = find("t860").unwrap().opencl().clone();
    let with = |names: &[&str]| opencl.clone().assuming(names);
    assert!(with(&["cl_khr_subgroup_shuffle"]).unwrap().has("cl_khr_subgroup_shuffle"));
    let new = with(&["CL3.0"]).unwrap();
    assert_eq!(new.newest_c(), (3, 0));
    assert!(new.has("__opencl_c_generic_address_space"));
    let error = with(&["cl_khr_subgroup_shufle"]).unwrap_err().to_string();
    assert!(error.contains("did you mean `cl_khr_subgroup_shuffle`?"), "{error}");
    let sized = with(&["cl_qcom_reqd_sub_group_size"]).unwrap();
    assert_eq!(sized.sub_group_sizes, Some([64, 128]));
}

/// The description agrees with the models of the hardware.
#[test]
fn descriptions_agree_with_the_hardware() {
    for gpu in catalog() {
        let (opencl, name) = (gpu.opencl(), gpu.name());
        assert_eq!(opencl.has("cl_khr_fp16"), gpu.supports.fp16.value, "{name}");
        assert_eq!(opencl.has("cl_khr_fp64"), gpu.supports.fp64.value, "{name}");
        assert_eq!(opencl.has("__opencl_c_fp64"), gpu.supports.fp64.value, "{name}");
        let dot = gpu.operations_per_clock_per_core.int8_dot_mac.value > 0;
        if gpu.vendor() == Vendor::Arm {
            assert_eq!(opencl.has("cl_arm_integer_dot_product_int8"), dot, "{name}");
        }
        let vendors = opencl.names().filter(|name| name.starts_with("cl_arm_")).count();
        assert_eq!(vendors > 0, gpu.vendor() == Vendor::Arm, "{name}");
        let distinct: std::collections::BTreeSet<_> = opencl.names().collect();
        assert_eq!(distinct.len(), opencl.names().count(), "{name}: a name twice");
        assert_eq!(opencl.non_uniform_work_groups, opencl.version >= (2, 0), "{name}");
        assert!(opencl.c_versions.is_sorted() && opencl.c_versions.contains(&(1, 2)), "{name}");
        assert!(opencl.newest_c() <= opencl.version, "{name}");
        if let Some([half, full]) = opencl.sub_group_sizes {
            assert_eq!((half, full), (64, 128), "{name}");
            assert!(opencl.has("cl_qcom_reqd_sub_group_size"), "{name}");
            assert_eq!(half, gpu.core.warp_width.value, "{name}");
        }
        for older in &gpu.drivers.earlier {
            assert!(older.version <= opencl.version, "{name}");
        }
    }
}
