//! Parameters with values of their own, which need not be given (RULES L15).

use crate::common::{Place, shipped};
use serde_json::json;

const KERNEL: &str = "float18.9 x ipin; float18.9 y jpin; float18.9 eps param = 0.01; param int8 k[2] = (3, -1);
fixed40.20 s fout; int64 n fout;
d = x - y; s += (fixed40.20)(d * d + eps); n += (int64)(k[0] * (d > 0 ? k[1] : 1));
";

#[test]
fn a_run_takes_the_values_that_are_not_given() {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p.write("i.csv", "x\n1\n2.5\n");
    p.write("j.csv", "y\n0.25\n2\n4\n");
    for backend in ["emulator", "cpu"] {
        let run =
            |words: &str| p.run(&format!("run k.pg2 --i i.csv --j j.csv --backend {backend} {words}")).expect(0).out;
        let plain = run("");
        assert_eq!(plain, run("--param eps=0.01 --param k=3,-1"), "{backend}");
        assert_eq!(plain, run("--param k[1]=-1"), "{backend}");
        // One that is given takes the place of the kernel's own, and the others stay.
        let other = run("--param eps=2");
        let column = |text: &str, c: usize| -> Vec<f64> {
            let number = |line: &str| line.split(',').nth(c).and_then(|x| x.parse().ok()).expect("a number");
            text.lines().skip(1).map(number).collect()
        };
        assert_eq!(column(&plain, 1), column(&other, 1), "{backend}");
        for (a, b) in column(&plain, 0).iter().zip(column(&other, 0)) {
            assert!((b - a - 3.0 * 1.99).abs() < 0.1, "{backend}: {a} {b}");
        }
        assert_ne!(plain, run("--param k[1]=5"), "{backend}");
    }
    let err = p.run("run k.pg2 --i i.csv --j j.csv --param none=1").expect(1).err;
    assert!(err.contains("no parameter `none`") && err.contains("eps"), "{err}");
}

#[test]
fn a_build_has_the_values_in_its_manifest() {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p.run("build k.pg2 -o k --pipelines 1").expect(0);
    let manifest = p.json("k/manifest.json");
    let pins = manifest["pins"].as_array().expect("pins");
    let of = |name: &str| pins.iter().find(|pin| pin["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    // Of a float the number that was written, whatever the format holds of it.
    assert_eq!(of("eps")["default"], json!([0.01]));
    assert_eq!(of("k")["default"], json!([3.0, -1.0]));
    assert!(of("x").get("default").is_none() && of("s").get("default").is_none(), "{manifest}");
}

#[test]
fn an_fmm_takes_the_values_of_a_kernel() {
    let p = Place::new();
    let (text, pin) = (shipped("p2p_yukawa"), "float25.16  kappa    param;");
    assert!(text.contains(pin), "{text}");
    p.write("own.pg2", text.replace(pin, "float25.16  kappa    param = 3;"));
    for backend in ["cpu", "emulator"] {
        let potentials = |kernel: &str| {
            p.run(&format!("fmm --n 60 --leaf 60 --near-only --backend {backend} --p2p {kernel} -o o.csv")).expect(0);
            p.text("o.csv")
        };
        let plain = potentials("own.pg2");
        assert_eq!(plain, potentials("p2p_yukawa --param kappa=3"), "{backend}");
        // One that is given takes the place of the kernel's own.
        assert_eq!(potentials("own.pg2 --param kappa=5"), potentials("p2p_yukawa --param kappa=5"), "{backend}");
        assert_ne!(plain, potentials("own.pg2 --param kappa=5"), "{backend}");
    }
    let err = p.run("fmm --n 60 --p2p p2p_yukawa --backend emulator").expect(1).err;
    assert!(err.contains("kappa"), "{err}");
}
