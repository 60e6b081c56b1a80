//! Points of the plane: files and random ones.

use fmm::data::input::to_csv;
use fmm::data::npy;
use fmm::data::plane::*;
use fmm::data::random::{Charge, Random};

fn error(text: &str) -> String {
    Points::from_csv(text, &mut Vec::new()).expect_err("the text is wrong").to_string()
}

#[test]
fn files_are_read_back_to_the_bit() {
    for is_complex in [false, true] {
        let points = Points::random(50, Distribution::Layer, Charge::Random, is_complex, 3);
        assert_eq!(Points::from_csv(&to_csv(&points.columns()), &mut Vec::new()), Ok(points.clone()));
        assert_eq!(Points::from_npy(&npy::write_columns(&points.columns()), &mut Vec::new()), Ok(points));
    }
    let any_order = Points::from_csv("im,y,x,re\n1,2,3,4\n", &mut Vec::new()).expect("good text");
    assert_eq!((any_order.x[0], any_order.y[0], any_order.re[0], any_order.im), (3.0, 2.0, 4.0, Some(vec![1.0])));
    assert_eq!(targets_from_csv("y,x\n1,2\n", &mut Vec::new()), Ok([vec![2.0], vec![1.0]]));
}

#[test]
fn mistakes_are_named_with_their_line() {
    assert_eq!(error("x,y,q\n1,2,3\n1,2\n"), "line 3: 3 values are needed, here are 2");
    assert_eq!(error("x,y,q\n1,2,inf\n"), "line 2: q = `inf` is not a finite number");
    let mut ignored = Vec::new();
    assert!(Points::from_csv("X,y,z,Mass,id\n", &mut ignored).is_ok());
    assert_eq!(ignored, ["z", "id"]);
    assert!(error("x,y,q,x\n").contains("twice"));
    assert!(error("x,y,re\n").contains("must have `x,y,q` or `x,y,re,im`"));
    assert!(error("x,y,q,im\n").contains("must have `x,y,q` or `x,y,re,im`"));
    assert!(error("").contains("empty"));
    assert!(targets_from_csv("x\n", &mut Vec::new()).is_err());
}

#[test]
fn random_points_lie_in_the_unit_square_and_stay_the_same() {
    for distribution in [Distribution::Uniform, Distribution::Normal, Distribution::Layer] {
        let points = Points::random(500, distribution, Charge::Positive, true, 1);
        assert!(points.x.iter().chain(&points.y).all(|x| (0.0..1.0).contains(x)));
        assert!(points.re.iter().all(|q| (0.0..1.0).contains(q)));
    }
    let mut random = Random::new(5);
    let points = Points::random(2, Distribution::Uniform, Charge::Random, false, 5);
    assert_eq!([points.x[0], points.y[0]], [random.unit(), random.unit()]);
    assert_eq!(points.re[0], 2.0 * random.unit() - 1.0);
    assert_eq!(points.x[1], random.unit());
}
