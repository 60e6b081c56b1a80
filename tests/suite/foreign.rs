//! Files of data as other programs write them: separators, capitals, comments, more columns, arrays of all kinds, standard input.

use crate::common::Place;
use crate::common::command::{RUN, has, place};
use std::fs;

/// An array with this header.
fn npy(descr: &str, is_fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// Three particles of which all formats hold the numbers.
const ROWS: [[f64; 4]; 3] = [[0.0, 0.5, 1.0, 2.0], [1.0, 0.25, 0.0, -1.0], [0.5, 4.0, -2.0, 1.0]];

/// The same in other files, each with what is said of it.
fn forms() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let lines = |row: &dyn Fn(&[f64; 4]) -> String| ROWS.iter().map(row).collect::<String>();
    let text = |header: &str, row: &dyn Fn(&[f64; 4]) -> String| (header.to_string() + &lines(row)).into_bytes();
    let plain = |[x, y, z, q]: &[f64; 4]| format!("{x},{y},{z},{q}\n");
    let big: Vec<u8> = ROWS.iter().flatten().flat_map(|x| (*x as f32).to_be_bytes()).collect();
    let turned: Vec<u8> = (0..4).flat_map(|c| ROWS.iter().flat_map(move |row| row[c].to_le_bytes())).collect();
    let record = |[x, y, z, q]: &[f64; 4]| {
        [&7u16.to_le_bytes()[..], &(*q as f32).to_le_bytes(), &x.to_be_bytes(), &y.to_be_bytes(), &z.to_be_bytes()]
            .concat()
    };
    let records: Vec<u8> = ROWS.iter().flat_map(record).collect();
    let fields = "[('id', '<u2'), ('Mass', '<f4'), ('X', '>f8'), ('Y', '>f8'), ('Z', '>f8')]";
    vec![
        ("p.csv", text("x,y,z,q\n", &plain), ""),
        ("e.csv", text("# a comment\n\n X , Y,Z , CHARGE\r\n", &plain), ""),
        ("s.txt", text("x;y;z;m\n", &|[x, y, z, q]| format!("{x};{y};{z};{q}\n")), ""),
        ("t.tsv", text("x\ty\tz\tmass\n", &|[x, y, z, q]| format!("{x}\t{y}\t{z}\t{q}\n")), ""),
        ("b.dat", text("#  x  y  z  q\n", &|[x, y, z, q]| format!("  {x:e}   {y:e}  {z:e} {q:e}\n")), ""),
        ("n.txt", text("# x,y,z,q\n", &|[x, y, z, q]| format!("{x} {y} {z} {q}\n")), ""),
        ("d.out", text("x y z q\n", &|[x, y, z, q]| format!("{x:.3}D+00 {y:.3}d0 {z:.3}+000 {q:.3}D0\n")), ""),
        (
            "m.csv",
            text("ID,\"name\",x,y,z,vx,q,m\n", &|[x, y, z, q]| format!("7,\"a, b\",\"{x}\",{y},{z},nan,{q},3\n")),
            "the columns ID, name, vx, m are not used",
        ),
        ("big.npy", npy("'>f4'", false, "(3, 4)", &big), ""),
        ("fortran.NPY", npy("'<f8'", true, "(3, 4)", &turned), ""),
        ("records", npy(fields, false, "(3,)", &records), "the column id is not used"),
    ]
}

#[test]
fn one_problem_gives_the_same_bits_in_whatever_file_it_comes() {
    let p = Place::new();
    for command in
        ["fmm --backend cpu --particles", "fmm --backend cpu --ranks 2 --particles", "fmm2 --kernel log --particles"]
    {
        let mut wanted = None;
        for (name, bytes, note) in forms() {
            // Arrays of four columns are strengths of two parts in the plane.
            if command.starts_with("fmm2") && name.to_lowercase().ends_with("npy") {
                continue;
            }
            p.write(name, &bytes);
            let ended = p.run(&format!("{command} {name} -o -")).expect(0);
            let is_noted = if command.starts_with("fmm2") { ended.err.contains("not used") } else { !note.is_empty() };
            assert_eq!(!ended.err.is_empty(), is_noted, "{name}: {}", ended.err);
            if !command.starts_with("fmm2") {
                has(&ended.err, &[note]);
            }
            assert_eq!(&ended.out, wanted.get_or_insert(ended.out.clone()), "{command} {name}");
            let mut through = p.command(&format!("{command} - -o -"));
            through.stdin(fs::File::open(p.path(name)).expect("a file"));
            assert_eq!(p.finish(through).expect(0).out, ended.out, "{command} {name}");
        }
    }
    // As targets, particles are points.
    let out = |file: &str| p.run(&format!("fmm --n 50 --backend cpu --targets {file} -o -")).expect(0);
    assert_eq!(out("m.csv").out, out("p.csv").out);
    has(&out("p.csv").err, &["p.csv: the column q is not used"]);
    has(
        &p.run("fmm --particles - --targets - --backend cpu").expect(1).err,
        &["--particles and --targets both read standard input"],
    );
}

