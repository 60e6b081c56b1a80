//! The j memory that an engine gets where no number of words is given.

use hdl::circuit::target::target;
use pairforge::kernel::fit::Share;
use pg2::compile;

#[test]
fn the_default_j_memory_fills_the_blocks_that_it_takes() {
    let records = |elements: u32, device: Option<&str>, family: &str, words: Option<u32>| {
        let text = format!(
            "int32 x ipin; int32 y[{elements}] jpin; int32 total fout; total += x - y[0] - y[{}];",
            elements - 1
        );
        let layout = compile("k.pg2", &text).expect("it compiles").graph.layout();
        let target = target(family).expect("a target");
        let device = device.map(|name| hdl::board::device(name).expect("a device"));
        let records = Share::of(device, 1).with_words(words).records(&layout, target);
        let bits: u64 = layout.j.iter().map(|e| e.1.width() as u64).sum();
        // Free, and not one more.
        let blocks = |records: u32| target.cut_blocks(records as u64, bits);
        let least = Share::of(device, 1).jmem_words / layout.j_words();
        assert!(words.is_some() || blocks(records) == blocks(least) && blocks(records + 1) > blocks(least));
        records
    };
    assert_eq!(records(3, None, "ecp5", None), 8192);
    assert_eq!(records(3, Some("ecp5-85"), "ecp5", None), 8192);
    assert_eq!(records(3, None, "ecp5", Some(16_384)), 5461);
    assert_eq!(records(1, None, "ecp5", None), 16_384);
    // 1,024 words in all, and blocks of 256 words and more.
    assert_eq!(records(3, Some("up5k"), "ice40", None), 512);
    assert_eq!(records(3, Some("up5k"), "ice40", Some(64)), 21);
}
