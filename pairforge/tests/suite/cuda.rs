//! The CUDA texts without a GPU: compiled for the host against real-arithmetic semantics, and by NVRTC for a GPU, whose code is read.

use fmm::octree::options::Wanted;
use gpu::cuda::compile::{self, Arithmetic, Form};
use gpu::cuda::octree::{FmmBasis, FmmShape, MOST_NEAR2, MOST_ORDER, NEAR2, adaptive_text_of, text_of};
use gpu::cuda::p2p::Number;
use gpu::cuda::plane;
use hdl::Flags;
use hdl::op::semantics::{self, Real};
use pg2::backend::cuda::p2p::{self, Names, Shape};
use pg2::backend::cuda::{CEILING, count, exact, host_text, module, native};
use pg2::graph::{Graph, PinClass};
use sim::reference::real::{self, Pairs, RealKernel, RealSources};
use sim::stimuli::{self, Random, Style};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The architecture that is compiled for.
const ARCH: &str = "sm_90";

/// The functions of floats that no shipped kernel has.
const FUNCTIONS: &str = "float25.16 x ipin; float25.16 y jpin; fixed64.30 o[5] fout;
t = pg_tanh(y); u = pg_erf(x);
o[0] += (fixed64.30)(t + u);
o[1] += (fixed64.30)(pg_erfc(pg_abs(y)) + pg_exp2(t));
o[2] += (fixed64.30)(pg_atan2(x, y) + pg_atan(x));
o[3] += (fixed64.30)(pg_asin(t) - pg_acos(u));
o[4] += (fixed64.30)(pg_cbrt(t) + pg_log2(2 + u) + pg_fn(t, t < 0 ? exp(t) : 1 / (1 + t), -1, 1));
";

fn kernels() -> Vec<Graph> {
    let of = |(name, _): (&str, &str)| {
        let text = pg2::kernels::find(name).expect("a shipped kernel").text;
        pg2::compile(name, text).unwrap_or_else(|e| panic!("{name}: {}", e[0].message)).graph
    };
    let mut all: Vec<Graph> = pg2::kernels::all().map(of).collect();
    all.push(pg2::compile("functions", FUNCTIONS).unwrap_or_else(|e| panic!("{}", e[0].message)).graph);
    // Of the generated ones, which are alike, those of low orders: the others take minutes to compile.
    all.into_iter().filter(|g| !["m2l_4", "m2l_5", "m2l_6", "m2l_7", "m2l_8"].contains(&g.name.as_str())).collect()
}

/// The kernels that are P2P, with the names of their pins.
fn p2p_kernels() -> Vec<(Graph, Names)> {
    let names = |graph: &Graph| if graph.name == "gravity" { Names::GRAVITY } else { Names::USUAL };
    let all = kernels().into_iter().map(|graph| (names(&graph), graph));
    let found: Vec<_> = all.filter(|(n, g)| p2p::pair(g, n, p2p::Real::F64).is_ok()).map(|(n, g)| (g, n)).collect();
    let known: Vec<&str> = found.iter().map(|f| f.0.name.as_str()).collect();
    assert_eq!(known, ["p2p", "p2p_paper", "p2p_small", "gravity"]);
    found
}

/// A folder for the files of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// Compiles with whichever C++ compiler there is.
fn compiled(folder: &Path, text: &str) -> Option<PathBuf> {
    let (source, program) = (folder.join("kernels.cpp"), folder.join("kernels"));
    std::fs::write(&source, text).expect("the text is written");
    for compiler in ["clang++", "g++", "c++"] {
        let mut c = Command::new(compiler);
        c.args(["-O1", "-w", "-ffp-contract=off", "-std=c++17", "-o"]).arg(&program).arg(&source);
        match c.output() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => panic!("{compiler}: {e}"),
            Ok(o) => {
                let log: String = String::from_utf8_lossy(&o.stderr).chars().take(3000).collect();
                assert!(o.status.success(), "{compiler} refuses {}:\n{log}", source.display());
                return Some(program);
            }
        }
    }
    testkit::missing("a C++ compiler");
    None
}

/// Returns the words that a program writes for some words.
fn answers(program: &Path, words: &[u64]) -> Vec<u64> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().expect("the program runs");
    writer.join().expect("no panic").expect("all is written");
    assert!(output.status.success());
    output.stdout.chunks_exact(8).map(|c| u64::from_ne_bytes(c.try_into().expect("eight bytes"))).collect()
}

