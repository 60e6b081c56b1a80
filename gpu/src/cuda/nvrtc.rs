//! NVRTC, CUDA's compiler as a library: found at run time, and the few functions of it that are used.

use super::CudaError;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The environment variable that names the library's file.
pub const VARIABLE: &str = "PAIRFORGE_NVRTC";

/// How to get it.
const REMEDY: &str = "install the package cuda-nvrtc of the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` and set PAIRFORGE_NVRTC to \
                      the file libnvrtc.so.13 that it brings";

/// The output format of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Machine code of one architecture.
    Cubin,
    /// NVIDIA's portable assembly language.
    Ptx,
}

/// The library, loaded.
pub struct Nvrtc {
    library: Library,
}

type Program = *mut c_void;

impl Nvrtc {
    /// The library of this process, looked for once.
    pub fn get() -> Result<&'static Nvrtc, CudaError> {
        static FOUND: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        FOUND.get_or_init(Nvrtc::load).as_ref().map_err(|text| CudaError::Failed(text.clone()))
    }

    fn load() -> Result<Nvrtc, String> {
        if let Some(file) = std::env::var_os(VARIABLE).filter(|f| !f.is_empty()) {
            // SAFETY: the user names the library, whose initialisers are NVIDIA's.
            let library = unsafe { Library::new(&file) };
            return library
                .map(|library| Nvrtc { library })
                .map_err(|e| format!("NVRTC cannot be loaded from {VARIABLE}={}: {e}", file.to_string_lossy()));
        }
        // SAFETY: as above, by the names that NVIDIA gives it.
        let found = candidates().into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        found
            .map(|library| Nvrtc { library })
            .ok_or_else(|| format!("NVRTC, which compiles kernels for the GPU, was not found; {REMEDY}"))
    }

    /// Its version, such as 13.0.
    pub fn version(&self) -> Result<(u32, u32), String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: signature as in nvrtc.h.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = self.function(b"nvrtcVersion\0")?;
            self.checked(version(&mut major, &mut minor))?;
        }
        Ok((major as u32, minor as u32))
    }

    /// Compiles a text by options, which name the architecture. The error is the compiler's log.
    pub fn compile(&self, text: &str, options: &[String], form: Form) -> Result<Vec<u8>, String> {
        let source = CString::new(text).map_err(|e| e.to_string())?;
        let options: Vec<CString> =
            options.iter().map(|o| CString::new(o.as_str())).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: signatures as in nvrtc.h; all pointers live through the calls, and the program is destroyed once.
        unsafe {
            let mut program: Program = std::ptr::null_mut();
            let create: Create = self.function(b"nvrtcCreateProgram\0")?;
            let compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int =
                self.function(b"nvrtcCompileProgram\0")?;
            let destroy: unsafe extern "C" fn(*mut Program) -> c_int = self.function(b"nvrtcDestroyProgram\0")?;
            let no_list = std::ptr::null;
            let created = create(&mut program, source.as_ptr(), c"kernel.cu".as_ptr(), 0, no_list(), no_list());
            self.checked(created)?;
            let compiled = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let result = match self.checked(compiled) {
                Ok(()) if form == Form::Cubin => self.bytes(program, b"nvrtcGetCUBINSize\0", b"nvrtcGetCUBIN\0"),
                Ok(()) => self.bytes(program, b"nvrtcGetPTXSize\0", b"nvrtcGetPTX\0"),
                Err(what) => {
                    let log = self.bytes(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0")?;
                    Err(format!("{what}\n{}", String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n'])))
                }
            };
            destroy(&mut program);
            result
        }
    }

    /// # Safety
    /// `T` must be the function's type.
    unsafe fn function<T: Copy>(&self, name: &[u8]) -> Result<T, String> {
        // SAFETY: the caller's.
        unsafe { self.library.get::<T>(name) }.map(|f| *f).map_err(|e| format!("NVRTC is of another kind: {e}"))
    }

    /// Calls a pair of functions that give a size, and that many bytes.
    ///
    /// # Safety
    /// `program` must be alive and the names those of such functions.
    unsafe fn bytes(&self, program: Program, size: &[u8], get: &[u8]) -> Result<Vec<u8>, String> {
        // SAFETY: as in nvrtc.h.
        unsafe {
            let size: unsafe extern "C" fn(Program, *mut usize) -> c_int = self.function(size)?;
            let get: unsafe extern "C" fn(Program, *mut c_char) -> c_int = self.function(get)?;
            let mut count = 0;
            self.checked(size(program, &mut count))?;
            let mut bytes = vec![0u8; count];
            self.checked(get(program, bytes.as_mut_ptr().cast()))?;
            Ok(bytes)
        }
    }

    fn checked(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: as in nvrtc.h; the text is static.
        unsafe {
            let text: unsafe extern "C" fn(c_int) -> *const c_char = self.function(b"nvrtcGetErrorString\0")?;
            Err(CStr::from_ptr(text(code)).to_string_lossy().into_owned())
        }
    }
}

type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

/// Where the library may be: where the loader looks, and where the toolkit is installed.
fn candidates() -> Vec<PathBuf> {
    let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
    let home = std::env::var_os("CUDA_HOME").or_else(|| std::env::var_os("CUDA_PATH")).map(PathBuf::from);
    let folders = home.into_iter().chain([PathBuf::from("/usr/local/cuda")]).map(|f| f.join("lib64"));
    let folders: Vec<PathBuf> = [PathBuf::new()].into_iter().chain(folders).collect();
    folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).collect()
}
