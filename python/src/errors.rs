//! Errors as the exceptions of the Python package, with the sentence of the command.

use pairforge::Error;
use pyo3::prelude::*;
use std::any::Any;

/// An exception of the package by the name of its class.
fn exception(class: &str, text: &str) -> PyErr {
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let class = py.import("pairforge._errors")?.getattr(class)?;
            Ok(PyErr::from_value(class.call1((named_as_in_python(text),))?))
        };
        made().unwrap_or_else(|e| e)
    })
}

pub fn input(text: impl AsRef<str>) -> PyErr {
    exception("InputError", text.as_ref())
}

pub fn usage(text: impl AsRef<str>) -> PyErr {
    exception("UsageError", text.as_ref())
}

pub fn tool(text: impl AsRef<str>) -> PyErr {
    exception("ToolError", text.as_ref())
}

pub fn of_library(e: Error) -> PyErr {
    let text = e.to_string();
    match e {
        Error::Options(_) => usage(text),
        Error::Input(_) => input(text),
        Error::Tool(_) => tool(text),
        _ => exception("Error", &text),
    }
}

/// An exception for what should not happen.
pub fn bug(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    exception("Error", &format!("this is a bug in Pairforge, please report it: {text}"))
}

/// The sentence with options named as the arguments of Python: `--tol` is `tol`.
fn named_as_in_python(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("--") {
        let end = behind.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(behind.len());
        out += before;
        match &behind[..end] {
            "" => out += "--",
            name => out += &format!("`{}`", name.trim_end_matches('-').replace('-', "_")),
        }
        rest = &behind[end..];
    }
    out + rest
}
