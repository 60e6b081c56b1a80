use pg2::middle::{fold::fold, simplify::simplify};
use hdl::circuit::target::{Clock, target};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = if a[1].starts_with("m2l_") { pg2::gen_m2l(a[1][4..].parse().unwrap()).unwrap() } else { pg2::kernels::find(&a[1]).unwrap().text.to_string() };
    let ii: u32 = a[2].parse().unwrap();
    let t = target(&a[3]).unwrap();
    let g = simplify(&pg2::compile("k", &text).unwrap().graph);
    let now = std::time::Instant::now();
    let clock = Clock { target: t, mhz: a[4].parse().unwrap(), blocks: a.get(5).map(|b| b.parse().unwrap()) };
    let f = fold(&g, clock, ii);
    println!("{:?}", now.elapsed());
    f.check(&g).unwrap();
    if a.len() > 6 { println!("{f}"); }
    for k in &f.kinds { println!("{}: {} uses, {} units", k.what, k.items.len(), k.units); }
    let s = f.schedule(&g);
    println!("depth {} operator bits {} delay bits {} choices {} estimate {:?}", f.depth(), s.operator_bits.iter().sum::<u64>(), s.delay_bits.iter().sum::<u64>(), f.choices(&g), f.estimate(&g));
    let mut pins = 0; for (k, n) in g.nodes.iter().enumerate() { if matches!(n.kind, pg2::graph::NodeKind::Pin{..}) { pins += s.delay_bits[k]; } }
    println!("pin bits {pins}");
}
