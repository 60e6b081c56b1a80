//! Pages of `--report`, in a browser.

use crate::common::Place;
use crate::common::browser::Browser;
use serde_json::Value;
use std::collections::BTreeSet;

/// All numbers of a page: key, value and text of each.
const NUMBERS: &str =
    "[...document.querySelectorAll('data')].map(d => [d.dataset.key, d.getAttribute('value'), d.textContent])";

/// The lowest contrast of any text with what is behind it, by the formula of WCAG 2, with the text.
pub const CONTRAST: &str = r#"(() => {
    const parse = (c) => c.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.99) return c;
        }
        return [255, 255, 255];
    };
    let least = [100, ''];
    for (const e of document.body.querySelectorAll('*')) {
        const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
        if (!text || !e.getClientRects().length || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(e.tagName)) continue;
        const style = getComputedStyle(e), ink = parse(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
        const [a, b] = [light(ink), light(ground(e))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < least[0]) least = [contrast, text];
    }
    return least;
})()"#;

/// A run with its page, the file of its statistics, and a key that the page must show.
struct Case {
    command: &'static str,
    page: &'static str,
    json: &'static str,
    shown: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        command: "fmm --n 3000 --dist plummer --check 60 --json f.json --report f.html",
        page: "f.html",
        json: "f.json",
        shown: &[
            "/seconds/p2p",
            "/timeline/1/start",
            "/by_level/2/m2l",
            "/error/gradient_rel_l2",
            "/slice/cells",
            "/memory/peak",
            "/error_by_target/by_distance/0/median",
            "/machines/0/seconds",
        ],
    },
    Case {
        command: "fmm2 --n 2000 --kernel log --check 50 --json g.json --report g.html",
        page: "g.html",
        json: "g.json",
        shown: &["/seconds/sort", "/timeline/0/end", "/error/potential_rel_l2"],
    },
    Case {
        command: "run hostile.pg2 --i i.csv --j j.csv -o o.csv --json r.json --report r.html",
        page: "r.html",
        json: "r.json",
        shown: &["/pairs", "/raised/0/targets", "/profile/values/0/headroom"],
    },
    Case {
        command: "explore hostile.pg2 --i i.csv --j j.csv --vary float18.9=7..9 --json e.json --report e.html",
        page: "e.html",
        json: "e.json",
        shown: &["/points/1/register_bits", "/points/2/error"],
    },
    Case {
        command: "build hostile.pg2 -o one --report b.html",
        page: "b.html",
        json: "one/manifest.json",
        shown: &["/schedules/0/lines/0/operator_bits", "/schedules/0/paths/0/slack", "/schedules/0/values/0/start"],
    },
    Case {
        command: "build p2p_paper p2p_small -o two --report c.html",
        page: "c.html",
        json: "two/manifest.json",
        shown: &["/schedules/1/cycles", "/mhz"],
    },
];

/// Comments that would be elements and scripts, and sums that overflow.
const HOSTILE: &str = "float18.9 x ipin; // </script><script>console.log('ran')</script>\nfloat18.9 y jpin; // <img src=x onerror=alert(1)> \"&'\n\
                       float18.9 o fout;\nd = y - x;\ns = d * d;\nt = s * s;\no max= t * t;\n";

#[test]
fn pages_show_the_numbers_of_the_statistics_on_any_screen_and_ask_for_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let place = Place::new();
    place.write("hostile.pg2", HOSTILE);
    place.write("i.csv", "x\n1\n2\n-3\n");
    place.write("j.csv", "y\n1e9\n2.5\n");
    for case in CASES {
        place.run(case.command).expect(0);
        let path = place.path(case.page);
        let size = std::fs::metadata(&path).expect("the page is there").len();
        assert!(size < 1_000_000, "{}: {size} bytes", case.command);
        let statistics = place.json(case.json);
        for (width, theme) in [(400, "dark"), (1600, "light")] {
            let about = format!("{} at {width} pixels, {theme}", case.command);
            browser.open(&path, width, theme);
            let numbers = browser.value(NUMBERS);
            equal(&numbers, &statistics, case.shown, &about);
            let wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(wide, 0, "{about} is wider than the window");
            let contrast = browser.value(CONTRAST);
            assert!(contrast[0].as_f64().is_some_and(|c| c >= 4.5), "{about}: {contrast}");
            assert_eq!(browser.said, Vec::<String>::new(), "{about}");
            assert_eq!(browser.asked, [format!("file://{}", path.display())], "{about}");
        }
        used(&mut browser, case.command);
    }
}

