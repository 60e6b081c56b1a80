// The parts that the area count of MAX 10 and Cyclone IV maps to, with their function, so that a netlist can be simulated
// and proved equal to its source. Beside them a netlist has $lut (a table), dffeas (a flip-flop with enable, synchronous clear and load) and
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

// An 18 x 18 multiplier block, with its registers where they are used.
module pf_mul18 #(
    parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 18, B_WIDTH = 18, Y_WIDTH = 36,
    parameter A_REGISTERED = 0, B_REGISTERED = 0, Y_REGISTERED = 0
) (
    input CLK,
    input [A_WIDTH-1:0] A,
    input [B_WIDTH-1:0] B,
    output [Y_WIDTH-1:0] Y
);
    reg [A_WIDTH-1:0] a_register;
    reg [B_WIDTH-1:0] b_register;
    reg [Y_WIDTH-1:0] y_register;
    wire [A_WIDTH-1:0] a = A_REGISTERED ? a_register : A;
    wire [B_WIDTH-1:0] b = B_REGISTERED ? b_register : B;
    wire [Y_WIDTH-1:0] y;
    generate
        if (A_SIGNED && B_SIGNED) assign y = $signed(a) * $signed(b);
        else assign y = a * b;
    endgenerate
    assign Y = Y_REGISTERED ? y_register : y;
    always @(posedge CLK) begin
        a_register <= A;
        b_register <= B;
        y_register <= y;
    end
endmodule