/// A main that reads (kernel, sources, target, parameters, sources) and writes the results and the flags.
fn main_text(kernels: &[Graph]) -> String {
    let mut text = String::from(
        "#include <cstdio>\n#define RUN(K, I, J, P, O) static int run_##K(uint64_t nj, uint64_t *in, uint64_t *out) { \\\n  \
         fread(in, 8, I + P + nj * J, stdin); K::Target t; K::load(t, in); K::Params p; K::load(p, in + I); K::Sums s, r; \
         K::start(s); K::start(r); \\\n  for (uint64_t k = 0; k < nj; k++) { K::Source j; K::load(j, in + I + P + k * J); \
         K::pair(t, j, p, k % 3 ? s : r); } \\\n  K::join(s, r); out[O] = K::finish(s, out); return O + 1; }\n",
    );
    for graph in kernels {
        let count = |class| graph.elements_of(class).len();
        let (i, j, p) = (count(PinClass::Ipin), count(PinClass::Jpin), count(PinClass::Param));
        text += &format!("RUN({}, {i}, {j}, {p}, {})\n", graph.name, graph.outputs.len());
    }
    let all: Vec<String> = kernels.iter().map(|g| format!("run_{}", g.name)).collect();
    text + &format!("static int (*const all[])(uint64_t, uint64_t *, uint64_t *) = {{{}}};\n", all.join(", "))
        + "int main() { static uint64_t head[2], in[1 << 16], out[64]; while (fread(head, 8, 2, stdin) == 2) { \
           int n = all[head[0]](head[1], in, out); fwrite(out, 8, n, stdout); } return 0; }\n"
}

/// A target with its sources, in the patterns that real-arithmetic evaluation holds.
struct Case {
    kernel: usize,
    target: Vec<u64>,
    params: Vec<u64>,
    sources: Vec<u64>,
}

const SOURCES: usize = 12;

fn cases(kernels: &[Graph]) -> Vec<Case> {
    let mut random = Random::new(3);
    let mut cases = Vec::new();
    for (kernel, graph) in kernels.iter().enumerate() {
        let held = |class, bits: Vec<u64>| -> Vec<u64> {
            let formats = graph.elements_of(class).into_iter().map(|(pin, _)| graph.pins[pin].format).cycle();
            formats.zip(bits).map(|(format, bits)| Real::read(format, bits).bits()).collect()
        };
        for style in [Style::Ordinary, Style::Wild { anchor: 0x1234_5678_9abc }] {
            for _ in 0..60 {
                let mut records = |class, n| stimuli::records(graph, class, n, style, &mut random).concat();
                cases.push(Case {
                    kernel,
                    target: held(PinClass::Ipin, records(PinClass::Ipin, 1)),
                    params: held(PinClass::Param, records(PinClass::Param, 1)),
                    sources: held(PinClass::Jpin, records(PinClass::Jpin, SOURCES)),
                });
            }
        }
    }
    cases
}

#[test]
fn the_native_text_of_every_kernel_gives_its_real_meaning() {
    let kernels: Vec<Graph> = testkit::some(kernels(), 6).collect();
    let functions: Vec<(String, String)> = kernels.iter().map(|g| (g.name.clone(), native::functions(g))).collect();
    let parts: Vec<(&str, &str)> = functions.iter().map(|(n, f)| (n.as_str(), f.as_str())).collect();
    let Some(program) = compiled(&folder("cuda_native"), &(host_text(&parts) + &main_text(&kernels))) else { return };
    let cases = cases(&kernels);
    let words: Vec<u64> = cases
        .iter()
        .flat_map(|c| {
            let head = [c.kernel as u64, SOURCES as u64];
            head.into_iter()
                .chain([&c.target, &c.params, &c.sources].into_iter().flatten().copied())
                .collect::<Vec<_>>()
        })
        .collect();
    let answers = answers(&program, &words);
    let mut at = 0;
    let mut compared = vec![0; kernels.len()];
    for case in &cases {
        let graph = &kernels[case.kernel];
        let found = &answers[at..at + graph.outputs.len() + 1];
        at += found.len();
        compared[case.kernel] += compare(graph, case, found) as usize;
    }
    assert_eq!(at, answers.len());
    for (graph, compared) in kernels.iter().zip(&compared) {
        assert!(*compared >= 20, "{}: only {compared} cases without flags", graph.name);
    }
}

