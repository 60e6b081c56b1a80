//! Files of particles in the formats of the field, through the command: the same bits from each, on ranks and as targets, and VTK out.

use crate::common::Place;
use crate::common::command::{check_in, check_wrong_files, has};
use std::fs;

/// Six particles.
const ROWS: [[f64; 4]; 6] = [
    [0.0, 0.5, 1.0, 2.0],
    [1.0, 0.25, 0.0, -1.0],
    [0.5, 4.0, -2.0, 1.0],
    [2.0, 0.125, 3.0, 0.5],
    [-1.0, 0.75, 0.5, 0.25],
    [3.0, 1.0, 0.0625, 4.0],
];

fn rows(row: &dyn Fn(&[f64; 4]) -> String) -> String {
    ROWS.iter().map(row).collect()
}

/// The particles in all formats that this test can write as text, and in those of h5py.
fn place() -> Place {
    let p = Place::new();
    let csv = |c: char| rows(&|[x, y, z, q]| format!("{x}{c}{y}{c}{z}{c}{q}\n"));
    p.write("p.csv", "x,y,z,q\n".to_string() + &csv(','));
    p.write("bar.txt", "x|y|z|q\n".to_string() + &csv('|'));
    p.write("atoms.dump", dump(0) + &dump(100).replace("pp", "ff"));
    let atoms = rows(&|[x, y, z, q]| format!("1 1 {q} {x} {y} {z}\n"));
    p.write("atoms.data", format!("LAMMPS\n\n6 atoms\n0 4 xlo xhi\n\nAtoms\n\n{atoms}"));
    let h5 = crate::book::root().join("terminal/tests/files/arrays.h5");
    fs::copy(h5, p.path("arrays.h5")).expect("it is there");
    p
}

fn dump(step: usize) -> String {
    let head = format!("ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n6\nITEM: BOX BOUNDS pp pp pp\n0 4\n0 4\n0 4\n");
    head + "ITEM: ATOMS id q x y z\n" + &rows(&|[x, y, z, q]| format!("1 {q} {x} {y} {z}\n"))
}

#[test]
fn particles_give_the_same_bits_in_every_format() {
    let p = place();
    let forms = [
        ("bar.txt --delimiter |", ""),
        ("atoms.dump:/0", "its periodic box of edge 4.0 is not used; `fmm --periodic 4.0` makes it periodic"),
        ("atoms.dump:/last", ""),
        ("atoms.data:/charge", ""),
        ("arrays.h5", ""),
        ("arrays.h5:/packed", ""),
        ("arrays.h5:/records", "the columns name, id are not used"),
    ];
    for command in
        ["fmm --particles", "fmm --ranks 2 --particles", "fmm2 --kernel log --particles", "fmm --n 50 --targets"]
    {
        let wanted = p.run(&format!("{command} p.csv -o -")).expect(0).out;
        for (name, note) in forms {
            let ended = p.run(&format!("{command} {name} -o -")).expect(0);
            assert_eq!(ended.out, wanted, "{command} {name}");
            if command.ends_with("particles") && command.starts_with("fmm ") {
                has(&ended.err, &[note]);
            }
        }
    }
    let mut through = p.command("fmm --particles=-:/packed -o -");
    through.stdin(fs::File::open(p.path("arrays.h5")).expect("a file"));
    assert_eq!(p.finish(through).expect(0).out, p.run("fmm --particles p.csv -o -").expect(0).out);
    for (words, code, said) in [
        ("fmm --particles atoms.dump", 1, "2 frames, of the timesteps 0, 100; name one"),
        ("fmm --particles atoms.data", 1, "line 6: the style of the atoms is not said"),
        ("fmm --particles p.csv:/x", 1, "it holds one table, and no place `x`"),
        ("fmm --particles bar.txt", 1, "state it (--delimiter)"),
        ("fmm --particles bar.txt --delimiter ab", 2, "a delimiter is one character"),
        ("fmm --particles arrays.h5:/packed -o arrays.h5", 1, "an output does not replace an input"),
        ("fmm --particles none.h5:/packed", 1, "cannot be read"),
        ("fmm --particles none.vtu", 1, "`.vtu` cannot be read; text with a header (.csv, .txt), NumPy arrays"),
        (
            "run p2p --param eps2=0 --i arrays.h5 --j p.csv",
            1,
            "`.h5` cannot be read; text with a header (.csv, .txt) can",
        ),
    ] {
        check_in(&p, words, code, &[], &[said]);
    }
}

