//! Finds the OpenCL library of this machine and loads it.
//!
//! Phones have it in vendor folders and under vendor-specific names, and boards link it into the GL driver, so there
//! is a list of candidates for each system. The environment variable `TRIPIPE_OPENCL` names a file to load instead;
//! its value `none` means a machine without OpenCL.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;
use thiserror::Error;

use crate::api::Functions;

/// The environment variable that forces one library, or `none`.
pub const VARIABLE: &str = "TRIPIPE_OPENCL";

/// Why there is no OpenCL library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// `TRIPIPE_OPENCL=none`.
    #[error("OpenCL is switched off by {VARIABLE}=none")]
    SwitchedOff,
    /// The library that `TRIPIPE_OPENCL` names does not load.
    #[error("the OpenCL library named by {VARIABLE} cannot be used: {attempt}")]
    Forced {
        /// The file and what is wrong with it.
        attempt: Attempt,
    },
    /// No candidate loads.
    #[error(
        "no OpenCL library found (tried {}): install the GPU's driver or pocl-opencl-icd, or set {VARIABLE} \
         to the library",
        listed(tried)
    )]
    NotFound {
        /// All attempts, in order.
        tried: Vec<Attempt>,
    },
}

/// A failed attempt to load a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The file or bare name.
    pub path: PathBuf,
    /// Why it was rejected.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The loader's message often begins with the path.
        let path = self.path.display().to_string();
        if self.reason.starts_with(&path) {
            f.write_str(&self.reason)
        } else {
            write!(f, "{path}: {}", self.reason)
        }
    }
}

