//! `prove`: what a solver finds, what is tried, and that a difference is told.

use crate::common::command::{check, has};
use crate::common::{Place, has_verilator};
use flow::prove::{Claim, Verdict, Z3, prove};
use flow::tools::{Tools, YOSYS};
use hdl::Format;
use hdl::circuit::target::Clock;
use hdl::op::{Attrs, Inst, OPERATORS, Operator, hardware, int};
use testkit::uses::{describe, uses};

/// The tools, if all are there.
fn tools() -> Option<Tools> {
    let standard = Tools::standard();
    for tool in [&YOSYS, &Z3] {
        if standard.find(tool).is_err() {
            testkit::missing(tool.name);
            return None;
        }
    }
    Some(standard)
}

/// The verdict on one use with the hardware of another operator.
fn verdict(tools: &Tools, (op, inst): (&'static dyn Operator, &Inst), made: &'static dyn Operator) -> Verdict {
    let place = Place::new();
    let hardware = hardware(made, inst, Clock { mhz: 300.0, ..Clock::default_clock() });
    let claim = Claim { op, inst, hardware: &hardware };
    prove(tools, &claim, (place.path("").as_path(), 60), &mut |_| ()).expect("the tools run")
}

#[test]
fn an_operator_is_proved_and_another_ones_hardware_differs() {
    let Some(tools) = tools() else { return };
    let int9: Format = "int9".parse().expect("a format");
    let inst = Inst::new(int::SUB, &[int9, int9], Attrs::default()).expect("it takes them");
    assert_eq!(verdict(&tools, (int::SUB, &inst), int::SUB), Verdict::Proved);
    let Verdict::Differs { args, value, .. } = verdict(&tools, (int::SUB, &inst), int::ADD) else {
        panic!("no difference")
    };
    assert_eq!(value, int::ADD.bits(&inst, &args).0, "{args:?}");
    assert_ne!(value, int::SUB.bits(&inst, &args).0, "{args:?}");
}

#[test]
#[ignore = "a proof in depth"]
fn narrow_uses_of_every_operator_are_proved() {
    let Some(tools) = tools() else { return };
    for op in OPERATORS.iter() {
        let narrow = |inst: &Inst| inst.args.iter().map(|f| f.width()).sum::<u32>() <= 18 && !inst.is_open();
        for inst in uses(*op).into_iter().filter(narrow).take(4) {
            match verdict(&tools, (*op, &inst), *op) {
                Verdict::Proved => {}
                Verdict::Open(why) => {
                    assert!(why.contains("table") || why.contains("no end"), "{}: {why}", describe(*op, &inst))
                }
                found => panic!("{}: {found:?}", describe(*op, &inst)),
            }
        }
    }
}

const KERNEL: &str = "int32 s fout;\nfloat8.3 f fout;\nint32 a ipin;\nint32 b jpin;\nfloat8.3 x jpin;\ns += (a - b) ^ b;\nf max= pg_abs(x) + x;\n";

#[test]
fn operators_are_proved_exhausted_or_tried_and_the_pipeline_is_simulated() {
    if tools().is_none() || !has_verilator() {
        return;
    }
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    let said = p.finish_within(p.command("prove k.pg2 --samples 400 --json p.json"), 120).expect(0);
    has(
        &said.out,
        &["equal for all arguments, by Z3", "equal on all ", "equal on 400 pairs", "operators hold for all arguments"],
    );
    let rows = p.json("p.json")["rows"].as_array().expect("rows").clone();
    let known = |name: &str| {
        rows.iter().find(|r| r["operator"] == name).map(|r| r["known"].as_str().expect("a word").to_string())
    };
    assert_eq!(known("sub").as_deref(), Some("proved"), "{rows:?}");
    assert_eq!(known("fadd").as_deref(), Some("exhausted"), "{rows:?}");
    assert_eq!(known("pipeline").as_deref(), Some("tried"), "{rows:?}");
}

#[test]
fn a_difference_is_told_with_its_arguments() {
    if tools().is_none() || !has_verilator() {
        return;
    }
    let p = Place::new();
    p.write("k.pg2", "int32 s fout;\nint32 a ipin;\nint32 b jpin;\ns += a ^ b;\n");
    let model = "sat\\n((define-fun a () (_ BitVec 32)\\n #x00000005)\\n(define-fun b () (_ BitVec 32)\\n #x00000003)\\n\
                 (define-fun q () (_ BitVec 32)\\n #x00000007))\\n";
    p.program("bin/z3", &format!("printf '{model}'"));
    let mut command = p.command("prove k.pg2 --samples 9 --json p.json");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", p.path("bin").display()));
    let said = p.finish_within(command, 120).expect(1);
    has(&said.err, &["line 4: xor", "of 0x5 (5) and 0x3 (3) the specification gives 0x6 (6), and the Verilog 0x7 (7)"]);
    assert!(said.out.is_empty() && !p.path("p.json").exists(), "{said:?}");
}

#[test]
fn a_kernel_that_is_not_there_is_status_1() {
    check("prove nothing.pg2", 1, &[], &["nothing.pg2"]);
}
