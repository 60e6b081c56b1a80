//! The binding of a kernel's pins: kernels of an FMM are bound by the names of their pins (RULES H8).

use crate::encode::encode;
use crate::octree::calibrate;
use fmm::expansion::basis::terms;
use fmm::expansion::taylor::Operators;
pub use fmm::octree::kernel::KernelError;
use hdl::{Format, Reduce};
use pg2::graph::{Graph, Pin, PinClass};

/// The distance in cells, along an axis, up to which the kernels of [`pg2::gen_m2l`] tell near from far.
const GENERATED_REACH: u32 = 511;

/// The value that fills an element of a record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Feed {
    /// A particle's coordinate, or a cell's.
    At(usize),
    /// A particle's charge.
    Charge,
    /// The real (0) or the imaginary part (1) of a point's strength.
    Strength(usize),
    /// The square of the softening length.
    Eps2,
    /// The edge of the particles' box in the user's units.
    Box,
    /// The value that was given for a parameter.
    Given(f64),
    /// A multipole coefficient.
    M(usize),
    /// The power of two by which L is scaled.
    Shift,
    Near2,
}

/// A pin that a kernel may or must have.
pub struct Wanted {
    pub name: &'static str,
    pub class: PinClass,
    pub len: Option<u32>,
    pub feed: fn(usize) -> Feed,
    pub optional: bool,
}

/// The elements of one class in record order.
pub type Feeds = Vec<(Feed, Format)>;

/// A P2P kernel and its units.
#[derive(Clone, Debug)]
pub struct P2p {
    pub i: Feeds,
    pub j: Feeds,
    pub params: Feeds,
    /// Place of the potential among the output elements.
    pub potential: usize,
    /// Places of the gradient's components.
    pub gradient: Option<[usize; 3]>,
    /// Coordinates of the kernel in a box of edge 1.
    pub length: f64,
    /// The kernel's values for 1/r and for the gradient's unit, with lengths in boxes.
    pub units: calibrate::Units,
    /// Whether it is 1/r, so that the CPU can stand in for it.
    pub coulomb: bool,
}

/// An M2L kernel.
#[derive(Clone, Debug)]
pub struct M2l {
    pub i: Feeds,
    pub j: Feeds,
    pub params: Feeds,
    /// For each L term its place among the output elements.
    pub local: Vec<usize>,
    /// Format of L.
    pub format: Format,
    /// Format of `lshift`, if there is one.
    pub shift: Option<Format>,
    /// The expansion that it is for.
    pub operators: Operators<f64>,
}

impl P2p {
    /// Binds a kernel, `given` values for parameters of its own. Unless it may be `any`, it must be 1/r; another kernel's numbers
    /// are taken as they are, for lengths in boxes.
    pub fn bind(graph: &Graph, any: bool, given: &[(String, f64)]) -> Result<P2p, KernelError> {
        let wanted = [
            Wanted { name: "xi", class: PinClass::Ipin, len: Some(3), feed: Feed::At, optional: false },
            Wanted { name: "xj", class: PinClass::Jpin, len: Some(3), feed: Feed::At, optional: false },
            Wanted { name: "mj", class: PinClass::Jpin, len: None, feed: |_| Feed::Charge, optional: false },
            Wanted { name: "eps2", class: PinClass::Param, len: None, feed: |_| Feed::Eps2, optional: true },
            Wanted { name: "box", class: PinClass::Param, len: None, feed: |_| Feed::Box, optional: true },
            Wanted { name: "pout", class: PinClass::Fout, len: None, feed: |_| Feed::Charge, optional: false },
            Wanted { name: "gout", class: PinClass::Fout, len: Some(3), feed: Feed::At, optional: true },
        ];
        check_given(graph, &wanted, given)?;
        check_pins("P2P", graph, &wanted, given)?;
        let [i, j, params] = feeds(graph, &wanted, given);
        let format = i[0].1;
        if i.iter().chain(&j[..]).any(|f| matches!(f.0, Feed::At(_)) && f.1 != format) {
            return Err(KernelError(format!("`xi` and `xj` of {} must have one format", graph.name)));
        }
        let length = coordinate_unit(graph, format)?;
        let places = |name: &str| outputs_of(graph, name);
        let gradient = places("gout").try_into().ok();
        let mut p2p = P2p {
            i,
            j,
            params,
            potential: places("pout")[0],
            gradient,
            length,
            units: calibrate::Units::default(),
            coulomb: false,
        };
        match calibrate::p2p(graph, &p2p) {
            Ok(units) => (p2p.units, p2p.coulomb) = (units, true),
            Err(why) if !any => return Err(why),
            Err(_) => {}
        }
        Ok(p2p)
    }

    /// The kernel's value for 1 of the potential (`a` of 0) or of the gradient.
    pub fn unit(&self, a: usize) -> f64 {
        if a == 0 { self.units.potential } else { self.units.gradient }
    }

