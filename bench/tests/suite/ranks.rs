//! `mpi` and `ranks`: tables and figures of ranks, as threads and as processes, and of ranks that are simulated.

use crate::common::Place;

#[test]
fn the_benchmark_on_ranks_gives_tables_and_figures() {
    let p = Place::new();
    let ended = p.run("mpi --n 600 --repeat 1 --json m.json --csv m.csv --svg m.svg").expect(0);
    let parts = ["Table II: ", "weak scaling", "strong scaling", "Eq. 3 fitted", "threads of one process"];
    assert!(parts.iter().all(|part| ended.out.contains(part)), "{}", ended.out);
    let found: serde_json::Value = p.text("m.json").parse().expect("JSON");
    let rows = found["rows"].as_array().expect("rows");
    let of = |table: &str| rows.iter().filter(|row| row["table"] == table).collect::<Vec<_>>();
    assert_eq!(["orders", "sizes", "weak", "strong"].map(|table| of(table).len()), [8, 3, 6, 6]);
    // Errors fall with the order, and f64 goes on where f32 stops.
    let errors: Vec<f64> = of("orders").iter().map(|row| row["potential_error"].as_f64().expect("an error")).collect();
    assert!(errors[0] > 3.0 * errors[1] && errors[3] > 10.0 * errors[7], "{errors:?}");
    for row in rows {
        let [total, share] = ["total", "share"].map(|key| row[key].as_f64().expect("a number"));
        assert!(total > 0.0 && share > 0.0 && share < 1.0, "{row}");
        assert_eq!(row["messages"] == 0, row["ranks"] == 1, "{row}");
    }
    assert_eq!(found["equation_3"]["runs"].as_array().map(Vec::len), Some(8));
    let csv = p.text("m.csv");
    let lengths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(lengths.len() == 24 && lengths.iter().all(|n| *n == lengths[0]), "{csv}");
    assert_eq!(p.text("m.svg").matches(">perfect scaling<").count(), 2);
    let ended = p.run("mpi --n 150 --repeat 1 --mpirun none-of-this").expect(3);
    assert!(ended.err.contains("none-of-this: cannot be started"), "{}", ended.err);
}

#[test]
fn the_benchmark_of_ranks_counts_and_draws() {
    let p = Place::new();
    let ended = p.run("ranks --ranks 16 --csv r.csv --svg r.svg").expect(0);
    assert!(
        ["uniform: ", "sphere: ", "plummer: ", "Eq. 3 fitted"].iter().all(|part| ended.out.contains(part)),
        "{}",
        ended.out
    );
    let csv = p.text("r.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 7 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    assert!(p.text("r.svg").contains("P^(1/3)"));
}

#[test]
fn ranks_are_processes_where_a_launcher_starts_them() {
    if !testkit::require("mpirun") {
        return;
    }
    let p = Place::new();
    let launcher = "mpirun --allow-run-as-root --oversubscribe -n";
    let words = ["mpi", "--n", "150", "--repeat", "1", "--mpirun", launcher, "--json", "m.json"];
    let mut command = p.command("");
    command.args(words);
    let out = p.finish(command).expect(0).out;
    assert!(out.contains("processes of MPI with one thread each"), "{out}");
    let of = |file: &str| -> Vec<[String; 3]> {
        let found: serde_json::Value = p.text(file).parse().expect("JSON");
        let rows = found["rows"].as_array().expect("rows").iter();
        rows.map(|row| ["ranks", "boxes", "potential_error"].map(|key| row[key].to_string())).collect()
    };
    let by_mpi = of("m.json");
    p.run("mpi --n 150 --repeat 1 --json t.json").expect(0);
    // Ranks compute the same bits, however they are connected.
    assert_eq!(by_mpi, of("t.json"));
}

#[test]
fn ranks_on_gpus_give_times_or_say_what_is_missing() {
    let is_there = gpu::cuda::device::found().is_ok();
    let p = Place::new();
    let ended = p.run("mpi --on-gpus --n 2000 --repeat 1 --json m.json").expect(if is_there { 0 } else { 3 });
    assert!(is_there || ended.err.contains("error: "), "{}", ended.err);
    if is_there {
        // Two orders in two precisions, three sizes, and twice three numbers of ranks for each of two distributions.
        let found: serde_json::Value = p.text("m.json").parse().expect("JSON");
        assert_eq!(found["rows"].as_array().map(Vec::len), Some(19));
    }
}