/// Whether a case raises no flag; then results must agree but for the last places of functions.
#[allow(clippy::single_range_in_vec_init, reason = "a list of one stretch")]
fn compare(graph: &Graph, case: &Case, found: &[u64]) -> bool {
    // Tables are read as they are filled.
    let filled = graph.bound(&case.params, true);
    let kernel = RealKernel::new(filled.as_ref().unwrap_or(graph));
    let mut scratch = kernel.scratch();
    let sources = RealSources::new((case.sources.len() / SOURCES).max(1), &case.sources);
    let pairs = Pairs { i: &case.target, params: &case.params, sources: &sources };
    let gathered = kernel.gather(&sources, &[0..SOURCES]);
    let (wanted, flags) = kernel.target(&mut scratch, &pairs, &gathered);
    let outputs = graph.outputs.len();
    if flags != Flags::NONE {
        return false;
    }
    assert_eq!(found[outputs], 0, "{}: flags", graph.name);
    let mut terms = vec![0.0; SOURCES * outputs];
    kernel.terms(&mut scratch, &pairs, &mut terms);
    for (k, output) in graph.outputs.iter().enumerate() {
        let format = graph.pins[output.pin].format;
        let held = semantics::held(format);
        let size: f64 = terms.iter().skip(k).step_by(outputs).map(|x| x.abs()).sum();
        let step = format.frac().map_or(0.0, |frac| 2f64.powi(-(frac as i32)));
        // Functions of the C library and products in another order are off by a few places, and each term is rounded once.
        let bound = 1e-11 * size + SOURCES as f64 * step;
        let (found, wanted) = (held.to_f64(found[k]), held.to_f64(wanted[k].bits()));
        assert!((found - wanted).abs() <= bound, "{} output {k}: {found:e}, not {wanted:e} +- {bound:e}", graph.name);
    }
    true
}

#[test]
fn the_p2p_texts_give_the_real_meaning_of_pairs_at_different_places() {
    let kernels = p2p_kernels();
    let mut parts = Vec::new();
    for (graph, names) in &kernels {
        for (real, name) in [(p2p::Real::F32, "f32"), (p2p::Real::F64, "f64")] {
            parts.push((format!("{}_{name}", graph.name), p2p::pair(graph, names, real).expect("it is P2P")));
        }
    }
    let named: Vec<(&str, &str)> = parts.iter().map(|(n, f)| (n.as_str(), f.as_str())).collect();
    let calls: String = parts
        .iter()
        .enumerate()
        .map(|(k, (n, _))| {
            format!(
                "if (head == {k}) {{ {n}::Real x[8], o[4] = {{0, 0, 0, 0}}; for (int i = 0; i < 8; i++) x[i] = ({n}::Real)in[i]; \
                 {n}::pair(x, x + 3, x[6], x[7], o, o + 1); for (int i = 0; i < 4; i++) out[i] = o[i]; }}\n"
            )
        })
        .collect();
    let main = format!(
        "#include <cstdio>\nint main() {{ uint64_t head; double in[8], out[4]; while (fread(&head, 8, 1, stdin) == 1) {{ \
         fread(in, 8, 8, stdin);\n{calls}fwrite(out, 8, 4, stdout); }} return 0; }}\n"
    );
    let Some(program) = compiled(&folder("cuda_p2p"), &(host_text(&named) + &main)) else { return };
    let mut random = Random::new(11);
    // Coordinates that every format holds.
    let mut unit = || random.below(1 << 10) as f64 / 2f64.powi(10) - 0.5;
    let mut words = Vec::new();
    let mut wanted = Vec::new();
    for (k, (graph, _)) in kernels.iter().enumerate() {
        // Coordinates that are ints are whole numbers.
        let length = if graph.pins.iter().any(|p| p.name == "xi" && p.format.is_int()) { 2f64.powi(20) } else { 1.0 };
        for _ in 0..200 {
            let mut place = || [unit(), unit(), unit()].map(|x| x * length);
            let (xi, xj) = (place(), place());
            let (q, eps2) = (unit(), (0.1 * unit()).powi(2));
            let j: Vec<f64> = xj.iter().copied().chain([q]).collect();
            let params: Vec<f64> = if graph.elements_of(PinClass::Param).is_empty() { vec![] } else { vec![eps2] };
            for (form, bound) in [(0, 1e-5), (1, 1e-13)] {
                words.push((2 * k + form) as u64);
                words.extend(xi.iter().chain(&xj).chain([&q, &eps2]).map(|x| x.to_bits()));
                wanted.push((k, bound, real::terms(graph, &xi, &j, &params)));
            }
        }
    }
    let found: Vec<f64> = answers(&program, &words).into_iter().map(f64::from_bits).collect();
    assert_eq!(found.len(), 4 * wanted.len());
    for ((k, bound, wanted), found) in wanted.iter().zip(found.chunks(4)) {
        let (graph, names) = &kernels[*k];
        let size = wanted.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
        for (o, wanted) in graph.outputs.iter().zip(wanted) {
            let place = if graph.pins[o.pin].name == names.potential { 0 } else { 1 + o.element as usize };
            let off = (found[place] - wanted).abs();
            // A term that is negated after its conversion is rounded to the output's format.
            let step = 2f64.powi(-(graph.pins[o.pin].format.frac().unwrap_or(0) as i32));
            assert!(off <= bound * size + step, "{} output {place}: {}, not {wanted}", graph.name, found[place]);
        }
    }
}

