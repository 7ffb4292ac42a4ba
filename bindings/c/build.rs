//! The name under which the library is installed, for programs that are linked with it.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtripipe.so.0"),
        Ok("android") => {
            // An app's libraries have no versions.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtripipe.so");
            // Devices with pages of 16 KiB load only such libraries: developer.android.com/guide/practices/page-sizes.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,max-page-size=16384");
        }
        _ => {}
    }
}
