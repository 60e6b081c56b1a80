//! Particles as CSV: read back to the bit, mistakes.

use fmm::data::particles::*;

fn error(text: &str) -> String {
    Particles::from_csv(text).expect_err("the text is wrong").to_string()
}

#[test]
fn csv_reads_back_to_the_bit() {
    let mut p = Particles::default();
    p.push([0.1, -1e300, 5e-324], 1.0 / 3.0);
    p.push([-0.0, 1.0, 123456789.123], -2.0);
    let back = Particles::from_csv(&p.to_csv()).expect("own text");
    assert_eq!(back, p);
    assert_eq!(back.x[1].to_bits(), (-0.0f64).to_bits());
}

#[test]
fn columns_may_stand_in_any_order() {
    let p = Particles::from_csv("q, z ,y,x\r\n1,2,3,4\r\n\r\n").expect("good text");
    assert_eq!((p.position(0), p.q[0]), ([4.0, 3.0, 2.0], 1.0));
    assert!(Particles::from_csv("x,y,z,q\n").expect("no particle is legal").is_empty());
}

#[test]
fn mistakes_are_named_with_their_line() {
    assert_eq!(error("x,y,z,q\n1,2,3,4\n1,2,nan,4\n"), "line 3: z = `nan` is not a finite number");
    assert_eq!(error("x,y,z,q\n1,2,3,1e999\n"), "line 2: q = `1e999` is not a finite number");
    assert_eq!(error("x,y,z,q\n1,2,3\n"), "line 2: 4 values are needed, here are 3");
    assert_eq!(error("x,y,z,q\n1,two,3,4\n"), "line 2: y = `two` is not a number");
    assert!(error("x,y,z\n").contains("column `q` is missing"));
    assert!(error("x,y,z,w\n").contains("column `q` is missing"));
    assert!(error("x,y,z,q,x\n").contains("twice"));
    assert!(error("").contains("empty"));
}
