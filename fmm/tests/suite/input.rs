//! Files of particles: sets of charges, targets and dipoles.

use fmm::data::input::*;

fn error(text: &str) -> String {
    Input::from_csv(text).expect_err("the text is wrong").to_string()
}

fn noted(text: &str) -> Vec<String> {
    let mut ignored = Vec::new();
    Input::from_csv_noting(text, &mut ignored).expect("good text");
    ignored
}

#[test]
fn sets_are_read_by_the_names_of_their_columns_and_read_back() {
    let text = "pz,q2,x,py,y,px,z,px2,py2,pz2,q3\n1,2,3,4,5,6,7,8,9,10,-0.1\n";
    let input = Input::from_csv(text).expect("good text");
    assert_eq!((input.particles.position(0), input.particles.q[0]), ([3.0, 5.0, 7.0], 0.0));
    let set = |q: Option<f64>, p: Option<[f64; 3]>| Set {
        charges: q.map(|q| vec![q]),
        dipoles: p.map(|p| p.map(|p| vec![p])),
    };
    let wanted = [set(None, Some([6.0, 4.0, 1.0])), set(Some(2.0), Some([8.0, 9.0, 10.0])), set(Some(-0.1), None)];
    assert_eq!(input.sets, wanted);
    assert_eq!(Input::from_csv(&to_csv(&input.columns())).expect("own text"), input);
    let plain = Input::from_csv("x,y,z,q\n1,2,3,4\n").expect("good text");
    assert!(plain.is_plain() && plain.sources()[0].charges == Some(&[4.0]));
}

#[test]
fn mistakes_in_names_are_told() {
    assert!(error("x,y,z,q,q3\n1,2,3,4,5\n").contains("column `q2` is missing"));
    assert!(error("x,y,z,q,px,pz\n1,2,3,4,5,6\n").contains("column `py` is missing"));
    assert!(error("x,y,q,q2\n1,2,3,4\n").contains("column `z` is missing"));
    assert_eq!(noted("x,y,z,q,q2,m\n"), ["m"]);
    assert_eq!(noted("x,y,z,q,q02,q2,ID,vx\n"), ["q02", "ID", "vx"]);
    assert_eq!(noted("X,Y,Z,Mass,mass2,PX,py,pz\n"), [""; 0]);
    assert_eq!(
        error("x,y,z,charge,mass\n"),
        "line 1: both `charge` and `mass` may be meant as `q`; call one of them so"
    );
    assert!(error("x,y,z,q,q2,q2\n").contains("twice"));
    assert_eq!(error("x,y,z,q,q2\n1,2,3,4\n"), "line 2: 5 values are needed, here are 4");
    assert_eq!(error("x,y,z,q,q2\n1,2,3,4,inf\n"), "line 2: q2 = `inf` is not a finite number");
    assert!(targets_from_csv("x,y\n", &mut Vec::new()).is_err());
    let mut ignored = Vec::new();
    let targets = targets_from_csv("z,x,y,q\n1,2,3,4\n", &mut ignored);
    assert_eq!((targets, &ignored[..]), (Ok([vec![2.0], vec![3.0], vec![1.0]]), &["q".to_string()][..]));
}
