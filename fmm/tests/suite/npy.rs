//! Files of NumPy: read back to the bit, of all formats, bad ones.

use fmm::data::input::{Input, SOURCES, TARGETS};
use fmm::data::npy::*;
use fmm::data::particles::{ParticleError, Particles};
use fmm::data::random::{Charge, Distribution, generate};

fn read_particles(bytes: &[u8]) -> Result<Particles, ParticleError> {
    Input::from_npy(bytes).map(|input| input.particles)
}

#[test]
fn rows_are_read_apart() {
    let p = generate(17, Distribution::Uniform, Charge::Random, 3);
    let bytes = write_particles(&p);
    let rows = rows(&bytes[..bytes.len().min(HEAD)], bytes.len() as u64, &SOURCES).unwrap();
    let range = |first: usize, end: usize| &bytes[rows.start + first * rows.bytes..rows.start + end * rows.bytes];
    let some = read_particles(&rows.file(range(5, 9))).unwrap();
    assert_eq!((rows.count, &some.x[..], &some.q[..]), (17, &p.x[5..9], &p.q[5..9]));
    assert!(read_particles(&rows.file(range(3, 3))).unwrap().is_empty());
    // A file that is cut is refused as a whole.
    assert_eq!(fmm::data::npy::rows(&bytes, bytes.len() as u64, &TARGETS), None);
    assert_eq!(fmm::data::npy::rows(&bytes, bytes.len() as u64 - 8, &SOURCES), None);
    assert_eq!(fmm::data::npy::rows(b"x,y,z,q", 7, &SOURCES), None);
}

#[test]
fn arrays_read_back_to_the_bit() {
    for n in [0, 1, 17] {
        let p = generate(n, Distribution::Uniform, Charge::Random, 3);
        let bytes = write_particles(&p);
        assert_eq!((bytes.len() - n * 32) % 64, 0);
        assert_eq!(read_particles(&bytes).expect("own bytes"), p);
    }
}

#[test]
fn single_precision_is_read() {
    let mut bytes = write_particles(&Particles { x: vec![0.0], y: vec![0.0], z: vec![0.0], q: vec![0.0] });
    bytes.truncate(bytes.len() - 32);
    for x in [1.5f32, -2.0, 0.1, 3.0] {
        bytes.extend(x.to_le_bytes());
    }
    let text = bytes.windows(3).position(|w| w == b"<f8").expect("the descr");
    bytes[text + 2] = b'4';
    let p = read_particles(&bytes).expect("good bytes");
    assert_eq!((p.x[0], p.y[0], p.z[0], p.q[0]), (1.5, -2.0, 0.1f32 as f64, 3.0));
}

#[test]
fn bad_files_are_refused() {
    let p = generate(3, Distribution::Uniform, Charge::Random, 3);
    let good = write_particles(&p);
    for cut in [0, 5, 7, 9, 40, good.len() - 1] {
        assert!(read_particles(&good[..cut]).is_err(), "{cut}");
    }
    let mut nan = p.clone();
    nan.y[1] = f64::NAN;
    let error = read_particles(&write_particles(&nan)).expect_err("NaN").to_string();
    assert_eq!(error, "row 1: y = NaN is not a finite number");
    let one = write_columns(&[("potential".into(), &[1.0])]);
    assert!(read_particles(&one).expect_err("one column").to_string().contains("(n, 4)"));
}

/// A file with this header.
fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY"[..], &[2, 0], &(header.len() as u32).to_le_bytes(), header.as_bytes(), data].concat()
}

fn read(bytes: &[u8]) -> Result<(Input, Vec<String>), String> {
    let mut ignored = Vec::new();
    Input::from_npy_noting(bytes, &mut ignored).map(|input| (input, ignored)).map_err(|e| e.to_string())
}

/// Two particles, each with numbers that all formats hold.
const ROWS: [[i8; 4]; 2] = [[1, 2, 3, 4], [5, 6, 0, 8]];