    /// Potential (`a` of 0) or a component of the gradient in box units, from the values of the output elements.
    pub fn boxed(&self, a: usize, value: impl Fn(usize) -> f64) -> f64 {
        match a {
            0 => value(self.potential) / self.units.potential,
            _ => self.gradient.map_or(0.0, |g| value(g[a - 1]) / self.units.gradient),
        }
    }
}

impl M2l {
    /// Binds a kernel for an expansion and checks by a few cells that it computes its M2L.
    pub fn bind(graph: &Graph, operators: Operators<f64>, near2: u64) -> Result<M2l, KernelError> {
        let e = &operators.taylor;
        let (m, l) = (Some(e.m as u32), Some(e.l as u32));
        let wanted = [
            Wanted { name: "ci", class: PinClass::Ipin, len: Some(3), feed: Feed::At, optional: false },
            Wanted { name: "cj", class: PinClass::Jpin, len: Some(3), feed: Feed::At, optional: false },
            Wanted { name: "M", class: PinClass::Jpin, len: m, feed: Feed::M, optional: false },
            Wanted { name: "lshift", class: PinClass::Param, len: None, feed: |_| Feed::Shift, optional: true },
            Wanted { name: "near2", class: PinClass::Param, len: None, feed: |_| Feed::Near2, optional: false },
            Wanted { name: "L", class: PinClass::Fout, len: l, feed: Feed::M, optional: false },
        ];
        if let Some(order) = order_of(graph).filter(|o| *o != e.order) {
            return Err(KernelError(format!(
                "{} is an M2L kernel of order {order}, but the order is {}; give --order {order}, or a kernel with \
                 M[{}] and L[{}] (`pairforge gen m2l --order {}`)",
                graph.name, e.order, e.m, e.l, e.order
            )));
        }
        check_pins("M2L", graph, &wanted, &[])?;
        let [i, j, params] = feeds(graph, &wanted, &[]);
        for (feed, format) in i.iter().chain(&j) {
            if matches!(feed, Feed::At(_)) && (!format.is_int() || !format.is_signed() || format.width() < 22) {
                let what = "cell coordinates and their differences need a signed int of at least 22 bits";
                return Err(KernelError(format!("`ci` and `cj` of {} are {format}; {what}", graph.name)));
            }
        }
        let local = outputs_of(graph, "L");
        let format = graph.pins[graph.outputs[local[0]].pin].format;
        let shift = params.iter().find(|p| p.0 == Feed::Shift).map(|p| p.1);
        let m2l = M2l { i, j, params, local, format, shift, operators };
        let does_not_hold = |(feed, format): &&(Feed, Format)| *feed == Feed::Near2 && !encode(*format, near2 as f64).1;
        let narrow = m2l.params.iter().find(does_not_hold);
        match calibrate::m2l(graph, &m2l, near2) {
            Err(_) if near2 > (GENERATED_REACH * GENERATED_REACH) as u64 => Err(KernelError(format!(
                "{} cannot tell which cells are near for so small a theta: M2L kernels of `pairforge gen m2l` know \
                 distances of up to {GENERATED_REACH} cells; give a theta of at least {:.5} (1/{GENERATED_REACH}), or \
                 take the backend `cpu`",
                graph.name,
                1e-5 * (1e5 / GENERATED_REACH as f64).ceil()
            ))),
            checked => match narrow {
                Some((_, format)) => Err(KernelError(format!(
                    "`near2` of {} is {format}, which does not hold {near2}, as this theta needs; give a larger theta, or a \
                     kernel with a wider `near2`",
                    graph.name
                ))),
                None => checked.map(|()| m2l),
            },
        }
    }
}

/// The order of an M2L kernel by the length of its `M`.
pub fn order_of(graph: &Graph) -> Option<usize> {
    let m = graph.pins.iter().find(|p| p.name == "M")?.elements() as usize;
    (1..=64).find(|order| terms(order - 1) == m)
}

fn declaration(name: &str, class: PinClass, len: Option<u32>) -> String {
    let class = match class {
        PinClass::Ipin => "ipin",
        PinClass::Jpin => "jpin",
        PinClass::Param => "param",
        PinClass::Fout => "fout",
    };
    match len {
        Some(len) => format!("`{name}[{len}] {class}`"),
        None => format!("`{name} {class}`"),
    }
}

