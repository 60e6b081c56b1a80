//! Well-typed programs at random, as a user writes them, and smaller ones made of them.

use hdl::Format;
use hdl::number::exact;
use sim::stimuli::{self, Random};

/// A piece of program text: `words` around and between its parts, each of which is replaced by any other of its format.
#[derive(Clone)]
pub struct Part {
    /// `None`: a statement.
    format: Option<Format>,
    words: Vec<String>,
    parts: Vec<Part>,
}

impl Part {
    fn new(format: Format, text: &str, parts: Vec<Part>) -> Part {
        // `@` stands for a part.
        let words: Vec<String> = text.split('@').map(String::from).collect();
        assert_eq!(words.len(), parts.len() + 1, "{text}");
        Part { format: Some(format), words, parts }
    }

    fn statement(text: &str, parts: Vec<Part>) -> Part {
        Part { format: None, words: text.split('@').map(String::from).collect(), parts }
    }

    fn text(&self) -> String {
        let mut text = self.words[0].clone();
        for (part, word) in self.parts.iter().zip(&self.words[1..]) {
            text += &part.text();
            text += word;
        }
        text
    }
}

/// A program by its statements.
#[derive(Clone, Default)]
pub struct Kernel {
    pub statements: Vec<Part>,
}

impl Kernel {
    pub fn text(&self) -> String {
        self.statements.iter().map(|s| s.text() + "\n").collect()
    }

    /// Programs with a statement less, or with a part of one replaced by something smaller.
    pub fn smaller(&self) -> Vec<Kernel> {
        let mut list = Vec::new();
        for k in 0..self.statements.len() {
            let mut less = self.clone();
            less.statements.remove(k);
            list.push(less);
        }
        for (k, statement) in self.statements.iter().enumerate() {
            for part in replaced(statement) {
                let mut less = self.clone();
                less.statements[k] = part;
                list.push(less);
            }
        }
        list
    }

    /// The same with one format in place of another.
    pub fn in_format(&self, from: &str, to: &str) -> Kernel {
        fn change(part: &mut Part, from: &str, to: &str) {
            part.words.iter_mut().for_each(|w| *w = w.replace(from, to));
            part.parts.iter_mut().for_each(|p| change(p, from, to));
        }
        let mut new = self.clone();
        new.statements.iter_mut().for_each(|s| change(s, from, to));
        new
    }
}

/// A part with one part within it replaced by a part of that, or by zero.
fn replaced(part: &Part) -> Vec<Part> {
    let mut list = Vec::new();
    for (k, inner) in part.parts.iter().enumerate() {
        let f = inner.format.expect("only statements have none");
        let mut found = Vec::new();
        within(inner, f, &mut found);
        found.sort_by_key(|p| p.text().len());
        if !inner.parts.is_empty() {
            found.push(Part::new(f, &format!("({f})0"), Vec::new()));
        }
        found.extend(replaced(inner));
        list.extend(found.into_iter().map(|new| {
            let mut part = part.clone();
            part.parts[k] = new;
            part
        }));
    }
    list
}

fn within(part: &Part, f: Format, found: &mut Vec<Part>) {
    for inner in &part.parts {
        if inner.format == Some(f) {
            found.push(inner.clone());
        }
        within(inner, f, found);
    }
}

const FORMATS: &str = "int1 uint1 int2 uint3 int8 uint8 int31 int32 uint32 int33 uint33 int63 int64 uint64 fixed1.0 fixed2.1 \
    fixed8.8 fixed12.5 fixed32.31 fixed32.32 fixed64.30 fixed64.64 ufixed1.1 ufixed9.9 ufixed16.0 ufixed33.33 ufixed64.64 \
    float4.1 float5.1 float8.3 float12.6 float13.1 float18.9 float25.16 float32.23 float35.23 float40.30 float64.52 \
    log5.1 log6.2 log9.4 log12.6 log17.8 log20.10";

/// What is written, and what is known of the names so far.
pub struct Generator<'a> {
    pub random: &'a mut Random,
    formats: Vec<Format>,
    /// Scalars by format.
    names: Vec<(String, Format)>,
    /// Vectors of three.
    vectors: Vec<(String, Format)>,
    /// Functions of two arguments of any one format.
    functions: Vec<String>,
    made: usize,
}

