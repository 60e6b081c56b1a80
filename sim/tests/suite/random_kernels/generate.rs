//! Well-typed programs at random, as a user writes them.

mod indexed;
mod output;
mod selection;

use super::part::{Kernel, Part};
use hdl::Format;
use hdl::number::exact;
use hdl::op::Attrs;
use pg2::syntax::functions::{FUNCTIONS, Function, Kind};
use sim::stimuli::{self, Random};

const FORMATS: &str = "int1 uint1 int2 uint3 int8 uint8 int31 int32 uint32 int33 uint33 int63 int64 uint64 fixed1.0 fixed2.1 \
    fixed8.8 fixed12.5 fixed32.31 fixed32.32 fixed64.30 fixed64.64 ufixed1.1 ufixed9.9 ufixed16.0 ufixed33.33 ufixed64.64 \
    float4.1 float5.1 float8.3 float12.6 float13.1 float18.9 float25.16 float32.23 float35.23 float40.30 float64.52 \
    log5.1 log6.2 log9.4 log12.6 log17.8 log20.10";

/// The names known so far.
#[derive(Clone, Default)]
struct Known {
    /// Scalars by format.
    names: Vec<(String, Format)>,
    /// Vectors of three.
    vectors: Vec<(String, Format)>,
    /// Matrices of three rows and columns.
    matrices: Vec<(String, Format)>,
    /// Vectors of five parameters, which are read by any index.
    tables: Vec<(String, Format)>,
    /// Functions of two arguments of any one format.
    functions: Vec<(String, Format)>,
    /// Compile-time numbers that the format holds.
    constants: Vec<(String, Format)>,
}

/// The generator of a program.
pub struct Generator<'a> {
    random: &'a mut Random,
    formats: Vec<Format>,
    known: Known,
    made: usize,
}

const UINT1: Format = hdl::number::format::UINT1;

/// A random program, of which every statement compiles with those before it as `compiles` says.
pub fn kernel(random: &mut Random, compiles: &dyn Fn(&str) -> bool) -> Kernel {
    let formats = (0..1 + random.below(3)).map(|_| format(random)).collect();
    let mut g = Generator { random, formats, known: Known::default(), made: 0 };
    let mut kernel = Kernel::default();
    if g.once_in(4) {
        kernel.statements.push(Part::statement("round truncate;", Vec::new()));
    }
    g.pins(&mut kernel);
    // A first output, with which every statement behind it can be tried.
    loop {
        let output = g.output();
        kernel.statements.push(output);
        if compiles(&kernel.text()) {
            break;
        }
        kernel.statements.pop();
    }
    for _ in 0..3 + g.random.below(8) {
        let before = g.known.clone();
        let statement = g.statement();
        kernel.statements.push(statement);
        if !compiles(&kernel.text()) {
            kernel.statements.pop();
            g.known = before;
        }
    }
    for _ in 0..1 + g.random.below(3) {
        let statement = g.output();
        kernel.statements.push(statement);
        if !compiles(&kernel.text()) {
            kernel.statements.pop();
        }
    }
    // Behind all that is drawn before, which stays as it is.
    if g.once_in(3) {
        let condition = g.scalar(UINT1, 2);
        kernel.statements.push(Part::statement("where (@);", vec![condition]));
        if !compiles(&kernel.text()) {
            kernel.statements.pop();
        }
    }
    kernel
}

/// One of the list, or any.
fn format(random: &mut Random) -> Format {
    let list: Vec<&str> = FORMATS.split_whitespace().collect();
    let mut below = |n: u64| random.below(n) as u32;
    let name = match below(12) {
        0 => format!("{}{}", ["int", "uint"][below(2) as usize], 1 + below(64)),
        1 => {
            let width = 1 + below(64);
            format!("{}{width}.{}", ["fixed", "ufixed"][below(2) as usize], below(width as u64 + 1))
        }
        2 => {
            let mant = 1 + below(52);
            format!("float{}.{mant}", (3 + mant + below(10)).min(64))
        }
        3 => {
            let frac = 1 + below(10);
            format!("log{}.{frac}", frac + 4 + below(9))
        }
        _ => list[below(list.len() as u64) as usize].to_string(),
    };
    name.parse().expect("a format")
}