/// Whether NVRTC is there. No machine must have it: it is 58 MB to download, and what it compiles is tested on the host too.
fn has_nvrtc() -> bool {
    let found = compile::check();
    if let Err(why) = &found {
        eprintln!("skipped: NVRTC not found ({why})");
    }
    found.is_ok()
}

/// The greatest stack frame of the functions in machine code: what spills, or is indexed at run time, stands there.
fn stack(cubin: &[u8]) -> u32 {
    let word = |at: usize, bytes: usize| (0..bytes).fold(0, |w, k| w | (cubin[at + k] as u64) << (8 * k)) as usize;
    assert_eq!(&cubin[..5], b"\x7fELF\x02", "machine code is a 64-bit ELF file");
    let (sections, size, count) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2));
    let (mut most, mut seen) = (0, 0);
    for section in (0..count).map(|k| sections + k * size) {
        // The sections .nv.info: attributes of the format 4 have a size and that many bytes.
        if word(section + 4, 4) != 0x7000_0000 {
            continue;
        }
        let (mut at, end) = (word(section + 0x18, 8), word(section + 0x18, 8) + word(section + 0x20, 8));
        while at + 4 <= end {
            let (format, attribute, value) = (cubin[at], cubin[at + 1], word(at + 2, 2));
            // EIATTR_FRAME_SIZE: a function and the bytes of its frame.
            if (format, attribute) == (4, 0x11) {
                most = most.max(word(at + 8, 4) as u32);
                seen += 1;
            }
            at += if format == 4 { 4 + value } else { 4 };
        }
    }
    assert!(seen > 0, "the machine code says how large its frames are");
    most
}

#[test]
fn every_shipped_kernel_compiles_for_a_card_without_spills() {
    if !has_nvrtc() {
        return;
    }
    let code = |text: &str, arithmetic| {
        compile::compile(text, ARCH, arithmetic, Form::Cubin).unwrap_or_else(|e| panic!("{e}"))
    };
    // An array that is indexed at run time has to stand in memory.
    let spills = "extern \"C\" __global__ void k(int *x) { int a[64]; for (int i = 0; i < 64; i++) a[i] = x[i] * i; \
                  for (int i = 0; i < 64; i++) x[i] = a[x[i] & 63]; }";
    assert!(stack(&code(spills, Arithmetic::Careful)) >= 256);
    // Sums at an index stand in memory too.
    for graph in kernels().into_iter().filter(|graph| graph.name != "pair_histogram") {
        let found = stack(&code(&module(&graph, &native::functions(&graph)), Arithmetic::Careful));
        assert_eq!(found, 0, "{} has a stack", graph.name);
        let found = stack(&code(&module(&graph, &exact::functions(&graph)), Arithmetic::Careful));
        // The 20 exact sums of M2L at order 3 do not fit in the registers of a thread.
        assert!(found == 0 || graph.name == "m2l_3", "{} has a stack of {found} bytes in exact mode", graph.name);
    }
    for (graph, names) in p2p_kernels() {
        for (real, arithmetic) in [(p2p::Real::F32, Arithmetic::Fast), (p2p::Real::F64, Arithmetic::Careful)] {
            for shape in [Shape::of_cells(real), Shape::of_all_pairs(real)] {
                let text = p2p::module(&graph, &names, real, &shape).expect("it is P2P");
                assert_eq!(stack(&code(&text, arithmetic)), 0, "{} in {real:?}, {shape:?}", graph.name);
            }
        }
    }
    assert_eq!(stack(&code(CEILING, Arithmetic::Fast)), 0);
}

