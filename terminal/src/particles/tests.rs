//! Each format against the same particles, and files that were cut and damaged.

use super::*;

/// Six particles, of which all formats hold the numbers. The files of HDF5 are by h5py 3.16:
///
///     with h5py.File('arrays.h5', 'w') as f:
///         f['Coordinates'] = x.astype('>f4'); f['charges'] = q
///         g = f.create_group('packed')
///         g.create_dataset('pos', data=x, chunks=(4, 2), compression='gzip', shuffle=True, fletcher32=True)
///         g.create_dataset('q', data=q.astype('f4'), chunks=(4,), maxshape=(None,))
///         dt = np.dtype([('id', 'i4'), ('name', 'S3'), ('pos', '>f8', (3,)), ('q', '<f4')])
///         r = np.zeros(6, dt); r['pos'] = x; r['q'] = q; f['records'] = r
///     with h5py.File('snapshot.hdf5', 'w', libver=('latest', 'latest')) as f:
///         h = f.create_group('Header'); h.attrs['MassTable'] = np.array([0, .5, 0, 0, 0, 0]); h.attrs['BoxSize'] = 10.
///         for t, a, b in (1, 2, 5), (0, 0, 2), (4, 5, 6):
///             g = f.create_group(f'PartType{t}'); g['Coordinates'] = x[a:b]; g['ParticleIDs'] = np.arange(a, b)
///             if t != 1: g['Masses'] = abs(q[a:b])
const ROWS: [[f64; 4]; 6] = [
    [0.0, 0.5, 1.0, 2.0],
    [1.0, 0.25, 0.0, -1.0],
    [0.5, 4.0, -2.0, 1.0],
    [2.0, 0.125, 3.0, 0.5],
    [-1.0, 0.75, 0.5, 0.25],
    [3.0, 1.0, 0.0625, 4.0],
];

const ARRAYS: &[u8] = include_bytes!("../../tests/files/arrays.h5");
const SNAPSHOT: &[u8] = include_bytes!("../../tests/files/snapshot.hdf5");

struct Read {
    rows: Vec<[f64; 4]>,
    ignored: Vec<String>,
    notes: Vec<String>,
    input: Input,
}

fn read(bytes: &[u8], inside: Option<&str>) -> Result<Read, String> {
    let Format::Several(read) = format(bytes) else { return Err("another format".into()) };
    let of = |e: ParticleError| e.to_string();
    let Found { columns, mut ignored, notes } = read(bytes.to_vec(), inside, SOURCES.wanted).map_err(of)?;
    let input = (SOURCES.named)(columns, &mut ignored).map_err(of)?;
    let p = &input.particles;
    let rows = (0..p.len()).map(|k| [p.x[k], p.y[k], p.z[k], p.q[k]]).collect();
    Ok(Read { rows, ignored, notes, input })
}

fn error(bytes: &[u8], inside: Option<&str>) -> String {
    match read(bytes, inside) {
        Ok(read) => panic!("{:?} was read", read.rows),
        Err(e) => e,
    }
}