/// Functions that `pg_fn` fits, each with the ends of its interval.
const FITTED: [(&str, &str, &str); 7] = [
    ("exp(-x)", "0", "4"),
    ("1 / (1 + x * x)", "-1", "1"),
    ("erfc(2 * x)", "0", "1"),
    ("x - x * x * x / 6", "-1/2", "1/2"),
    ("sqrt(x)", "1/4", "1"),
    ("min(x, 1/3)", "0", "3/4"),
    ("cos(x)", "-3", "3"),
];

impl Generator<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}{}", self.made)
    }

    fn format(&mut self) -> Format {
        let k = self.below(self.formats.len());
        self.formats[k]
    }

    fn pins(&mut self, kernel: &mut Kernel) {
        let mut declare = |text: String| kernel.statements.push(Part::statement(&text, Vec::new()));
        for (k, f) in self.formats.clone().into_iter().enumerate() {
            for class in ["ipin", "jpin", "param"] {
                let name = format!("{}{k}", &class[..1]);
                declare(format!("{f} {name} {class};"));
                self.known.names.push((name, f));
            }
            let name = format!("v{k}");
            declare(format!("{f} {name}[3] {};", if self.once_in(2) { "ipin" } else { "jpin" }));
            self.vector_made(name, f);
            if self.once_in(3) {
                let name = format!("u{k}");
                declare(format!("{f} {name}[5] param;"));
                self.known.tables.push((name, f));
            }
            if self.once_in(4) {
                let name = format!("m{k}");
                let class = ["ipin", "jpin", "param"][self.below(3)];
                declare(format!("{f} {name}[3][3] {class};"));
                self.matrix_made(name, f);
            }
        }
        declare("uint7 shift param;".into());
    }

    fn vector_made(&mut self, name: String, f: Format) {
        self.known.names.extend((0..3).map(|e| (format!("{name}[{e}]"), f)));
        self.known.vectors.push((name, f));
    }

    fn matrix_made(&mut self, name: String, f: Format) {
        let row = self.below(3);
        self.vector_made(format!("{name}[{row}]"), f);
        self.known.matrices.push((name, f));
    }

    fn any_vector(&mut self) -> (String, Format) {
        let k = self.below(self.known.vectors.len());
        self.known.vectors[k].clone()
    }

    /// Calls `write` while some more names are known.
    fn inside<T>(&mut self, names: &[(String, Format)], write: impl FnOnce(&mut Self) -> T) -> T {
        let n = self.known.names.len();
        self.known.names.extend(names.iter().cloned());
        let written = write(self);
        self.known.names.truncate(n);
        written
    }

    fn statement(&mut self) -> Part {
        let f = self.format();
        match self.below(15) {
            12 => self.entry_of_constants(f),
            13 | 14 if !self.known.tables.is_empty() => self.entry_of_parameters(),
            0 => {
                let name = self.fresh("w");
                let v = self.vector(f, 3).expect("every format has a vector");
                self.vector_made(name.clone(), f);
                Part::statement(&format!("{name} = @;"), vec![v])
            }
            1 => {
                let (c, a, b, name) = (self.scalar(UINT1, 2), self.scalar(f, 3), self.scalar(f, 3), self.fresh("c"));
                self.known.names.push((name.clone(), f));
                Part::statement(&format!("if (@) {{ {name} = @; }} else {{ {name} = @; }}"), vec![c, a, b])
            }
            2 => {
                let (c, a, b, name) = (self.scalar(UINT1, 2), self.scalar(f, 3), self.scalar(f, 3), self.fresh("n"));
                self.known.names.push((name.clone(), f));
                Part::statement(&format!("{name} = @; if (@) {{ {name} = @; }}"), vec![a, c, b])
            }
            3 | 4 => self.sum_in_loop(f),
            5 => {
                let name = self.fresh("f");
                let of = |name: &str| (name.to_string(), f);
                let parts = self
                    .inside(&[of("x"), of("y"), of("x")], |g| vec![g.scalar(UINT1, 2), g.scalar(f, 2), g.scalar(f, 2)]);
                self.known.functions.push((name.clone(), f));
                Part::statement(&format!("fn {name}(x, y) {{ if (@) {{ return @; }} return @; }}"), parts)
            }
            6 => {
                let name = self.fresh("e");
                let elements = vec![self.scalar(f, 2), self.scalar(f, 2), self.scalar(f, 2)];
                self.vector_made(name.clone(), f);
                Part::statement(&format!("{name}[3]; {name}[0] = @; {name}[2] = @; {name}[1] = @;"), elements)
            }
            7 => {
                let (name, number) = (self.fresh("K"), self.number(f));
                self.known.constants.push((name.clone(), f));
                Part::statement(&format!("const {name} = {number};"), Vec::new())
            }
            8 => match self.matrix(f, 2) {
                Some(m) => {
                    let name = self.fresh("q");
                    self.matrix_made(name.clone(), f);
                    Part::statement(&format!("{name} = @;"), vec![m])
                }
                None => self.named(f),
            },
            _ => self.named(f),
        }
    }

    fn named(&mut self, f: Format) -> Part {
        let (e, name) = (self.scalar(f, 4), self.fresh("t"));
        self.known.names.push((name.clone(), f));
        Part::statement(&format!("{name} = @;"), vec![e])
    }

    /// A value that a loop over a vector changes, always or where a condition holds.
    fn sum_in_loop(&mut self, f: Format) -> Part {
        let (start, name, (v, vf)) = (self.scalar(f, 1), self.fresh("s"), self.any_vector());
        let how = ["+=", "max=", "min="][self.below(3)];
        let names = [("loop_sum".to_string(), f), (format!("{v}[k]"), vf)];
        let (step, condition) = self.inside(&names, |g| (g.scalar(f, 2), g.scalar(UINT1, 1)));
        self.known.names.push((name.clone(), f));
        let head = format!("{name} = @; for k in 0..3 {{ loop_sum = {name};");
        match self.once_in(2) {
            true => Part::statement(&format!("{head} if (@) {{ {name} {how} @; }} }}"), vec![start, condition, step]),
            false => Part::statement(&format!("{head} {name} {how} @; }}"), vec![start, step]),
        }
    }

    /// The name of a matrix of the format.
    fn known_matrix(&mut self, f: Format) -> Option<String> {
        let known: Vec<String> = self.known.matrices.iter().filter(|m| m.1 == f).map(|m| m.0.clone()).collect();
        known.get(self.below(known.len().max(1))).cloned()
    }

    /// A matrix of three rows and columns.
    fn matrix(&mut self, f: Format, depth: usize) -> Option<Part> {
        let name = self.known_matrix(f)?;
        if depth == 0 {
            return Some(Part::new(f, &name, Vec::new()));
        }
        let d = depth - 1;
        Some(match self.below(8) {
            0 => Part::new(f, "(@ + @)", vec![self.matrix(f, d)?, self.matrix(f, d)?]),
            1 => Part::new(f, "(-@)", vec![self.matrix(f, d)?]),
            2 => Part::new(f, "(@ * @)", vec![self.scalar(f, d), self.matrix(f, d)?]),
            3 => Part::new(f, "(@ * @)", vec![self.matrix(f, d)?, self.matrix(f, 0)?]),
            4 => {
                let from = self.format();
                Part::new(f, &format!("({f})(@)"), vec![self.matrix(from, d)?])
            }
            5 => {
                let c = self.scalar(UINT1, d);
                Part::new(f, "(@ ? @ : @)", vec![c, self.matrix(f, d)?, self.matrix(f, d)?])
            }
            _ => Part::new(f, "pg_transpose(@)", vec![self.matrix(f, d)?]),
        })
    }

    /// A vector of three.
    fn vector(&mut self, f: Format, depth: usize) -> Option<Part> {
        let known: Vec<String> = self.known.vectors.iter().filter(|v| v.1 == f).map(|v| v.0.clone()).collect();
        let name = known.get(self.below(known.len().max(1)))?.clone();
        if depth == 0 {
            return Some(Part::new(f, &name, Vec::new()));
        }
        Some(match self.below(10) {
            7 => Part::new(f, "(@, @, @)", vec![self.scalar(f, 0), self.scalar(f, 1), self.scalar(f, 0)]),
            8 => Part::new(f, "pg_max(@, @)", vec![self.vector(f, depth - 1)?, self.scalar(f, 0)]),
            6 => match self.known_matrix(f) {
                Some(_) => Part::new(f, "(@ * @)", vec![self.matrix(f, 0)?, self.vector(f, depth - 1)?]),
                None => Part::new(f, "(-@)", vec![self.vector(f, depth - 1)?]),
            },
            0 => Part::new(f, "(@ + @)", vec![self.vector(f, depth - 1)?, self.vector(f, depth - 1)?]),
            1 => Part::new(f, "(@ - @)", vec![self.vector(f, depth - 1)?, self.vector(f, depth - 1)?]),
            2 => Part::new(f, "(@ * @)", vec![self.vector(f, depth - 1)?, self.scalar(f, depth - 1)]),
            3 => {
                let from = self.format();
                Part::new(f, &format!("({f})(@)"), vec![self.vector(from, depth - 1)?])
            }
            4 => {
                let c = self.scalar(UINT1, depth - 1);
                Part::new(f, "(@ ? @ : @)", vec![c, self.vector(f, depth - 1)?, self.vector(f, depth - 1)?])
            }
            // Numbers that take the format of what they meet.
            5 => {
                let numbers = [(); 3].map(|()| self.number(f)).join(", ");
                Part::new(f, &format!("pg_min(@, ({numbers}))"), vec![self.vector(f, depth - 1)?])
            }
            _ => Part::new(f, &name, Vec::new()),
        })
    }

    /// A name of the format, or a constant, often one of its extremes.
    fn leaf(&mut self, f: Format) -> Part {
        let known: Vec<String> = self.known.names.iter().filter(|n| n.1 == f).map(|n| n.0.clone()).collect();
        if known.is_empty() || self.once_in(4) {
            return Part::new(f, &format!("({f})({})", self.number(f)), Vec::new());
        }
        // Late names depend on more.
        let k = self.below(known.len()).max(self.below(known.len()));
        Part::new(f, &known[k], Vec::new())
    }

    /// A number of the format as text.
    fn number(&mut self, f: Format) -> String {
        let corners = stimuli::corners(f);
        let bits = match self.below(4) {
            0 => f.max_bits(),
            1 => f.min_bits(),
            2 => corners[self.below(corners.len())],
            _ => stimuli::ordinary(f, self.random),
        };
        if f.is_float() || f.is_log() {
            // Seventeen digits name one f64; the format rounds to its own pattern again.
            return format!("{:.16e}", f.to_f64(bits)).replace("e+", "e");
        }
        exact::from_bits(f, bits).to_string()
    }

    fn scalar(&mut self, f: Format, depth: usize) -> Part {
        if depth == 0 || self.once_in(6) {
            return self.leaf(f);
        }
        let d = depth - 1;
        let (a, b) = (self.scalar(f, d), if self.once_in(3) { self.bare(f) } else { self.scalar(f, d) });
        let common = 7;
        match self.below(common + 9) {
            0 => Part::new(f, "(@ + @)", vec![a, b]),
            1 => Part::new(f, "(@ - @)", vec![a, b]),
            2 | 3 => self.call(f, a, b),
            4 => {
                let c = self.scalar(UINT1, d);
                Part::new(f, "(@ ? @ : @)", vec![c, a, b])
            }
            5 => {
                let from = self.format();
                let x = self.scalar(from, d);
                Part::new(f, &format!("({f})(@)"), vec![x])
            }
            6 if f != UINT1 => match self.known.functions.iter().find(|n| n.1 == f) {
                Some((name, _)) => Part::new(f, &format!("{name}(@, @)"), vec![a, b]),
                None => Part::new(f, "(@ * @)", vec![a, b]),
            },
            _ if f == UINT1 => self.truth(d),
            _ => self.special(f, a, b),
        }
    }

    /// A number without a format, beside one that has it.
    fn bare(&mut self, f: Format) -> Part {
        let known: Vec<String> = self.known.constants.iter().filter(|c| c.1 == f).map(|c| c.0.clone()).collect();
        let text = match known.last() {
            Some(name) if self.once_in(2) => name.clone(),
            _ => self.number(f),
        };
        Part::new(f, &format!("({text})"), Vec::new())
    }

    /// A library function of values without a table, whatever such functions there are.
    fn call(&mut self, f: Format, a: Part, b: Part) -> Part {
        let plain = |row: &Function| {
            let values =
                row.params.iter().all(|p| p.kind == Kind::Value) && row.takes.iter().all(|t| t.most == u32::MAX);
            let op = row.takes(f).filter(|_| values).and_then(|t| t.operator)?;
            Some((row.name, row.params.len(), op.result(&vec![f; row.params.len()], &Attrs::default()).ok()?))
        };
        let rows: Vec<(&str, usize, Format)> = FUNCTIONS.iter().filter_map(plain).collect();
        let (name, params, result) = rows[self.below(rows.len())];
        let cast = if result == f { String::new() } else { format!("({f})") };
        let places = vec!["@"; params].join(", ");
        Part::new(f, &format!("{cast}{name}({places})"), [a, b].into_iter().take(params).collect())
    }

    fn truth(&mut self, d: usize) -> Part {
        let f = self.format();
        let (a, b) = (self.scalar(f, d), if self.once_in(2) { self.bare(f) } else { self.scalar(f, d) });
        let infix = ["<", "<=", ">", ">=", "==", "!="][self.below(6)];
        match self.below(6) {
            0 => Part::new(UINT1, "(@ && @)", vec![self.scalar(UINT1, d), self.scalar(UINT1, d)]),
            // Any integer is a condition.
            1 if f.is_int() => Part::new(UINT1, "(@ || @)", vec![a, self.scalar(UINT1, d)]),
            1 => Part::new(UINT1, "(@ || @)", vec![self.scalar(UINT1, d), self.scalar(UINT1, d)]),
            2 => Part::new(UINT1, "(!@)", vec![self.scalar(UINT1, d)]),
            _ => Part::new(UINT1, &format!("(@ {infix} @)"), vec![a, b]),
        }
    }

    /// An expression with an operator that not every format has.
    fn special(&mut self, f: Format, a: Part, b: Part) -> Part {
        let amount = self.below(f.width() as usize);
        let pow = [(-1, 1), (2, 1), (3, 1), (-1, 2), (1, 2), (3, 2), (-3, 2), (0, 1), (-3, 1), (2, 2)][self.below(10)];
        let one = |text: &str, a: Part| Part::new(f, text, vec![a]);
        let two = |text: &str, a: Part, b: Part| Part::new(f, text, vec![a, b]);
        // Tables of long significands take a second each.
        let most = if self.once_in(20) { 32 } else { 18 };
        let table = self.below(4);
        let (kind, narrow) = (self.below(10), f.width() <= most && !f.is_log() && !f.is_int());
        match kind {
            5..=7 if narrow && amount.is_multiple_of(4) => {
                let (body, lo, hi) = FITTED[self.below(FITTED.len())];
                // Where the argument is a name, the function's variable has that name.
                let limited = if self.once_in(3) { "pg_max(pg_min(@, HI), LO)" } else { "pg_min(@, HI)" };
                let text = format!("pg_fn({limited}, {body}, LO, HI)").replace("LO", lo).replace("HI", hi);
                one(&text, a)
            }
            0 => one("(-@)", a),
            1 => self.call(f, a, b),
            2 => two("(@ / @)", a, b),
            3 if f.is_integral() => one(&format!("(@ << {amount})"), a),
            4 if f.is_integral() => one(&format!("(@ >> {amount})"), a),
            5 if f.is_integral() => one(["(@ << shift)", "(@ >> shift)"][amount % 2], a),
            3 => one(&format!("(@ << {})", amount as i32 - f.width() as i32 / 2), a),
            4 => one(["(@ << shift)", "(@ >> shift)"][amount % 2], a),
            6 | 7 if f.is_int() => two(["(@ & @)", "(@ | @)", "(@ ^ @)", "(@ % @)"][amount % 4], a, b),
            8 if f.is_int() => one("(~@)", a),
            9 if f.is_int() => one(&format!("({f})((@)[{amount}:{}])", self.below(amount + 1)), a),
            9 if !f.is_log() => one(&format!("pg_from_bits(pg_bits(@), {f})"), a),
            5 | 6 if narrow && amount.is_multiple_of(3) => {
                let all = "pg_atan2(pg_tanh(pg_asin(pg_erf(@))), pg_cbrt(pg_erfc(pg_acos(pg_atan(pg_log2(@))))))";
                let binary = ["pg_exp2(@)", "pg_log2(@)"];
                match amount % 4 {
                    1 | 3 if f.is_float() && table == 0 => two(all, a, b),
                    2 => one(binary[table % 2], a),
                    _ => one(["pg_exp(@)", "pg_log(@)", "pg_sin(@)", "pg_cos(@)"][table], a),
                }
            }
            5 | 6 if f.is_log() || f.is_float() && narrow => one(&format!("pg_pow(@, {}, {})", pow.0, pow.1), a),
            7 => match (self.vector(f, 0), self.vector(f, 1)) {
                (Some(u), Some(_)) if f.is_float() && amount.is_multiple_of(2) => one("pg_sumsq(@)", u),
                (Some(u), Some(v)) => two("(@ * @)", u, v),
                _ => two("(@ * @)", a, b),
            },
            _ => two("(@ * @)", a, b),
        }
    }
}
