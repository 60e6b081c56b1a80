//! `pairforge fmm` with targets apart, several sets of charges, dipoles and Hessians.

use super::{numbers, run, stats};
use crate::common::Place;

const FIELD: &str = "potential,gx,gy,gz";
const HESSIAN: &str = "hxx,hxy,hxz,hyy,hyz,hzz";

/// Particles with two sets of charges and dipoles, and some targets.
fn place() -> Place {
    let p = Place::new();
    run(&p, "--n 400 --seed 3 --backend cpu --save-particles a.csv");
    run(&p, "--n 400 --seed 4 --backend cpu --save-particles b.csv");
    let [a, b] = ["a.csv", "b.csv"].map(|name| numbers(&p.text(name), "x,y,z,q"));
    let join = |header: &str, row: fn(&[f64], &[f64]) -> Vec<f64>| {
        let rows = a.iter().zip(&b).map(|(a, b)| {
            let words: Vec<String> = row(a, b).iter().map(|x| format!("{x:?}")).collect();
            words.join(",") + "\n"
        });
        format!("{header}\n{}", rows.collect::<String>())
    };
    p.write("two.csv", join("q2,x,y,z,q", |a, b| vec![b[3], a[0], a[1], a[2], a[3]]));
    p.write("second.csv", join("x,y,z,q", |a, b| vec![a[0], a[1], a[2], b[3]]));
    p.write("dipoles.csv", join("x,y,z,px,py,pz", |a, b| [&a[..3], &b[..3]].concat()));
    p.write("both.csv", join("x,y,z,q,px,py,pz", |a, b| [a, &b[..3]].concat()));
    p.write("targets.csv", join("x,y,z", |_, b| b[..3].to_vec()));
    p
}

#[test]
fn problems_are_computed_and_checked_from_files_to_files() {
    let p = place();
    let cpu = "--backend cpu --expansion solid --order 8 --leaf 30";
    // Targets at the particles' own places, and two sets of charges.
    p.write(
        "own.csv",
        numbers(&p.text("a.csv"), "x,y,z,q")
            .iter()
            .fold("x,y,z\n".into(), |text: String, r| text + &format!("{:?},{:?},{:?}\n", r[0], r[1], r[2])),
    );
    run(&p, &format!("--particles a.csv {cpu} -o f.csv"));
    run(&p, &format!("--particles a.csv --targets own.csv {cpu} -o g.csv"));
    // P2P of particles that are both computes a pair once for its two ends, and so sums in another order.
    let (f, g) = (numbers(&p.text("f.csv"), FIELD), numbers(&p.text("g.csv"), FIELD));
    let [off, size] = f
        .iter()
        .flatten()
        .zip(g.iter().flatten())
        .fold([0.0; 2], |s: [f64; 2], (f, g)| [s[0] + (f - g).powi(2), s[1] + f * f]);
    assert!(f.len() == g.len() && off.sqrt() < 2e-12 * size.sqrt(), "{off:e} {size:e}");
    run(&p, &format!("--particles second.csv {cpu} -o g.csv"));
    run(&p, &format!("--particles two.csv {cpu} -o h.csv"));
    let (f, g) = (numbers(&p.text("f.csv"), FIELD), numbers(&p.text("g.csv"), FIELD));
    let h = numbers(&p.text("h.csv"), &format!("{FIELD},potential2,gx2,gy2,gz2"));
    assert!(f.iter().zip(&g).zip(&h).all(|((f, g), h)| [&f[..], g].concat() == *h));
    // Every problem beside direct sums.
    for file in ["a.csv", "two.csv", "dipoles.csv", "both.csv"] {
        for targets in ["", "--targets targets.csv"] {
            let s = stats(&p, &format!("--particles {file} {targets} {cpu} --hessian --check 100 -o h.csv"));
            let keys = ["potential_rel_l2", "gradient_rel_l2", "hessian_rel_l2"];
            let errors = keys.map(|key| s["error"][key].as_f64().expect("a number"));
            assert!(errors.iter().all(|e| *e < 1e-3), "{file} {targets} {errors:?}");
            assert_eq!(s["more_errors"].as_array().map_or(0, Vec::len), (file == "two.csv") as usize);
            assert_eq!(s["targets"].as_u64(), (!targets.is_empty()).then_some(400));
            let header = p.text("h.csv").lines().next().expect("a header").to_string();
            assert!(header.starts_with(&format!("{FIELD},{HESSIAN}")), "{header}");
        }
    }
    let s = stats(&p, &format!("--particles a.csv {cpu} --check 100"));
    assert!(s["error"].get("hessian_rel_l2").is_none() && s.get("targets").is_none());
    // Files come back, and arrays are read.
    run(&p, &format!("--particles both.csv {cpu} --save-particles s.csv -o f.csv"));
    assert!(p.bytes("s.csv") == p.bytes("both.csv"));
    run(&p, &format!("--particles both.csv {cpu} --save-particles s.npy"));
    run(&p, &format!("--particles s.npy {cpu} -o g.csv"));
    assert!(p.bytes("f.csv") == p.bytes("g.csv"));
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let p = place();
    let refused = |words: &str, code: i32, part: &str| {
        let ended = p.run(&format!("fmm {words} -o none.csv")).expect(code);
        assert!(ended.err.contains(part), "{words}: {}", ended.err);
        assert!(!p.path("none.csv").exists(), "{words}");
    };
    refused("--n 10 --hessian --backend emulator", 2, "--backend cpu");
    refused("--n 10 --hessian --backend cpu --p2p p2p", 2, "--backend cpu");
    refused("--particles both.csv --backend emulator", 2, "--backend cpu");
    refused("--particles both.csv --tol 1e-3 --backend cpu", 2, "--order");
    refused("--n 10 --targets targets.csv --tol 1e-3", 2, "--tol");
    refused("--n 10 --targets none.csv", 1, "none.csv");
    p.write("wrong.csv", "x,y,z\n1,2\n");
    refused("--n 10 --targets wrong.csv", 1, "line 2");
    p.write("wrong.csv", "x,y,z,q,q3\n1,2,3,4,5\n");
    refused("--particles wrong.csv", 1, "`q2` is missing");
    // Two charges so close that their Hessian is no number of f64.
    p.write("close.csv", "x,y,z,q\n0,0,0,1\n1e-110,0,0,1\n1,1,1,1\n");
    refused("--particles close.csv --backend cpu --hessian", 1, "Hessian at particle 0");
    run(&p, "--particles close.csv --backend cpu");
}

