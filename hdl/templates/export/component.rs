// @{common.made}@: the Verilog module @{common.top}@ as a `LogicBlock` of rust-hdl 0.46. Use it by `include!`, after
// `use rust_hdl::prelude::*;`, in a module of its own.
//
// rust-hdl's own simulator cannot look into it. Put `VERILOG` behind the text of `generate_verilog`, once for all engines of
// this kind.

/// The Verilog of the engine.
pub const VERILOG: &str = concat!(
{%- for file in common.files %}
    include_str!("@{file}@"),
{%- endfor %}
);

/// The engine: a clock, a reset that is held for at least two cycles, and two streams.
#[derive(LogicBlock, Default)]
pub struct Engine {
{%- for pin in common.pins %}
    pub @{pin.name}@: @{pin.rust_hdl()}@,
{%- endfor %}
}

impl Logic for Engine {
    fn update(&mut self) {}

    fn connect(&mut self) {
{%- for pin in common.pins %}{% if !pin.is_input %}
        self.@{pin.name}@.connect();
{%- endif %}{% endfor %}
    }

    fn hdl(&self) -> Verilog {
        Verilog::Wrapper(Wrapper {
            code: "    @{common.top}@ engine (
{%- for pin in common.pins %}
        .@{pin.name}@(@{pin.name}@){% if !loop.last %},{% endif %}
{%- endfor %}
    );
"
            .into(),
            cores: String::new(),
        })
    }
}