/// Whether values are given for all parameters of a kernel's own, and for nothing else.
pub fn check_given(graph: &Graph, wanted: &[Wanted], given: &[(String, f64)]) -> Result<(), KernelError> {
    let name = &graph.name;
    let is_own = |p: &&Pin| p.class == PinClass::Param && wanted.iter().all(|w| w.name != p.name);
    let own: Vec<&Pin> = graph.pins.iter().filter(is_own).collect();
    for (k, (param, value)) in given.iter().enumerate() {
        let Some(pin) = own.iter().find(|p| p.name == *param) else {
            let names: Vec<String> = own.iter().map(|p| format!("`{}`", p.name)).collect();
            let known = if own.is_empty() { "none of its own".to_string() } else { names.join(", ") };
            let hint = if param == "eps2" { "; `eps2` is the square of --eps" } else { "" };
            return Err(KernelError(format!("{name} has no parameter `{param}` to be given; it has {known}{hint}")));
        };
        if given[..k].iter().any(|(other, _)| other == param) {
            return Err(KernelError(format!("the parameter `{param}` of {name} is given twice")));
        }
        if !encode(pin.format, *value).1 {
            return Err(KernelError(format!(
                "the parameter `{param}` of {name} is {}, which does not hold {value:e}",
                pin.format
            )));
        }
    }
    let without =
        own.iter().find(|p| p.len.is_none() && p.default.is_none() && given.iter().all(|(param, _)| *param != p.name));
    match without {
        Some(pin) => {
            Err(KernelError(format!("the parameter `{0}` of {name} has no value; add --param {0}=VALUE", pin.name)))
        }
        None => Ok(()),
    }
}

/// All that is wrong with a kernel's pins, in one message; parameters that are `given` may be there besides.
pub fn check_pins(stage: &str, graph: &Graph, wanted: &[Wanted], given: &[(String, f64)]) -> Result<(), KernelError> {
    let mut wrong = Vec::new();
    for w in wanted {
        let shape = declaration(w.name, w.class, w.len);
        match graph.pins.iter().find(|p| p.name == w.name) {
            None if w.optional => {}
            None => wrong.push(format!("pin {shape} is missing")),
            Some(p) if p.class != w.class || p.len != w.len || p.columns.is_some() => {
                let found = declaration(&p.name, p.class, p.len);
                let found = if p.columns.is_some() { format!("the matrix `{}`", p.name) } else { found };
                wrong.push(format!("pin `{}` must be {shape}, not {found}", w.name));
            }
            Some(_) => {}
        }
    }
    let has_value = |p: &Pin| p.default.is_some() || given.iter().any(|(name, _)| *name == p.name);
    let is_given = |p: &&Pin| p.elements() == 1 && p.len.is_none() && has_value(p);
    let known = |p: &&Pin| wanted.iter().any(|w| w.name == p.name) || is_given(p);
    let others: Vec<String> = graph.pins.iter().filter(|p| !known(p)).map(|p| format!("`{}`", p.name)).collect();
    if !others.is_empty() {
        let names: Vec<String> = wanted.iter().map(|w| declaration(w.name, w.class, w.len)).collect();
        let pins = if others.len() == 1 { "pin" } else { "pins" };
        let (others, names) = (others.join(", "), names.join(", "));
        wrong.push(format!("{stage} has no use for the {pins} {others}; it knows {names}"));
    }
    if let Some(o) = graph.outputs.iter().find(|o| o.reduce != Reduce::Sum) {
        wrong.push(format!("output `{}` must be gathered by `+=`", graph.pins[o.pin].name));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(KernelError(format!("{} cannot be used for {stage}: {}", graph.name, wrong.join("; "))))
}

/// The feeds of i, j and params; the pins were checked.
pub fn feeds(graph: &Graph, wanted: &[Wanted], given: &[(String, f64)]) -> [Feeds; 3] {
    [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|class| {
        let feed = |(pin, element): (usize, u32)| {
            let pin = &graph.pins[pin];
            let given = given.iter().find(|(name, _)| *name == pin.name).map(|given| given.1);
            let value = || given.or(pin.default_number(element)).expect("the pins were checked");
            let known = wanted.iter().find(|w| w.name == pin.name);
            (known.map_or_else(|| Feed::Given(value()), |w| (w.feed)(element as usize)), pin.format)
        };
        graph.elements_of(class).into_iter().map(feed).collect()
    })
}

/// Places of a pin's elements among the outputs; empty if there is none.
pub fn outputs_of(graph: &Graph, name: &str) -> Vec<usize> {
    let of = |o: &pg2::graph::Output| graph.pins[o.pin].name == name;
    graph.outputs.iter().enumerate().filter(|(_, o)| of(o)).map(|(k, _)| k).collect()
}

/// The kernel's coordinates of a box of edge 1: 2^31 for ints, 1 for fixeds.
pub fn coordinate_unit(graph: &Graph, format: Format) -> Result<f64, KernelError> {
    let wrong = |why: &str| Err(KernelError(format!("coordinates of {} are {format}; {why}", graph.name)));
    match format {
        Format::Int { width, signed: true } if width >= 32 => Ok(2f64.powi(31)),
        Format::Fixed { frac, signed: true, .. } if frac < 31 => {
            wrong("at least 31 fraction bits are needed, as in fixed32.31")
        }
        Format::Fixed { width, frac, signed: true } if width > frac => Ok(1.0),
        Format::Fixed { signed: true, .. } => {
            wrong("differences of up to 1 would wrap; leave a bit before the point, as in fixed32.31")
        }
        _ => wrong("an FMM gives them as a signed int of at least 32 bits or a signed fixed, as in fixed32.31"),
    }
}
