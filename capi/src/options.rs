//! Options of plans, by the names of the command's options.

use crate::arrays::{free, hand_out, handle_mut, text};
use crate::status::{Failure, call, input, pairforge_status, usage};
use pairforge::fmm::{Basis, Options, Periodic, Precision};
use std::ffi::c_char;

/// Options of a plan. Whatever is not set is chosen: by the tolerance where there is one, else as the field usually has it.
#[allow(non_camel_case_types, reason = "it is a name in C")]
#[derive(Default)]
pub struct pairforge_options(pub Options);

/// An option whose value is a number.
struct Number {
    name: &'static str,
    set: fn(Options, f64) -> Result<Options, Failure>,
}

/// An option whose value is a text.
struct Text {
    name: &'static str,
    set: fn(Options, &str) -> Result<Options, Failure>,
}

static NUMBERS: &[Number] = &[
    Number { name: "tolerance", set: |options, x| Ok(options.tolerance(x)) },
    Number { name: "order", set: |options, x| Ok(options.order(count(x)?)) },
    Number { name: "theta", set: |options, x| Ok(options.theta(x)) },
    Number { name: "leaf", set: |options, x| Ok(options.leaf(count(x)?)) },
    Number { name: "softening", set: |options, x| Ok(options.softening(x)) },
    Number { name: "hessian", set: |options, x| Ok(options.hessian(x != 0.0)) },
    Number { name: "periodic", set: |options, x| Ok(options.periodic(Periodic { length: x, axes: [true; 3] })) },
];

static TEXTS: &[Text] = &[
    Text { name: "backend", set: |options, name| Ok(options.backend(name)) },
    Text {
        name: "precision",
        set: |options, name| match name {
            "f32" => Ok(options.precision(Precision::F32)),
            "f64" => Ok(options.precision(Precision::F64)),
            other => input(format!("there is no precision `{other}`; give f32 or f64")),
        },
    },
    Text {
        name: "expansion",
        set: |options, name| match name {
            "cartesian" => Ok(options.expansion(Basis::Cartesian)),
            "solid" => Ok(options.expansion(Basis::Solid)),
            other => input(format!("there is no expansion `{other}`; give cartesian or solid")),
        },
    },
];

fn count(x: f64) -> Result<usize, Failure> {
    match x >= 0.0 && x.fract() == 0.0 && x <= u32::MAX as f64 {
        true => Ok(x as usize),
        false => input(format!("a whole number is needed, not {x:?}")),
    }
}

/// Makes options of which none is set.
///
/// # Safety
/// `options` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_options_new(options: *mut *mut pairforge_options) -> pairforge_status {
    call(|| unsafe { hand_out(pairforge_options::default(), options) })
}

/// Frees options; plans that were made with them keep theirs.
///
/// # Safety
/// `options` must be null, or was made and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_options_free(options: *mut pairforge_options) {
    unsafe { free(options) }
}

/// Sets an option whose value is a number: `tolerance` (relative error of the gradient), `order`, `theta`, `leaf`, `softening` (a length),
/// `hessian` (0 or 1), `periodic` (the side of a cube).
///
/// # Safety
/// `options` must have been made, and `name` end with a byte 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_options_set_number(
    options: *mut pairforge_options,
    name: *const c_char,
    value: f64,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (options, name) = unsafe { (handle_mut("options", options)?, text("the name of an option", name)?) };
        let Some(option) = NUMBERS.iter().find(|option| option.name == name) else {
            return usage(unknown(name, NUMBERS.iter().map(|option| option.name), "a number"));
        };
        options.0 = (option.set)(options.0.clone(), value)?;
        Ok(())
    })
}

/// Sets an option whose value is a text: `backend` (`cpu`, `cuda`, `emulator`, `cycle`, `board:PORT`), `precision` (`f32`, `f64`), `expansion`
/// (`cartesian`, `solid`).
///
/// # Safety
/// `options` must have been made, and the texts end with a byte 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_options_set_text(
    options: *mut pairforge_options,
    name: *const c_char,
    value: *const c_char,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (options, name) = unsafe { (handle_mut("options", options)?, text("the name of an option", name)?) };
        // SAFETY: as for this function.
        let value = unsafe { text("the value of an option", value)? };
        let Some(option) = TEXTS.iter().find(|option| option.name == name) else {
            return usage(unknown(name, TEXTS.iter().map(|option| option.name), "a text"));
        };
        options.0 = (option.set)(options.0.clone(), value)?;
        Ok(())
    })
}

fn unknown(name: &str, known: impl Iterator<Item = &'static str>, kind: &str) -> String {
    let known: Vec<&str> = known.collect();
    format!("there is no option `{name}` whose value is {kind}; there are {}", known.join(", "))
}
