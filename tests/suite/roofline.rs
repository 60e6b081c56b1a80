//! `pairforge explain --roofline`: its predictions, what it refuses, and the page that repeats them.

use crate::common::Place;
use pipelines::predict::roofline::{GPUS, HANEY, Kernel, Work, haney, on_gpu};

fn rows(place: &Place, options: &str) -> Vec<serde_json::Value> {
    place.run(&format!("explain gravity --roofline {options} --json p.json")).expect(0);
    place.json("p.json")["predictions"].as_array().expect("a list").clone()
}

#[test]
fn every_gpu_and_board_is_predicted_at_every_size() {
    let place = Place::new();
    let all = rows(&place, "--n 1000 100000 --pipelines 4");
    let of = |machine: &str, mode: &str| -> Vec<&serde_json::Value> {
        all.iter().filter(|r| r["machine"] == machine && r["mode"] == mode).collect()
    };
    for gpu in GPUS {
        for mode in ["f32", "f64", "exact"] {
            assert_eq!(of(&gpu.name, mode).len(), 2, "{} {mode}", gpu.name);
        }
    }
    for board in hdl::board::BOARDS.iter() {
        let found = of(board.name, "pipeline");
        assert_eq!(found.len(), 2, "{}", board.name);
        // Four pipelines take a pair a clock each.
        let seconds = found[1]["compute_seconds"].as_f64().expect("a number");
        assert!((seconds * board.usual_mhz * 1e6 / 2.5e9 - 1.0).abs() < 1e-3, "{} {seconds}", board.name);
    }
    assert_eq!(of("engine at 150 MHz", "pipeline")[0]["limit"], "pipelines");
    assert_eq!(all.len(), 2 * (3 * GPUS.len() + 1 + hdl::board::BOARDS.iter().len()));
    let text = place.run("explain p2p_paper --roofline").expect(0).out;
    HANEY.iter().for_each(|n| assert!(text.contains(&format!(" {n} ")), "{n} in {text}"));
}

#[test]
fn a_gpu_of_the_users_own_is_predicted_or_refused_by_its_field() {
    let place = Place::new();
    let mine =
        serde_json::to_string(&pipelines::predict::roofline::GpuModel { name: "mine".into(), ..GPUS[0].clone() })
            .unwrap();
    place.write("mine.json", &mine);
    let all = rows(&place, "--n 5000 --card mine.json");
    let seconds = |name: &str| all.iter().find(|r| r["machine"] == name).map(|r| r["seconds"].clone());
    assert!(seconds("mine").is_some());
    assert_eq!(seconds("mine"), seconds("H100"));
    for (field, text) in [
        ("`link`", mine.replace("\"link\":63000000000.0", "\"link\":0")),
        ("memory", mine.replace("\"memory\"", "\"memry\"")),
        ("a GPU is written as", "[]".into()),
    ] {
        assert_ne!(text, mine);
        place.write("bad.json", &text);
        let said = place.run("explain gravity --roofline --card bad.json").expect(1).err;
        assert!(said.contains("bad.json") && said.contains(field), "{said}");
    }
    place.run("explain gravity --roofline --card none.json").expect(1);
}

#[test]
fn wrong_usage_is_told() {
    let place = Place::new();
    for options in ["--n 10", "--roofline --n 0", "--roofline --svg a.svg", "--roofline --pipelines 0", "--card c.json"]
    {
        place.run(&format!("explain gravity {options}")).expect(2);
    }
    place.run("explain PG0012 --roofline").expect(2);
    place.run("fmm --n 100 --gpus 2").expect(2);
}

#[test]
fn the_report_of_an_fmm_has_what_others_would_take() {
    let place = Place::new();
    place.run("fmm --n 500 --backend cpu --report r.html").expect(0);
    let page = std::fs::read_to_string(place.path("r.html")).expect("it was written");
    for word in ["H200", "ulx3s", "exact", "this run, on cpu"] {
        assert!(page.contains(word), "{word}");
    }
}

/// The page has the table of Haney et al. and, beside it, what is predicted today.
#[test]
fn the_page_repeats_the_table_and_the_predictions() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/roofline.md")).expect("the page");
    let text = pg2::kernels::find("gravity").expect("shipped").text;
    let graph = pg2::compile("gravity", text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph;
    let kernel = Kernel::new(&graph).expect("counted");
    for n in HANEY {
        let [link, compute, _] = haney(n);
        let found = on_gpu(&GPUS[1], &kernel.modes[0], &Work::all_pairs(n));
        let begin = format!(
            "| {n} | {link:.2e} | {compute:.2e} | {:.2e} | {:.2e} |",
            found.link_seconds, found.compute_seconds
        );
        assert!(page.lines().any(|line| line.starts_with(&begin)), "docs/roofline.md lacks the row\n{begin}");
    }
}
