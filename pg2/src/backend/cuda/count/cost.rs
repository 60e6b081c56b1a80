//! The cost of each value in instructions of compute capability 9, and which are fused with their readers.

use super::{Made, Operations, Value, ValueType, Values};

const U32: ValueType = ValueType::Int { bits: 32, signed: false };
const I32: ValueType = ValueType::Int { bits: 32, signed: true };

fn integer(count: u32) -> Operations {
    Operations { integer: count, ..Operations::default() }
}

fn conversions(conversions: u32, integer: u32) -> Operations {
    Operations { conversions, integer, ..Operations::default() }
}

/// A function of double precision: the approximation that it begins with, fused multiply-adds, and integers.
fn double(functions: u32, fused_f64: u32, integer: u32) -> Operations {
    Operations { functions, fused_f64, integer, ..Operations::default() }
}

fn single(functions: u32, fused: u32, plain: u32, integer: u32) -> Operations {
    Operations { functions, fused, plain, integer, ..Operations::default() }
}

/// The type of a function's result, for a function that the modes use.
pub(super) fn result(name: &str, args: &[ValueType]) -> Option<ValueType> {
    let float = args.iter().copied().fold(ValueType::F32, |k, a| if a == ValueType::F32 { k } else { ValueType::F64 });
    Some(match name {
        "pf_shr32" | "pf_shl32" | "pf_clz32" | "pf_clz64" | "pf_clz128" | "pf_mulf" | "pf_addf" | "pf_muld"
        | "pf_addd" => U32,
        "pf_shr64" | "pf_shl64" => ValueType::Int { bits: 64, signed: false },
        "pf_shr128" | "pf_shl128" => ValueType::Int { bits: 128, signed: false },
        "pf_roundd32" | "pf_cutd32" | "pf_roundf32" => I32,
        "pf_roundd64" | "pf_cutd64" | "pf_roundf" => ValueType::Int { bits: 64, signed: true },
        // Elements of a table are held in as few bytes as they need; the most are words.
        "PF_AT" | "__popcll" | "__clzll" => I32,
        "__double_as_longlong" => ValueType::Int { bits: 64, signed: true },
        // The float of a pattern.
        "__longlong_as_double" | "number" => ValueType::F64,
        "sqrt" | "rsqrt" | "exp" | "log" | "sin" | "cos" | "erfc" | "erf" | "pow" | "ldexp" | "fabs" | "fmin"
        | "fmax" | "rint" | "trunc" | "floor" | "ceil" | "round" | "tanh" | "atan" | "exp2" | "log2" | "cbrt"
        | "asin" | "acos" | "atan2" => float,
        _ => return None,
    })
}

/// The cost of a call. Functions of double precision are counted by the length of their common way.
fn call(name: &str, kind: ValueType) -> Operations {
    let is_single = kind == ValueType::F32;
    match name {
        "pf_shr32" | "pf_shl32" => integer(1),
        "pf_shr64" | "pf_shl64" => integer(4),
        "pf_shr128" | "pf_shl128" => integer(14),
        "pf_clz32" => conversions(1, 1),
        "pf_clz64" | "__clzll" => conversions(2, 4),
        "__popcll" => conversions(2, 1),
        "pf_clz128" => conversions(4, 10),
        "pf_mulf" | "pf_addf" => Operations { plain: 1, ..Operations::default() },
        "pf_muld" | "pf_addd" => Operations { plain_f64: 1, integer: 2, ..Operations::default() },
        "pf_roundd32" | "pf_cutd32" | "pf_roundf32" | "pf_roundd64" | "pf_cutd64" | "pf_roundf" => conversions(1, 0),
        "pf_add96" => integer(3),
        "PF_AT" => Operations { loads: 1, integer: 1, ..Operations::default() },
        "rint" | "trunc" | "floor" | "ceil" => conversions(1, 0),
        "round" => conversions(1, 4),
        "fabs" | "__double_as_longlong" | "__longlong_as_double" | "number" => Operations::default(),
        "fmin" | "fmax" if is_single => integer(1),
        "fmin" | "fmax" => Operations { plain_f64: 1, integer: 4, ..Operations::default() },
        "ldexp" if is_single => single(0, 0, 2, 4),
        "ldexp" => Operations { plain_f64: 2, integer: 6, ..Operations::default() },
        "rsqrt" if is_single => single(1, 0, 0, 0),
        "rsqrt" => double(1, 5, 4),
        "sqrt" if is_single => single(1, 0, 1, 0),
        "sqrt" => double(1, 7, 4),
        "exp" if is_single => single(1, 4, 1, 2),
        "exp" => double(0, 16, 10),
        "log" if is_single => single(0, 11, 1, 6),
        "log" => double(1, 24, 14),
        "sin" | "cos" if is_single => single(0, 10, 2, 10),
        "sin" | "cos" => double(0, 22, 14),
        "pow" if is_single => single(2, 24, 8, 16),
        "pow" => double(1, 70, 40),
        _ if is_single => single(2, 20, 4, 8),
        _ => double(1, 45, 20),
    }
}