/// Everything that kernels may be asked for.
const BOTH: Wanted = Wanted { hessian: true, dipoles: true };

#[test]
fn the_fmm_of_the_card_compiles_in_every_order_without_spills() {
    if !has_nvrtc() {
        return;
    }
    fn check<T: Number>(
        graph: &Graph,
        (basis, order, near2): (FmmBasis, usize, u64),
        is_periodic: bool,
        wanted: Wanted,
    ) {
        let shape = FmmShape::new(basis, order, T::REAL).with_wanted(wanted, T::REAL);
        let dense = shape.dense(order, near2, None);
        let text = text_of::<T>(graph, &dense, &shape, is_periodic).expect("it is P2P");
        let adaptive = FmmShape::adaptive(basis, order, T::REAL).with_wanted(wanted, T::REAL);
        let adaptive = adaptive_text_of::<T>(graph, &dense, &adaptive, is_periodic).expect("it is P2P");
        for text in [text, adaptive].iter().take(if wanted == Wanted::default() { 1 } else { 2 }) {
            let code = compile::compile(text, ARCH, T::ARITHMETIC, Form::Cubin).unwrap_or_else(|e| panic!("{e}"));
            // P2M and L2P in f64, and P2M and P2L of dipoles, keep a few numbers there.
            let found = stack(&code);
            assert!(found <= 96, "{} of order {order} in {:?}: {found} bytes, {shape:?}", graph.name, T::REAL);
        }
    }
    let kernels = p2p_kernels().into_iter().map(|(graph, _)| graph);
    let p2p: Vec<Graph> = kernels.filter(|g| g.name == "p2p").collect();
    for order in (1..=10).chain([11, 18, 26, MOST_ORDER]) {
        // Images change how a kernel reads its input, not by the order.
        for is_periodic in [false, true].into_iter().take(if order == 5 { 2 } else { 1 }) {
            check::<f32>(&p2p[0], (FmmBasis::Harmonics, order, NEAR2), is_periodic, Wanted::default());
            check::<f64>(&p2p[0], (FmmBasis::Harmonics, order, NEAR2), is_periodic, Wanted::default());
        }
    }
    for order in [5, 11] {
        check::<f32>(&p2p[0], (FmmBasis::Harmonics, order, MOST_NEAR2), false, Wanted::default());
        check::<f64>(&p2p[0], (FmmBasis::Harmonics, order, MOST_NEAR2), false, Wanted::default());
    }
    let yukawa = pairforge::kernel::shipped("p2p_yukawa").expect("it is shipped").graph().clone();
    for order in [1, 6, 10] {
        check::<f32>(&yukawa, (FmmBasis::Chebyshev, order, NEAR2), false, Wanted::default());
        check::<f64>(&yukawa, (FmmBasis::Chebyshev, order, NEAR2), false, Wanted::default());
    }
    for (order, wanted) in [(4, Wanted::default()), (7, Wanted::default()), (10, Wanted::default()), (7, BOTH)] {
        check::<f32>(&p2p[0], (FmmBasis::Softened, order, NEAR2), false, wanted);
        check::<f64>(&p2p[0], (FmmBasis::Softened, order, NEAR2), false, wanted);
    }
    for (order, hessian, dipoles) in
        [(5, true, false), (5, false, true), (3, true, true), (FmmShape::most_order(BOTH, p2p::Real::F64), true, true)]
    {
        check::<f32>(&p2p[0], (FmmBasis::Harmonics, order, NEAR2), order == 3, Wanted { hessian, dipoles });
        check::<f64>(&p2p[0], (FmmBasis::Harmonics, order, NEAR2), order == 3, Wanted { hessian, dipoles });
    }
}