#[test]
fn numbers_of_all_formats_and_orders_are_read() {
    type Bytes = fn(i8) -> Vec<u8>;
    let formats: [(&str, Bytes); 16] = [
        ("<f8", |n| (n as f64).to_le_bytes().into()),
        (">f8", |n| (n as f64).to_be_bytes().into()),
        ("<f4", |n| (n as f32).to_le_bytes().into()),
        (">f4", |n| (n as f32).to_be_bytes().into()),
        ("<f2", |n| HALVES[n as usize].to_le_bytes().into()),
        (">f2", |n| HALVES[n as usize].to_be_bytes().into()),
        ("<i8", |n| (n as i64).to_le_bytes().into()),
        (">i8", |n| (n as i64).to_be_bytes().into()),
        ("<u8", |n| (n as u64).to_le_bytes().into()),
        ("<i4", |n| (n as i32).to_le_bytes().into()),
        (">u4", |n| (n as u32).to_be_bytes().into()),
        ("<i2", |n| (n as i16).to_le_bytes().into()),
        (">u2", |n| (n as u16).to_be_bytes().into()),
        ("|i1", |n| vec![n as u8]),
        ("|u1", |n| vec![n as u8]),
        ("=f8", |n| (n as f64).to_ne_bytes().into()),
    ];
    for (descr, bytes) in formats {
        let data: Vec<u8> = ROWS.iter().flatten().flat_map(|n| bytes(*n)).collect();
        let turned: Vec<u8> = (0..4).flat_map(|c| ROWS.iter().flat_map(move |row| bytes(row[c]))).collect();
        let fields: Vec<String> = ["X", "y", "z", "mass"].iter().map(|n| format!("('{n}', '{descr}')")).collect();
        for (what, bytes) in [
            ("C", file(&format!("'{descr}'"), false, "(2, 4)", &data)),
            ("Fortran", file(&format!("'{descr}'"), true, "(2, 4)", &turned)),
            ("Python 2", file(&format!("'{descr}'"), false, "(2L, 4L)", &data)),
            ("records", file(&format!("[{}]", fields.join(", ")), false, "(2,)", &data)),
        ] {
            let (input, ignored) = read(&bytes).unwrap_or_else(|e| panic!("{descr} {what}: {e}"));
            let p = input.particles;
            let found = [0, 1].map(|k| [p.x[k], p.y[k], p.z[k], p.q[k]]);
            assert_eq!((found, ignored.len()), (ROWS.map(|row| row.map(f64::from)), 0), "{descr} {what}");
        }
    }
    // Negative and small numbers, and what is no finite one.
    let one = |bits: u16| {
        let data: Vec<u8> = [0x3c00, 0x3c00, 0x3c00, bits].iter().flat_map(|b: &u16| b.to_le_bytes()).collect();
        read(&file("'<f2'", false, "(1, 4)", &data)).map(|(input, _)| input.particles.q[0])
    };
    for (bits, value) in
        [(0xc200, -3.0), (0x0001, 2f64.powi(-24)), (0x83ff, -1023.0 * 2f64.powi(-24)), (0x7bff, 65504.0)]
    {
        assert_eq!(one(bits), Ok(value));
    }
    assert!(one(0x7c00).is_err() && one(0x7e01).is_err());
}

/// Halves of 0 to 8.
const HALVES: [u16; 9] = [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800];

