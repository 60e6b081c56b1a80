//! `pairforge fmm` without the options that say where it runs and by which expansion.

use super::{run, stats};
use crate::common::{Place, shipped};

#[test]
fn an_fmm_runs_natively_unless_a_backend_is_named() {
    let p = Place::new();
    let same = |words: &str, named: &str| {
        let s = stats(&p, &format!("--n 700 --leaf 20 {words} -o plain.csv"));
        assert_eq!(s["backend"], "cpu", "{words}");
        run(&p, &format!("--n 700 --leaf 20 {named} -o named.csv"));
        assert!(p.bytes("plain.csv") == p.bytes("named.csv"), "{words} is not {named}");
    };
    same("", "--backend cpu");
    same("", "--expansion solid --order 4");
    same("--order 4", "--expansion cartesian --order 4");
    same("--m2l native", "");
    same("--precision f32", "--precision f32 --expansion solid --order 4");
    same("--p2p p2p", "--p2p p2p --backend cpu --m2l native --expansion solid");
    same("--dist plummer --ranks 2", "--dist plummer --backend cpu");
    // An order means the same on every backend.
    let error = |words: &str| stats(&p, &format!("--n 3000 --check 300 {words}"))["error"]["gradient_rel_l2"].clone();
    let [plain, order, pipelines] = ["", "--order 4", "--backend emulator"].map(|words| error(words).as_f64().unwrap());
    assert!((order - pipelines).abs() < 6e-5 && plain < order, "{plain} {order} {pipelines}");
}

#[test]
fn kernels_without_a_backend_run_by_what_they_mean() {
    let p = Place::new();
    // Its format would leave an error of a percent.
    p.write("narrow.pg2", shipped("p2p").replace("float25.16", "float16.7"));
    let error = |words: &str| {
        let s = stats(&p, &format!("--n 300 --leaf 300 --p2p narrow.pg2 --check 300 {words}"));
        s["error"]["gradient_rel_l2"].as_f64().expect("an error")
    };
    let [plain, pipelines] = [error(""), error("--backend emulator")];
    assert!(plain < 1e-4 && pipelines > 1e-3, "{plain} {pipelines}");
    // Those who name an M2L kernel think of pipelines.
    let words = "fmm --n 300 --leaf 20 --order 2 --p2p p2p_paper --m2l m2l_paper";
    for more in ["", "--ranks 2"] {
        let told = p.run(&format!("{words} {more}")).expect(0).err;
        assert!(told.starts_with("note: ") && told.contains("--backend emulator"), "{told}");
    }
    for backend in ["cpu", "emulator"] {
        assert_eq!(p.run(&format!("{words} --backend {backend}")).expect(0).err, "");
    }
}