#[test]
fn the_fmm_in_two_dimensions_compiles_for_a_card_without_spills() {
    if !has_nvrtc() {
        return;
    }
    let code = |text: &str, arithmetic| {
        compile::compile(text, ARCH, arithmetic, Form::Cubin).unwrap_or_else(|e| panic!("{e}"))
    };
    let mesh = plane::mesh_text(&plane::Shape::new(1, false, false, 227 << 10));
    assert_eq!(stack(&code(&mesh, Arithmetic::Exact)), 0, "the mesh");
    for (order, most) in [(1, 8), (17, 0), (28, 0), (60, 256)] {
        for (is_log, is_complex) in [(false, true), (false, false), (true, false)] {
            let text = plane::stages_text(&plane::Shape::new(order, is_log, is_complex, 227 << 10));
            let found = stack(&code(&text, Arithmetic::Careful));
            assert!(found <= most, "order {order}, log {is_log}: a stack of {found} bytes");
        }
    }
}

#[test]
fn a_pair_in_the_plane_takes_13_instructions_in_f64() {
    if !has_nvrtc() {
        return;
    }
    let text = plane::stages_text(&plane::Shape::new(17, false, true, 227 << 10));
    let ptx = compile::compile(&text, "compute_90", Arithmetic::Careful, Form::Ptx).unwrap_or_else(|e| panic!("{e}"));
    let ptx = String::from_utf8_lossy(&ptx).into_owned();
    let count = |block: &str, name: &str| block.lines().filter(|l| l.trim_start().starts_with(name)).count();
    // The unrolled loop; another one has the sources that are left.
    let block = ptx.split("\n$L").max_by_key(|b| count(b, "rcp.approx.ftz.f64")).expect("a loop");
    let plain: usize = ["fma.rn.f64", "add.f64", "sub.f64", "mul.f64"].iter().map(|n| count(block, n)).sum();
    assert_eq!((count(block, "rcp.approx.ftz.f64"), plain), (4, 4 * 13));
}

#[test]
fn a_pair_of_the_gravity_kernel_takes_13_instructions_and_a_root() {
    for (graph, names) in p2p_kernels().into_iter().filter(|(g, _)| g.name == "gravity" || g.name == "p2p") {
        let counted = count::p2p(&graph, &names, p2p::Real::F32).expect("it is P2P");
        assert_eq!((counted.functions, counted.f32(), counted.issued()), (1, 13, 14), "{}", graph.name);
    }
    if !has_nvrtc() {
        return;
    }
    for (graph, names) in p2p_kernels().into_iter().filter(|(g, _)| g.name == "gravity" || g.name == "p2p") {
        let shape = Shape::of_cells(p2p::Real::F32);
        let text = p2p::module(&graph, &names, p2p::Real::F32, &shape).expect("it is P2P");
        let ptx = compile::compile(&text, "compute_90", Arithmetic::Fast, Form::Ptx).unwrap_or_else(|e| panic!("{e}"));
        let ptx = String::from_utf8_lossy(&ptx).into_owned();
        let count = |block: &str, name: &str| block.lines().filter(|l| l.trim_start().starts_with(name)).count();
        // The unrolled loop without a look at distances.
        let blocks: Vec<&str> = ptx.split("\n$L").filter(|b| count(b, "rsqrt") > 1).collect();
        let [block] = blocks[..] else { panic!("{}: {} loops with several roots", graph.name, blocks.len()) };
        let roots = count(block, "rsqrt.approx.ftz.f32");
        let plain: usize =
            ["fma.rn.ftz.f32", "add.ftz.f32", "sub.ftz.f32", "mul.ftz.f32"].iter().map(|n| count(block, n)).sum();
        let all: usize = block.lines().filter(|l| l.contains(".f32") && !l.contains("ld.shared")).count();
        assert_eq!((roots, plain, all), (8, 8 * 13, 8 * 14), "{}", graph.name);
        // What is predicted from the text is what the compiler makes of it.
        let counted = count::p2p(&graph, &names, p2p::Real::F32).expect("it is P2P");
        assert_eq!(count(block, "fma.rn.ftz.f32"), 8 * counted.fused as usize, "{}", graph.name);
    }
}

#[test]
fn what_the_compiler_refuses_is_shown_with_its_log() {
    if !has_nvrtc() {
        return;
    }
    let e = compile::compile("__global__ void k() { nonsense(); }", ARCH, Arithmetic::Careful, Form::Cubin);
    assert!(e.expect_err("it is no C++").to_string().contains("identifier \"nonsense\" is undefined"));
}