#[test]
fn what_the_far_field_lacks_for_want_of_softening_is_said() {
    let p = Place::new();
    run(&p, "--n 400 --seed 4 --backend cpu --save-particles all.csv");
    let all = numbers(&p.text("all.csv"), "x,y,z,q");
    let lines = |rows: &[Vec<f64>]| {
        rows.iter().fold("x,y,z\n".to_string(), |text, r| text + &format!("{:?},{:?},{:?}\n", r[0], r[1], r[2]))
    };
    p.write("targets.csv", lines(&all[1..]));
    let source = &all[0];
    p.write("one.csv", format!("x,y,z,q\n{:?},{:?},{:?},1\n", source[0], source[1], source[2]));
    let words = "--particles one.csv --targets targets.csv --backend cpu --expansion solid --order 14 --leaf 4";
    for eps in [0.01, 0.1, 3.0] {
        let s = stats(&p, &format!("{words} --eps {eps} -o f.csv"));
        let most = s["unsoftened"].as_f64().expect("a number");
        let off = all[1..].iter().zip(numbers(&p.text("f.csv"), FIELD)).map(|(at, found)| {
            let d = [0, 1, 2].map(|a| source[a] - at[a]);
            let softened = (d.iter().map(|x| x * x).sum::<f64>() + eps * eps).powf(-1.5);
            let [off, size] = [0, 1, 2].iter().fold([0.0; 2], |s: [f64; 2], a| {
                [s[0] + (found[a + 1] - d[*a] * softened).powi(2), s[1] + found[a + 1].powi(2)]
            });
            (off / size).sqrt()
        });
        let off = off.fold(0.0, f64::max);
        assert!(off < most + 1e-5 && off > 0.1 * most, "eps {eps}: {off:e} of {most:e}");
        let ranks = stats(&p, &format!("{words} --eps {eps} --ranks 2"));
        assert_eq!(ranks["unsoftened"], s["unsoftened"]);
        assert_eq!(run(&p, &format!("{words} --eps {eps}")).out.contains("is not softened"), eps > 0.001);
    }
    // Nothing is left out without a length, without a far field, and by a kernel that is expanded as it is softened.
    for more in ["", "--eps 0.1 --leaf 400", "--eps 0.1 --near-only"] {
        let words = words.replace("--leaf 4", "");
        assert!(stats(&p, &format!("{words} {more}")).get("unsoftened").is_none(), "{more}");
    }
    let words = "--n 2000 --eps 0.1 --backend cpu --p2p p2p --expansion chebyshev --order 6 --leaf 20 --check 200";
    let s = stats(&p, words);
    assert!(s.get("unsoftened").is_none() && s["error"]["gradient_rel_l2"].as_f64() < Some(2e-3), "{s}");
}
