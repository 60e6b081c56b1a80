//! Testbenches of pipelines alone: pairs go in after random gaps, in which the pins are unknown, and each must come out so many
//! clocks later. A clock in which the pipeline does not run counts for nothing, whatever is at its pins.

mod handshake;

use super::PAIRS;
use hdl::Format;
use hdl::engine::Layout;
use hdl::rtl::names::vhdl;

/// A pipeline alone, and what its testbench does with it.
pub struct Bench<'a> {
    pub top: &'a str,
    pub layout: &'a Layout,
    pub params: &'a [u64],
    pub waits: Waits,
}

/// How a pipeline alone is made to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    Never,
    /// By a clock enable.
    Enable,
    /// By `ready` at both ends.
    Handshake,
}

/// A port and its bits in a word.
struct Part<'a> {
    name: &'a str,
    high: u32,
    low: u32,
}

/// Ports side by side, the first one highest, and the bits of all.
fn parts<'a>(ports: impl Iterator<Item = (&'a str, u32)>) -> (Vec<Part<'a>>, u32) {
    let ports: Vec<(&str, u32)> = ports.collect();
    let total: u32 = ports.iter().map(|p| p.1).sum();
    let mut high = total;
    let part = |(name, width)| {
        high -= width;
        Part { name, high: high + width - 1, low: high }
    };
    (ports.into_iter().map(part).collect(), total)
}

