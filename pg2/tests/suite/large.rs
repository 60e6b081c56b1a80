//! Time to build grows with the kernel, whatever its shape.

use hdl::circuit::target::Clock;
use pg2::compile_to_netlist;
use std::time::Instant;

const PINS: &str = "float32.23 f[64] jpin; float32.23 g[64] ipin; int32 a[64] jpin; int32 b[64] ipin;\n";

fn lines(n: usize, of: impl Fn(usize) -> String) -> String {
    (0..n).map(of).collect()
}

/// Kernels of about `n` statements.
fn kernels(n: usize) -> Vec<(&'static str, String)> {
    let names = |n: usize| (0..n).map(|k| format!("z{k}")).collect::<Vec<_>>().join(" + ");
    let chain = lines(n, |k| format!("z{} = z{k} * f[{}] + 0.5;\n", k + 1, k % 64));
    let products = lines(n, |k| format!("z{k} = f[{}] * g[{}];\n", k % 64, (k * 7 + k / 64) % 64));
    let differences = lines(n, |k| format!("z{k} = a[{}] - b[{}];\n", k % 64, (k * 7 + k / 64) % 64));
    let outputs = lines(n / 10, |k| {
        let steps = lines(9, |s| format!("z{k}_{} = z{k}_{s} * f[{}] - z{k}_{s};\n", s + 1, (k + s) % 64));
        format!(
            "z{k}_0 = f[{}] - g[{}];\n{steps} float32.23 o{k} fout; o{k} max= z{k}_9;\n",
            k % 64,
            (k * 5 + k / 64) % 64
        )
    });
    vec![
        ("a chain", format!("{PINS}z0 = f[0];\n{chain}float32.23 o fout; o max= z{n};")),
        ("a wide sum", format!("{PINS}{products}fixed64.30 o fout; o += (fixed64.30)({});", names(n))),
        ("a wide sum of ints", format!("{PINS}{differences}int32 o fout; o += {};", names(n))),
        (
            "long waits",
            format!(
                "{PINS}z0 = f[0];\n{}fixed64.30 o fout; o += (fixed64.30)z{n};",
                lines(n, |k| format!("z{} = z{k} > g[{}] ? z{k} : z{};\n", k + 1, k % 64, k / 2))
            ),
        ),
        (
            "elements in branches",
            format!(
                "{PINS}v[1000]; for k in 0..1000 {{ v[k] = f[k % 64]; }}
                 for k in 0..{} {{ if (a[k % 64] > 0) {{ v[7] = v[7] + f[k % 64]; }} }}
                 float32.23 o fout; o max= v[7];",
                n / 2
            ),
        ),
        ("many outputs", PINS.to_string() + &outputs),
        (
            "a loop",
            format!(
                "{PINS}fn step(x, k) {{ if (a[k % 64] > 0) {{ return x + f[k % 64]; }} return x * g[k % 64]; }}
                 z = f[0]; for k in 0..{} {{ z = step(z, k); }} float32.23 o fout; o max= z;",
                n / 4
            ),
        ),
    ]
}

#[test]
fn a_kernel_of_thousands_of_statements_is_built_soon() {
    let mut lengths: Vec<usize> = Vec::new();
    let numbers = if testkit::in_depth() { [2500, 10_000] } else { [1000, 4000] };
    for n in numbers {
        for (at, (name, text)) in kernels(n).into_iter().enumerate() {
            let start = Instant::now();
            let built =
                compile_to_netlist("large", &text, Clock::default_clock()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let bytes = built.netlist.verilog().unwrap().len();
            let took = start.elapsed();
            if std::env::var_os("TIMES").is_some() {
                println!("{n} statements, {name}: {took:?}, {} operators, {bytes} bytes", built.graph.nodes.len());
            }
            // Neither does the text grow faster than the kernel.
            lengths.push(bytes);
            assert!(n == numbers[0] || bytes < 6 * lengths[at], "{name}: {bytes} bytes after {}", lengths[at]);
            // A release build takes under 2 s; anything quadratic takes minutes.
            assert!(took.as_secs() < 60, "{n} statements, {name}: {took:?}");
        }
    }
}
