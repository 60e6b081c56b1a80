//! `pairforge-bench fmm2 --figures`: small runs of the paper's experiments, files of two runs joined, and what it refuses.

use crate::common::Place;

const NAMES: [&str; 10] = ["table1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10"];

/// The records of a CSV file, each with as many cells as the header, and the place of a column. Names of devices have commas.
fn records(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let cells = |line: &str| {
        let mut is_quoted = false;
        let mark = |c: char| {
            is_quoted ^= c == '"';
            if c == ',' && !is_quoted { '\n' } else { c }
        };
        line.chars().map(mark).collect::<String>().split('\n').map(str::to_string).collect::<Vec<_>>()
    };
    let all: Vec<Vec<String>> = text.lines().map(cells).collect();
    assert!(all.len() > 1 && all.iter().all(|r| r.len() == all[0].len()), "{text}");
    (all[0].clone(), all[1..].to_vec())
}

/// The numbers of a column in the records of one number of threads.
fn column(text: &str, name: &str, threads: &str) -> Vec<Option<f64>> {
    let (header, records) = records(text);
    let at = |name: &str| header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no {name}: {header:?}"));
    let (at, of) = (at(name), at("threads"));
    records.iter().filter(|r| r[of] == threads).map(|r| r[at].parse().ok()).collect()
}

#[test]
fn figures_are_measured_joined_and_drawn_again() {
    let p = Place::new();
    for threads in [1, 2] {
        let words = format!("fmm2 --figures t{threads} --on cpu --threads {threads} --most 2000 --repeat 1");
        let out = p.run(&words).expect(0).out;
        assert!(out.contains("best N_d on the CPU (5.1, Fig. 3): paper 35; CPU, "), "{out}");
    }
    // Alone: times, no speed-ups.
    assert!(p.text("t1/fig2.svg").contains("time a point") && !p.text("t1/fig2.svg").contains("speed-up"));
    p.run("fmm2 --figures both --from t2/figures.json --from t1/figures.json").expect(0);
    for name in NAMES {
        let svg = p.text(&format!("both/{name}.svg"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{name}: {svg}");
        // What is drawn has something to show.
        let marks = svg.matches("<title>").count() + svg.matches("class=\"s0\"").count();
        assert!(marks > 1, "{name}: {svg}");
        records(&p.text(&format!("both/{name}.csv")));
    }
    // A speed-up is a quotient of two measured times.
    let fig6 = p.text("both/fig6.csv");
    let (slow, fast) = (column(&fig6, "seconds", "1"), column(&fig6, "seconds", "2"));
    let ratio = column(&fig6, "speedup", "2");
    assert!(slow.len() == fast.len() && slow.len() > 5, "{fig6}");
    for ((slow, fast), ratio) in slow.iter().zip(&fast).zip(&ratio) {
        let (Some(slow), Some(fast), Some(ratio)) = (slow, fast, ratio) else { panic!("{fig6}") };
        assert!((slow / fast / ratio - 1.0).abs() < 1e-4, "{slow} {fast} {ratio}");
    }
    assert!(column(&fig6, "speedup", "1").iter().all(Option::is_none), "{fig6}");
    let fig3 = column(&p.text("both/fig3.csv"), "relative_time", "1");
    assert!(fig3.contains(&Some(1.0)) && fig3.iter().all(|x| x.is_some_and(|x| x >= 1.0)), "{fig3:?}");
    // Shares are of the whole.
    let (header, shares) = records(&p.text("both/table1.csv"));
    assert_eq!(header, ["part", "paper", "CPU 1 thread", "CPU 2 threads"]);
    let sum: f64 = shares.iter().map(|r| r[2].parse::<f64>().expect("a number")).sum();
    assert!((sum - 100.0).abs() < 0.1, "{shares:?}");
    // Drawn again from what it wrote, all is the same to the byte.
    p.run("fmm2 --figures again --from both/figures.json").expect(0);
    for name in NAMES {
        for ending in ["svg", "csv"] {
            let of = |folder: &str| p.text(&format!("{folder}/{name}.{ending}"));
            assert_eq!(of("both"), of("again"), "{name}.{ending}");
        }
    }
    assert_eq!(p.text("both/figures.json"), p.text("again/figures.json"));
}

#[test]
fn what_holds_no_runs_is_refused_and_nothing_is_written() {
    let p = Place::new();
    let row = r#"{"what":"size","spread":"uniform","n":5,"order":17,"leaf":45,"levels":0,"seconds":[SECONDS],"copies":0.0,
        "stages":[0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0],"pairs":25,"m2l":0,"error":0.0}"#;
    let file = |seconds: &str| {
        format!(r#"{{"sides":[{{"device":"d","threads":1,"rows":[{}]}}]}}"#, row.replace("SECONDS", seconds))
    };
    p.write("good.json", file("1e-6"));
    let refused = |words: &str, parts: &[&str]| {
        let err = p.run(words).expect(1).err;
        assert!(parts.iter().all(|part| err.contains(part)), "{words}: {err}");
    };
    for (name, text) in [("text.json", "{}".into()), ("none.json", file("")), ("negative.json", file("-1.0"))] {
        p.write(name, &text);
        let words = format!("fmm2 --figures out --from good.json --from {name}");
        refused(&words, &[name, "holds no runs that `pairforge-bench fmm2 --figures` wrote"]);
        assert!(!p.path("out").exists(), "{name}");
    }
    refused("fmm2 --figures out --from absent.json", &["absent.json", "cannot be read"]);
    refused("fmm2 --figures good.json", &["good.json", "name a folder"]);
    p.refused("ranks --figures out", 2, &["--figures", "fmm2"]);
    p.refused("fmm2 --figures out --most 10", 2, &["--most", "2000"]);
    p.refused("fmm2 --most 5000", 2, &["--figures"]);
    p.refused("fmm2", 2, &["--figures"]);
    assert!(!p.path("out").exists());
    p.run("fmm2 --figures out --from good.json").expect(0);
    assert!(p.text("out/fig6.svg").contains("class=\"s0\""));
}
