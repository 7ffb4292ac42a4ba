//! The header is what cbindgen makes of the sources.

use std::path::Path;

/// `UPDATE_HEADER=1 cargo test -p tripipe-c --test it header` writes it.
#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("include/tripipe.h");
    let mut made = Vec::new();
    cbindgen::generate(folder).unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "include/tripipe.h is not current: UPDATE_HEADER=1 cargo test -p tripipe-c --test it header"
    );
}
