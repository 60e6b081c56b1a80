//! An engine inside a design in rust-hdl, which counts the packets that come out. Prints the Verilog of all of it.
//!
//! The variable ENGINE names the folder that `pairforge build p2p_paper --wrapper rust-hdl -o FOLDER` wrote, from the root.

use engine::Engine;
use rust_hdl::prelude::*;

mod engine {
    use rust_hdl::prelude::*;

    include!(concat!(env!("ENGINE"), "/p2p_paper_engine.rs"));
}

/// The ports of the engine, and the count.
#[derive(LogicBlock, Default)]
struct Top {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_tdata: Signal<In, Bits<32>>,
    pub s_tvalid: Signal<In, Bit>,
    pub s_tready: Signal<Out, Bit>,
    pub s_tlast: Signal<In, Bit>,
    pub m_tdata: Signal<Out, Bits<32>>,
    pub m_tvalid: Signal<Out, Bit>,
    pub m_tready: Signal<In, Bit>,
    pub m_tlast: Signal<Out, Bit>,
    pub packets: Signal<Out, Bits<32>>,
    engine: Engine,
    count: DFF<Bits<32>>,
}

impl Logic for Top {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, count);
        self.engine.clk.next = self.clk.val();
        self.engine.rst.next = self.rst.val();
        self.engine.s_tdata.next = self.s_tdata.val();
        self.engine.s_tvalid.next = self.s_tvalid.val();
        self.engine.s_tlast.next = self.s_tlast.val();
        self.engine.m_tready.next = self.m_tready.val();
        self.s_tready.next = self.engine.s_tready.val();
        self.m_tdata.next = self.engine.m_tdata.val();
        self.m_tvalid.next = self.engine.m_tvalid.val();
        self.m_tlast.next = self.engine.m_tlast.val();
        self.packets.next = self.count.q.val();
        if self.engine.m_tvalid.val() & self.engine.m_tlast.val() & self.m_tready.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
    }
}

fn main() {
    let mut top = Top::default();
    top.connect_all();
    print!("{}{}", generate_verilog(&top), engine::VERILOG);
}
