//! Each `tests/files/*.cl` must load to the `.ir` file next to it; `BLESS=1` updates those. Read the difference first.

use std::fs;

use tripipe_ir::front::spirv::{Options, load};

use crate::support;

#[test]
fn text_is_as_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    for path in support::sources("tests/files") {
        let Some(built) = support::build(&path) else { return };
        let module = load(&built.spirv, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        // The bare file name, wherever the tests run.
        let folder = format!("{}/", path.parent().unwrap().display());
        let found = module.to_string().replace(&folder, "");
        let expected = path.with_extension("ir");
        if bless {
            fs::write(&expected, found).unwrap();
        } else {
            let wanted = fs::read_to_string(&expected).unwrap_or_default();
            assert!(wanted == found, "{} differs (BLESS=1 rewrites it):\n{found}", expected.display());
        }
    }
}
