//! Testbenches of pipelines with `ready` at both ends. First nothing waits, and each pair takes LATENCY clocks; then values are taken
//! after random pauses, while pairs are offered without any: none of the clocks in which somebody takes may be lost. At last pauses are at both
//! ends. What is offered stays until it is taken, on both sides, and comes in order.

use super::Bench;
use crate::bare::PAIRS;

/// Pairs before anybody waits, and pairs that are offered without pauses.
const STEADY: usize = PAIRS / 4;
const OFFERED: usize = PAIRS / 2;

pub fn verilog(bench: &Bench) -> String {
    let ((ports, in_bits, out_bits), top) = (bench.connected_verilog(), bench.top);
    format!(
        "module bench;
 reg clk = 0, rst = 1, in_valid = 0, out_ready = 0;
 wire in_ready, out_valid;
 reg [{in_bits} - 1:0] in;
 wire [{out_bits} - 1:0] out;
 {top} pair ({ports});
 reg [{in_bits} - 1:0] pairs [0:{PAIRS} - 1];
 reg [{out_bits} - 1:0] wanted [0:{PAIRS} - 1];
 integer times [0:{PAIRS}];
 integer sent = 0, got = 0, taken = 0, cycle = 0, wrong = 0, seed = 7, drawn = 0;
 initial begin $readmemh(\"in.hex\", pairs); $readmemh(\"out.hex\", wanted); end
 always #5 clk = ~clk;
 always @(negedge clk) begin
  rst <= cycle < 4;
  if (sent == taken) begin
   in_valid <= cycle < 4;
   in <= {{{in_bits}{{1'bx}}}};
   if (cycle > 5 && sent < {PAIRS} && (sent < {OFFERED} || $random(seed) % 3 == 0)) begin
    in_valid <= 1; in <= pairs[sent]; sent = sent + 1;
   end
  end
  drawn = $random(seed);
  if (cycle > 4 && got < {STEADY}) out_ready <= 1;
  else if (got % 16 < 8) out_ready <= drawn % 3 != 0;
  else out_ready <= drawn % 5 == 0;
 end
 always @(posedge clk) begin
  if (cycle > 4) begin
   if ((in_ready ^ out_valid) === 1'bx) wrong = wrong + 1;
   if (in_ready && in_valid) begin times[taken] = cycle; taken = taken + 1; end
   if (got > 0 && got < {OFFERED} && !out_valid) wrong = wrong + 1;
   if (out_valid) begin
    if (got == taken || out !== wanted[got]) wrong = wrong + 1;
    if (got < {STEADY} && cycle - times[got] != pair.LATENCY) wrong = wrong + 1;
    if (out_ready) got = got + 1;
   end
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

pub fn vhdl(bench: &Bench) -> String {
    let ((ports, in_bits, out_bits), [top, package]) = (bench.connected_vhdl(), bench.names_vhdl());
    format!(
        "library ieee;
use ieee.std_logic_1164.all;
use ieee.math_real.all;
use std.textio.all;
use std.env.all;

entity bench is
end entity;

architecture simulation of bench is
 signal clk, in_valid, in_ready, out_valid, out_ready : std_logic := '0';
 signal rst : std_logic := '1';
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
  variable sent, got, taken, cycle, wrong : integer := 0;
  variable first, second : positive := 7;
  variable number : real;
 begin
  readline(wanted, words);
  hread(words, right);
  while got < {PAIRS} and cycle < 20000 loop
   wait until falling_edge(clk);
   rst <= '1' when cycle < 4 else '0';
   uniform(first, second, number);
   if sent = taken then
    in_valid <= '1' when cycle < 4 else '0';
    pins <= (others => 'X');
    if cycle > 5 and sent < {PAIRS} and (sent < {OFFERED} or number < 0.3) then
     readline(pairs, words);
     hread(words, word);
     in_valid <= '1';
     pins <= word;
     sent := sent + 1;
    end if;
   end if;
   uniform(first, second, number);
   if cycle > 4 and got < {STEADY} then
    out_ready <= '1';
   elsif got mod 16 < 8 then
    out_ready <= '1' when number < 0.6 else '0';
   else
    out_ready <= '1' when number < 0.2 else '0';
   end if;
   wait until rising_edge(clk);
   if cycle > 4 then
    if (in_ready /= '0' and in_ready /= '1') or (out_valid /= '0' and out_valid /= '1') then
     wrong := wrong + 1;
    end if;
    if in_ready = '1' and in_valid = '1' then
     times(taken) := cycle;
     taken := taken + 1;
    end if;
    if got > 0 and got < {OFFERED} and out_valid /= '1' then
     wrong := wrong + 1;
    end if;
    if out_valid = '1' then
     if got = taken or values /= right then
      wrong := wrong + 1;
     end if;
     if got < {STEADY} and cycle - times(got) /= work.{package}.LATENCY then
      wrong := wrong + 1;
     end if;
     if out_ready = '1' then
      got := got + 1;
      if got < {PAIRS} then
       readline(wanted, words);
       hread(words, right);
      end if;
     end if;
    end if;
   end if;
   cycle := cycle + 1;
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
