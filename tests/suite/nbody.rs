//! `nbody`: files of a run, a run that is killed and taken up, and what is refused. What integrators and models keep is tested beside them.

use crate::common::Place;
use crate::common::command::check_in;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

const RUN: &str = "nbody --n 300 --seed 3 --step 0.015625 --until 1 --order 2 --snapshot-every 8 --restart-every 4";

fn columns(p: &Place, name: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = p.text(name);
    let mut lines = text.lines();
    let names = lines.next().expect("there is a header").split(',').map(String::from).collect();
    (names, lines.map(|line| line.split(',').map(|x| x.parse().expect("a number")).collect()).collect())
}

#[test]
fn a_run_keeps_its_energy_and_its_files_are_those_that_the_guide_names() {
    let p = Place::new();
    let ended = p.run(&format!("{RUN} --snapshots csv -o out")).expect(0);
    assert!(ended.out.contains("300 bodies on cpu, 64 steps to t = 1"), "{}", ended.out);
    let mut names: Vec<String> =
        fs::read_dir(p.path("out")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let snapshots = (0..=8).map(|k| format!("snapshot_{k:03}.csv"));
    let wanted = ["energy.csv", "energy.svg", "restart.hdf5"].map(String::from).into_iter().chain(snapshots);
    assert_eq!(names, wanted.collect::<Vec<_>>());
    let (names, rows) = columns(&p, "out/energy.csv");
    assert_eq!(names.join(","), "time,kinetic,potential,px,py,pz,lx,ly,lz,energy,error");
    assert_eq!(rows.len(), 65);
    assert!(rows.iter().all(|row| row[10].abs() < 2e-3), "the softening is 1/sqrt(300)");
    assert!((rows[64][0], rows[0][9] + 0.25).0 == 1.0 && (rows[0][9] + 0.25).abs() < 0.05, "{:?}", rows[0]);
    let (names, bodies) = columns(&p, "out/snapshot_008.csv");
    assert_eq!((names.join(","), bodies.len()), ("x,y,z,m,vx,vy,vz".into(), 300));
}

/// Runs until a file is there, and kills it.
fn killed_at(p: &Place, words: &str, file: &str) {
    let mut child = p.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !p.path(file).exists() {
        assert!(child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(60), "{words}: no {file}");
        thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_that_is_killed_at_five_places_and_taken_up_has_the_bytes_of_one_that_was_not() {
    let [whole, cut] = [Place::new(), Place::new()];
    whole.run(&format!("{RUN} -o out")).expect(0);
    let places = ["restart.hdf5", "snapshot_002.hdf5", "snapshot_004.hdf5", "snapshot_006.hdf5", "snapshot_007.hdf5"];
    for (k, place) in places.into_iter().enumerate() {
        let words = if k == 0 { format!("{RUN} -o out") } else { "nbody --resume out".into() };
        killed_at(&cut, &words, &format!("out/{place}"));
    }
    assert!(!cut.path("out/snapshot_008.hdf5").exists(), "it was killed before its end");
    cut.run("nbody --resume out --threads 1").expect(0);
    for file in fs::read_dir(whole.path("out")).unwrap() {
        let name = format!("out/{}", file.unwrap().file_name().to_str().expect("an ASCII name"));
        assert!(whole.bytes(&name) == cut.bytes(&name), "{name}");
    }
}

#[test]
fn a_run_goes_on_to_a_later_end_as_one_that_was_begun_so() {
    let p = Place::new();
    p.run(&format!("{RUN} -o out")).expect(0);
    p.run("nbody --resume out --until 1.25").expect(0);
    p.run(&format!("{} -o one", RUN.replace("--until 1", "--until 1.25"))).expect(0);
    for name in ["energy.csv", "energy.svg", "snapshot_010.hdf5"] {
        assert!(p.bytes(&format!("out/{name}")) == p.bytes(&format!("one/{name}")), "{name}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_a_sentence() {
    let p = Place::new();
    ["full", "bad"].iter().for_each(|dir| fs::create_dir(p.path(dir)).unwrap());
    p.write("full/energy.csv", "time\n");
    p.write("p.csv", "x,y,z,m\n0,0,0,1\n");
    p.write("bad/restart.hdf5", "no such file");
    for (words, code, part) in [
        ("nbody --n 10 -o full", 1, "go on with it by --resume full"),
        ("nbody --resume none", 1, "has no restart.hdf5"),
        ("nbody --resume bad", 1, "no file that a run can be taken up from"),
        ("nbody --resume full --n 10", 2, "cannot be used with"),
        ("nbody --n 10", 2, "-o <DIR>"),
        ("nbody --n 0 -o o", 2, "at least one body"),
        ("nbody --n 10 --step 0 -o o", 2, "above 0"),
        ("nbody --n 10 --until 1e300 -o o", 2, "too many"),
        ("nbody --n 10 --model king --w0 40 -o o", 2, "W0"),
        ("nbody --n 10 --model collapse --virial 1 -o o", 2, "virial"),
        ("nbody --n 10 --model galaxies --pericentre 9 -o o", 2, "pericentre"),
        ("nbody --n 10 --p2p p2p_paper --eps 0 --backend emulator --direct -o o", 1, "no gradient"),
        ("nbody --n 10 --backend card -o o", 2, "there is no backend"),
        ("nbody --n 10 --jmem 1024 -o o", 2, "--jmem is for pipelines"),
        ("nbody --n 10 --integrator hermite --order 4 -o o", 2, "--order is for the leapfrog"),
        ("nbody --bodies p.csv -o o", 1, "column `vx` is missing"),
    ] {
        check_in(&p, words, code, &[], &[part]);
        assert!(!p.path("o").exists(), "{words}");
    }
}

#[test]
fn two_backends_run_beside_each_other_and_go_on_together() {
    let p = Place::new();
    let words = "nbody --n 40 --integrator hermite --step 0.125 --eps 0.01 --restart-every 2 --compare emulator";
    p.run(&format!("{words} --until 0.5 -o out")).expect(0);
    p.run(&format!("{words} --until 1 -o one")).expect(0);
    p.run("nbody --resume out --until 1").expect(0);
    for name in ["energy.csv", "compare.csv", "compare.svg", "snapshot_001.hdf5"] {
        assert!(p.bytes(&format!("out/{name}")) == p.bytes(&format!("one/{name}")), "{name}");
    }
    let (names, rows) = columns(&p, "one/compare.csv");
    assert_eq!((names.join(","), rows.len()), ("time,error,error_compared,rms_distance".into(), 9));
    // Terms of the pipeline are good to about 5e-5.
    assert!(rows[0][3] == 0.0 && rows[8][3] > 0.0 && rows[8][3] < 0.05, "{:?}", rows[8]);
    assert!(rows.iter().all(|row| row[1].abs() < 1e-4 && row[2].abs() < 1e-2), "{rows:?}");
}

#[test]
fn bodies_of_a_snapshot_go_on_from_where_they_are() {
    let p = Place::new();
    p.run("nbody --n 30 --until 0.25 --step 0.125 --order 1 -o out").expect(0);
    p.run("nbody --n 30 --until 0.25 --step 0.125 --order 1 --snapshots csv -o text").expect(0);
    for (k, from) in ["out/snapshot_001.hdf5", "text/snapshot_001.csv"].into_iter().enumerate() {
        p.run(&format!("nbody --bodies {from} --until 0.125 --step 0.125 --order 1 --snapshots csv -o {k}")).expect(0);
        assert!(p.bytes(&format!("{k}/snapshot_000.csv")) == p.bytes("text/snapshot_001.csv"), "{from}");
    }
    assert!(p.bytes("0/snapshot_001.csv") == p.bytes("1/snapshot_001.csv"));
}

/// Opens snapshots as users do, where there are h5py or pynbody. No machine must have them, so that REQUIRE_TOOLS does not ask for it.
fn read_by(p: &Place, module: &str, script: &str) {
    let python =
        |text: &str| Command::new("python3").current_dir(p.path(".")).args(["-W", "ignore", "-c", text]).output();
    if !python(&format!("import {module}")).is_ok_and(|ended| ended.status.success()) {
        println!("skipped: {module} not found");
        return;
    }
    let ended = python(script).unwrap();
    assert!(ended.status.success(), "{module}: {}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn snapshots_are_read_by_fmm_h5py_and_pynbody() {
    let p = Place::new();
    p.run("nbody --n 50 --until 0.25 --step 0.0625 --order 1 --unit-length 2 --unit-mass 8 -o out").expect(0);
    p.run("nbody --n 50 --until 0.25 --step 0.0625 --order 1 --snapshots csv -o text").expect(0);
    let fields = ["out/snapshot_001.hdf5", "text/snapshot_001.csv"]
        .map(|name| p.run(&format!("fmm --particles {name} --order 3 -o -")).expect(0).out);
    assert!(fields[0] == fields[1] && fields[0].lines().count() == 51, "{}", fields[0]);
    read_by(
        &p,
        "h5py",
        "import csv, h5py
file = h5py.File('out/snapshot_001.hdf5')
rows = [[float(x) for x in row] for row in list(csv.reader(open('text/snapshot_001.csv')))[1:]]
bodies = file['PartType1']
assert bodies['Coordinates'][:].tolist() == [row[:3] for row in rows]
assert bodies['Masses'][:].tolist() == [row[3] for row in rows]
assert bodies['Velocities'][:].tolist() == [row[4:] for row in rows]
assert bodies['ParticleIDs'][:].tolist() == list(range(1, 51))
head = file['Header'].attrs
assert head['Time'] == 0.25 and list(head['NumPart_Total']) == [0, 50, 0, 0, 0, 0]",
    );
    read_by(
        &p,
        "pynbody",
        "import pynbody
s = pynbody.load('out/snapshot_001.hdf5')
assert len(s.dm) == len(s) == 50
assert abs(s['mass'].sum().in_units('Msol') / 8 - 1) < 1e-4
assert abs(s['pos'].in_units('pc')[0, 0] / (2 * s['pos'].view(type=__import__('numpy').ndarray)[0, 0]) - 1) < 1e-6
# The square root of G 8 suns / 2 parsecs is 0.1312 km/s, and a unit of time 14.91 million years.
assert abs((1 * s['vel'].units).in_units('km s**-1') / 0.13116 - 1) < 1e-3
assert abs(s.properties['time'].in_units('Myr') / (0.25 * 14.910) - 1) < 1e-3",
    );
}
