//! Proofs that the Verilog of an operator gives the bits and flags of its exact C for all arguments: yosys reads the Verilog, and Z3 looks
//! for arguments for which the two differ.
//!
//! The Verilog is unrolled over as many clocks as it has stages. Registers begin with anything, and what comes in behind the arguments is
//! anything too: a value that waits a clock too long or too short is found as well.

use crate::run::{Call, Step};
use crate::tools::{Tool, YOSYS};
use crate::{FlowError, Tools};
use hdl::circuit::Pipelined;
use hdl::op::ctext::smt::{self, Spec};
use hdl::op::ctext::{self, CText, CType, CVar};
use hdl::op::{Inst, Operator};
use hdl::rtl::netlist::Netlist;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub static Z3: Tool = Tool { name: "z3", yowasp: "z3", package: "z3-solver", asks: Some("--version") };

/// A use of an operator, and the hardware that is to be it.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    pub op: &'static dyn Operator,
    pub inst: &'a Inst,
    pub hardware: &'a Pipelined,
}

/// The end of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// For all arguments that are possible.
    Proved,
    /// These arguments give another result; `value` is the Verilog's, and `flags` the bits of those that the operator states.
    Differs { args: Vec<u64>, value: u64, flags: u64 },
    /// Nothing was found, and why.
    Open(String),
}

/// Z3 takes no more memory than that, in MB.
const MEMORY: u32 = 4000;

/// Looks for a difference for so many seconds. `dir` gets the files of the tools.
pub fn prove(
    tools: &Tools,
    claim: &Claim,
    (dir, seconds): (&Path, u32),
    watch: &mut dyn FnMut(&Step),
) -> Result<Verdict, FlowError> {
    let question = match question(claim) {
        Ok(question) => question,
        Err(why) => return Ok(Verdict::Open(why)),
    };
    let name = &claim.hardware.module.name;
    let write = |file: &str, text: &str| fs::write(dir.join(file), text).map_err(FlowError::io(&dir.join(file)));
    let modules = claim.hardware.parts.iter().chain([&claim.hardware.module]).cloned();
    let verilog = Netlist::new(modules).verilog().map_err(|e| FlowError::Unsupported(e.to_string()))?;
    write("operator.v", &verilog)?;
    write("operator.ys", &script(name))?;
    let what = format!("proving {}", claim.op.name());
    let yosys = Call {
        tools,
        program: tools.find(&YOSYS)?,
        args: ["-q", "-l", "yosys.log", "operator.ys"].map(String::from).to_vec(),
        dir,
        what: &what,
        log: "yosys.log".into(),
        writes: vec!["operator.smt2".into()],
    };
    yosys.run(watch)?;
    let path = dir.join("operator.smt2");
    let circuit = fs::read_to_string(&path).map_err(FlowError::io(&path))?;
    write("question.smt2", &format!("(set-logic QF_BVFP)\n{circuit}\n{question}"))?;
    let limits = [format!("-T:{seconds}"), format!("-memory:{MEMORY}")];
    let args = limits.into_iter().chain(["-model", "question.smt2"].map(String::from)).collect();
    let log = "z3.log".to_string();
    let _ = fs::remove_file(dir.join(&log));
    let solver = Call { tools, program: tools.find(&Z3)?, args, dir, what: &what, log, writes: Vec::new() };
    let ended = solver.run(watch);
    let path = dir.join("z3.log");
    let said = fs::read_to_string(&path).unwrap_or_default();
    match said.lines().next() {
        Some("unsat") => Ok(Verdict::Proved),
        Some("sat") => {
            model(claim, &said).ok_or_else(|| FlowError::Report { path, reason: "holds no arguments".into() })
        }
        Some("timeout" | "unknown") => Ok(Verdict::Open(format!("Z3 found no end in {seconds} s"))),
        _ => {
            ended?;
            Err(FlowError::Report { path, reason: "is no answer of Z3".into() })
        }
    }
}

/// Yosys's commands for the transition of a module as SMT-LIB.
fn script(name: &str) -> String {
    format!(
        "read_verilog operator.v\nhierarchy -check -top {name}\nproc -norom\nflatten\nopt -fast\nasync2sync\ndffunmap\n\
         write_smt2 -stbv operator.smt2\n"
    )
}

/// Name of argument `k`, which is that of its port too.
fn port(k: usize) -> char {
    (b'a' + k as u8) as char
}

