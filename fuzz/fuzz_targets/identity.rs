//! An identity that a board sends is refused, or describes engines that can be built.

#![no_main]

use hdl::engine::Layout;
use hdl::serial::Identity;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((_, identity)) = Identity::decode(bytes) else { return };
    for k in 0..identity.engines.len() {
        identity.engine(k, Layout::default()).verify().expect("the limits of engines hold for identities");
    }
});
