//! Searches for tables of functions: their work, and what is kept of them.

use crate::func::{function, new_function};
use hdl::Format;
use hdl::number::real::work::{Patience, patiently};
use hdl::op::table::func::kept::{self, Found, Store};
use hdl::op::table::func::{Failure, Function, MOST_WORK, Prepared, prepared};
use std::collections::BTreeMap;
use std::sync::Mutex;

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, String>>);

impl Store for Memory {
    fn load(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn save(&self, key: &str, record: &str) {
        self.0.lock().unwrap().insert(key.into(), record.into());
    }
}

/// All numbers of a table.
fn numbers(p: &Prepared) -> String {
    format!("{:?} {:?} {:?} {:?}", p.table, p.floor, p.flags, p.bounds)
}

#[test]
fn a_table_found_before_is_the_one_that_a_search_finds() {
    for (format, text, lo, hi, is_fast) in [
        ("float25.16", "x erfc x /", "0.0625", "4", true),
        ("float32.23", "1 x 2 / - 4 pow", "0", "2", false),
        ("fixed32.24", "x x * -1 * exp", "-2", "2", false),
    ] {
        let (format, f) = (format.parse().unwrap(), function(text, lo, hi));
        let store = Memory::default();
        let (first, work) = Prepared::new(format, &f, Some(&store), MOST_WORK);
        let first = numbers(&first.unwrap());
        let key = kept::key(format, &f);
        let record = store.load(&key).expect("it was kept");
        let again = |record: &str| {
            store.save(&key, record);
            let (made, work) = Prepared::new(format, &f, Some(&store), MOST_WORK);
            (numbers(&made.unwrap()), work)
        };
        assert_eq!(again(&record), (first.clone(), work), "{text}");
        if !is_fast {
            continue;
        }
        // Each of these leads to another search.
        for bad in ["", "- 9 1 5", "\0\u{1}", &record[1..], &record.replace(' ', "  ")] {
            assert_eq!(again(bad), (first.clone(), work), "{text}: {bad:?}");
        }
        // A record that is whole and leads nowhere.
        for (degree, top) in [(99, 0), (2, 99), (0, 0)] {
            let found = Found { floor: None, degree, top, work };
            assert_eq!(again(&found.record(&key)), (first.clone(), work), "{text}: {found:?}");
        }
    }
}

/// The findings of one search of a function are there for the next one, and the work is the same for both.
#[test]
fn the_work_of_a_search_does_not_depend_on_those_before() {
    let formats: [Format; 2] = ["float18.9", "float25.16"].map(|format| format.parse().unwrap());
    let work = |f: &Function, format: Format| Prepared::new(format, f, None, MOST_WORK).1;
    for text in ["x exp 1 -", "x erf 2 pow"] {
        let [one, other] = [(); 2].map(|()| new_function(text, "0", "3"));
        let forwards = formats.map(|format| work(&one, format));
        let backwards = [formats[1], formats[0]].map(|format| work(&other, format));
        assert_eq!(forwards, [backwards[1], backwards[0]], "{text}");
    }
}

#[test]
fn a_function_with_far_too_many_waves_is_refused_soon() {
    for (format, text, lo, hi) in [
        ("float25.16", "1000 x * sin", "0.001", "1000"),
        ("float32.23", "1000 x / sin", "0.01", "1"),
        ("fixed32.16", "10 x * sin", "0", "30000"),
    ] {
        let (made, work) = Prepared::new(format.parse().unwrap(), &function(text, lo, hi), None, MOST_WORK);
        assert!(matches!(made.err(), Some(Failure::Large { depth: 9.., .. })), "{text}");
        assert!(work < MOST_WORK, "{text}: {work}");
    }
}

/// A search that nobody waits for leaves nothing, and is made anew where there was too little time for it.
#[test]
fn a_search_ends_with_somebodys_patience() {
    thread_local!(static NOW: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) });
    // A second for each look.
    fn clock() -> f64 {
        NOW.replace(NOW.get() + 1.0)
    }
    let format: Format = "float25.16".parse().unwrap();
    let hard = || new_function("x sin x cos * x exp erfc *", "0.01", "3");
    let at_once = hard();
    let found = |f: &Function| prepared(format, f).map(numbers).map_err(Clone::clone);
    assert_eq!(patiently(clock, 15.0, || found(&at_once)), Err(Failure::Slow));
    assert_eq!(patiently(clock, 1e9, || found(&at_once)), Err(Failure::Slow), "it had all the time that there was");
    let second = hard();
    let made = patiently(clock, 12.0, || {
        let _late: f64 = (0..10).map(|_| clock()).sum();
        found(&second)
    });
    assert_eq!(made, Err(Failure::Slow));
    assert_eq!(found(&second), found(&hard()), "the next search finds what any search finds");
    assert!(Patience::given().is_none());
}

#[test]
fn the_work_of_a_search_is_bounded() {
    // Many waves on a long interval need more pieces than are looked at.
    let waves: String = (1..=76).map(|k| format!(" x {k} * sin +")).collect();
    let text = format!("x{waves}");
    let f = function(&text, "0.001", "1000");
    for most in [10_000_000, 40_000_000] {
        let (made, work) = Prepared::new("float32.23".parse().unwrap(), &f, None, most);
        assert_eq!(made.err(), Some(Failure::Costly));
        // Beyond it there is the evaluation that was under way.
        assert!((most..most + 10_000_000).contains(&work), "{work}");
    }
}