#[test]
fn records_may_have_fields_of_any_kind_between() {
    let descr = "[('id', '<i4'), ('name', '<U2'), ('pos', '<f4', (3,)), ('', '|V4'), (('charge', 'q'), '>f8'), ('v', [('a', '<f8'), \
                 ('b', '|S3')], (2,)), ('q2', '|i1')]";
    let mut record = vec![9; 4 + 8];
    [1.5f32, -2.0, 3.0].iter().for_each(|x| record.extend(x.to_le_bytes()));
    record.extend([7; 4]);
    record.extend(0.25f64.to_be_bytes());
    record.extend([255; 22]);
    record.push(-5i8 as u8);
    let bytes = file(descr, false, "(1,)", &record);
    let (input, ignored) = read(&bytes).unwrap();
    assert_eq!((input.particles.position(0), input.particles.q[0]), ([1.5, -2.0, 3.0], 0.25));
    assert_eq!((input.sets.len(), input.sets[1].charges.clone()), (2, Some(vec![-5.0])));
    assert_eq!(ignored, ["id", "name", "v"]);
    let apart = rows(&bytes, bytes.len() as u64, &SOURCES).unwrap();
    assert_eq!(read(&apart.file(&record)).unwrap().0, input);
}

#[test]
fn several_sets_come_back() {
    for text in [
        "x,y,z,q,q2\n1,2,3,4,5\n",
        "x,y,z,q,q2,q3\n1,2,3,4,5,6\n",
        "x,y,z,q,q2,q3,q4\n1,2,3,4,5,6,7\n",
        "x,y,z,px,py,pz\n1,2,3,4,5,6\n",
        "x,y,z,q,px,py,pz\n1,2,3,4,5,6,7\n",
        "x,y,z,q,px,py,pz,q2\n1,2,3,4,5,6,7,8\n",
        "x,y,z,q\n1,2,3,4\n",
    ] {
        let input = Input::from_csv(text).unwrap();
        assert_eq!(read(&input.to_npy()).unwrap().0, input, "{text}");
    }
    let many: Vec<(String, &[f64])> = (0..5).map(|_| (String::new(), &[1.0][..])).collect();
    assert_eq!(read(&write_columns(&many)).unwrap().0.sets.len(), 2);
}

#[test]
fn hostile_headers_are_refused_without_their_memory() {
    let deep = format!("[('a', {}'<f8'{})]", "[('a', ".repeat(5000), ")]".repeat(5000));
    for (bytes, wanted) in [
        (file("'<f8'", false, "(1152921504606846976, 4)", &[]), "rows were announced"),
        (file("'<f8'", false, "(0, 1152921504606846976)", &[]), "is needed"),
        (file("'<f8'", false, "(4611686018427387904, 4611686018427387904)", &[]), "rows were announced"),
        (file("'<f8'", false, "(99999999999999999999, 4)", &[]), "names no shape"),
        (
            file("[('x', '|V0'), ('y', '|V0'), ('z', '|V0'), ('q', '|V0')]", false, "(1152921504606846976,)", &[]),
            "no plain numbers",
        ),
        (file("[('x', '<f8', (1152921504606846976, 1152921504606846976))]", false, "(1,)", &[]), "cannot be read"),
        (file("'<f8'", false, "(2,)", &[0; 16]), "of 1 dimensions"),
        (file("'<f8'", false, "(1, 1, 4)", &[0; 32]), "of 3 dimensions"),
        (file("'<c16'", false, "(1, 4)", &[0; 64]), "`<c16`"),
        (file("'<f16'", false, "(1, 4)", &[0; 64]), "`<f16`"),
        (file("'|O'", false, "(1, 4)", &[0; 64]), "`|O`"),
        (file("[('x', '|O')]", false, "(1,)", &[0; 8]), "`|O`"),
        (file(&deep, false, "(1,)", &[0; 8]), "cannot be read"),
        (file("[('x', '<f8')", false, "(1,)", &[0; 8]), "cannot be read"),
        (file("[('x', '<f8'), ('y', '<f8'), ('z', '<f8')]", false, "(1,)", &[0; 24]), "`q` is missing"),
        (file("[('m', '<f8'), ('mass', '<f8')]", false, "(1,)", &[0; 16]), "call one of them so"),
        (file("'<f8'", false, "(1, 3)", &[0; 24]), "(1, 3)"),
    ] {
        let error = read(&bytes).expect_err(wanted);
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}
