//! Clocks that a target cannot have: refused, or told.

use crate::common::Place;

/// A product, which takes as long as it takes.
const KERNEL: &str = "int16 a ipin; int16 b jpin; int32 o fout;\no += (int32)a * (int32)b;\n";

fn place() -> Place {
    let place = Place::new();
    place.write("k.pg2", KERNEL);
    place
}

#[test]
fn a_clock_with_no_time_for_any_logic_is_refused() {
    let place = place();
    for words in ["build k.pg2 -o d", "explain k.pg2", "synth k.pg2 --area-only -o d"] {
        let err = place.run(&format!("{words} --target ice40 --freq 800")).expect(2).err;
        assert!(err.contains("no circuit on ice40 runs at 800 MHz") && err.contains("is 219 MHz"), "{words}: {err}");
    }
    assert!(!place.path("d/manifest.json").exists());
}

#[test]
fn a_clock_that_the_model_excludes_is_told_with_what_it_gives() {
    let place = place();
    for words in ["build k.pg2 -o d", "explain k.pg2"] {
        let err = place.run(&format!("{words} --target ice40 --freq 100")).expect(0).err;
        assert!(err.starts_with("warning: ice40 at 100 MHz leaves 8.25 ns"), "{words}: {err}");
        assert!(
            err.contains("k has a path of 14.98 ns that no register cuts; by this model it runs at 59 MHz"),
            "{err}"
        );
        // That clock it does give, and so does the usual one.
        for clock in ["--freq 59", ""] {
            assert_eq!(place.run(&format!("{words} --target ice40 {clock}")).expect(0).err, "", "{words} {clock}");
        }
    }
}

#[test]
fn the_longest_path_is_that_of_the_lane() {
    let place = place();
    place.write("max.pg2", "int64 a ipin; int64 b jpin; int64 o fout;\no max= a ^ b;\n");
    // A comparison of 64 bits behind a pipeline of one table.
    let out = place.run("explain max.pg2 --target ecp5 --freq 75").expect(0).out;
    assert!(out.contains("longest path       7.57 ns of 12.68 ns"), "{out}");
}

#[test]
fn a_device_that_is_fitted_names_the_family() {
    let place = place();
    let err = place.run("explain k.pg2 --fit up5k").expect(0).err;
    assert!(err.contains("fits up5k by an estimate"), "{err}");
    place.run("build k.pg2 --fit up5k --jmem 64 --pipelines 1 -o d").expect(0);
    let manifest = place.json("d/manifest.json");
    assert_eq!((manifest["target"].as_str(), manifest["mhz"].as_f64()), (Some("ice40"), Some(24.0)));
    let err = place.run("explain k.pg2 --fit up5k --target ecp5").expect(2).err;
    assert!(err.contains("--fit up5k is of the family ice40"), "{err}");
}