/// Files that exist but are broken are listed with the reason; if there are none, missing files are listed together.
fn listed(tried: &[Attempt]) -> String {
    let there: Vec<_> =
        tried.iter().filter(|attempt| attempt.path.exists()).map(ToString::to_string).collect();
    let shown = if there.is_empty() {
        tried.iter().take(3).map(|attempt| attempt.path.display().to_string()).collect()
    } else {
        there
    };
    let text = shown.join(", ");
    match tried.len() - shown.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// An operating system, as far as library names depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum System {
    /// Linux boards and desktops.
    Linux,
    /// Android.
    Android,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The system this code was compiled for; Linux for systems without their own list.
    pub fn current() -> Self {
        if cfg!(target_os = "android") {
            Self::Android
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// Possible locations of the library on `system`, best first: bare names (looked up by the system's loader) before
/// folders, the ICD loader before individual drivers. `bits` is the pointer width, 32 or 64.
pub fn candidates(system: System, bits: u32) -> Vec<PathBuf> {
    let lib = if bits == 32 { "lib" } else { "lib64" };
    let mut all = Vec::new();
    let mut names = |folders: &[&str], names: &[&str]| {
        for name in names {
            for folder in folders {
                all.push(Path::new(folder).join(name));
            }
        }
    };
    match system {
        System::Linux => {
            let drivers = ["libmali.so.1", "libmali.so", "libGLES_mali.so", "libPVROCL.so.1", "libPVROCL.so"];
            names(&[""], &["libOpenCL.so.1", "libOpenCL.so"]);
            names(&[""], &drivers);
            let triple = match (std::env::consts::ARCH, bits) {
                ("aarch64" | "arm", 64) => "/usr/lib/aarch64-linux-gnu",
                ("aarch64" | "arm", _) => "/usr/lib/arm-linux-gnueabihf",
                ("riscv64", _) => "/usr/lib/riscv64-linux-gnu",
                (_, 64) => "/usr/lib/x86_64-linux-gnu",
                _ => "/usr/lib/i386-linux-gnu",
            };
            let usr_lib = format!("/usr/{lib}");
            let mali = format!("{triple}/mali");
            let folders = [triple, &usr_lib, "/usr/lib", "/usr/local/lib", "/opt/rocm/lib", &mali];
            names(&folders, &["libOpenCL.so.1", "libOpenCL.so"]);
            names(&folders, &drivers);
        }
        System::Android => {
            let vendor = [
                format!("/vendor/{lib}"),
                format!("/system/vendor/{lib}"),
                format!("/system/{lib}"),
                format!("/odm/{lib}"),
            ];
            let vendor: Vec<&str> = vendor.iter().map(String::as_str).collect();
            // The bare name comes first: an app whose manifest declares `uses-native-library libOpenCL.so` can load it
            // only by name.
            names(&[""], &["libOpenCL.so"]);
            names(&vendor, &["libOpenCL.so", "libOpenCL.so.1"]);
            names(&[""], &["libOpenCL-pixel.so", "libOpenCL-car.so"]);
            names(&vendor, &["libOpenCL-pixel.so", "libOpenCL-car.so"]);
            let egl: Vec<String> = vendor.iter().map(|folder| format!("{folder}/egl")).collect();
            let egl: Vec<&str> = egl.iter().map(String::as_str).collect();
            names(&[""], &["libGLES_mali.so"]);
            names(&egl, &["libGLES_mali.so", "libmali.so"]);
            names(&vendor, &["libGLES_mali.so", "libmali.so", "libPVROCL.so"]);
        }
        System::MacOs => names(
            &[""],
            &["/System/Library/Frameworks/OpenCL.framework/OpenCL", "libOpenCL.dylib", "libOpenCL.1.dylib"],
        ),
        System::Windows => names(&[""], &["OpenCL.dll"]),
    }
    all
}

/// The first library that `opens` accepts, and its result. `variable` (the value of [`VARIABLE`]) forces one library;
/// otherwise `candidates` are tried.
///
/// # Errors
/// OpenCL is switched off, the forced library does not open (no other is tried then), or none opens.
pub fn find<T>(
    variable: Option<&OsStr>,
    candidates: &[PathBuf],
    mut opens: impl FnMut(&Path) -> Result<T, String>,
) -> Result<(PathBuf, T), LibraryError> {
    if let Some(forced) = variable.filter(|value| !value.is_empty()) {
        if forced.eq_ignore_ascii_case("none") {
            return Err(LibraryError::SwitchedOff);
        }
        let path = PathBuf::from(forced);
        return match opens(&path) {
            Ok(opened) => Ok((path, opened)),
            Err(reason) => Err(LibraryError::Forced { attempt: Attempt { path, reason } }),
        };
    }
    let mut tried = Vec::new();
    for path in candidates {
        match opens(path) {
            Ok(opened) => return Ok((path.clone(), opened)),
            Err(reason) => tried.push(Attempt { path: path.clone(), reason }),
        }
    }
    Err(LibraryError::NotFound { tried })
}

/// The library of this process and its functions; set by [`load`].
static LOADED: OnceLock<Result<(PathBuf, Functions), LibraryError>> = OnceLock::new();

/// The library of this process. The first call locates and loads it; later calls return the same result. The
/// environment is read and never changed.
///
/// # Errors
/// As [`find`].
pub fn load() -> Result<&'static Path, LibraryError> {
    let loaded = LOADED.get_or_init(|| {
        let variable = std::env::var_os(VARIABLE);
        let (path, functions) = find(variable.as_deref(), &candidates(System::current(), usize::BITS), open)?;
        tracing::debug!(path = %path.display(), "OpenCL library loaded");
        Ok((path, functions))
    });
    match loaded {
        Ok((path, _)) => Ok(path),
        Err(error) => Err(error.clone()),
    }
}

/// The functions of the library that [`load`] found; `None` before the first call, or if it found none.
pub(crate) fn functions() -> Option<&'static Functions> {
    LOADED.get().and_then(|loaded| loaded.as_ref().ok()).map(|(_, functions)| functions)
}

/// Opens a library and looks up its functions. A library with the first OpenCL function stays loaded.
fn open(path: &Path) -> Result<Functions, String> {
    // SAFETY: loading runs the library's initialisers. It is an OpenCL library by name, in a system
    // folder, or the one the user named.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    let address = |name: &CStr| {
        // SAFETY: only the address is read here.
        let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
        symbol.map_or(std::ptr::null_mut(), |symbol| *symbol)
    };
    // SAFETY: as above: functions of these names have the types of the headers.
    let mut functions = unsafe { Functions::of(address) };
    if functions.clGetPlatformIDs.is_none()
        // SAFETY: as above.
        && let Some(behind) = unsafe { behind_pointers(address) }
    {
        functions = behind;
    }
    if functions.clGetPlatformIDs.is_none() {
        return Err("it has no clGetPlatformIDs, so it is not an OpenCL library".to_owned());
    }
    // Drivers do not survive unloading, and the functions are called until the process ends.
    mem::forget(library);
    Ok(functions)
}