/// The operations of all values that are needed and that vary.
pub(super) fn count(values: &Values) -> Operations {
    let (needed, uses) = reached(values);
    let fused = fused(values, &needed, &uses);
    let mut sum = Operations::default();
    for (id, value) in values.list.iter().enumerate() {
        if needed[id] && values.varies[id] && !fused[id] {
            sum.add(&cost(values, id, value, &fused));
        }
    }
    sum
}

/// The values that a result depends on, and how often each is read.
fn reached(values: &Values) -> (Vec<bool>, Vec<u32>) {
    let (mut needed, mut uses) = (vec![false; values.list.len()], vec![0; values.list.len()]);
    for id in &values.results {
        needed[*id] = true;
        uses[*id] += 1;
    }
    for id in (0..values.list.len()).rev() {
        if needed[id] {
            for arg in &values.list[id].args {
                needed[*arg] = true;
                uses[*arg] += 1;
            }
        }
    }
    (needed, uses)
}

/// The values that an instruction of their only reader computes too: at most one for each reader.
fn fused(values: &Values, needed: &[bool], uses: &[u32]) -> Vec<bool> {
    let mut fused = vec![false; values.list.len()];
    // Whether a value has itself taken one in.
    let mut full = fused.clone();
    for (id, value) in values.list.iter().enumerate() {
        if !needed[id] || !values.varies[id] {
            continue;
        }
        let takes = |arg: &&usize| {
            let (of, seen) = (&values.list[**arg], through(values, **arg, uses));
            let seen = &values.list[seen];
            let is_free = uses[**arg] == 1 && values.varies[**arg] && of.kind.words() <= value.kind.words();
            is_free && fuses(values, value, seen)
        };
        let candidates = value.args.iter().filter(takes);
        let chosen = candidates.map(|a| through(values, *a, uses)).find(|arg| !full[*arg] && !fused[*arg]);
        if let Some(arg) = chosen {
            fused[arg] = true;
            full[id] = true;
        }
    }
    fused
}

/// The value behind casts that cost nothing and that nothing else reads.
fn through(values: &Values, mut id: usize, uses: &[u32]) -> usize {
    while let Value { made: Made::Cast, args, kind } = &values.list[id] {
        let from = values.list[args[0]].kind;
        if uses[args[0]] != 1 || from.is_float() || kind.is_float() || from.words() < kind.words() {
            break;
        }
        id = args[0];
    }
    id
}

/// Whether one instruction does both an operator and that of its argument.
fn fuses(values: &Values, reader: &Value, arg: &Value) -> bool {
    let Made::Operator(outer) = reader.made else { return false };
    let inner = match &arg.made {
        Made::Operator(inner) => *inner,
        // A flag is raised under a condition by one instruction.
        Made::Select if matches!(outer, "|") => return arg.args[1..].iter().all(|a| values.is_literal(*a)),
        _ => return false,
    };
    if reader.kind.is_float() {
        return arg.kind == reader.kind && matches!(outer, "+" | "-") && inner == "*";
    }
    let is_scaling = inner == "<<" && arg.args.len() == 2 && values.is_literal(arg.args[1]);
    match outer {
        _ if reader.kind == ValueType::Truth => false,
        "+" | "-" => matches!(inner, "+" | "-" | "*") || is_scaling,
        "&" | "|" | "^" => matches!(inner, "&" | "|" | "^") && arg.kind != ValueType::Truth,
        _ => false,
    }
}