const UINT1: Format = hdl::number::format::UINT1;

/// A random program, of which every statement compiles with those before it as `compiles` says.
pub fn kernel(random: &mut Random, compiles: &dyn Fn(&str) -> bool) -> Kernel {
    let all: Vec<Format> = FORMATS.split_whitespace().map(|n| n.parse().expect("a format")).collect();
    let n = 1 + random.below(3) as usize;
    let formats = (0..n).map(|_| all[random.below(all.len() as u64) as usize]).collect();
    let (names, vectors, functions) = Default::default();
    let mut g = Generator { random, formats, names, vectors, functions, made: 0 };
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
        let before = (g.names.len(), g.vectors.len(), g.functions.len());
        let statement = g.statement();
        kernel.statements.push(statement);
        if !compiles(&kernel.text()) {
            kernel.statements.pop();
            g.names.truncate(before.0);
            g.vectors.truncate(before.1);
            g.functions.truncate(before.2);
        }
    }
    for _ in 0..1 + g.random.below(3) {
        let statement = g.output();
        kernel.statements.push(statement);
        if !compiles(&kernel.text()) {
            kernel.statements.pop();
        }
    }
    kernel
}

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
                self.names.push((name, f));
            }
            let name = format!("v{k}");
            declare(format!("{f} {name}[3] {};", if self.once_in(2) { "ipin" } else { "jpin" }));
            self.names.extend((0..3).map(|e| (format!("{name}[{e}]"), f)));
            self.vectors.push((name, f));
        }
        declare("uint7 shift param;".into());
    }

    /// An output with its reduction, of a scalar or vector.
    fn output(&mut self) -> Part {
        let (f, name) = (self.format(), self.fresh("out"));
        let reduce =
            if f.is_integral() { ["+=", "max=", "min="][self.below(3)] } else { ["max=", "min="][self.below(2)] };
        if self.once_in(4)
            && let Some(v) = self.vector(f, 2)
        {
            return Part::statement(&format!("{f} {name}[3] fout; {name} {reduce} @;"), vec![v]);
        }
        let e = self.scalar(f, 3);
        if self.once_in(5) {
            let c = self.scalar(UINT1, 2);
            return Part::statement(&format!("{f} {name} fout; if (@) {{ {name} {reduce} @; }}"), vec![c, e]);
        }
        Part::statement(&format!("{f} {name} fout; {name} {reduce} @;"), vec![e])
    }

    fn statement(&mut self) -> Part {
        let f = self.format();
        match self.below(8) {
            0 => {
                let name = self.fresh("w");
                let v = self.vector(f, 3).expect("every format has a vector");
                self.vectors.push((name.clone(), f));
                self.names.extend((0..3).map(|e| (format!("{name}[{e}]"), f)));
                Part::statement(&format!("{name} = @;"), vec![v])
            }
            1 => {
                let (c, a, b, name) = (self.scalar(UINT1, 2), self.scalar(f, 3), self.scalar(f, 3), self.fresh("c"));
                self.names.push((name.clone(), f));
                Part::statement(&format!("if (@) {{ {name} = @; }} else {{ {name} = @; }}"), vec![c, a, b])
            }
            2 => {
                let (c, a, b, name) = (self.scalar(UINT1, 2), self.scalar(f, 3), self.scalar(f, 3), self.fresh("n"));
                self.names.push((name.clone(), f));
                Part::statement(&format!("{name} = @; if (@) {{ {name} = @; }}"), vec![a, c, b])
            }
            3 => {
                let (start, name) = (self.scalar(f, 1), self.fresh("s"));
                let k = self.below(self.vectors.len());
                let (v, vf) = self.vectors[k].clone();
                let how = ["+=", "max=", "min="][self.below(3)];
                self.names.push(("loop_sum".into(), f));
                self.names.push((format!("{v}[k]"), vf));
                let step = self.scalar(f, 2);
                self.names.truncate(self.names.len() - 2);
                let text = format!("{name} = @; for k in 0..3 {{ loop_sum = {name}; {name} {how} @; }}");
                self.names.push((name, f));
                Part::statement(&text, vec![start, step])
            }
            4 => {
                let name = self.fresh("f");
                let n = self.names.len();
                self.names.extend([("x".to_string(), f), ("y".to_string(), f), ("x".to_string(), f)]);
                let (c, a, b) = (self.scalar(UINT1, 2), self.scalar(f, 2), self.scalar(f, 2));
                self.names.truncate(n);
                self.functions.push(format!("{name} {f}"));
                Part::statement(&format!("fn {name}(x, y) {{ if (@) {{ return @; }} return @; }}"), vec![c, a, b])
            }
            _ => {
                let (e, name) = (self.scalar(f, 4), self.fresh("t"));
                self.names.push((name.clone(), f));
                Part::statement(&format!("{name} = @;"), vec![e])
            }
        }
    }

    /// A vector of three.
    fn vector(&mut self, f: Format, depth: usize) -> Option<Part> {
        let known: Vec<String> = self.vectors.iter().filter(|v| v.1 == f).map(|v| v.0.clone()).collect();
        let name = known.get(self.below(known.len().max(1)))?.clone();
        if depth == 0 {
            return Some(Part::new(f, &name, Vec::new()));
        }
        Some(match self.below(6) {
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
            _ => Part::new(f, &name, Vec::new()),
        })
    }

    /// A name of the format, or a constant, often one of its extremes.
    fn leaf(&mut self, f: Format) -> Part {
        let known: Vec<String> = self.names.iter().filter(|n| n.1 == f).map(|n| n.0.clone()).collect();
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
            2 => Part::new(f, "pg_min(@, @)", vec![a, b]),
            3 => Part::new(f, "pg_max(@, @)", vec![a, b]),
            4 => {
                let c = self.scalar(UINT1, d);
                Part::new(f, "(@ ? @ : @)", vec![c, a, b])
            }
            5 => {
                let from = self.format();
                let x = self.scalar(from, d);
                Part::new(f, &format!("({f})(@)"), vec![x])
            }
            6 if f != UINT1 => match self.functions.iter().find(|n| n.ends_with(&format!(" {f}"))) {
                Some(name) => Part::new(f, &format!("{}(@, @)", name.split(' ').next().unwrap_or("")), vec![a, b]),
                None => Part::new(f, "(@ * @)", vec![a, b]),
            },
            _ if f == UINT1 => self.truth(d),
            _ => self.special(f, a, b),
        }
    }

    /// A number without a format, beside one that has it.
    fn bare(&mut self, f: Format) -> Part {
        let text = self.number(f);
        Part::new(f, &format!("({text})"), Vec::new())
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

    /// What not every format has.
    fn special(&mut self, f: Format, a: Part, b: Part) -> Part {
        let amount = self.below(f.width() as usize);
        let pow = [(-1, 1), (2, 1), (3, 1), (-1, 2), (1, 2), (3, 2), (-3, 2), (0, 1), (-3, 1), (2, 2)][self.below(10)];
        let one = |text: &str, a: Part| Part::new(f, text, vec![a]);
        let two = |text: &str, a: Part, b: Part| Part::new(f, text, vec![a, b]);
        let (kind, narrow) = (self.below(9), f.width() <= 18 && !f.is_log());
        match kind {
            0 => one("(-@)", a),
            1 => one("pg_abs(@)", a),
            2 => two("(@ / @)", a, b),
            3 if f.is_integral() => one(&format!("(@ << {amount})"), a),
            4 if f.is_integral() => one(&format!("(@ >> {amount})"), a),
            5 if f.is_integral() => one(["(@ << shift)", "(@ >> shift)"][amount % 2], a),
            3 => one(&format!("(@ << {})", amount as i32 - f.width() as i32 / 2), a),
            4 => one(["(@ << shift)", "(@ >> shift)"][amount % 2], a),
            6 | 7 if f.is_int() => two(["(@ & @)", "(@ | @)", "(@ ^ @)", "(@ % @)"][amount % 4], a, b),
            8 if f.is_int() => one("(~@)", a),
            5 | 6 if narrow && amount.is_multiple_of(3) => {
                one(["pg_exp(@)", "pg_log(@)", "pg_sin(@)", "pg_cos(@)"][amount % 4], a)
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