/// The functions of a library that does not export them, as `libOpenCL-pixel.so` of Google's phones: `enableOpenCL()` comes
/// first, then `loadOpenCLPointer(name)` gives the address of a function. `None` for other libraries. Source: TensorFlow
/// Lite, `tensorflow/lite/delegates/gpu/cl/opencl_wrapper.cc`. Tested only with the tests' own driver.
///
/// # Safety
/// `address` looks up the symbols of an OpenCL library, which stays loaded.
unsafe fn behind_pointers(address: impl Fn(&CStr) -> *mut c_void) -> Option<Functions> {
    type Enable = unsafe extern "C" fn();
    type Pointer = unsafe extern "C" fn(*const c_char) -> *mut c_void;
    let [enable, pointer] = [c"enableOpenCL", c"loadOpenCLPointer"].map(address);
    if enable.is_null() || pointer.is_null() {
        return None;
    }
    // SAFETY: functions of these names have these types in such a library.
    let (enable, pointer) = unsafe {
        (mem::transmute::<*mut c_void, Enable>(enable), mem::transmute::<*mut c_void, Pointer>(pointer))
    };
    // SAFETY: as above; names end with NUL, and the functions that are returned have the types of the headers.
    unsafe {
        enable();
        Some(Functions::of(|name| pointer(name.as_ptr())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(good: &'static str) -> impl FnMut(&Path) -> Result<(), String> {
        move |path| if path == Path::new(good) { Ok(()) } else { Err("not there".to_owned()) }
    }

    #[test]
    fn the_first_that_loads_is_taken() {
        let list = ["a.so", "b.so", "c.so"].map(PathBuf::from);
        let mut asked = Vec::new();
        let found = find(None, &list, |path| {
            asked.push(path.to_owned());
            if path == Path::new("a.so") { Err("broken".to_owned()) } else { Ok(()) }
        });
        assert_eq!(found, Ok((PathBuf::from("b.so"), ())));
        assert_eq!(asked, list[..2]);
    }

    #[test]
    fn a_path_is_reported_once() {
        let attempt = |reason: &str| Attempt { path: "/a.so".into(), reason: reason.to_owned() }.to_string();
        assert_eq!(attempt("/a.so: no such file"), "/a.so: no such file");
        assert_eq!(attempt("no such file"), "/a.so: no such file");
    }

    #[test]
    fn every_failure_is_reported_with_its_reason() {
        let list = ["a.so", "b.so"].map(PathBuf::from);
        let Err(LibraryError::NotFound { tried }) = find(None, &list, only("z.so")) else { panic!() };
        assert_eq!(tried.len(), 2);
        assert_eq!(tried[1], Attempt { path: "b.so".into(), reason: "not there".to_owned() });
        let text = LibraryError::NotFound { tried }.to_string();
        assert!(
            text.contains("a.so") && text.contains("pocl-opencl-icd") && text.contains(VARIABLE),
            "{text}"
        );
    }

    #[test]
    fn the_variable_forces_one_and_only_one() {
        let list = [PathBuf::from("a.so")];
        assert_eq!(find(Some("own.so".as_ref()), &list, only("own.so")), Ok(("own.so".into(), ())));
        let error = find(Some("own.so".as_ref()), &list, only("a.so")).unwrap_err();
        assert!(matches!(error, LibraryError::Forced { .. }));
        assert_eq!(find(Some("".as_ref()), &list, only("a.so")), Ok(("a.so".into(), ())));
    }

    #[test]
    fn none_means_no_opencl_at_all() {
        let list = [PathBuf::from("a.so")];
        for value in ["none", "NONE"] {
            let error = find::<()>(Some(value.as_ref()), &list, |_| panic!("nothing is opened")).unwrap_err();
            assert_eq!(error, LibraryError::SwitchedOff);
        }
    }

    #[test]
    fn candidates_name_the_vendors_places() {
        let has = |list: &[PathBuf], path: &str| list.iter().any(|one| one == Path::new(path));
        let android = candidates(System::Android, 64);
        for path in [
            "libOpenCL.so",
            "/vendor/lib64/libOpenCL.so",
            "/system/vendor/lib64/libOpenCL.so",
            "/vendor/lib64/egl/libGLES_mali.so",
            "/vendor/lib64/libOpenCL-pixel.so",
            "/vendor/lib64/libOpenCL-car.so",
            "/vendor/lib64/libPVROCL.so",
        ] {
            assert!(has(&android, path), "{path}");
        }
        assert!(has(&candidates(System::Android, 32), "/system/vendor/lib/libOpenCL.so"));
        let linux = candidates(System::Linux, 64);
        assert_eq!(linux[0], Path::new("libOpenCL.so.1"));
        for path in ["libOpenCL.so", "libmali.so", "libmali.so.1", "libGLES_mali.so"] {
            assert!(has(&linux, path), "{path}");
        }
        assert_eq!(candidates(System::Windows, 64), [PathBuf::from("OpenCL.dll")]);
        assert!(has(&candidates(System::MacOs, 64), "/System/Library/Frameworks/OpenCL.framework/OpenCL"));
    }

    #[test]
    fn a_file_that_is_not_a_library_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "not a library").unwrap();
        let Err(error) = find(Some(file.path().as_os_str()), &[], open) else { panic!("it was loaded") };
        assert!(error.to_string().contains(VARIABLE), "{error}");
    }
}
