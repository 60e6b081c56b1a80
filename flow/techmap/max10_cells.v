// The parts that the area count of MAX 10 and Cyclone IV maps to, with their function, so that a netlist can be simulated
// and proved equal to its source. Beside them a netlist has $lut (a table), dffeas (a flip-flop with enable) and
// $mem_v2 (block memories).

// A logic element in arithmetic mode: two tables of the inputs `a`, `b` and the carry, one for the sum and one for the
// next carry. Bit {cin, b, a} of a parameter is the value for these inputs. (In cycloneive_lcell_comb these are the halves
// of `lut_mask` with `datad` at 1 and at 0, with `sum_lutc_input` "cin".)
module pf_carry #(
    parameter [7:0] SUM = 8'h96,
    parameter [7:0] CARRY = 8'he8
) (
    input a, b, cin,
    output sum, cout
);
    assign sum = SUM[{cin, b, a}];
    assign cout = CARRY[{cin, b, a}];
endmodule

// An 18 x 18 multiplier block.
module pf_mul18 #(
    parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 18, B_WIDTH = 18, Y_WIDTH = 36
) (
    input [A_WIDTH-1:0] A,
    input [B_WIDTH-1:0] B,
    output [Y_WIDTH-1:0] Y
);
    generate
        if (A_SIGNED && B_SIGNED) assign Y = $signed(A) * $signed(B);
        else assign Y = A * B;
    endgenerate
endmodule