/// The cost of a value by itself.
fn cost(values: &Values, id: usize, value: &Value, fused: &[bool]) -> Operations {
    let arg = |k: usize| values.list[value.args[k]].kind;
    match &value.made {
        Made::Given(_) | Made::Literal(_) => Operations::default(),
        Made::Call(name) => call(name, value.kind),
        Made::Cast => cast(arg(0), value.kind),
        Made::Select => {
            let test = if arg(0) == ValueType::Truth { 0 } else { arg(0).words() };
            integer(test + if value.kind == ValueType::Truth { 0 } else { value.kind.words() })
        }
        Made::Operator(operator) => {
            let takes_product = values.list[id].args.iter().any(|a| fused[*a]);
            of_operator(values, operator, value, takes_product)
        }
    }
}

fn cast(from: ValueType, to: ValueType) -> Operations {
    match (from, to) {
        _ if from == to => Operations::default(),
        (a, b) if a.is_float() || b.is_float() => conversions(1, 0),
        (ValueType::Int { bits: a, signed: true }, ValueType::Int { bits: b, .. }) if a < b => integer(1),
        _ => Operations::default(),
    }
}

fn of_operator(values: &Values, operator: &str, value: &Value, takes_one: bool) -> Operations {
    let first = values.list[value.args[0]].kind;
    let second = value.args.get(1).map(|b| values.list[*b].kind);
    let of = second.map_or(first, |b| first.with(b));
    if operator == "/" && of == ValueType::F32 && values.is_literal(value.args[0]) {
        return single(1, 0, 0, 0);
    }
    if of.is_float() {
        return of_floats(operator, of, second.is_none(), takes_one);
    }
    let words = of.words();
    let constant = |k: usize| value.args.get(k).is_some_and(|a| values.is_literal(*a));
    match operator {
        "~" | "!" | "||" | "&&" => Operations::default(),
        "&" | "|" | "^" if value.kind == ValueType::Truth => Operations::default(),
        "==" | "!=" | "<" | ">" | "<=" | ">=" if of == ValueType::Truth => Operations::default(),
        "<<" | ">>" => integer(match (words, constant(1)) {
            (1, _) => 1,
            (2, true) => 2,
            (2, false) => 4,
            (_, true) => 5,
            _ => 14,
        }),
        "*" => {
            // A product of numbers that were widened is one of the narrow ones.
            let narrow = |k: usize| {
                let arg = &values.list[value.args[k]];
                arg.made == Made::Cast && values.list[arg.args[0]].kind.words() < arg.kind.words() || constant(k)
            };
            integer(match (words, narrow(0) && narrow(1)) {
                (1, _) | (2, true) => 1,
                (2, false) => 4,
                (_, true) => 6,
                _ => 12,
            })
        }
        "/" | "%" => integer([18, 70, 250][words.ilog2().min(2) as usize]),
        _ => integer(words),
    }
}

fn of_floats(operator: &str, kind: ValueType, is_unary: bool, takes_one: bool) -> Operations {
    let is_single = kind == ValueType::F32;
    match operator {
        // A sign is read with the operand.
        "-" if is_unary => Operations::default(),
        "+" | "-" if takes_one && is_single => single(0, 1, 0, 0),
        "+" | "-" if takes_one => double(0, 1, 0),
        "/" if is_single => single(1, 0, 1, 0),
        "/" => double(1, 8, 4),
        "+" | "-" | "*" if is_single => single(0, 0, 1, 0),
        // A comparison of singles is one of the units of integers.
        _ if is_single => integer(1),
        _ => Operations { plain_f64: 1, ..Operations::default() },
    }
}