/// Asserts that each number is the statistics' at its key, as JSON has it, that its text is that number, and that some keys are there.
fn equal(numbers: &Value, statistics: &Value, shown: &[&str], about: &str) {
    let mut keys = BTreeSet::new();
    for number in numbers.as_array().expect("a list") {
        let [key, value, text] = [0, 1, 2].map(|k| number[k].as_str().expect("a text"));
        let wanted = statistics.pointer(key).unwrap_or_else(|| panic!("{about}: no {key}"));
        let wanted = wanted.as_f64().expect("a number");
        let value: f64 = value.parse().expect("a number");
        assert!((value - wanted).abs() <= f64::EPSILON * wanted.abs(), "{about}: {key} is {wanted}, not {value}");
        let read = read(text, key.contains("seconds") || key.contains("timeline"));
        assert!((read - wanted).abs() <= 5e-3 * wanted.abs() + 1e-300, "{about}: {key} is {wanted}, not {text}");
        keys.insert(key);
    }
    let missing: Vec<_> = shown.iter().filter(|key| !keys.contains(**key)).collect();
    assert!(missing.is_empty(), "{about} does not show {missing:?}");
}

/// The number of a text with its unit. Times are in seconds or, where the statistics have them so, in nanoseconds.
fn read(text: &str, is_in_seconds: bool) -> f64 {
    let (number, unit) = text.split_once('\u{a0}').unwrap_or((text, ""));
    let number: f64 = number.replace(',', "").parse().unwrap_or_else(|_| panic!("{text}"));
    number
        * match unit {
            "ms" => 1e-3,
            "\u{b5}s" => 1e-6,
            "ns" if is_in_seconds => 1e-9,
            "%" => 1e-2,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            _ => 1.0,
        }
}

/// Asserts that the theme can be chosen, tables sort, marks speak to the keyboard, and no script of others would run.
fn used(browser: &mut Browser, about: &str) {
    let ground = "getComputedStyle(document.documentElement).backgroundColor";
    let before = browser.value(ground);
    browser.value("document.getElementById('theme').click()");
    assert_ne!(browser.value(ground), before, "{about}");
    let sorted = browser.value(
        "(() => { const b = document.querySelector('thead button'); if (!b) return true; b.click(); b.click(); \
         const t = b.closest('table'), k = b.closest('th').cellIndex; \
         const worth = (c) => { const d = c.querySelector('data'); return d ? Number(d.value) : c.textContent.trim(); }; \
         const all = [...t.tBodies[0].rows].map(r => worth(r.cells[k])); \
         return all.every((x, n) => n === 0 || typeof x !== typeof all[n - 1] || (typeof x === 'number' ? x <= all[n - 1] : x.localeCompare(all[n - 1]) <= 0)); })()",
    );
    assert_eq!(sorted, true, "{about}");
    browser.value("document.querySelector('svg[tabindex]').focus()");
    browser.press("ArrowRight");
    let tip = browser.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
    assert!(tip.as_str().is_some_and(|tip| !tip.is_empty()), "{about}: {tip}");
    browser.value("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); })()");
    assert_eq!(browser.value("typeof window.ran"), "undefined", "{about}");
    // All pages of a folder share what a browser keeps, the theme too.
    browser.value("localStorage.clear()");
}
