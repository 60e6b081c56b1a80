//! Tables of numbers: separators, further columns, mistakes.

use fmm::data::text::*;

fn read_xyq(text: &str) -> Result<(Columns, Vec<String>), String> {
    let known = |name: &str| match name {
        "x" | "y" | "q" => Some(name.to_string()),
        "m" | "mass" => Some("q".to_string()),
        _ => None,
    };
    let mut ignored = Vec::new();
    read(text, "x,y,q", &known, &mut ignored).map(|columns| (columns, ignored)).map_err(|e| e.to_string())
}

#[test]
fn one_table_is_read_however_it_is_written() {
    let wanted: Columns =
        [("x", [1.0, -2.5]), ("y", [0.25, 3e-5]), ("q", [1e10, 4.0])].map(|(n, c)| (n.to_string(), c.to_vec())).into();
    for text in [
        "x,y,q\n1,0.25,1e10\n-2.5,3e-5,4\n",
        "\u{feff}X,Y,Q\r\n1,0.25,1e10\r\n\r\n-2.5,3e-5,4\r\n",
        "x;y;q\n1;0.25;1e10\n-2.5;3e-5;4",
        "x\ty\tq\n1\t0.25\t1e10\n-2.5\t3e-5\t4\n",
        "x y   q\n 1 0.25\t1e10 \n-2.5   3e-5 4\n",
        "# made by hand\nx, y, mass\n1, 0.25, 1e10\n# a word\n-2.5, 3e-5, 4\n",
        "\"x\",\"y\",\"m\"\n\"1\",\"0.25\",\"1e10\"\n\"-2.5\",3e-5,\"4\"\n",
        "x y q\n1.0D+00 2.5d-1 0.1D11\n-0.25D1 0.3-4 4.D0\n",
        "# x y q\n1 0.25 1e10\n-2.5 3e-5 4\n",
        "# by numpy\n# x,y,q\n1.000e+00 2.5e-01 1e10\n-2.5 3e-5 4\n",
        "x,y,q,\n1,0.25,1e10,\n-2.5,3e-5,4\n",
        "x y q\n1, 0.25, 1e10\n-2.5, 3e-5, 4\n",
        "'x' 'y' 'q'\n1 0.25 1e10\n-2.5 3e-5 4\n",
    ] {
        assert_eq!(read_xyq(text), Ok((wanted.clone(), vec![])), "{text:?}");
    }
}

#[test]
fn other_columns_are_noted_and_may_hold_anything() {
    let (columns, ignored) = read_xyq("id,Name,x,vx,y,q,m\n7,\"a, \"\"b\"\" c\",1,nan,2,3,x\n,,4,,5,6,\n").unwrap();
    assert_eq!(columns.iter().map(|c| &c.1[..]).collect::<Vec<_>>(), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    assert_eq!(ignored, ["id", "Name", "vx", "m"]);
    // A tab keeps fields apart that are empty.
    let (columns, ignored) = read_xyq("x\ty\tq\tnote\n1\t2\t3\t\n").unwrap();
    assert_eq!((columns.len(), ignored), (3, vec!["note".to_string()]));
}

#[test]
fn what_cannot_be_read_is_told_with_what_it_may_be() {
    for (text, wanted) in [
        ("", "empty"),
        ("# only a word\n", "empty"),
        ("1,2,3\n4,5,6\n", "line 1: numbers stand where the names"),
        ("x|y|q\n1|2|3\n", "`|` separates no columns"),
        ("x:y:q\n1:2:3\n", "`:` separates no columns"),
        ("x;y;q\n1,5;2,5;3,5\n", "line 2: x = `1,5` is not a number; write a point"),
        ("x y q\n1,5 2 3\n", "write a point"),
        ("x,y,q\n1,2\n", "line 2: 3 values are needed, here are 2"),
        ("x,y,q\n1,2,3,4\n", "line 2: 3 values are needed, here are 4"),
        ("x,y,q\n1,2,\n", "line 2: q = `` is not a number"),
        ("x,y,q,X\n", "line 1: column `x` stands there twice"),
        ("x,y,m,mass\n", "both `m` and `mass` may be meant as `q`"),
        ("x,y,q\n1,2,-1D999\n", "not a finite number"),
        ("x,y,q\n1,2,1DD3\n", "not a number"),
        ("x,y,q\n1,2,--3\n", "not a number"),
    ] {
        let error = read_xyq(text).expect_err(text);
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
}
