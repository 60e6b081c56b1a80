//! The parameters and formats of which the rows of the library are made.

use super::{Class, Exactly, Function, Kind, Param, Rule, Takes};
use hdl::number::exact::Exact;
use hdl::op::table::{self, MAX_MANT, MAX_WIDE, MAX_WIDTH};
use hdl::op::{Operator, log};

/// The parameter of a function of one.
pub(super) const ONE: &[Param] = &[value("x")];

/// The functions to whole numbers.
pub(super) const fn whole(
    name: &'static str,
    aliases: &'static [&'static str],
    text: &'static str,
    takes: &'static [Takes],
    of: fn(&Exact) -> Exact,
) -> Function {
    Function { name, params: ONE, aliases, text, takes, rule: Rule::Operator(Some(Exactly::Of(of))) }
}

/// Every format, by steps of its own arithmetic.
pub(super) static STEPS: &[Takes] = &[moves(Class::Int), moves(Class::Fixed), moves(Class::Float), moves(Class::Log)];

/// The formats of powers.
pub(super) static POWERS: &[Takes] =
    &[any(Class::Log, log::LPOW), Takes { class: Class::Float, most: MAX_WIDE, operator: Some(table::POW) }];

pub(super) const fn value(name: &'static str) -> Param {
    Param { name, kind: Kind::Value }
}

pub(super) const fn vector(name: &'static str) -> Param {
    Param { name, kind: Kind::Vectors }
}

pub(super) const fn integer(name: &'static str) -> Param {
    Param { name, kind: Kind::Integer }
}

/// Every format of a class.
pub(super) const fn any(class: Class, operator: &'static dyn Operator) -> Takes {
    Takes { class, most: u32::MAX, operator: Some(operator) }
}

/// Every format of a class, whose values only change places.
pub(super) const fn moves(class: Class) -> Takes {
    Takes { class, most: u32::MAX, operator: None }
}

/// Every format, by one operator.
pub(super) const fn every(operator: &'static dyn Operator) -> [Takes; 4] {
    [any(Class::Int, operator), any(Class::Fixed, operator), any(Class::Float, operator), any(Class::Log, operator)]
}

/// The formats of functions of one argument that stand in tables.
pub(super) const fn tabulated(operator: &'static dyn Operator) -> [Takes; 2] {
    let operator = Some(operator);
    [Takes { class: Class::Float, most: MAX_MANT, operator }, Takes { class: Class::Fixed, most: MAX_WIDTH, operator }]
}

/// The same with floats of more fraction bits.
pub(super) const fn tabulated_wide(operator: &'static dyn Operator) -> [Takes; 2] {
    let operator = Some(operator);
    [Takes { class: Class::Float, most: MAX_WIDE, operator }, Takes { class: Class::Fixed, most: MAX_WIDTH, operator }]
}

/// Floats that a function by a table takes.
pub(super) const fn tabulated_float(operator: &'static dyn Operator) -> Takes {
    Takes { class: Class::Float, most: MAX_MANT, operator: Some(operator) }
}