/// An `.npy` file of `<f8`.
fn array(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// A ZIP archive, its files deflated or not, as Python's `zipfile` writes it.
fn archive(files: &[(&str, Vec<u8>)], is_packed: bool) -> Vec<u8> {
    use std::io::Write;
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let packed = match is_packed {
            false => content.clone(),
            true => {
                let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                packer.write_all(content).expect("memory");
                packer.finish().expect("memory")
            }
        };
        let u = |n: usize| (n as u32).to_le_bytes();
        let common = [
            &[20, 0, 0, 0, if is_packed { 8 } else { 0 }, 0, 0, 0, 0, 0][..],
            &crc.sum().to_le_bytes(),
            &u(packed.len()),
            &u(content.len()),
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        let place = u(bytes.len());
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &place, name.as_bytes()].concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
    }
    let (start, count) = ((bytes.len() as u32).to_le_bytes(), (files.len() as u16).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    [&bytes[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0, 0]].concat()
}

fn column(k: usize) -> Vec<f64> {
    ROWS.iter().map(|row| row[k]).collect()
}

fn positions() -> Vec<u8> {
    array("(6, 3)", &ROWS.iter().flat_map(|row| &row[..3]).copied().collect::<Vec<_>>())
}

fn charges() -> Vec<u8> {
    array("(6,)", &column(3))
}

/// A frame of a dump.
fn frame(step: usize, bounds: &str, names: &str, row: &dyn Fn(&[f64; 4]) -> String) -> String {
    let rows: String = ROWS.iter().map(row).collect();
    format!("ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n6\nITEM: BOX BOUNDS {bounds}\nITEM: ATOMS {names}\n{rows}")
}

fn plain(step: usize) -> String {
    frame(step, "ff ff ff\n0 1\n0 1\n0 1", "id x y z q", &|[x, y, z, q]| format!("7 {x} {y} {z} {q} \n"))
}

/// A data file with this section of atoms.
fn data(hint: &str, row: &dyn Fn(&[f64; 4]) -> String) -> String {
    let rows: String = ROWS.iter().map(row).collect();
    format!(
        "A title of 5 atoms\n\n6 atoms\n1 atom types\n-1 7 xlo xhi\n-1 7 ylo yhi\n-2 6 zlo zhi\n\nMasses\n\n1 0.5 # C\n\nAtoms {hint}\n\n{rows}\nVelocities\n\n1 0 0 0\n"
    )
}

#[test]
fn one_problem_is_read_from_every_format() {
    let all: Vec<f64> = ROWS.concat();
    let npz = |files: &[(&str, Vec<u8>)]| [archive(files, false), archive(files, true)];
    let line = |k: usize| array("(6,)", &column(k));
    let archives = [
        npz(&[("x.npy", line(0)), ("y.npy", line(1)), ("z.npy", line(2)), ("q.npy", line(3))]),
        npz(&[("vel.npy", positions()), ("Pos.npy", positions()), ("Masses.npy", charges())]),
        npz(&[("arr_0.npy", positions()), ("arr_1.npy", charges())]),
        npz(&[("table.npy", array("(6, 4)", &all))]),
    ];
    for bytes in archives.iter().flatten() {
        assert_eq!(read(bytes, None).unwrap().rows, ROWS);
    }
    assert_eq!(read(&archives[1][1], None).unwrap().ignored, ["vel"]);
    let named = archive(&[("a.npy", array("(6, 4)", &all)), ("b.npy", charges())], true);
    assert_eq!(read(&named, Some("a")).unwrap().rows, ROWS);
    for inside in [None, Some("packed"), Some("records")] {
        assert_eq!(read(ARRAYS, inside).unwrap().rows, ROWS, "{inside:?}");
    }
    assert_eq!(read(ARRAYS, Some("records")).unwrap().ignored, ["name", "id"]);
    let scaled = |[x, y, z, q]: &[f64; 4]| format!("{q} {} {} {}\n", (x + 1.0) / 8.0, y / 4.0, (z + 2.0) / 16.0);
    // A box with the edges (8, 0, 0), (2, 4, 0) and (0, 0, 16).
    let tilted =
        |[x, y, z, q]: &[f64; 4]| format!("{q} {} {} {}\n", (x + 1.0 - y / 2.0) / 8.0, y / 4.0, (z + 2.0) / 16.0);
    for text in [
        plain(0),
        frame(3, "pp pp pp\n0 1\n0 1\n0 1", "q type xu yu zu", &|[x, y, z, q]| format!("{q} 1 {x:e} {y} {z}\r\n")),
        frame(3, "pp pp pp\n-1 7\n0 4\n-2 14", "mass xs ys zs", &scaled),
        frame(3, "xy xz yz pp pp pp\n-1 9 2\n0 4 0\n-2 14 0", "q xs ys zs", &tilted),
        frame(3, "abc origin pp pp pp\n8 0 0 -1\n2 4 0 0\n0 0 16 -2", "q xs ys zs", &tilted),
        data("# full", &|[x, y, z, q]| format!("1 1 1 {q} {x} {y} {z} 0 0 -1\n")),
        data("# charge", &|[x, y, z, q]| format!("1 1 {q} {x} {y} {z} # an ion\n")),
    ] {
        assert_eq!(read(text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}: {text}")).rows, ROWS, "{text}");
    }
}

#[test]
fn types_of_a_snapshot_come_in_the_order_of_their_numbers() {
    let masses = [2.0, 1.0, 0.5, 0.5, 0.5, 4.0];
    let wanted: Vec<[f64; 4]> = ROWS.iter().zip(masses).map(|([x, y, z, _], m)| [*x, *y, *z, m]).collect();
    let all = read(SNAPSHOT, None).unwrap();
    assert_eq!((&all.rows, &all.ignored[..]), (&wanted, &["ParticleIDs".to_string()][..]));
    let order = "particles are those of /PartType0 (2), /PartType1 (3), /PartType4 (1), in this order";
    assert_eq!(all.notes, [order, "its box of edge 10.0 is not used; `fmm --periodic 10.0` makes it periodic"]);
    assert_eq!(read(SNAPSHOT, Some("PartType1")).unwrap().rows, &wanted[2..5]);
    assert_eq!(read(SNAPSHOT, Some("PartType4,PartType0")).unwrap().rows, [wanted[5], wanted[0], wanted[1]]);
}

#[test]
fn moments_and_several_charges_are_taken_by_their_names() {
    let two: Vec<f64> = ROWS.iter().flat_map(|row| [row[3], row[0]]).collect();
    let files = [("pos.npy", positions()), ("q.npy", array("(6, 2)", &two)), ("dipole.npy", positions())];
    let sets = read(&archive(&files, true), None).unwrap().input.sets;
    assert_eq!((sets.len(), sets[0].charges.clone(), sets[1].charges.clone()), (2, Some(column(3)), Some(column(0))));
    assert_eq!(sets[0].dipoles, Some([column(0), column(1), column(2)]));
    let text =
        frame(0, "ff ff ff\n0 1\n0 1\n0 1", "x y z mux muy muz", &|[x, y, z, q]| format!("{x} {y} {z} {q} {y} {z}\n"));
    let sets = read(text.as_bytes(), None).unwrap().input.sets;
    assert_eq!((sets[0].charges.clone(), sets[0].dipoles.clone()), (None, Some([column(3), column(1), column(2)])));
    let masses = read(data("# atomic", &|[x, y, z, _]| format!("1 1 {x} {y} {z}\n")).as_bytes(), None).unwrap();
    assert!(masses.rows.iter().all(|row| row[3] == 0.5) && masses.notes[0].contains("masses of their types"));
    assert_eq!(masses.notes[1], "its box of edge 8.0 is not used; `fmm --periodic 8.0` makes it periodic");
}

#[test]
fn a_frame_is_taken_by_its_timestep() {
    let moved = plain(0).replace(" 0.0625 ", " 9 ");
    let text = format!("{moved}{}{moved}", plain(100)).replacen("ITEM: TIMESTEP\n0\n", "ITEM: TIMESTEP\n50\n", 1);
    let rows = |inside| read(text.as_bytes(), Some(inside)).unwrap().rows;
    assert_eq!(rows("100"), ROWS);
    assert_eq!((rows("first"), rows("50")[5][2]), (rows("last"), 9.0));
    assert!(
        error(text.as_bytes(), None)
            .contains("3 frames, of the timesteps 50, 100, 0; name one behind the file, as in FILE:/100")
    );
    assert!(error(text.as_bytes(), Some("7")).contains("no frame `7`; its timesteps are 50, 100, 0"));
}

#[test]
fn what_cannot_be_read_says_what_was_found_and_what_would_do() {
    let charge = |[x, y, z, q]: &[f64; 4]| format!("1 1 {q} {x} {y} {z}\n");
    let one = archive(&[("a.npy", charges()), ("b.npy", charges())], false);
    let short = archive(&[("pos.npy", positions()), ("q.npy", array("(5,)", &[1.0; 5]))], false);
    let infinite = archive(&[("pos.npy", positions()), ("q.npy", array("(6,)", &[f64::INFINITY; 6]))], false);
    for (bytes, inside, wanted) in [
        (&one[..], None, "it has the arrays a, b; arrays named x, y, z and q, or pos and q are needed"),
        (&one, Some("c"), "no array `c`; it has a, b"),
        (&one, Some("a"), "one dimension; (n, 4)"),
        (&short, None, "`x` has 6 numbers, and `q` has 5"),
        (&infinite, None, "row 0: q = inf is not a finite number"),
        (&archive(&[("a.npy", positions())], true), None, "the shape of `a` is (6, 3); (n, 4)"),
        (ARRAYS, Some("packed/none"), "no `/packed/none`; `/packed` has no groups and the datasets pos, q"),
        (ARRAYS, Some("charges"), "`charges` has one dimension"),
        (SNAPSHOT, Some("PartType3"), "no `/PartType3`; `/` has the groups Header, PartType0, PartType1, PartType4"),
        (SNAPSHOT, Some("Header"), "`/Header` holds no particles"),
        (SNAPSHOT, Some("PartType0,Header"), "`/Header` is no type of particles"),
        (plain(0).replace(" q\n", " vx\n").as_bytes(), None, "columns id x y z vx, of which none is a charge; dump q"),
        (plain(0).replace("x y z", "x y w").as_bytes(), None, "line 9: its atoms have the columns id x y w q; x y z"),
        (plain(0).replace("\n6\n", "\n7\n").as_bytes(), None, "the file ends where an atom should follow"),
        (plain(0).replace("\n6\n", "\n5\n").as_bytes(), None, "line 15: `7 3 1 0.0625 4 ` stands where a line"),
        (plain(0).replace(" 4.0 ", " x ").replace(" 4 ", " x ").as_bytes(), None, "line 12: y = `x` is not a number"),
        (plain(0).replace("\n6\n", "\n999999999999\n").as_bytes(), None, "999999999999 atoms were announced, but"),
        (data("", &charge).as_bytes(), None, "write `Atoms # full` here, or name it behind the file, as in FILE:/full"),
        (
            data("# hybrid", &charge).as_bytes(),
            None,
            "atom style `hybrid` is not known; those that are read are atomic",
        ),
        (data("# full", &charge).as_bytes(), None, "line 15: an atom of the style full has 7 values, or 10"),
        (data("# charge", &charge).replace("6 atoms\n", "7000 atoms\n").as_bytes(), None, "7000 atoms were announced"),
        (&data("# charge", &charge).as_bytes()[..78], None, "section Atoms"),
    ] {
        let found = error(bytes, inside);
        assert!(found.contains(wanted), "{wanted}: {found}");
    }
    for (bytes, wanted) in [
        (&b"\x1f\x8b\x08"[..], "gunzip"),
        (b"# vtk DataFile Version 3.0\n", "VTK"),
        (&[0, 1, 0, 0], "Gadget snapshot of format 1 or 2"),
    ] {
        assert!(matches!(format(bytes), Format::Other(what) if what.contains(wanted)), "{wanted}");
    }
}

/// Every prefix, and every byte changed in some ways: files are read or refused, and never more is made of them than they can hold.
#[test]
fn cut_and_damaged_files_are_read_or_refused() {
    let [plain_archive, packed] =
        [false, true].map(|is_packed| archive(&[("pos.npy", positions()), ("q.npy", charges())], is_packed));
    let frames = plain(0) + &plain(1);
    let atoms = data("# full", &|[x, y, z, q]| format!("1 1 1 {q} {x} {y} {z} 0 0 -1\n"));
    let files: [(&[u8], Option<&str>); 8] = [
        (&plain_archive, None),
        (&packed, None),
        (ARRAYS, None),
        (ARRAYS, Some("packed")),
        (ARRAYS, Some("records")),
        (SNAPSHOT, None),
        (frames.as_bytes(), Some("last")),
        (atoms.as_bytes(), None),
    ];
    let mut refused = 0;
    for (bytes, inside) in files {
        let mut seen = |changed: &[u8]| match read(changed, inside) {
            Ok(found) => assert!(found.rows.len() <= bytes.len()),
            Err(e) => {
                refused += 1;
                assert!(!e.is_empty());
            }
        };
        // Large files have long stretches that are not used.
        let step = 1 + bytes.len() / 4000;
        (0..bytes.len()).step_by(step).for_each(|end| seen(&bytes[..end]));
        let mut changed = bytes.to_vec();
        for at in (0..bytes.len()).step_by(step) {
            let mask = [0xff, 0x01, 0x40, 0x80][at / step % 4];
            changed[at] ^= mask;
            seen(&changed);
            changed[at] ^= mask;
        }
    }
    assert!(refused > 1000, "{refused}");
}
