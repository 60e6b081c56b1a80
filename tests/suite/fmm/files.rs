//! The files of `pairforge fmm`: what is written is read again, to the bit.

use super::{DISTRIBUTIONS, numbers, run};
use crate::common::Place;
use crate::common::command::check_wrong_files;

#[test]
fn files_come_back_to_the_bit() {
    let p = Place::new();
    for dist in DISTRIBUTIONS {
        let words = format!("--n 300 --dist {dist} --seed 9 --backend cpu");
        run(&p, &format!("{words} --save-particles p.csv -o f.csv"));
        run(&p, &format!("{words} --save-particles p.npy -o f.npy"));
        for file in ["p.csv", "p.npy"] {
            run(&p, &format!("--particles {file} --backend cpu -o g.csv --save-particles q.csv"));
            assert!(p.bytes("f.csv") == p.bytes("g.csv") && p.bytes("p.csv") == p.bytes("q.csv"), "{dist} {file}");
        }
        for (csv, npy, header) in [("p.csv", "p.npy", "x,y,z,q"), ("f.csv", "f.npy", "potential,gx,gy,gz")] {
            assert_eq!(numbers(&p.text(csv), header).concat(), array(&p.bytes(npy)), "{dist} {npy}");
        }
        // Standard output has the same text, and no table in it.
        assert_eq!(run(&p, &format!("{words} -o -")).out, p.text("f.csv"));
    }
    let wrong: &[(&str, &[u8], &str)] = &[
        ("w.csv", b"x,y,z,q\n1,2,3\n", "line 2"),
        ("w.csv", b"x,y,z,w\n1,2,3,4\n", "`q` is missing"),
        ("w.csv", b"x|y|z|q\n1|2|3|4\n", "`|` separates no columns"),
        ("w.csv", b"1,2,3,4\n", "begin with the line `x,y,z,q`"),
        ("w.csv", b"x;y;z;q\n1,5;2;3;4\n", "write a point"),
        ("w.csv", b"x,y,z,q\n1,2,nan,4\n", "line 2"),
        ("w.csv", b"", "empty"),
        ("w.csv", b"x,y,z,q\n1,2,3,\xff\n", "neither"),
        ("w.npy", b"\x93NUMPY\x01\x00", "w.npy"),
    ];
    check_wrong_files(&p, "fmm --particles", wrong);
}

/// The numbers of an `.npy` file of `<f8`, after its header.
fn array(bytes: &[u8]) -> Vec<f64> {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    assert_eq!(start % 64, 0);
    let header = std::str::from_utf8(&bytes[10..start]).expect("text");
    assert!(header.contains("'descr': '<f8'") && header.contains("'fortran_order': False"), "{header}");
    bytes[start..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}
