//! Recorded texts: compared with what came out, written anew under `BLESS=1`, and shown where they differ.

use std::path::Path;

/// Lines around a difference.
const CONTEXT: usize = 3;
/// Lines of a difference that are shown.
const SHOWN: usize = 40;
/// Differing parts of more lines than this, multiplied, are shown one behind the other, not line by line.
const MOST: usize = 4_000_000;

/// Whether recorded texts are to be written anew.
pub fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|v| v == "1")
}

/// Compares a text with the one recorded in a file, or records it. Gives what differs.
pub fn compare(file: &Path, got: &str) -> Option<String> {
    if bless() {
        let folder = file.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, got)).expect("the record can be written");
    }
    let recorded = std::fs::read_to_string(file).unwrap_or_default();
    difference(&recorded, got).map(|text| format!("{}:\n{text}", file.display()))
}

/// The same of a test that has nothing else to say.
pub fn check(file: &Path, got: &str) {
    if let Some(text) = compare(file, got) {
        panic!("not as recorded (- is the record, + what came; BLESS=1 records)\n{text}");
    }
}

/// The first lines that differ between a record and what came, `-` and `+` before them, with some lines around them; none where
/// the texts are equal.
pub fn difference(recorded: &str, got: &str) -> Option<String> {
    if recorded == got {
        return None;
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (recorded.lines().collect(), got.lines().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(x, y)| x == y).count();
    let changed = changes(&rest_a[..rest_a.len() - tail], &rest_b[..rest_b.len() - tail]);
    let before = head.saturating_sub(CONTEXT);
    let mut lines: Vec<String> = a[before..head].iter().map(|l| format!("  {l}")).collect();
    let all = changed.len();
    lines.extend(changed.into_iter().take(SHOWN));
    if all > SHOWN {
        lines.push(format!("... {} lines more that differ or lie between", all - SHOWN));
    } else {
        lines.extend(rest_a[rest_a.len() - tail..].iter().take(CONTEXT).map(|l| format!("  {l}")));
    }
    if all == 0 {
        lines.push("(the lines are equal: the ends of the lines, or of the text, differ)".into());
    }
    Some(format!("line {}\n{}\n", head + 1, lines.join("\n")))
}

/// Lines that go, `-`, that come, `+`, and that stay between them, by a longest common subsequence.
fn changes(a: &[&str], b: &[&str]) -> Vec<String> {
    if a.len() * b.len() > MOST {
        return a.iter().map(|l| format!("- {l}")).chain(b.iter().map(|l| format!("+ {l}"))).collect();
    }
    // common[i][j]: how many lines of a[i..] and b[j..] are common.
    let width = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = match a[i] == b[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push(format!("  {}", a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(format!("- {}", a[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", b[j]));
            j += 1;
        }
    }
    lines
}