#[test]
fn records_of_a_kernel_come_in_the_same_forms() {
    let p = place();
    let wanted = p.run(RUN).expect(0).out;
    for text in [
        "f;b\n1.5;18446744073709551614\n-2.5D-1;0\n",
        "b\tf\n18446744073709551614\t1.5\n0\t-0.25\n",
        "# b f\n18446744073709551614 1.5\n0 -0.25\n",
        "B,F,id\n18446744073709551614,1.5,x\n0,-0.25,\"y, z\"\n",
        "\"b\",\"f\"\n\"18446744073709551614\",\"1.5\"\n0,-0.25\n",
        "b,f,F\n18446744073709551614,1.5,7\n0,-0.25,8\n",
    ] {
        p.write("j.csv", text);
        let ended = p.run(RUN).expect(0);
        assert_eq!(ended.out, wanted, "{text}");
        let ignored = ["id", "F"]
            .into_iter()
            .find(|name| text.lines().next().is_some_and(|l| l.ends_with(&format!(",{name}")) && l != "B,F"));
        match ignored {
            Some(name) => has(&ended.err, &[&format!("note: j.csv: the column {name} is not used")]),
            None => assert_eq!(ended.err, "", "{text}"),
        }
    }
    let mut command = p.command(&RUN.replace("--i i.csv", "--i -"));
    command.stdin(fs::File::open(p.path("i.csv")).expect("a file"));
    assert_eq!(p.finish(command).expect(0).out, wanted);
    // A pipe of the shell is read once, however many points an exploration has.
    let words = "explore k.pg2 --i <(cat i.csv) --j j.csv --param k=3 --vary f=8..10 --json -";
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &format!("{} {words}", env!("CARGO_BIN_EXE_pairforge"))]).current_dir(p.path("."));
    let out = p.finish(command).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((found["ni"].as_u64(), found["failed"].as_array().map(Vec::len)), (Some(2), Some(0)));
}

#[test]
fn a_header_of_two_hundred_thousand_columns_is_read_like_a_short_one() {
    let p = Place::new();
    let names: String = (0..200_000).map(|k| format!(",c{k}")).collect();
    let values = ",1".repeat(200_000);
    p.write("wide.csv", format!("x,y,z,q{names}\n0,0,0,1{values}\n1,0,0,1{values}\n"));
    for words in ["fmm --backend cpu --particles wide.csv -o -", "fmm2 --particles wide.csv -o -"] {
        let ended = p.finish_within(p.command(words), 60).expect(0);
        assert!(
            ended.err.contains("c5, c6") && ended.err.contains("more are not used") && ended.err.len() < 200,
            "{}",
            ended.err
        );
    }
    let sets: String = (2..200_000).map(|k| format!(",q{k}")).collect();
    p.write("gap.csv", format!("x,y,z,q{sets},q200001\n"));
    has(
        &p.finish_within(p.command("fmm --backend cpu --particles gap.csv"), 60).expect(1).err,
        &["column `q200000` is missing"],
    );
    p.write("kernel.csv", format!("a{names}\n1{values}\n"));
    let k = place();
    k.write("i.csv", p.text("kernel.csv"));
    k.finish_within(k.command(RUN), 60).expect(0);
}

#[test]
fn numbers_of_particles_are_whole_however_they_are_written() {
    let p = Place::new();
    let n = |words: &str| {
        let out = p.run(&format!("{words} --json -")).expect(0).out;
        serde_json::from_str::<serde_json::Value>(&out).expect("JSON")["n"].as_u64()
    };
    assert_eq!(n("fmm --backend cpu --n 1e3"), Some(1000));
    assert_eq!(n("fmm2 --n 2.5e2"), Some(250));
    for words in ["fmm --n 1.5", "fmm2 --n 1e-1", "fmm --n 1e30", "fmm --n 10 --check 1.5", "bench card --n 1.5"] {
        has(&p.run(words).expect(2).err, &["invalid value"]);
    }
}