#[test]
fn files_that_promise_more_than_they_hold_take_no_memory() {
    let p = Place::new();
    let atoms = "1 1 0 0 0 0\n".repeat(10);
    let dump = |n: &str| format!("ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n{n}\nITEM: ATOMS id type q x y z\n{atoms}");
    let mut packed = fs::read(crate::book::root().join("terminal/tests/files/arrays.h5")).expect("it is there");
    // The shapes (6, 3) of all datasets.
    let shape = [6u64.to_le_bytes(), 3u64.to_le_bytes()].concat();
    let places: Vec<usize> = (0..packed.len() - 16).filter(|at| packed[*at..].starts_with(&shape)).collect();
    assert!(places.len() >= 2);
    for at in places {
        packed[at..at + 8].copy_from_slice(&(1u64 << 36).to_le_bytes());
    }
    let [many, more] = ["99999999999", "99999999999999999999999"].map(dump);
    let data = format!("x\n99999999999 atoms\n\nAtoms # charge\n\n{atoms}");
    let wrong: &[(&str, &[u8], &str)] = &[
        ("a.dump", many.as_bytes(), "line 5: 99999999999 atoms were announced"),
        ("b.dump", more.as_bytes(), "is no number of atoms"),
        ("a.data", data.as_bytes(), "99999999999 atoms were announced"),
        ("a.h5", &packed, "cannot be read"),
        ("a.npz", b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\0\0\0\0\0\0", "not a whole .npz"),
    ];
    check_wrong_files(&p, "fmm --particles", wrong);
}

/// The numbers of a legacy file behind a line, big-endian.
fn behind(bytes: &[u8], line: &str, count: usize) -> Vec<f64> {
    let at = bytes.windows(line.len()).position(|w| w == line.as_bytes()).expect(line) + line.len();
    bytes[at..at + 8 * count].chunks_exact(8).map(|b| f64::from_be_bytes(b.try_into().expect("eight bytes"))).collect()
}

#[test]
fn vtk_files_hold_the_points_and_the_results_at_them() {
    let p = place();
    let table = |text: String| -> Vec<Vec<f64>> {
        let row = |line: &str| line.split(',').map(|t| t.parse().expect("a number")).collect();
        text.lines().skip(1).map(row).collect()
    };
    for words in ["fmm --particles p.csv", "fmm --n 9 --targets p.csv", "fmm --particles p.csv --ranks 2"] {
        let wanted = table(p.run(&format!("{words} -o -")).expect(0).out);
        p.run(&format!("{words} -o f.vtk")).expect(0);
        let bytes = p.bytes("f.vtk");
        assert_eq!(behind(&bytes, "POINTS 6 double\n", 18), ROWS.map(|r| [r[0], r[1], r[2]]).concat());
        let potential: Vec<f64> = wanted.iter().map(|r| r[0]).collect();
        assert_eq!(behind(&bytes, "SCALARS potential double 1\nLOOKUP_TABLE default\n", 6), potential);
        let gradient: Vec<f64> = wanted.iter().flat_map(|r| r[1..].to_vec()).collect();
        assert_eq!(behind(&bytes, "VECTORS gradient double\n", 18), gradient);
        // The same numbers in the other order of bytes, behind their sizes.
        p.run(&format!("{words} -o f.vtu")).expect(0);
        let xml = p.bytes("f.vtu");
        let little: Vec<u8> = gradient.iter().flat_map(|x| x.to_le_bytes()).collect();
        let block = [&(little.len() as u64).to_le_bytes()[..], &little, b"\n</AppendedData>\n</VTKFile>\n"].concat();
        assert!(xml.starts_with(b"<?xml") && xml.ends_with(&block));
    }
    // Sources of two dimensions lie at z = 0, and particles are saved with their charges.
    p.run("fmm2 --particles p.csv --save-particles s.vtk -o f.vtk").expect(0);
    let flat: Vec<f64> = ROWS.iter().flat_map(|r| [r[0], r[1], 0.0]).collect();
    for file in ["s.vtk", "f.vtk"] {
        assert_eq!(behind(&p.bytes(file), "POINTS 6 double\n", 18), flat);
    }
    assert_eq!(behind(&p.bytes("s.vtk"), "SCALARS q double 1\nLOOKUP_TABLE default\n", 6), ROWS.map(|r| r[3]));
    p.write("t.csv", "x,y,z\n5,5,5\n");
    p.run("fmm --particles p.csv --targets t.csv --at-sources own.vtk -o t.vtk").expect(0);
    assert_eq!(behind(&p.bytes("t.vtk"), "POINTS 1 double\n", 3), [5.0; 3]);
    assert_eq!(behind(&p.bytes("own.vtk"), "POINTS 6 double\n", 3), [0.0, 0.5, 1.0]);
}
