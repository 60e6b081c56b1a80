//! Selections in C++ (RULES L14), for both modes: a row of places for each member, and a function that puts a tuple in order.

use crate::graph::{Graph, Output};
use hdl::Reduce;
use hdl::number::reduce::Selection;

/// The member of `Sums` that gathers an output: the port, or a place of a selection.
pub(super) fn member(graph: &Graph, output: &Output) -> String {
    match output.reduce {
        Reduce::Ranked(place) => format!("selected{}_{}[{}]", place.selection, place.member, place.rank),
        _ => graph.port(output.pin, output.element),
    }
}

/// Knowledge of a mode about the members of a selection, by the number of their outputs.
pub(super) struct Mode<'a> {
    /// The C type that holds a member, in which patterns are ordered as their values.
    pub kind: &'a dyn Fn(usize) -> String,
    /// A member of a place that no pair has taken.
    pub empty: &'a dyn Fn(usize) -> String,
    /// A member of a tuple that is as good as none, where a worse one is possible.
    pub none: Option<&'a dyn Fn(usize) -> String>,
}

/// The members of the struct `Sums`.
pub(super) fn fields(number: usize, selection: &Selection, mode: &Mode) -> String {
    let count = selection.ranks.len();
    let field = |(m, output): (usize, &usize)| format!("    {} selected{number}_{m}[{count}];\n", (mode.kind)(*output));
    selection.ranks[0].iter().enumerate().map(field).collect()
}

/// The statements that clear a selection.
pub(super) fn start(number: usize, selection: &Selection, mode: &Mode) -> String {
    let clear = |(m, output): (usize, &usize)| format!(" s.selected{number}_{m}[k] = {};", (mode.empty)(*output));
    let cleared: String = selection.ranks[0].iter().enumerate().map(clear).collect();
    format!("{}    for (int k = 0; k < {}; k++) {{{cleared} }}\n", unrolled(selection), selection.ranks.len())
}

/// The statements that take the selection of other sums `t`: as long as one is taken, the next one may be.
pub(super) fn join(number: usize, selection: &Selection) -> String {
    let tuple: Vec<String> = (0..selection.members.len()).map(|m| format!("t.selected{number}_{m}[k]")).collect();
    let count = selection.ranks.len();
    let unrolled = unrolled(selection);
    format!("{unrolled}    for (int k = 0; k < {count} && select{number}(s, {}); k++) {{ }}\n", tuple.join(", "))
}

/// The statement that takes a tuple of these values.
pub(super) fn take(number: usize, values: &[String]) -> String {
    format!("select{number}(s, {});", values.join(", "))
}

/// The function that takes a tuple and says whether it did.
pub(super) fn function(number: usize, selection: &Selection, mode: &Mode) -> String {
    let members = selection.members.len();
    let all = |one: &dyn Fn(usize) -> String, between: &str| -> String {
        (0..members).map(one).collect::<Vec<_>>().join(between)
    };
    let outputs = &selection.ranks[0];
    let arguments = all(&|m| format!("const {} x{m}", (mode.kind)(outputs[m])), ", ");
    let none = mode.none.map_or(String::new(), |none| {
        format!("    if ({}) return false;\n", all(&|m| format!("x{m} == {}", none(outputs[m])), " && "))
    });
    let before = |at: &str| {
        let own = |m: usize| format!("s.selected{number}_{m}[{at}]");
        let better = |m: usize| if m == 0 && selection.greatest { '>' } else { '<' };
        let test = |m: usize| match m + 1 == members {
            true => format!("x{m} {} {}", better(m), own(m)),
            false => format!("x{m} != {} ? x{m} {} {}", own(m), better(m), own(m)),
        };
        all(&test, " : ")
    };
    let chooses = |m: usize| {
        let own = format!("s.selected{number}_{m}");
        format!("{own}[k] = moves ? {own}[k - 1] : better ? x{m} : {own}[k];")
    };
    let last = selection.ranks.len() - 1;
    let moving = match last {
        0 => String::new(),
        _ => format!(
            "{}    for (int k = {last}; k > 0; k--) {{\n        const bool moves = {};\n        {}\n        better = moves;\n    }}\n",
            unrolled(selection),
            before("k - 1"),
            all(&chooses, " ")
        ),
    };
    let puts = all(&|m| format!("s.selected{number}_{m}[0] = x{m};"), " ");
    format!(
        "PF bool select{number}(Sums &s, {arguments}) {{\n{none}    bool better = {};\n    if (!better) return false;\n{moving}    \
         if (better) {{ {puts} }}\n    return true;\n}}\n\n",
        before(&last.to_string())
    )
}

/// Loops over few places are unrolled, so that these are registers of a thread.
fn unrolled(selection: &Selection) -> &'static str {
    if selection.ranks.len() <= 16 { "#pragma unroll\n" } else { "" }
}