/// The text behind the definitions of the circuit: some possible arguments give another result or other flags. The error says why
/// there is no such text.
fn question(claim: &Claim) -> Result<String, String> {
    let Claim { op, inst, hardware } = *claim;
    let spec = specification(op, inst)?;
    let name = &hardware.module.name;
    let mut text = String::from(smt::PRELUDE);
    for clock in 0..=hardware.latency {
        let _ = writeln!(text, "(declare-const s{clock} |{name}_s|)");
    }
    for clock in 0..hardware.latency {
        let _ = writeln!(text, "(assert (|{name}_t| s{clock} s{}))", clock + 1);
    }
    // A port of one bit is a condition in yosys's text.
    let at = |port: &str, width: u32, clock: u32| match width {
        1 => format!("(ite (|{name}_n {port}| s{clock}) #b1 #b0)"),
        _ => format!("(|{name}_n {port}| s{clock})"),
    };
    for (k, format) in inst.args.iter().enumerate() {
        let (x, width) = (port(k), format.width());
        let _ =
            writeln!(text, "(declare-const {x} (_ BitVec {width}))\n(assert (= {x} {}))", at(&x.to_string(), width, 0));
        let extended = CType::of(*format).bits - width;
        let _ = writeln!(text, "(define-fun x{k} () (_ BitVec {}) ((_ zero_extend {extended}) {x}))", width + extended);
        let _ = writeln!(text, "(assert {})", possible(inst, k));
        if inst.same && k > 0 {
            let _ = writeln!(text, "(assert (= a {x}))");
        }
    }
    text += &spec.definitions;
    let width = inst.result.width();
    let _ = writeln!(text, "(declare-const q (_ BitVec {width}))\n(assert (= q {}))", at("q", width, hardware.latency));
    let mut differs = vec![format!("(not (= q ((_ extract {} 0) {})))", width - 1, spec.value)];
    let stated = op.flags(inst);
    let count = stated.iter().count() as u32;
    if count > 0 {
        let _ =
            writeln!(text, "(declare-const f (_ BitVec {count}))\n(assert (= f {}))", at("f", count, hardware.latency));
    }
    for (k, flag) in stated.iter().enumerate() {
        let when = spec.raised.iter().filter(|(flags, _)| flags.contains(flag)).map(|(_, when)| format!(" {when}"));
        differs.push(format!("(xor (= ((_ extract {k} {k}) f) #b1) (or false{}))", when.collect::<String>()));
    }
    let _ = writeln!(text, "(assert (or {}))\n(check-sat)", differs.join(" "));
    Ok(text)
}

/// The exact C of the use as terms of the arguments `x0`, `x1` and so on.
fn specification(op: &dyn Operator, inst: &Inst) -> Result<Spec, String> {
    if op.table(inst).is_some() || inst.attrs.lookup.is_some() {
        return Err("a table is no matter for a solver".into());
    }
    let args: Vec<CVar> =
        inst.args.iter().enumerate().map(|(k, f)| CVar::new(format!("x{k}"), CType::of(*f))).collect();
    let mut c = CText::default();
    let (value, raised) = ctext::of_use(op, inst, &mut c, &args);
    if !c.tables.is_empty() {
        return Err("a table is no matter for a solver".into());
    }
    smt::spec(&c, &args, &value, &raised)
}

/// The term that says whether argument `k` can be what it is.
fn possible(inst: &Inst, k: usize) -> String {
    let (format, bounds, x, width) = (inst.args[k], inst.bounds(k), port(k), inst.args[k].width());
    let number = |n: i128| format!("(_ bv{} {width})", n as u128 & format.mask() as u128);
    let positive = match format.is_signed() && inst.is_nonneg(k) {
        true => format!(" (= ((_ extract {0} {0}) {x}) #b0)", width - 1),
        false => String::new(),
    };
    if format.is_sign_magnitude() {
        let magnitude = format!("(bvand {x} {})", number((format.mask() >> 1) as i128));
        let zero = if bounds.zero { format!("(= {x} {})", number(0)) } else { "false".into() };
        let (low, high) = (number(bounds.low), number(bounds.high));
        return format!("(and (or {zero} (and (bvule {low} {magnitude}) (bvule {magnitude} {high}))){positive})");
    }
    let order = if format.is_signed() { "bvsle" } else { "bvule" };
    let zero = if bounds.zero { String::new() } else { format!(" (not (= {x} {}))", number(0)) };
    format!("(and ({order} {} {x}) ({order} {x} {}){zero}{positive})", number(bounds.low), number(bounds.high))
}

/// The arguments and the Verilog's result in a model of Z3.
fn model(claim: &Claim, said: &str) -> Option<Verdict> {
    // `(define-fun a () (_ BitVec 18)` and the number on the next line.
    let value = |name: &str| -> Option<u64> {
        let behind = said.split_once(&format!("(define-fun {name} () "))?.1;
        let number = behind[behind.find('#')?..].split([')', '\n']).next()?;
        match number.split_at(2) {
            ("#x", digits) => u64::from_str_radix(digits, 16).ok(),
            ("#b", digits) => u64::from_str_radix(digits, 2).ok(),
            _ => None,
        }
    };
    let args = (0..claim.inst.args.len()).map(|k| value(&port(k).to_string())).collect::<Option<Vec<u64>>>()?;
    let flags = if claim.op.flags(claim.inst).is_empty() { 0 } else { value("f")? };
    Some(Verdict::Differs { args, value: value("q")?, flags })
}