impl Bench<'_> {
    fn pins(&self) -> (Vec<Part<'_>>, u32) {
        parts(self.layout.i.iter().chain(&self.layout.j).map(|p| (p.0.as_str(), p.1.width())))
    }

    fn outputs(&self) -> (Vec<Part<'_>>, u32) {
        parts(self.layout.outputs.iter().map(|o| (o.0.as_str(), o.1.width())).chain([("flags", 5)]))
    }

    fn parameters(&self) -> impl Iterator<Item = (&str, Format, u64)> {
        self.layout.params.iter().zip(self.params).map(|((name, format), bits)| (name.as_str(), *format, *bits))
    }

    /// The connections of the pipeline in a testbench in Verilog with `in` and `out`, and the bits of these.
    fn connected_verilog(&self) -> (String, u32, u32) {
        let ((pins, in_bits), (outputs, out_bits)) = (self.pins(), self.outputs());
        let mut ports: Vec<String> = self.control().map(|name| format!(".{name}({name})")).collect();
        for (bus, parts) in [("in", pins), ("out", outputs)] {
            ports.extend(parts.iter().map(|p| format!(".{}({bus}[{}:{}])", p.name, p.high, p.low)));
        }
        ports.extend(self.parameters().map(|(name, f, bits)| format!(".{name}({}'h{bits:x})", f.width())));
        (ports.join(", "), in_bits, out_bits)
    }

    /// The ports that carry no values.
    fn control(&self) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = match self.waits {
            Waits::Never => &[],
            Waits::Enable => &["enable"],
            Waits::Handshake => &["in_ready", "out_ready"],
        };
        ["clk", "rst", "in_valid", "out_valid"].into_iter().chain(more.iter().copied())
    }

    pub fn verilog(&self) -> String {
        if self.waits == Waits::Handshake {
            return handshake::verilog(self);
        }
        let ((ports, in_bits, out_bits), top) = (self.connected_verilog(), self.top);
        // The pipeline runs in two clocks of three.
        let runs = if self.waits == Waits::Enable { "$random(seed) % 3 != 0" } else { "1" };
        format!(
            "module bench;
 reg clk = 0, rst = 1, in_valid = 0, enable = 1;
 wire out_valid;
 reg [{in_bits} - 1:0] in;
 wire [{out_bits} - 1:0] out;
 {top} pair ({ports});
 reg [{in_bits} - 1:0] pairs [0:{PAIRS} - 1];
 reg [{out_bits} - 1:0] wanted [0:{PAIRS} - 1];
 integer times [0:{PAIRS} - 1];
 integer sent = 0, got = 0, cycle = 0, wrong = 0, seed = 7;
 initial begin $readmemh(\"in.hex\", pairs); $readmemh(\"out.hex\", wanted); end
 always #5 clk = ~clk;
 always @(negedge clk) begin
  rst <= cycle < 4;
  enable = {runs};
  in_valid <= !enable;
  in <= {{{in_bits}{{1'bx}}}};
  if (enable && cycle > 5 && sent < {PAIRS} && $random(seed) % 3 != 0) begin
   in_valid <= 1; in <= pairs[sent]; times[sent] = cycle; sent = sent + 1;
  end
 end
 always @(posedge clk) if (enable) begin
  if (cycle > 4 && out_valid !== 0) begin
   if (out_valid !== 1 || out !== wanted[got] || cycle - times[got] != pair.LATENCY) wrong = wrong + 1;
   got = got + 1;
  end
  if (got == {PAIRS} || cycle > 20000) begin
   if (got == {PAIRS} && wrong == 0) $display(\"PASS\"); else $display(\"FAIL: %0d wrong of %0d\", wrong, got);
   $finish;
  end
  cycle = cycle + 1;
 end
endmodule
"
        )
    }

    /// The connections of the pipeline in a testbench in VHDL with `pins` and `values`, and the bits of these.
    fn connected_vhdl(&self) -> (String, u32, u32) {
        let ((pins, in_bits), (outputs, out_bits)) = (self.pins(), self.outputs());
        let mut ports: Vec<String> = self.control().map(|name| format!("{name} => {name}")).collect();
        for (bus, parts) in [("pins", pins), ("values", outputs)] {
            ports.extend(parts.iter().map(|p| {
                let bits = if p.high == p.low { p.low.to_string() } else { format!("{} downto {}", p.high, p.low) };
                format!("{} => {bus}({bits})", vhdl(p.name))
            }));
        }
        ports.extend(self.parameters().map(|(name, f, bits)| match f.width() {
            1 => format!("{} => '{bits}'", vhdl(name)),
            width => format!("{} => {width}x\"{bits:x}\"", vhdl(name)),
        }));
        (ports.join(",\n  "), in_bits, out_bits)
    }

    /// The name of the pipeline, and that of its package.
    fn names_vhdl(&self) -> [String; 2] {
        [vhdl(self.top).into_owned(), vhdl(&format!("{}_pkg", self.top)).into_owned()]
    }

    pub fn vhdl(&self) -> String {
        if self.waits == Waits::Handshake {
            return handshake::vhdl(self);
        }
        let ((ports, in_bits, out_bits), [top, package]) = (self.connected_vhdl(), self.names_vhdl());
        let runs = if self.waits == Waits::Enable { "rare" } else { "true" };
        format!(
            "library ieee;
use ieee.std_logic_1164.all;
use ieee.math_real.all;
use std.textio.all;
use std.env.all;

entity bench is
end entity;

architecture simulation of bench is
 signal clk, in_valid, out_valid : std_logic := '0';
 signal rst, enable : std_logic := '1';
 signal pins : std_logic_vector({in_bits} - 1 downto 0);
 signal values : std_logic_vector({out_bits} - 1 downto 0);
begin
 clk <= not clk after 5 ns;
 pair : entity work.{top} port map (
  {ports});
 process
  type times_type is array (0 to {PAIRS}) of integer;
  file pairs : text open read_mode is \"in.hex\";
  file wanted : text open read_mode is \"out.hex\";
  variable words, said : line;
  variable word : std_logic_vector({in_bits} - 1 downto 0);
  variable right : std_logic_vector({out_bits} - 1 downto 0);
  variable times : times_type;
  variable sent, got, cycle, wrong : integer := 0;
  variable first, second : positive := 7;
  variable number : real;
  variable on_now, rare : boolean;
 begin
  while got < {PAIRS} and cycle < 20000 loop
   wait until falling_edge(clk);
   rst <= '1' when cycle < 4 else '0';
   uniform(first, second, number);
   rare := number < 0.6;
   on_now := {runs};
   enable <= '1' when on_now else '0';
   in_valid <= '0' when on_now else '1';
   pins <= (others => 'X');
   uniform(first, second, number);
   if on_now and cycle > 5 and sent < {PAIRS} and number < 0.6 then
    readline(pairs, words);
    hread(words, word);
    in_valid <= '1';
    pins <= word;
    times(sent) := cycle;
    sent := sent + 1;
   end if;
   wait until rising_edge(clk);
   if on_now then
    if cycle > 4 and out_valid /= '0' then
     readline(wanted, words);
     hread(words, right);
     if out_valid /= '1' or values /= right or cycle - times(got) /= work.{package}.LATENCY then
      wrong := wrong + 1;
     end if;
     got := got + 1;
    end if;
    cycle := cycle + 1;
   end if;
  end loop;
  if got = {PAIRS} and wrong = 0 then
   write(said, string'(\"PASS\"));
  else
   write(said, \"FAIL: \" & integer'image(wrong) & \" wrong of \" & integer'image(got));
  end if;
  writeline(output, said);
  finish;
 end process;
end architecture;
"
        )
    }
}
